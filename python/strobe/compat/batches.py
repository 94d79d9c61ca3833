"""Batches of streamed frames as they leave, and their rate: strobe's report of the run has the same."""
import time

from .tally import Tally

_REPORTED_LEAST = 0.5  # of the time that the batches took: clocks and rounding may differ
_GAP_LEAST_S = 1e-4  # between batches that say nothing of their time


class Batches(Tally):
    """The values are frames."""
    __slots__ = ("_first_frames", "_first", "_last", "_encode_s", "_network_s")

    def __init__(self):
        super().__init__()
        self._first_frames = 0
        self._first = self._last = self._encode_s = self._network_s = 0.0

    def send(self, frames, encode_ms=None, network_ms=None):
        self._last = time.perf_counter()
        if not self.count:
            self._first, self._first_frames = self._last, frames
        else:
            self._encode_s += (encode_ms or 0.0) / 1e3
            self._network_s += (network_ms or 0.0) / 1e3
        self.add(frames)

    @property
    def fps(self):
        """Between the first batch and the last: the first one's frames were made before. None: not known, also where
        all of them were handed in at the end."""
        span = self._last - self._first
        took = max(self._encode_s, self._network_s)
        least = took * _REPORTED_LEAST if took > 0 else (self.count - 1) * _GAP_LEAST_S
        return (self.total - self._first_frames) / span if span > 0 and span >= least else None
