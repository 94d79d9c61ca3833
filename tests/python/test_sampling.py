"""Sampled Python stacks."""
import _thread
import os
import pathlib
import re
import struct
import sys
import threading
import time
import types

import pytest

import strobe
import strobe_file
from strobe import _sampling
from strobe._core import native


def stacks(done):
    """[(tid, [(function, line), ...])]"""
    return [(tid, frames) for tid, frames, _, native_thread in weighed(done) if not native_thread]


def weighed(done):
    """[(tid, [(function, line), ...], weight in us, native)]"""
    return [(payload[1] & 0xFFFFFFFF, [(done.names.get(word & 0xFFFFF), word >> 32) for word in payload[3:]],
             payload[1] >> 32, bool(aux & 1)) for aux, payload in done.records[strobe_file.STACK]]


@pytest.fixture
def by_hand(record):
    """A session without the sampler's own thread: the test looks."""
    _sampling.stop()
    _sampling.forget()
    yield record
    native.sampler_clock(0)


def cpu_us(done):
    """{tid: [CPU time in us, None where it is not known]}"""
    found = {}
    for aux, payload in done.records[strobe_file.STACK]:
        if not aux & 1:
            found.setdefault(payload[1] & 0xFFFFFFFF, []).append((payload[2] >> 32) - 1 if payload[2] >> 32 else None)
    return found


def test_a_look_tells_the_cpu_time_since_the_last_one(by_hand):
    me = threading.get_native_id()
    begin = time.thread_time_ns()
    native.sampler_look(0)
    while time.thread_time_ns() < begin + 20_000_000:
        pass
    native.sampler_look(0)
    used_us = (time.thread_time_ns() - begin) / 1000
    times = cpu_us(by_hand())[me]
    assert times[0] is None  # nothing to count from
    assert 0 < times[1] <= used_us + 1


def inner(ready, leave):
    ready.set()
    leave.wait()


def outer(ready, leave):
    inner(ready, leave)


def test_a_look_takes_every_threads_functions_and_lines(by_hand):
    ready, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=outer, args=(ready, leave))
    thread.start()
    ready.wait()
    try:
        native.sampler_look(0)
    finally:
        leave.set()
        thread.join()
    done = by_hand()
    by_thread = dict(stacks(done))
    names = [name for name, _ in by_thread[thread.native_id]]
    at = names.index("test_sampling.inner")
    assert names[at + 1] == "test_sampling.outer"  # leaf first
    assert dict(by_thread[thread.native_id])["test_sampling.inner"] == inner.__code__.co_firstlineno + 2
    files = {done.names[aux & 0xFFFFF]: payload for aux, payload in done.records[strobe_file.CODE_FILE]}
    raw = struct.pack("<%dQ" % len(files["test_sampling.inner"]), *files["test_sampling.inner"])
    assert b"test_sampling.py" in raw


def without_line_from(function, begin):
    """The function, whose instructions from that one on have no line, as the jump back of a loop has none on CPython 3.11
    whose turns end on several lines."""
    code, units = function.__code__, begin // 2
    rest = len(code.co_code) // 2 - units
    if sys.version_info >= (3, 11):
        lines = [(13, units)] + [(15, min(8, rest - at)) for at in range(0, rest, 8)]  # 13: a line, 15: none
        table = b"".join(bytes([0x80 | kind << 3 | count - 1]) + (b"\2" if kind == 13 else b"") for kind, count in lines)
    else:
        table = bytes([begin, 1, 2 * rest, 0x80])
    return types.FunctionType(code.replace(co_linetable=table), globals())


def with_call():
    native.sampler_look(0)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="every instruction has a line")
def test_an_instruction_without_a_line_is_at_the_last_line_before_it(by_hand):
    call = without_line_from(with_call, 4)
    assert [line for _, _, line in call.__code__.co_lines()][-1] is None
    call()
    [frames] = [frames for tid, frames in stacks(by_hand()) if tid == threading.get_native_id()]
    assert frames[0] == ("test_sampling.with_call", with_call.__code__.co_firstlineno + 1)


def goes_back(values):
    for value in values:
        if value:
            values[0] = value


@pytest.mark.skipif(sys.version_info < (3, 10), reason="every instruction has a line")
def test_the_jump_back_of_a_loop_has_the_line_that_its_turn_ends_on():
    code = goes_back.__code__
    for begin, _, line in code.co_lines():
        before = [at for start, _, at in code.co_lines() if start <= begin and at]
        assert native.line_before(code, begin) == line if line else before[-1]
    assert native.line_before(without_line_from(with_call, 2).__code__, 2) == with_call.__code__.co_firstlineno + 1
    assert native.line_before(code, -1) == 0  # it has not begun


def calling(file):
    """work(call): a function of a file of strobe's own."""
    made = {}
    exec(compile("def work(call, *args):\n    return call(*args)", os.path.join(os.path.dirname(strobe.__file__), file), "exec"), made)
    return made["work"]


def looks():
    native.sampler_look(0)


def test_what_strobe_does_itself_is_on_no_line_of_the_program(by_hand):
    calling("_models/flops.py")(looks)  # with what it calls
    calling("auto/asked.py")(native.sampler_look, 0)
    done = by_hand()
    mine = [frames for tid, frames in stacks(done) if tid == threading.get_native_id()]
    assert mine == [[("strobe itself", 0)]] * 2
    files = {done.names[aux & 0xFFFFF]: payload for aux, payload in done.records[strobe_file.CODE_FILE]}
    assert b"<strobe>" in struct.pack("<%dQ" % len(files["strobe itself"]), *files["strobe itself"])


def test_every_file_that_works_for_strobe_alone_is_there():
    """own.c knows them by their names: a file that was moved would be the program's."""
    source = (pathlib.Path(__file__).parents[2] / "python/_strobe/own.c").read_text()
    names = re.findall(r'"([\w/]+\.py)"', source[source.index("working[]"):source.index("NULL };")])
    assert len(names) > 10
    assert [name for name in names if not (pathlib.Path(strobe.__file__).parent / name).exists()] == []


def test_what_stands_between_the_program_and_its_call_is_left_out(by_hand):
    calling("auto/modules.py")(looks)
    [frames] = [frames for tid, frames in stacks(by_hand()) if tid == threading.get_native_id()]
    names = [name for name, _ in frames]
    assert names[:2] == ["test_sampling.looks", "test_sampling.test_what_stands_between_the_program_and_its_call_is_left_out"]
    assert not any("work" in name for name in names)


def test_functions_are_bounded(by_hand):
    for i in range(8300):
        exec(compile("look(0)", "made%d.py" % i, "exec"), {"look": native.sampler_look})
    names = {frames[0][0] for _, frames in stacks(by_hand())}
    assert "made0.<module>" in names and "(other)" in names
    assert "made8299.<module>" not in names


def holds(now_ns):
    native.sampler_look(now_ns)


def gives(now_ns):
    native.sampler_look(now_ns)


def test_a_sample_weighs_the_time_since_the_last_look(by_hand):
    """What holds the GIL is seen every 15 ms, what gives it away every 10: the weights make up for it."""
    now = 1_000_000_000
    native.sampler_look(now)
    for i in range(100):
        held = (i * 87) % 100 < 87
        now += 15_000_000 if held else 10_000_000
        (holds if held else gives)(now)
    total = {"test_sampling.holds": 0, "test_sampling.gives": 0}
    for _, frames, weight, _ in weighed(by_hand()):
        if frames[0][0] in total:
            total[frames[0][0]] += weight
    assert total == {"test_sampling.holds": 87 * 15000, "test_sampling.gives": 13 * 10000}


def asked_here():
    native.sampler_ask()
    for _ in range(3):
        pass


def never_asked():
    native.sampler_drain()


def test_the_main_thread_is_seen_where_it_was_asked_not_where_it_gives_the_gil_away(by_hand):
    assert native.sampler_exact()
    asked_here()
    never_asked()
    own = threading.main_thread().native_id
    assert [frames[0][0] for tid, frames in stacks(by_hand()) if tid == own] == ["test_sampling.asked_here"]


def test_another_thread_that_asks_is_heard_at_the_next_instruction(by_hand):
    """CPython up to 3.12 says a pending call of another thread to nobody."""
    asked, leave = threading.Event(), threading.Event()

    def ask():
        native.sampler_ask()
        asked.set()
        leave.wait()
    thread = threading.Thread(target=ask)
    thread.start()
    asked.wait()
    never_asked()
    leave.set()
    thread.join()
    assert threading.main_thread().native_id in dict(stacks(by_hand()))


def test_threads_without_python_are_named_with_the_cpu_they_used(by_hand):
    leave = []

    def spin():  # threading does not know it, as it knows no thread of a library
        while not leave:
            sum(range(100))
    native.sampler_drain()
    _thread.start_new_thread(spin, ())
    native.sampler_drain()
    begin = time.process_time()
    while time.process_time() - begin < 0.5:
        sum(range(1000))
    native.sampler_drain()
    leave.append(True)
    seen = [(frames, weight) for _, frames, weight, native_thread in weighed(by_hand()) if native_thread]
    assert seen and all(len(frames) == 1 and frames[0][0] for frames, _ in seen)
    assert all(weight >= 10_000 for _, weight in seen)


def attributes(done, words):
    """Of numbers: each a key with its type, and a word."""
    return {done.names[key & 0xFFFFF]: struct.unpack("<d" if key >> 20 & 15 == 2 else "<q", struct.pack("<Q", value))[0]
            for key, value in zip(words[::2], words[1::2])}


def test_long_garbage_collections_are_events_and_all_are_counted(program):
    done = program("""
        import gc, strobe
        from strobe._core import native
        gc.disable()  # none but those below
        strobe.start(config={"generate_final_report": False})
        def collect(begin_ns, duration_ns, generation, collected):
            native.sampler_clock(begin_ns)
            native.garbage_seen("start", {"generation": generation, "collected": 0, "uncollectable": 0})
            native.sampler_clock(begin_ns + duration_ns)
            native.garbage_seen("stop", {"generation": generation, "collected": collected, "uncollectable": 0})
        collect(5_000_000_000, 999_999, 0, 3)
        collect(6_000_000_000, 2_500_000, 2, 70)
        strobe.stop()
    """).recordings[0]
    events = [attributes(done, payload[2:]) for name, payload in done.of(strobe_file.EVENT) if name == "garbage collection"]
    assert events == [{"generation": 2, "collected": 70, "duration_s": 0.0025}]
    assert done.counters["strobe.gc_count"] == 2
    assert done.counters["strobe.gc_ns"] == 999_999 + 2_500_000
    assert done.counters["strobe.gc_objects"] == 73


def test_a_collection_inside_strobes_own_work_is_not_the_programs(program):
    done = program("""
        import gc, os, strobe
        from strobe._core import native
        gc.disable()
        strobe.start(config={"generate_final_report": False})
        def collect(begin_ns, collected):
            native.sampler_clock(begin_ns)
            native.garbage_seen("start", {"generation": 2, "collected": 0, "uncollectable": 0})
            native.sampler_clock(begin_ns + 2_500_000)
            native.garbage_seen("stop", {"generation": 2, "collected": collected, "uncollectable": 0})
        made = {}
        exec(compile("def work(call, *args): call(*args)", os.path.join(os.path.dirname(strobe.__file__), "_memory", "holders.py"), "exec"), made)
        made["work"](collect, 5_000_000_000, 1)
        collect(6_000_000_000, 70)
        strobe.stop()
    """).recordings[0]
    events = [attributes(done, payload[2:]) for name, payload in done.of(strobe_file.EVENT) if name == "garbage collection"]
    assert [event["collected"] for event in events] == [70]
    assert done.counters["strobe.gc_count"] == 1 and done.counters["strobe.gc_objects"] == 70


def test_the_sampler_is_on_by_default(program):
    done = program("""
        import gc, strobe
        from strobe._core import native
        strobe.start(config={"generate_final_report": False})
        assert native.garbage_seen in gc.callbacks
        assert not native.sampler_claim()  # it runs
        with strobe.section("work"):
            pass
    """)
    assert done.recordings


@pytest.mark.parametrize("config", [{"sample_hz": 0}, {"sample_hz": None}, {"preset": "production"}])
def test_one_key_and_the_production_preset_switch_it_off(program, config):
    program("""
        import strobe
        from strobe._core import native
        strobe.start(config=%r)
        native.sampler_join()
        assert native.sampler_claim()  # none runs
    """ % dict(config, generate_final_report=False))


def test_a_program_under_sampling_has_its_own_stacks(program):
    done = program("""
        import strobe
        from strobe._core import native
        strobe.start(config={"sample_hz": 500, "generate_final_report": False})
        with strobe.section("work"):
            while not native.sampler_seen():
                sum(range(1000))
    """)
    assert stacks(done.recordings[0])


def test_a_program_that_records_nothing_else_is_sampled(program, tmp_path):
    """As `strobe run --sample=100` starts it: no import of a package, no section."""
    run_dir = tmp_path / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    done = program("""
        import sys
        native = sys.modules["strobe._strobe"]
        def work():
            before = native.sampler_seen()
            while native.sampler_seen() < before + 3:
                sum(range(1000))
        work()
    """, env={"STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir), "STROBE_SAMPLE_HZ": "500",
              "PYTHONPATH": os.path.join(os.path.dirname(strobe.__file__), "hook")})
    names = {name for _, frames in stacks(done.recordings[0]) for name, _ in frames}
    assert "program.work" in names
    assert done.recordings[0].main_tid == done.recordings[0].pid  # the program's own thread, not the sampler's


def test_a_forked_child_is_sampled_from_its_first_generation(program):
    program("""
        import os, strobe
        from strobe import _sampling
        from strobe._core import native
        strobe.start(config={"generate_final_report": False})
        pid = os.fork()
        if not pid:
            started = []
            _sampling._thread.start_new_thread = lambda call, args: started.append(call)
            before = list(started)
            with strobe.generation():
                pass
            os._exit(0 if not before and started == [native.sampler_run] else 1)
        assert os.waitpid(pid, 0)[1] == 0
    """)


def test_the_end_of_the_program_is_not_sampled(monkeypatch):
    from strobe import _session
    seen = []
    monkeypatch.setattr(_sampling, "stop", lambda: seen.append("sampler"))
    monkeypatch.setattr(_session, "native", types.SimpleNamespace(
        recording=lambda: True, run_dir=lambda: None, stop=lambda: seen.append("session")))
    monkeypatch.setattr(_session._torch, "_cuda_is_used", lambda: True)  # and saying so fails: there is no native.missing
    _session._at_exit()
    assert seen == ["sampler", "session"]


def test_no_sampler_outlives_the_interpreter(monkeypatch):
    """Also where nothing was recorded: something in C may record later."""
    from strobe import _session
    seen = []
    monkeypatch.setattr(_sampling, "stop", lambda: seen.append("sampler"))
    monkeypatch.setattr(_session, "native", types.SimpleNamespace(recording=lambda: False))
    _session._at_exit()
    assert seen == ["sampler"]


def test_the_sampler_has_a_descriptor_table_of_its_own(program):
    """What it opens, the program cannot close or take; what the program closes, it does not keep open."""
    done = program("""
        import os, strobe
        from strobe._core import native
        strobe.start(config={"sample_hz": 500, "generate_final_report": False})
        before = native.sampler_seen()
        while native.sampler_seen() == before:
            sum(range(1000))
        for tid in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/comm" % tid) as name:
                if name.read().strip() == "strobe-stacks":
                    print(not {"0", "1", "2"} & set(os.listdir("/proc/self/task/%s/fd" % tid)))
    """)
    assert done.stdout.split() == ["True"]


def first_line(file):
    for line in file:  # waits inside an instruction, without the GIL, and comes to no check before it has returned
        return line


ROUNDS_MOST = 2000


def test_a_wait_inside_an_instruction_is_seen_at_its_line(by_hand):
    """`if tensor.any():` waits so. The line after it is not what takes the time."""
    inside, outside = os.pipe()
    with open(inside, buffering=1) as file, open(outside, "w", buffering=1) as writer:
        rounds = []

        def look():
            for _ in range(ROUNDS_MOST):
                seen = native.sampler_seen()
                native.sampler_ask_or_look()
                rounds.append(native.sampler_seen() - seen)
                writer.write("next\n")
                time.sleep(0)  # lets the reader go on to its next wait
            writer.write("end\n")
        thread = threading.Thread(target=look)
        thread.start()
        while first_line(file) != "end\n":
            pass
        thread.join()
    own, at = threading.main_thread().native_id, first_line.__code__.co_firstlineno + 1
    places = [frames[0] for tid, frames in stacks(by_hand()) if tid == own and frames]
    assert ("test_sampling.first_line", at) in places


def test_handlers_of_the_program_never_run_on_threads_of_strobe(program):
    """They have other descriptors: a handler that writes into the program's pipe would write nowhere."""
    done = program("""
        import os, signal, time
        import strobe
        strobe.start()
        with strobe.section("work"):
            pass
        threads = {}
        while not any(name == "strobe-stacks" for name in threads.values()):
            threads = {t: open("/proc/self/task/%s/comm" % t).read().strip() for t in os.listdir("/proc/self/task")}
        for thread, name in threads.items():
            for line in open("/proc/self/task/%s/status" % thread):
                if line.startswith("SigBlk:") and name.startswith("strobe-"):
                    blocked = int(line.split()[1], 16)
                    for s in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPROF):
                        assert blocked >> (s - 1) & 1, (name, s)
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
        print(sorted(set(threads.values()) & {"strobe-stacks", "strobe-helper"}))
    """)
    assert done.stdout.strip() == "['strobe-helper', 'strobe-stacks']"
