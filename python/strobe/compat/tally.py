"""Count, total, min, max, last of something that happens often; and a bounded
sample of its values for the median."""
import random
import statistics

KEPT = 20000


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
