"""The program's own script and its imports: stages by name, import times."""
