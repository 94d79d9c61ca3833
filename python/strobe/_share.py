"""Limits work of strobe's own to a small part of the program's time: after it, no more of its kind is done
until enough time has passed."""
import time


class Share:
    """with share: ...work. times: how much longer than the work the pause after it lasts."""

    def __init__(self, times):
        self.times = times
        self.forget()

    def forget(self):
        """A new session, or a forked child: the first time is allowed."""
        self.next_s, self.begun_s = 0, None

    def allows(self):
        return self.begun_s is None and time.monotonic() >= self.next_s

    def __enter__(self):
        self.begun_s = time.thread_time()

    def __exit__(self, *error):
        begun_s, self.begun_s = self.begun_s, None
        if begun_s is not None:  # another thread has done the same meanwhile
            self.next_s = time.monotonic() + max(0, time.thread_time() - begun_s) * self.times
