"""Memory that grows with every generation, and what holds it.

PYTEST_DONT_REWRITE: rewritten tests call locals(), and functions that do are left alone.
"""
import collections
import gc
import queue
import sys
import tempfile
import threading
import weakref

import strobe
from strobe._memory import growth, holders, owners
from strobe._native import native


def generate(count, keep, made=lambda: bytearray(b"x") * (8 << 20)):
    kept = []
    for _ in range(count):
        with strobe.generation():
            latents = made()
        if keep:
            kept.append(latents)
    return kept


def grown(monkeypatch, each):
    """Generations that each leave so much behind, whatever the process really does."""
    total = [0]

    def left():
        total[0] += each
        return total[0]
    monkeypatch.setattr(growth, "_host_bytes", left)
    told = []
    monkeypatch.setattr(growth, "native", type("Native", (), {
        "event": staticmethod(lambda name, **facts: told.append((name, facts))), "readings_now": staticmethod(lambda: None)}))
    growth.forget()
    return told


def test_what_keeps_the_memory_is_named_with_its_line(record, monkeypatch):
    told = grown(monkeypatch, 8 << 20)
    generate(8, keep=True)
    assert len(told) == 1
    name, facts = told[0]
    assert (name, facts["of"], facts["bytes"]) == ("memory_grows", "host", 8 << 20)
    assert facts["holder"].startswith("the list `kept` (test_growth.py:")
    assert "kept.append(latents)" in facts["holder"]
    assert facts["file"] == __file__


def test_growth_that_nothing_holds_is_told_without_a_name(record, monkeypatch):
    told = grown(monkeypatch, 8 << 20)
    generate(8, keep=False)
    assert [facts.get("holder") for _, facts in told] == [None]


def test_memory_that_stays_is_no_growth(record, monkeypatch):
    told = grown(monkeypatch, 0)
    generate(8, keep=True)
    assert told == []


# ---- readings that climb ----

def climbs(values, least=48):
    trend = growth.Trend(least)
    return any(trend.rises(value) for value in values)


def test_low_water_marks_that_climb_are_a_rise():
    assert climbs(range(0, 100, 5))
    assert climbs(value // 10 * 10 for value in range(0, 100, 3))  # more readings than steps


def test_what_comes_and_goes_is_no_rise():
    assert not climbs([0, 90] * 20)
    assert not climbs([0, 30, 60, 90] + [90] * 20)  # settles
    assert not climbs(range(40))  # too little


def test_a_rise_is_searched_for_three_times_at_most(record, monkeypatch):
    searched = []
    monkeypatch.setattr(growth, "_search", lambda kind, risen: searched.append(kind))
    growth.forget()
    for number in range(1, 400):
        growth.read(number << 24, 0)
    assert searched == ["host"] * 3


def test_what_holds_pinned_memory_that_grows_is_searched_for(monkeypatch):
    """Its pages are not among the process's own: the process's memory does not grow with it."""
    events, pinned, buffers = [], [0], [bytearray(8 << 20) for _ in range(8)]
    stats = type("cuda", (Torch.cuda,), {"host_memory_stats": staticmethod(lambda: {"allocated_bytes.current": pinned[0]})})
    monkeypatch.setitem(sys.modules, "torch", type("Torch", (), {"cuda": stats}))
    monkeypatch.setattr(growth, "native", type("Native", (), {"snapshot": staticmethod(lambda *values: None),
                                                               "event": staticmethod(lambda name, **facts: events.append((name, facts)))}))
    growth.forget()
    while not events and pinned[0] < 40 << 24:
        pinned[0] += 1 << 24
        growth.read(1 << 30, 5)
    growth.forget()
    (name, facts), = events
    assert name == "memory_holder" and facts["of"] == "host" and "the list `buffers`" in facts["holder"]
    assert len(buffers) == 8


def test_what_holds_more_than_a_third_of_the_hosts_rise_is_named(monkeypatch):
    """malloc was on its way to its level meanwhile: a list of 14 results was half of what a killed program had taken."""
    events, results = [], [bytearray(8 << 20) for _ in range(6)]
    monkeypatch.setattr(growth, "native", type("Native", (), {"event": staticmethod(lambda name, **facts: events.append(facts))}))
    growth._name_holder(holders, None, "host", 110 << 20)
    assert "the list `results`" in events[0]["holder"] and len(results) == 6


def test_a_search_for_files_stops_none_for_memory(record, monkeypatch):
    """Drivers open their devices just before the program begins to leak."""
    searched = []

    def search(kind, risen):
        searched.append(kind)
        with growth._share(kind):
            sum(range(200_000))  # takes time: nothing of this kind for a hundred times as long
    monkeypatch.setattr(growth, "_search", search)
    growth.forget()
    for number in range(1, 40):
        growth.read(1 << 30, number)
    assert searched == ["files"]
    for number in range(1, 40):
        growth.read((1 << 30) + (number << 24), 40)
    assert searched == ["files", "host"]
    growth.forget()


def test_devices_that_a_driver_opens_are_no_leak(monkeypatch):
    events = []
    monkeypatch.setattr(growth, "native", type("Native", (), {"event": staticmethod(lambda name, **facts: events.append(facts))}))
    for target, told in ("/dev/*", 0), ("/data/*.png", 1):
        monkeypatch.setattr(holders, "open_files", lambda: target)
        growth._name_holder(holders, None, "files", 24)
        assert len(events) == told


class Torch:
    """As much of torch as a reading asks for."""
    class cuda:
        is_initialized = staticmethod(lambda: True)
        device_count = staticmethod(lambda: 2)
        host_memory_stats = staticmethod(lambda: {"allocated_bytes.current": 7 << 20})

        @staticmethod
        def memory_stats_as_nested_dict(index):
            used = {"current": 5 << 30, "peak": 6 << 30} if index == 1 else {"current": 0, "peak": 0}
            return {"allocated_bytes": {"all": used}, "reserved_bytes": {"all": used}}


def test_where_outer_sections_end_the_allocator_is_read_as_far_as_it_is_cheap(tmp_path):
    """On a clock that a test moves: 100 ms for 0.1 ms are the budget, a name is read four times a second, and what is
    inside three others is left alone."""
    native, taken, now = strobe._native.native, [], [10 ** 9]

    def move(ns):
        now[0] += ns
        native.sampler_clock(now[0])

    def read():
        taken.append(now[0])
        move(100_000)

    def end(after_ns, name="stage"):
        before = len(taken)
        with strobe.section(name):
            move(after_ns)
        return len(taken) - before

    strobe.start("ends", output_dir=str(tmp_path))
    move(0)
    native.stream_install(lambda device: 0, None)
    native.readings_at_ends(read)
    try:
        assert end(50_000_000) == 1  # the first one is free: it says what one costs
        assert end(110_000_000, "decode") == 0  # it is paid for first
        assert end(110_000_000, "decode") == 1
        assert end(1_000_000) == 0
        assert end(150_000_000) == 1
        assert [end(20_000_000, "block") for _ in range(40)].count(1) == 3  # in 0.8 s, not before 0.1 s are saved
        with strobe.section("a"), strobe.section("b"):
            assert end(300_000_000, "c") == 1
            with strobe.section("c"):
                assert end(300_000_000, "too deep") == 0
    finally:
        native.readings_at_ends(None)
        native.stream_install(None, None)
        native.sampler_clock(0)
        strobe.stop()


def test_a_reading_has_every_device_in_use_and_pinned_memory(monkeypatch):
    taken = []
    monkeypatch.setitem(sys.modules, "torch", Torch)
    monkeypatch.setattr(growth, "native", type("Native", (), {"snapshot": staticmethod(lambda *values: taken.append(values))}))
    growth.forget()
    growth.read(1, 1)
    assert taken == [("strobe.memory.device", 1, 5 << 30, 5 << 30, 6 << 30), ("strobe.memory.pinned", -1, 7 << 20, -1, -1)]


# ---- what holds it ----

MB = 1 << 20


def filled(put):
    for _ in range(6):
        put(bytearray(8 * MB))


def words_for(holder):
    assert holders.largest(40 * MB) is holder
    return holders.describe(holder)["holder"]


def test_closures_are_looked_into():
    callbacks = []
    filled(lambda latents: callbacks.append(lambda: latents))
    assert words_for(callbacks).startswith("the list `callbacks` (test_growth.py:")


def test_default_arguments_are_looked_into():
    defaults = []
    filled(lambda latents: defaults.append(lambda kept=latents: kept))
    assert words_for(defaults).startswith("the list `defaults` (test_growth.py:")


class Log:
    def __init__(self):
        self.entries = collections.deque()


def test_an_attribute_is_named():
    log = Log()
    filled(lambda latents: log.entries.append(latents))
    found = holders.largest(40 * MB)
    assert found is log.entries
    del found
    name = owners._in(log, log.entries)
    assert (name.text, name.file, name.code) == ("entries", __file__, Log)


class Cache:
    def __init__(self):
        self.kept = {}

    def keep(self, key, latents):
        self.kept[key] = latents


def test_an_attribute_is_looked_for_in_its_own_class_first():
    cache = Cache()
    filled(lambda latents: cache.keep(len(cache.kept), latents))
    held = cache.kept
    assert holders.largest(40 * MB) is held
    del held
    told = holders.describe(cache.kept)["holder"]
    assert "self.kept[key] = latents" in told  # generate() has a variable of that name


def test_of_a_queue_the_programs_own_line_is_named():
    frames = queue.Queue()
    filled(lambda latents: frames.put(latents))
    told = holders.describe(frames.queue)
    assert told["holder"].startswith("the deque `queue` of the Queue `frames` (test_growth.py:")
    assert "frames.put(latents)" in told["holder"] and told["file"] == __file__


def test_a_dictionary_of_plain_bytes_is_found():
    results = {}
    filled(lambda latents: results.__setitem__(len(results), latents))
    assert words_for(results).startswith("the dict `results` held 6 objects, 48 MB when it was found")


def test_a_dictionary_of_arrays_in_an_object_is_found():
    """The collector knows no dictionary in which nothing refers to anything, until Python 3.14."""
    class Cache:
        def __init__(self):
            self.answers = {}

        def keep(self, latents):
            self.answers[str(len(self.answers))] = bytes(latents)
    cache = Cache()
    filled(cache.keep)
    words = holders.describe(holders.largest(MB))["holder"]
    assert words.startswith("the dict `answers` (test_growth.py:") and words.endswith("held 6 objects, 48 MB when it was found"), words


def test_what_lies_in_an_object_is_looked_through_in_every_python():
    """Python 3.9 gives no slots of types that are written in C, and leaves an error for each."""
    lies = {"latents": b"0"}
    around = {"a": lies}
    found = native.tracked((dict,), 10000000)
    assert any(one is lies for one in found) and any(one is around for one in found)


def test_open_files_are_found():
    readers = [open(__file__) for _ in range(9)]
    try:
        assert holders.of_files(8) is readers
        assert holders.describe(readers, "files")["holder"].endswith("held 9 open files when it was found")
        assert holders.open_files().endswith("/*.py")
    finally:
        for reader in readers:
            reader.close()


def test_a_name_is_looked_for_in_its_own_function_first():
    kept = []
    filled(lambda latents: kept.append(bytes(latents)))
    assert "kept.append(bytes(latents))" in words_for(kept)  # generate() above has a `kept` too


def test_looking_keeps_nothing_alive():
    """What a frame's variables are read from stays with the frame in older Pythons."""
    class Latents(bytearray):
        pass
    kept = [Latents(8 * MB) for _ in range(6)]
    gone = weakref.ref(kept[0])
    found = holders.largest(MB)
    holders.describe(kept)
    del kept, found
    gc.collect()
    assert gone() is None


def test_a_search_breaks_no_tuple_that_is_being_made():
    """A tuple must have one reference when it is done: who holds a list of all objects meanwhile breaks it."""
    kept, failed, done = [bytearray(1000) for _ in range(50)], [], threading.Event()

    def slow():
        for number in range(200):
            yield [number] * 3

    def make():
        while not done.is_set():
            try:
                assert len(tuple(slow())) == 200
            except SystemError as error:
                failed.append(error)
                return
    threads = [threading.Thread(target=make) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(40):
            holders.largest(1 << 40)
            holders.describe(kept)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert not failed


def test_the_variables_that_a_function_asked_for_stay_its_own():
    def asks():
        first = 1
        mine = locals()
        second = [bytearray(1000) for _ in range(8)]
        holders.largest(1 << 40)
        holders.describe(second)
        return mine

    assert asks() == {"first": 1}


# ---- whose memory it is ----

class Tensor:
    def __init__(self, device):
        self.device, self.nbytes = type("Device", (), {"type": device}), 16 << 20


def test_tensors_on_a_device_hold_no_memory_of_the_host(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type("Torch", (), {"Tensor": Tensor}))
    on_device, on_host = [Tensor("cuda") for _ in range(20)], [Tensor("cpu") for _ in range(10)]
    assert holders.largest(100 << 20) is on_host
    assert holders.largest(100 << 20, True) is on_device
    assert "`on_device` held 20 objects, 320 MB" in holders.describe(on_device, "device")["holder"]
    assert "`on_host` held 10 objects, 160 MB" in holders.describe(on_host, "host")["holder"]


class Lazy:
    """As a lazy module: whatever it is asked for, it imports something."""
    asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        raise ImportError(name)


def test_nothing_is_asked_of_objects_that_run_code_when_asked(tmp_path):
    assert holders._files([Lazy() for _ in range(40)]) == 0
    assert Lazy.asked == []
    with open(tmp_path / "a", "w") as file, tempfile.NamedTemporaryFile() as wrapped:
        assert holders._files([file] * 40) == holders._files([wrapped] * 40) == 40
    assert holders._files([open] * 40) == holders._files([type(file)] * 40) == 0
