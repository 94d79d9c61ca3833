"""Imported just before a program runs: programs import side by side and then run one after the other."""
import fcntl
import sys

held = None
if "--gate" in sys.argv:
    held = open(sys.argv[sys.argv.index("--gate") + 1], "w")
    fcntl.flock(held, fcntl.LOCK_EX)
