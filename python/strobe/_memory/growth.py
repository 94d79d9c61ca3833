"""Memory that grows. Four times a second the sampler's thread reads what torch's allocator holds; after each generation,
outside of it, a reading is taken too. What holds the memory is searched for when it rises and rises: five generations in
a row that each left more behind, or two seconds of low-water marks that climb, and then go on climbing. It is named in the
recording. A search takes a tenth of a second to two seconds in which little else runs: it waits for the end of the generation, and
what only warms up (weights, libraries, the first video's workspaces) is not searched through."""
import os
import sys
import threading
import time

from .. import _faults
from .._native import loaded, native, own_section
from .._share import Share
from . import caches, moved, residency, retries

GENERATIONS = 5          # in a row
LEAST_BYTES = 4 << 20    # each
RISEN_BYTES = 48 << 20   # over the marks of a trend
RISEN_FILES = 12
SEARCHES_MOST = 3        # of one kind
TIMES = 2                # that the marks have climbed so far, evenly: it is no warm-up
TIMES_WITHIN = 6         # one generation: twelve seconds and more, whose end is not waited for
EVENLY = 0.2             # of a rise, in each third of its time
LEFT_LEAST = 0.5         # of a rise, left by generations after the first one; fallen by so much, it is over
LOADS = "from_pretrained", "load_state_dict"
LAYERS = os.path.join("torch", "nn", "modules")
FORGET_S = 60            # a rise that did not go on for so long is over, too

_searching = {}  # kind -> its Share: a search goes through all of Python's objects, and one for files must not stop one for memory

_running = []  # an item for each generation that has begun and not ended
_waiting = {}  # kind -> its Rise, until it is known whether it goes on
_values = {}   # kind -> the last reading

_left = []
_searched = False
_first_called = False  # a model, for the first time, since the last reading


class Trend:
    """Low-water marks of a value: does it keep rising?"""
    MARKS = 8

    def __init__(self, least):
        self.least, self.searches = least, 0
        self.start()

    def start(self):
        self.marks, self.low, self.seen, self.every = [], None, 0, 1

    def rises(self, value):
        self.low = value if self.low is None else min(self.low, value)
        self.seen += 1
        if self.seen < self.every or self.searches == SEARCHES_MOST:
            return 0
        self.marks.append(self.low)
        self.low, self.seen = None, 0
        if len(self.marks) == 2 * self.MARKS:
            self.marks = [min(pair) for pair in zip(self.marks[::2], self.marks[1::2])]
            self.every *= 2
        return self._risen()

    def _risen(self):
        marks = self.marks
        if len(marks) < self.MARKS:
            return 0
        risen, late = marks[-1] - marks[0], marks[-1] - marks[len(marks) // 2]
        falls = sum(b < a for a, b in zip(marks, marks[1:]))
        return risen if risen >= self.least and late >= 0.3 * risen and falls <= len(marks) // 6 else 0


_trends = {}


class Rise:
    """Of low-water marks. It goes on when they climb again and again, evenly, or when later generations leave as much behind; a
    warm-up climbs in its first steps, and once more in its decoder's."""
    MARKS = 96

    def __init__(self, trend):
        self.marks, self.times, self.left, self.goes_on = [], 0, None, False
        self.seen_s = time.monotonic()
        self.climbed(trend)
        self.risen = self.top - self.marks[0]

    def climbed(self, trend):
        if self.marks and trend.marks[-1] <= self.top:
            return
        flat = 0 if self.marks else trend.marks[0] + 0.05 * (trend.marks[-1] - trend.marks[0])  # before it began
        self.marks += [mark for mark in trend.marks if mark > flat for _ in range(trend.every)]
        self.last, self.top, self.times = trend.marks[-1] - trend.marks[0], trend.marks[-1], self.times + 1
        while len(self.marks) > self.MARKS:
            self.marks = self.marks[:-1:2] + self.marks[-1:]
        self.goes_on = self.times >= TIMES and self._is_even()

    def _is_even(self):
        third, all_of_it = len(self.marks) // 3, self.marks[-1] - self.marks[0]
        at = self.marks[0], self.marks[third], self.marks[2 * third], self.marks[-1]
        return all(b - a >= EVENLY * all_of_it for a, b in zip(at, at[1:]))

    def generation_ended(self, value):
        """What it needed meanwhile is free again. True if nothing of the rise is left."""
        least = LEFT_LEAST * self.risen
        if value - self.top <= -least:
            return True
        if self.left is None:
            self.left = value
        elif value - self.left >= least:
            self.goes_on, self.last = True, value - self.left
        return False


def read(host, files):
    """A reading at this moment. Never raises."""
    try:
        if _first_called:
            _forget_loading()
        caches.read()
        moved.read()
        history = sys.modules.get(__package__ + ".host_history")
        if history is not None:
            history.read()
        device, pinned = _read_devices()
        for kind, value, least in (("device", device, RISEN_BYTES), ("pinned", pinned, RISEN_BYTES), ("host", host, RISEN_BYTES),
                                   ("files", files, RISEN_FILES)):
            trend = _trends.setdefault(kind, Trend(least))
            _values[kind] = value
            if kind in ("device", "host"):
                residency.read(kind, value)
            risen = trend.rises(value) if value > 0 else 0
            if risen and _loads():
                trend.start()  # modules and weights come, and stay: no leak
            elif risen and _share(kind).allows():
                if kind in _waiting:
                    _waiting[kind].climbed(trend)
                else:
                    _waiting[kind] = Rise(trend)
                    _waiting[kind].goes_on = kind == "files"  # none are opened to warm up
                trend.start()
        _search_waiting(TIMES_WITHIN if _running else 1)
    except Exception:
        _faults.count("reading memory")


def _loads():
    """Whether the main thread imports something, or makes or loads a model."""
    frame = sys._current_frames().get(threading.main_thread().ident)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name in LOADS or \
                (code.co_name == "__init__" and LAYERS in code.co_filename):
            return True
        frame = frame.f_back
    return False


def first_call():
    """A model is called for the first time: what rose until then made and loaded it."""
    global _first_called
    _first_called = True


def _forget_loading():
    """On the thread that reads."""
    global _first_called
    _first_called = False
    for kind in ("device", "pinned", "host"):
        _waiting.pop(kind, None)
        _trends.pop(kind, None)


def _read_devices():
    """Records each device's allocator and pinned memory; what the first device in use has allocated, and what is pinned."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return 0, 0
    first = 0
    for index in range(cuda.device_count()):
        allocated = _read_device(cuda, index)
        first = first or allocated
    return first, _read_pinned(cuda)


def read_here():
    """What the host and the calling thread's device hold at this moment."""
    native.readings_host()
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        for index in range(cuda.device_count()):
            _read_device(cuda, index)


def _read_device(cuda, index):
    """What its allocator holds, which is recorded."""
    found = cuda.memory_stats_as_nested_dict(index)
    if not found:
        return 0
    retries.look(index, found)
    allocated, reserved = found["allocated_bytes"]["all"], found["reserved_bytes"]["all"]
    if not reserved["peak"]:
        return 0
    native.snapshot("strobe.memory.device", index, allocated["current"], reserved["current"], allocated["peak"])
    return allocated["current"]


def watch_ends(torch):
    """From now on an outer section's end is a reading: a stage shorter than the readings' distance has its peak too."""
    def section_ended():
        try:
            moved.read()
            _read_device(torch.cuda, torch.cuda.current_device())
        except Exception:
            _faults.count("reading memory where a section ends")
    if os.environ.get("STROBE_SAMPLE_HZ") not in ("0", "none"):
        native.readings_at_ends(section_ended)


def _read_pinned(cuda):
    stats = getattr(cuda, "host_memory_stats", None)  # torch 2.6
    pinned = int(stats().get("allocated_bytes.current", -1)) if stats is not None else -1
    if stats is not None:
        native.snapshot("strobe.memory.pinned", -1, pinned, -1, -1)
    return pinned


def _share(kind):
    return _searching.setdefault(kind, Share(100))


def _search_waiting(times):
    """Those that go on, and climbed as often."""
    for kind, rise in list(_waiting.items()):
        if rise.goes_on and rise.times >= times and _waiting.pop(kind, None):
            _trends[kind].searches += 1
            _search(kind, rise.last)
        elif not rise.goes_on and time.monotonic() - rise.seen_s >= FORGET_S:
            _waiting.pop(kind, None)


def _what_is_left():
    """Of each rise, now that no generation needs memory."""
    for kind, rise in list(_waiting.items()):
        if rise.generation_ended(_values[kind]):
            _waiting.pop(kind, None)


def _search(kind, risen):
    from . import graphs, holders
    with _share(kind), own_section("what holds memory"):
        _name_holder(holders, graphs, kind, risen)


def _name_holder(holders, graphs, kind, risen):
    facts = {"of": "host" if kind == "pinned" else kind, "risen": risen}
    if kind == "files":
        target = holders.open_files()
        if target and target.startswith("/dev/"):
            return  # a driver's, which opens them once
        holder = holders.of_files(risen // 2)
        if target:
            facts["target"] = target
    else:
        # the process's memory rises by more than what is kept: an allocator on its way to its level, pieces between blocks
        holder = holders.largest(risen // 2 if kind == "device" else risen // 3, kind == "device")
    if holder is not None:
        facts.update(holders.describe(holder, kind))
    elif kind != "files":
        facts.update(graphs.describe())
    if len(facts) > 2:
        native.event("memory_holder", **facts)


# ---- after each generation ----

def generation_begins():
    _running.append(True)


def after_generation():
    """Never raises."""
    history = sys.modules.get(__package__ + ".history")
    if history is not None:
        history.after_generation()
    residency.after_generation()
    try:
        try:
            if loaded:
                native.readings_now()
            if len(_running) < 2:
                _what_is_left()
        finally:
            del _running[-1:]
        if not _running:
            _search_waiting(1)
        if _searched:
            return
        _left.append((_device_bytes(), _host_bytes()))
        del _left[:-GENERATIONS]
        if len(_left) == GENERATIONS and (_grows(0) or _grows(1)) and _share("generations").allows():
            _found(0 if _grows(0) else 1)
    except Exception:
        _faults.count("looking at the memory after a generation")


def forget():
    """A new session, or a forked child."""
    global _searched, _first_called
    _left.clear()
    _trends.clear()
    _searched = _first_called = False
    _searching.clear()
    _waiting.clear()
    _values.clear()
    residency.forget()
    caches.forget()
    moved.forget()
    retries.forget()


def _device_bytes():
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda.memory_allocated() if cuda is not None and cuda.is_initialized() else 0


def _host_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _grows(which):
    return all(b[which] - a[which] > LEAST_BYTES for a, b in zip(_left, _left[1:]))


def _found(which):
    global _searched
    _searched = True
    from . import graphs, holders
    grown = _left[-1][which] - _left[0][which]
    facts = {"of": "host" if which else "device", "bytes": grown // (GENERATIONS - 1)}
    with _share("generations"), own_section("what holds memory"):
        holder = holders.largest(grown // 2, which == 0)
        if holder is not None:
            facts.update(holders.describe(holder, facts["of"]))
        else:
            facts.update(graphs.describe())
    native.event("memory_grows", **facts)


os.register_at_fork(after_in_child=forget)
