"""A process beside the planted program that is none of its own: the runner starts it, outside of `strobe run`. Where no
runner is (measure.py), the program starts it itself."""
import contextlib
import os
import subprocess
import sys
import time

UP_MOST_S = 60
ENDING = ".beside"


def _turn():
    return sys.argv[sys.argv.index("--turn") + 1] if "--turn" in sys.argv else None


@contextlib.contextmanager
def another_process(code):
    """Runs code in Python; it has printed a line when this returns, and is gone afterwards."""
    turn = _turn()
    if turn is None:
        with start(code) as other:
            yield
            other.kill()
        return
    with open(turn + ENDING + ".new", "w") as asked:
        asked.write(code)
    os.rename(turn + ENDING + ".new", turn + ENDING)
    _wait_for(turn + ENDING + ".up")
    yield
    os.unlink(turn + ENDING)


def _wait_for(path):
    until = time.monotonic() + UP_MOST_S
    while not os.path.exists(path):
        if time.monotonic() > until:
            raise TimeoutError("no other process came up")
        time.sleep(0.02)


def start(code):
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    other.stdout.readline()
    return other


class Beside:
    """The runner's side: looks, as often as it likes, what a program asks for."""

    def __init__(self, turn):
        self.path, self.other = turn + ENDING, None
        self.remove()

    def remove(self):
        for path in (self.path, self.path + ".up"):
            if os.path.exists(path):
                os.unlink(path)

    def look(self):
        if self.other is None and os.path.exists(self.path):
            with open(self.path) as asked:
                self.other = start(asked.read())
            with open(self.path + ".up", "w"):
                pass
        elif self.other is not None and not os.path.exists(self.path):
            self.end()

    def end(self):
        if self.other is not None:
            self.other.kill()
            self.other.wait()
            self.other.stdout.close()
            self.other = None
        self.remove()
