"""Imported just before a program runs: programs import side by side and then run one after the other, in the order of
their turns. The runner holds a program's turn until the process of the one before it is gone, and its CUDA context with it."""
import fcntl
import os
import sys


def take(path):
    """Waits for the turn and says which process has taken it."""
    with open(path) as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
    with open(path + ".new", "w") as taken:
        taken.write(str(os.getpid()))
    os.rename(path + ".new", path + ".taken")


if "--turn" in sys.argv:
    take(sys.argv[sys.argv.index("--turn") + 1])
