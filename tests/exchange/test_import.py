"""strobe import: Kineto and Chrome traces in every form, and hostile ones."""
import collections
import gzip
import json
import os
import pathlib
import re

import pytest

from conftest import DATA


def x(name, ts, dur, tid=1, pid=1, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def union(intervals):
    total, until = 0, None
    for begin, end in sorted(intervals):
        if until is None or begin > until:
            total += end - begin
            until = end
        elif end > until:
            total += end - until
            until = end
    return total


def ns(us):
    whole, _, part = str(us).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def facts(path):
    """What an independent reading of the same JSON says about the GPU."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as f:
        trace = json.load(f, parse_float=str)
    kernels, work, copies = collections.defaultdict(lambda: [0, 0]), [], 0
    for e in trace["traceEvents"]:
        if e.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        begin, dur = ns(e["ts"]), ns(e["dur"])
        work.append((begin, begin + dur))
        if e["cat"] == "kernel":
            kernels[e["name"]][0] += 1
            kernels[e["name"]][1] += dur
        if e["cat"] == "gpu_memcpy":
            copies += e["args"]["bytes"]
    return {"kernels": dict(kernels), "busy_ns": union(work), "copy_bytes": copies}


def check_gpu(report, expected):
    gpu = report["gpu_trace"]
    assert gpu["kernel_count"] == sum(n for n, _ in expected["kernels"].values())
    assert round(gpu["busy_s"] * 1e9) == expected["busy_ns"]
    assert sum(c["bytes"] for c in gpu["copies"]) == expected["copy_bytes"]
    for row in gpu["top_kernels"]:
        if "... (" not in row["name"]:  # a name of more than 1900 bytes is cut
            assert [row["count"], round(row["total_s"] * 1e9)] == expected["kernels"][row["name"]]
    assert round((gpu["busy_s"] + gpu["idle_s"]) * 1e9) == round(gpu["window_s"] * 1e9)


@pytest.mark.parametrize("how", ["plain", "packed", "shuffled"])
def test_kineto_gpu_facts_equal_an_independent_count(strobe, kineto, how):
    name = "trace.json.gz" if how == "packed" else "trace.json"
    path = kineto(name, "--steps", 12, "--blocks", 4, *(["--shuffle"] if how == "shuffled" else []))
    report = strobe.report(path)
    check_gpu(report, facts(path))
    stages = {s["name"]: s for s in report["stage_analysis"]["stages"]}
    assert stages["ProfilerStep"]["count"] == 12 and stages["dit_block"]["count"] == 48
    busy = sum(s.get("gpu_busy_s", 0) for s in report["stage_analysis"]["stages"] if "parent" not in s)
    assert busy == pytest.approx(report["gpu_trace"]["busy_s"], abs=1e-9)
    assert report["iterations"][0]["name"] == "ProfilerStep" and report["iterations"][0]["count"] == 12


def test_a_real_trace_from_a_gpu(strobe):
    path = DATA / "kineto-h200.json.gz"
    check_gpu(strobe.report(path), facts(path))


@pytest.mark.parametrize("path", sorted((pathlib.Path(__file__).parent / "traces").glob("*.json.gz")), ids=lambda p: p.name.split(".json")[0])
def test_traces_of_old_and_new_torch_keep_every_event(strobe, path):
    """Made by make_torch_trace.py: plain, with Python stacks, with shapes and memory."""
    with gzip.open(path, "rt", errors="replace") as f:  # torch 2.3 writes some names from memory it has given back
        trace = json.load(f, parse_float=str, strict=False)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") != "Trace"]
    expected, seen = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    for e in events:
        name = re.sub("[\x00-\x1f]", "\ufffd", e["name"])
        expected[name][0] += 1
        expected[name][1] += ns(e["dur"])
    for z in strobe.zones(strobe.imported(path)):
        seen[z["name"]][0] += 1
        seen[z["name"]][1] += z["duration_ns"]
    assert len(events) > 500 and seen == expected


def test_the_order_of_events_does_not_matter(strobe, kineto):
    plain = strobe.imported(kineto("a.json", "--steps", 6, "--blocks", 3))
    mixed = strobe.imported(kineto("b.json", "--steps", 6, "--blocks", 3, "--shuffle"))

    def places(run):
        return sorted((r["start_ns"], r["duration_ns"], r["depth"], r["name"]) for r in strobe.zones(run))
    assert places(plain) == places(mixed)


def test_rank_device_and_time_are_kept(strobe, kineto):
    run = strobe.imported(kineto("r.json", "--steps", 2, "--rank", 3))
    chrome = json.loads(strobe("export", run, "--to", "chrome", "-o", "-"))
    assert chrome["distributedInfo"] == {"backend": "nccl", "rank": 3, "world_size": 8}
    assert chrome["deviceProperties"] == [{"id": 0, "name": "NVIDIA H200"}]
    assert chrome["baseTimeNanoseconds"] == 1762000000000000000 + 1000 * 1000


def test_kernels_whose_names_say_nothing_go_by_their_launch(strobe):
    def kernel(at, **launch):
        return {**x("myk_0", at, 50, tid=7, pid=0), "cat": "kernel", "args": {"device": 0, "stream": 7, "block": [256, 1, 1], **launch}}
    run = strobe.imported([kernel(0, grid=[4096, 1, 1], **{"shared memory": 65536}), kernel(100, grid=[4096, 1, 1], **{"shared memory": 0}),
                           kernel(200, grid=[64, 64, 1], **{"shared memory": 0}), kernel(300, grid=[4096, 1, 1])])
    assert {f["family"]: f["kernel_count"] for f in strobe.report(run)["gpu_trace"]["families"]} == {
        "GEMM": 1, "element-wise": 1, "not recognised": 2}


def test_the_backend_is_what_the_trace_says_or_not_said(strobe, tmp_path):
    for said in ("gloo", "nccl", None):
        about = {"rank": 1, "world_size": 2, **({"backend": said} if said else {})}
        path = tmp_path / f"{said}.json"
        path.write_text(json.dumps({"distributedInfo": about, "traceEvents": [x("a", 0, 10)]}))
        chrome = json.loads(strobe("export", strobe.imported(path), "--to", "chrome", "-o", "-"))
        assert chrome["distributedInfo"] == about


def test_array_form_object_form_and_an_array_without_its_end(strobe):
    events = [x("a", 0, 10), x("b", 2, 3)]
    for content in (events, {"traceEvents": events}, {"traceEvents": events, "otherData": {"deep": [[{}]]}},
                    json.dumps(events)[:-1], json.dumps(events)[:-1] + ",\n"):
        assert [(z["name"], z["depth"]) for z in strobe.zones(strobe.imported(content))] == [("b", 1), ("a", 0)]


def test_begin_and_end_events_in_any_order(strobe):
    events = [{"ph": "E", "ts": 9, "pid": 1, "tid": 1}, {"ph": "B", "name": "outer", "ts": 1, "pid": 1, "tid": 1, "args": {"frames": 4}},
              {"ph": "E", "ts": 5, "pid": 1, "tid": 1}, {"ph": "B", "name": "inner", "ts": 2, "pid": 1, "tid": 1},
              {"ph": "B", "name": "other", "ts": 1, "pid": 1, "tid": 2}, {"ph": "E", "ts": 4, "pid": 1, "tid": 2}]
    zones = {z["name"]: z for z in strobe.zones(strobe.imported(events))}
    assert (zones["outer"]["start_ns"], zones["outer"]["duration_ns"], zones["outer"]["depth"]) == (0, 8000, 0)
    assert (zones["inner"]["start_ns"], zones["inner"]["duration_ns"], zones["inner"]["depth"]) == (1000, 3000, 1)
    assert zones["outer"]["attributes"] == {"frames": 4}
    assert zones["other"]["duration_ns"] == 3000 and zones["other"]["tid"] == "2"


def test_unmatched_begins_and_ends_are_said(strobe):
    path = strobe.write("t.json", [x("a", 0, 10), {"ph": "B", "name": "open", "ts": 1, "pid": 1, "tid": 1}, {"ph": "E", "ts": 0, "pid": 1, "tid": 7}])
    out = strobe("import", path, "-o", strobe.folder / "r")
    assert "1 end without a begin" in out and "1 begin without an end" in out


def test_zones_that_cross_are_kept_as_spans(strobe):
    run = strobe.imported([x("a", 0, 10.5), x("b", 5, 10.25), x("c", 6, 1.125)])
    kinds = {z["name"]: (z["kind"], z["start_ns"], z["duration_ns"]) for z in strobe.zones(run)}
    assert kinds == {"a": ("zone", 0, 10500), "b": ("span", 5000, 10250), "c": ("zone", 6000, 1125)}


def test_whole_microseconds_nest_in_spite_of_rounding(strobe):
    run = strobe.imported([x("parent", 10, 5), x("child", 12, 4)])
    assert {z["name"]: (z["kind"], z["depth"]) for z in strobe.zones(run)} == {"parent": ("zone", 0), "child": ("zone", 1)}


def test_async_events_become_spans(strobe):
    def a(ph, name, id, ts, **more):
        return {"ph": ph, "cat": "net", "name": name, "id": id, "ts": ts, "pid": 1, "tid": 1, **more}
    run = strobe.imported([x("work", 0, 100), a("b", "load", "0x1", 10), a("b", "load", "0x2", 20), a("e", "load", "0x1", 50),
                           a("e", "load", "0x2", 30), a("b", "part", "0x1", 12), a("e", "part", "0x1", 13)])
    spans = sorted((z["name"], z["start_ns"], z["duration_ns"]) for z in strobe.zones(run) if z["kind"] == "span")
    assert spans == [("load", 10000, 40000), ("load", 20000, 10000), ("part", 12000, 1000)]


def test_counters_marks_names_and_arguments(strobe):
    run = strobe.imported([
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "trainer"}},
        {"args": {"name": "worker é"}, "name": "thread_name", "ph": "M", "pid": 7, "tid": 9},
        x("stage", 0, 100, tid=9, pid=7, args={"frames": 16, "scale": 7.5, "dtype": "bf16", "cached": True, "shape": [1, 2]}),
        {"ph": "C", "name": "fps", "ts": 5, "pid": 7, "args": {"value": 12.5}},
        {"ph": "C", "name": "mem", "ts": 6, "pid": 7, "args": {"used": 1, "free": 2}},
        {"ph": "i", "name": "ckpt", "ts": 7, "pid": 7, "tid": 9, "s": "t", "args": {"path": "/a\"b"}}])
    rows = strobe.rows(run)
    zone = next(r for r in rows if r["kind"] == "zone")
    assert zone["thread"] == "worker é" and zone["attributes"] == {"frames": 16, "scale": 7.5, "dtype": "bf16", "cached": 1}
    assert {r["name"]: float(r["value"]) for r in rows if r["kind"] == "counter"} == {"fps": 12.5, "mem.used": 1, "mem.free": 2}
    mark = next(r for r in rows if r["kind"] == "mark")
    assert (mark["name"], mark["start_ns"], mark["attributes"]) == ("ckpt", 7000, {"path": "/a\"b"})


def test_times_as_strings_floats_and_huge_numbers_are_exact(strobe):
    base = 1790857026000123
    run = strobe.imported('[{"ph":"X","name":"a\\u00e9\\ud83d\\ude00","ts":"%d.125","dur":"1.5","pid":"CPU functions","tid":"x"},'
                          '{"ph":"X","name":"b","ts":%d.0625e1,"dur":1e-3,"pid":123456789012345678901234567890,"tid":-1}]' % (base, base // 10))
    zones = {z["name"]: (z["start_ns"], z["duration_ns"]) for z in strobe.zones(run)}
    assert set(zones) == {"aé😀", "b"}
    assert zones["aé😀"][1] == 1500 and zones["b"][1] == 1
    assert zones["aé😀"][0] - zones["b"][0] == (base * 1000 + 125) - (base // 10 * 10000 + 625)


def test_an_export_reads_back_the_same(strobe, kineto):
    run = strobe.imported(kineto("k.json", "--steps", 5, "--blocks", 2))
    again = strobe.imported(strobe.write("again.json", strobe("export", run, "--to", "chrome", "-o", "-")))
    for kinds in (("zone",), ("kernel", "copy_h2d", "copy_d2h", "copy_d2d", "memset")):
        def rows(r):
            return sorted((z["start_ns"], z["duration_ns"], z["depth"] or 0, z["name"], z["bytes"]) for z in strobe.rows(r) if z["kind"] in kinds)
        assert rows(run) == rows(again)
    busy = [strobe.report(r)["gpu_trace"] for r in (run, again)]
    assert busy[0]["top_zones"] == busy[1]["top_zones"] and busy[0]["launch_ahead_s"] == busy[1]["launch_ahead_s"]


GOOD = b'[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}'

HOSTILE = {
    "truncated": (GOOD + b',{"ph":"X","na', 67, "the file ends inside a string"),
    "truncated object": (b'{"traceEvents":' + GOOD + b",", 69, "the file ends where a value should be"),
    "ts of a wrong type": (GOOD + b',{"ph":"X","name":"a","ts":[1],"dur":2}]', 80, '"ts" is not a number'),
    "ts as words": (GOOD + b',{"ph":"X","name":"a","ts":"soon","dur":2}]', 80, '"ts" is not a number'),
    "ph of a wrong type": (b'[{"ph":5,"name":"a"}]', 7, '"ph" is not a string of one letter'),
    "no ts": (GOOD + b',{"ph":"X","name":"a","dur":2}]', 54, 'without "ts"'),
    "no ph": (GOOD + b',{"name":"a","ts":2}]', 54, 'without "ph"'),
    "an event that is a number": (GOOD + b",5]", 54, "an event is not an object"),
    "events of a wrong type": (b'{"traceEvents":{}}', 15, '"traceEvents" is not an array'),
    "no events at all": (b'{"a":1}', 6, "this JSON is not a trace"),
    "NaN": (GOOD + b',{"ph":"X","name":"a","ts":NaN,"dur":2}]', 80, "NaN and Infinity are not JSON"),
    "a time past all clocks": (GOOD + b',{"ph":"X","name":"a","ts":1e300,"dur":2}]', 80, '"ts" is out of range'),
    "a million levels": (b'[{"ph":"X","args":' + b"[" * 1000000, 528, "nested deeper than 512 levels"),
    "a NUL byte": (b'[{"ph":"X",\0"name":"a"}]', 11, "expected a name in quotes, found byte 0x00"),
    "something after the end": (GOOD + b"] x", 55, "expected the end of the file, found 'x'"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_traces_get_one_line_with_the_offset(strobe, case):
    content, offset, what = HOSTILE[case]
    path = strobe.write("hostile.json", content)
    before = sorted(os.listdir(strobe.folder))
    err = strobe("import", path, "-o", strobe.folder / "deep" / "run", code=2)
    assert err.count("\n") == 1 and "hostile.json' line 1, byte %d: " % offset in err and what in err, err
    assert sorted(os.listdir(strobe.folder)) == before
    assert strobe("report", path, code=2).count("\n") == 1


@pytest.mark.parametrize("byte", [b"\0", b"\n", b"\xff", b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_cost_their_name_only(strobe, byte):
    path = strobe.write("bytes.json", GOOD + b',{"ph":"X","name":"odd' + byte + b'","pid":1,"tid":1,"ts":30,"dur":2}]')
    out = strobe("import", path, "-o", strobe.folder / "run")
    assert ("1 byte of a name that is no text replaced" if len(byte) == 1 else "3 bytes of names that are no text replaced") in out
    assert [z["name"] for z in strobe.zones(strobe.folder / "run")] == ["a", "odd" + "\ufffd" * len(byte)]


def test_a_negative_duration_costs_that_event_only(strobe):
    path = strobe.write("back.json", GOOD + b',{"ph":"X","name":"back","pid":1,"tid":1,"ts":30,"dur":-2}]')
    out = strobe("import", path, "-o", strobe.folder / "run")
    assert "1 duration below zero taken as none" in out
    assert "back" in strobe("report", strobe.folder / "run")


def test_a_byte_order_mark_is_skipped(strobe):
    path = strobe.write("mark.json", b"\xef\xbb\xbf" + GOOD + b"]")
    strobe("import", path, "-o", strobe.folder / "run")
    twice = strobe.write("twice.json", b"\xef\xbb\xbf" * 2 + GOOD + b"]")
    strobe("report", twice, code=2)


@pytest.mark.skipif("STROBE_SANITIZED" in os.environ, reason="a sanitizer maps terabytes, ulimit -v refuses them")
def test_a_string_that_claims_to_be_huge_takes_no_memory(strobe):
    path = strobe.folder / "huge.json"
    with open(path, "wb") as f:
        f.write(b'[{"ph":"X","name":"')
        for _ in range(64):
            f.write(b"x" * (1 << 20))
    done = __import__("subprocess").run(["sh", "-c", "ulimit -v 400000; exec \"$0\" import \"$1\" -o run", str(__import__("conftest").BUILD / "strobe"), str(path)],
                                        cwd=strobe.folder, capture_output=True, text=True)
    assert done.returncode == 2 and "the file ends inside a string" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("content, what", [(b"", "is empty"), (b"\x1f\x8b\x08\x00", "gzip"), (b"[]", "holds no events"),
                                           (b"{\"traceEvents\":[]}", "holds no events"), (b"plain words\n", "stage line"), (b"\0\0\0", "neither"),
                                           (b'[{"ph":"X","name":"a","ts":0,"dur":1},{"ph":"X","name":"a","ts":3.2e13,"dur":1}]', "370 days apart")])
def test_what_is_no_trace_is_named(strobe, content, what):
    path = strobe.write("odd.bin", content)
    err = strobe("import", path, code=2)
    assert what in err and err.count("\n") == 1 and "odd.bin" in err


def test_a_damaged_gzip_is_named(strobe, kineto):
    whole = gzip.compress(kineto("k.json", "--steps", 2).read_bytes())
    for damaged in (whole[:-400], whole[:3000] + b"\xff" * 50 + whole[3050:]):
        err = strobe("import", strobe.write("d.json.gz", damaged), code=2)
        assert "d.json.gz' " in err and err.count("\n") == 1
    double = strobe.write("two.json.gz", gzip.compress(b'[{"ph":"X","name":"a","ts":1,') + gzip.compress(b'"dur":2,"pid":1,"tid":1}]'))
    assert len(strobe.zones(strobe.imported(double))) == 1


def test_files_and_folders_that_cannot_be(strobe):
    assert "cannot open" in strobe("import", "nothing.json", code=2)
    assert "is a folder" in strobe("import", strobe.folder, code=2)
    run = strobe.imported([x("a", 0, 1)])
    assert "is a run already" in strobe("import", run / "run.strobe", code=2)
    assert "holds a run already" in strobe("import", strobe.write("t.json", [x("a", 0, 1)]), "-o", run, code=2)
    assert "no file given" in strobe("import", code=2)


def test_a_trace_of_ends_alone_is_refused_with_their_number(strobe):
    path = strobe.write("ends.json", json.dumps([{"ph": "E", "pid": 1, "tid": 1, "ts": t} for t in range(3)]))
    err = strobe("import", path, "-o", strobe.folder / "r", code=2)
    assert "holds nothing that can be shown: 3 ends without a begin left out" in err
    assert not (strobe.folder / "r").exists()


def test_what_could_not_be_kept_is_said_in_the_report_too(strobe):
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 5}, {"ph": "E", "pid": 1, "tid": 1, "ts": 9}]
    report = strobe.report(strobe.write("t.json", json.dumps(events)))
    assert report["recording"]["warnings"] == ["import: 1 end without a begin left out"]


def test_lanes_have_names_that_say_what_they_are(strobe):
    def x(name, pid, tid, cat="cpu_op"):
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": 1, "dur": 5}
    events = [x("main", 623, 623), x("main", 623, 623), x("flush", -1, 0, "overhead"), x("other", 77, 3), x("odd", 623, "pool")]
    rows = strobe.zones(strobe.imported(strobe.write("t.json", json.dumps({"traceEvents": events}))))
    lanes = {r["name"]: r["thread"] for r in rows}
    assert lanes["flush"] == "profiler overhead"
    assert lanes["other"] == "process 77, thread 3"
    assert lanes["odd"] == "pool"


def test_a_large_file_is_read_ahead_with_the_same_result_and_the_same_refusals(strobe, kineto):
    whole = kineto("whole.json", "--megabytes", 1.5).read_bytes()
    packed = strobe.write("whole.json.gz", gzip.compress(whole, 0))
    rows = [strobe.rows(strobe.imported(strobe.write("plain.json", whole))), strobe.rows(strobe.imported(packed))]
    assert rows[0] == rows[1] and len(rows[0]) > 1000
    bad = whole.rfind(b'"ph"')
    broken = strobe.write("broken.json", whole[:bad] + b"\x01" + whole[bad:])
    assert f"byte {bad}: expected a name in quotes, found byte 0x01" in strobe("import", broken, "-q", "-o", "x", code=2)
    cut = strobe.write("cut.json.gz", packed.read_bytes()[:-20])
    assert "the gzip data ends too early" in strobe("import", cut, "-q", "-o", "x", code=2)
    assert not (strobe.folder / "x").exists()
