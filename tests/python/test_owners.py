"""What holds memory is named also where it has no variable of its own: a closure, a cache, a class, a thread's own storage, a
library's object, a graph of autograd.

PYTEST_DONT_REWRITE: rewritten tests call locals(), and functions that do are left alone.
"""
import functools
import gc
import logging
import logging.handlers
import mmap
import os
import re
import sys
import threading
import weakref

from strobe._memory import graphs, holders, owners

MB = 1 << 20


def test_a_program_that_came_through_a_pipe_has_no_lines(tmp_path):
    """`python /dev/stdin`: reading would wait, or take the program's own input."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = []
    asks = threading.Thread(target=lambda: told.append(owners.line_text(str(pipe), 1)), daemon=True)
    asks.start()
    asks.join(60)
    assert told == [None]
    (tmp_path / "script.py").write_text("x = [1]  # one\n")
    assert owners.line_text(str(tmp_path / "script.py"), 1) == "x = [1]"



def made():
    return bytearray(8 * MB)


def numbered(words):
    return re.sub(r"(test_owners.py:)\d+", r"\1N", words)


def same(told, words):
    assert numbered(told)[:len(words)] == words
    return True


def remembering(function):
    seen = []

    def call():
        seen.append(function())
    return call, lambda: seen


class Thing:
    pass


def test_what_is_freed_during_a_search_is_not_kept_until_its_end():
    old = [object()] * 4
    gc.collect()
    young = [Thing() for _ in range(4)]
    left, seen = weakref.ref(young[0]), []

    def look(item):
        nonlocal young
        if type(item) is Thing:
            young = None
        elif item is old[0]:
            seen.append(left())
        return False
    holders.of_kind(look, 3)
    assert seen[:1] == [None]


def test_what_a_closure_keeps_has_its_name_and_line():
    call, kept = remembering(made)
    for _ in range(6):
        call()
    assert same(holders.describe(holders.largest(40 * MB))["holder"], "the list `seen` (test_owners.py:N: seen.append(function())) held 6 objects, 48 MB")


@functools.lru_cache(maxsize=None)
def positions(shift):
    return made()


@functools.lru_cache(maxsize=100)
def encoded(prompt):
    return made()


def test_a_cache_is_named_by_its_function():
    for number in range(6):
        positions(number)
    told = holders.describe(holders.largest(40 * MB))["holder"]
    positions.cache_clear()
    assert same(told, "the cache of `positions` (test_owners.py:N: @functools.lru_cache(maxsize=None)) held 6 objects, 48 MB")


def test_a_bounded_cache_is_looked_into():
    for number in range(6):
        encoded("prompt %d" % number)
    told = holders.describe(holders.largest(40 * MB))["holder"]
    encoded.cache_clear()
    assert same(told, "the cache of `encoded` (test_owners.py:N: @functools.lru_cache(maxsize=100)) held 6 objects, 48 MB")


class Figure:
    shown = {}

    def __init__(self, number):
        self.canvas = made()
        Figure.shown[number] = self


def test_what_a_class_keeps_is_named():
    for number in range(6):
        Figure(number)
    told = holders.describe(holders.largest(40 * MB))["holder"]
    Figure.shown.clear()
    assert same(told, "the dict `shown` (test_owners.py:N: Figure.shown[number] = self) held 6 objects, 48 MB")


local = threading.local()


def test_a_threads_own_storage_is_named():
    filled, done = threading.Event(), threading.Event()

    def work():
        local.frames = []
        for _ in range(6):
            local.frames.append(made())
        filled.set()
        done.wait()
    thread = threading.Thread(target=work)
    thread.start()
    filled.wait()
    told = holders.describe(holders.largest(40 * MB))["holder"]
    done.set()
    thread.join()
    assert same(told, "the list `frames` of the _local `local` (test_owners.py:N: local.frames.append(made())) held 6 objects, 48 MB")


state = {"sessions": {"frames": []}}


def test_what_lies_in_other_containers_has_the_name_above():
    for _ in range(6):
        state["sessions"]["frames"].append(made())
    told = holders.describe(holders.largest(40 * MB))["holder"]
    state["sessions"]["frames"].clear()
    assert same(told, "the list `frames` of the dict `state` (test_owners.py:N: state[\"sessions\"][\"frames\"].append(made()))")


def test_a_log_that_keeps_frames_is_named_by_the_line_that_logs():
    log = logging.Logger("video")
    log.addHandler(logging.handlers.MemoryHandler(1000, flushLevel=logging.CRITICAL))
    for _ in range(6):
        log.debug("decoded %s", made())
    told = holders.describe(holders.largest(40 * MB))
    log.handlers[0].buffer.clear()
    assert "(test_owners.py:N: log.debug(\"decoded %s\", made()))" in numbered(told["holder"])
    assert told["file"] == __file__


class Reader:
    def __init__(self, path):
        self.file = open(path)


def test_objects_that_keep_a_file_open_count_as_files(tmp_path):
    with open(tmp_path / "clip", "wb+") as file:
        file.write(b"x" * 4096)
        file.flush()
        maps = [mmap.mmap(file.fileno(), 4096) for _ in range(9)]
    readers = [Reader(tmp_path / "clip") for _ in range(9)]
    assert holders._files(maps) == holders._files(readers) == 9
    assert holders._files([{"file": reader.file} for reader in readers]) == 0  # lists of settings, arguments, …
    for one in maps + [reader.file for reader in readers]:
        one.close()


# ---- graphs, with as much of torch as is asked for ----

class Node:
    def __init__(self, name, *before):
        self.next_functions, self._name = [(one, 0) for one in before], name

    def name(self):
        return self._name


class Tensor:
    def __init__(self, grad_fn=None):
        self.grad_fn = grad_fn

    def __add__(self, other):
        return Tensor(Node("AddBackward0", self.grad_fn, other.grad_fn))


class Module:
    pass


def with_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"Tensor": Tensor, "nn": type("nn", (), {"Module": Module})}))


WEIGHT = Node("torch::autograd::AccumulateGrad")


def loss():
    return Tensor(Node("MeanBackward0", Node("AddmmBackward0", WEIGHT)))


def test_a_loss_that_is_added_up_with_its_graph_is_named(monkeypatch):
    with_torch(monkeypatch)
    total = loss()
    for _ in range(20):
        total = total + loss()
    told = graphs.describe()
    assert told["holder"].startswith("the tensor `total` (test_owners.py:")
    assert told["holder"].endswith("kept the graphs of 21 computations when it was found")


def test_losses_that_are_listed_with_their_graphs_are_named(monkeypatch):
    with_torch(monkeypatch)
    losses = []
    for _ in range(20):
        losses.append(loss())
    told = graphs.describe()
    assert told["holder"].startswith("the list `losses` (test_owners.py:")
    assert "losses.append(loss())" in told["holder"] and "20 tensors, each with the graph that made it" in told["holder"]


def test_the_graph_of_one_step_is_no_leak(monkeypatch):
    with_torch(monkeypatch)
    current, weights = loss(), [Node("torch::autograd::AccumulateGrad") for _ in range(30)]
    for weight in weights:
        current = Tensor(Node("AddmmBackward0", current.grad_fn, weight))
    assert graphs.describe() == {}
