"""Count, total, min, max, last of something that happens often; a bounded sample of its values for the median; how
long at least one of them ran."""
import collections
import random
import statistics
import time

KEPT = 20000
SPANS = 1000  # of the newest calls: one that began before all of them is counted from the first of these


class Tally:
    __slots__ = ("count", "total", "min", "max", "last")

    def __init__(self):
        self.count = 0
        self.total = 0.0
        self.min = float("inf")
        self.max = 0.0
        self.last = 0.0

    def add(self, value):
        self.count += 1
        self.total += value
        self.min = value if value < self.min else self.min
        self.max = value if value > self.max else self.max
        self.last = value

    @property
    def mean(self):
        return self.total / self.count if self.count else 0.0


class Sampled(Tally):
    """Keeps every value up to KEPT, then a uniform sample of them."""
    __slots__ = ("values", "_random")

    def __init__(self):
        super().__init__()
        self.values = []
        self._random = random.Random(0)

    def add(self, value):
        super().add(value)
        if len(self.values) < KEPT:
            self.values.append(value)
            return
        at = self._random.randrange(self.count)
        if at < KEPT:
            self.values[at] = value

    @property
    def median(self):
        return statistics.median(self.values) if self.values else 0.0

    @property
    def sample_std(self):
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0


class Covering(Tally):
    """Of durations that have just ended: how long at least one of them ran. Threads do the same at the same time."""
    __slots__ = ("covered", "_spans", "_counted_to")

    def __init__(self):
        super().__init__()
        self.covered = 0.0
        self._spans = collections.deque()  # (begin, end), apart from each other, in order
        self._counted_to = float("-inf")  # before it nothing is kept

    def add(self, value):
        super().add(value)
        end = time.perf_counter()
        begin = max(end - value, self._counted_to)
        while self._spans and self._spans[-1][1] >= begin:
            first, last = self._spans.pop()
            self.covered -= last - first
            begin = min(begin, first)
        self._spans.append((begin, end))
        self.covered += end - begin
        if len(self._spans) > SPANS:
            self._counted_to = self._spans.popleft()[1]


class Tallies(dict):
    """Tallies by name. Past `limit` names everything new is "(other)"."""

    def __init__(self, make=Tally, limit=4096):
        super().__init__()
        self._make = make
        self._limit = limit

    def add(self, name, value):
        tally = self.get(name)
        if tally is None:
            if len(self) >= self._limit:
                name = "(other)"
            tally = self.setdefault(name, self._make())
        tally.add(value)
