"""Sampled Python stacks."""
import os
import struct
import threading
import types

import strobe
import strobe_file
from strobe import _sampling
from strobe._core import native


def stacks(done):
    """[(tid, [(function, line), ...])]"""
    found = []
    for _, payload in done.records[strobe_file.STACK]:
        found.append((payload[1], [(done.names.get(word & 0xFFFFF), word >> 32) for word in payload[3:]]))
    return found


def inner(ready, leave):
    ready.set()
    leave.wait()


def outer(ready, leave):
    inner(ready, leave)


def test_a_look_takes_every_threads_functions_and_lines(record):
    ready, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=outer, args=(ready, leave))
    thread.start()
    ready.wait()
    try:
        _sampling.forget()
        _sampling._look(own=0)
    finally:
        leave.set()
        thread.join()
    done = record()
    by_thread = dict(stacks(done))
    names = [name for name, _ in by_thread[thread.native_id]]
    at = names.index("test_sampling.inner")
    assert names[at + 1] == "test_sampling.outer"  # leaf first
    assert dict(by_thread[thread.native_id])["test_sampling.inner"] == inner.__code__.co_firstlineno + 2
    files = {done.names[aux & 0xFFFFF]: payload for aux, payload in done.records[strobe_file.CODE_FILE]}
    raw = struct.pack("<%dQ" % len(files["test_sampling.inner"]), *files["test_sampling.inner"])
    assert b"test_sampling.py" in raw


def test_functions_are_bounded(record, monkeypatch):
    monkeypatch.setattr(_sampling, "FUNCTIONS_KEPT", 1)
    _sampling.forget()
    first, second = compile("1", "a.py", "exec"), compile("2", "b.py", "exec")
    assert _sampling._function(first) != _sampling._function(second) == native.function_id("(other)", "")
    _sampling.forget()


def test_a_program_under_sampling_has_its_own_stacks(program):
    done = program("""
        import strobe
        strobe.start(config={"sample_hz": 500, "generate_final_report": False})
        from strobe import _sampling
        with strobe.section("work"):
            seen = 0
            while not _sampling._functions:
                sum(range(1000))
    """)
    assert done.recordings[0].records[strobe_file.STACK]


def test_a_program_that_records_nothing_else_is_sampled(program, tmp_path):
    """As `strobe run --sample=100` starts it: no import of a package, no section."""
    run_dir = tmp_path / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    done = program("""
        import sys
        seen = sys.modules["strobe._sampling"]._functions
        def work():
            while not any(code.co_name == "work" for code, _ in list(seen.values())):
                sum(range(1000))
        work()
    """, env={"STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir), "STROBE_SAMPLE_HZ": "500",
              "PYTHONPATH": os.path.join(os.path.dirname(strobe.__file__), "hook")})
    names = {name for _, frames in stacks(done.recordings[0]) for name, _ in frames}
    assert "program.work" in names
    assert done.recordings[0].main_tid == done.recordings[0].pid  # the program's own thread, not the sampler's


def test_the_end_of_the_program_is_not_sampled(monkeypatch):
    from strobe import _session
    seen = []
    monkeypatch.setattr(_sampling, "_hz", 100.0)  # as if its thread ran
    monkeypatch.setattr(_session, "native", types.SimpleNamespace(
        recording=lambda: True, run_dir=lambda: None, stop=lambda: seen.append(_sampling._hz)))
    monkeypatch.setattr(_session._torch, "_cuda_is_used", lambda: True)  # and saying so fails: there is no native.missing
    _session._at_exit()
    assert seen == [0]
