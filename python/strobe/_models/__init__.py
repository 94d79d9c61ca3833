"""What strobe knows of the program's models: how frameworks call them, which are alike, how many operations a call takes and
what it computes."""
