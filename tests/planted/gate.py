"""Imported just before a program runs: programs import side by side and then run one after the other, in the order of
their turns. The gate is held until the process is gone, and its CUDA context with it."""
import fcntl
import sys

held = None


def take(path):
    """The runner holds a program's turn until the one before it has the gate."""
    turn = open(path + ".turn." + sys.argv[sys.argv.index("--turn") + 1])
    fcntl.flock(turn, fcntl.LOCK_EX)
    gate = open(path, "w")
    fcntl.flock(gate, fcntl.LOCK_EX)
    open(turn.name + ".taken", "w").close()
    return gate


if "--gate" in sys.argv:
    held = take(sys.argv[sys.argv.index("--gate") + 1])
