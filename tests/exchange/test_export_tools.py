"""Exports for speedscope, pprof and OpenTelemetry, read by small readers of our own; the tools themselves are in
tests/real_tools and page/speedscope."""
import csv
import gzip
import io
import json
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]


def strobe(*arguments, cwd, check=True):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    environment["PYTHONPATH"] = str(BUILD / "python")
    return subprocess.run([BUILD / "strobe", *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, timeout=120, check=check)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    subprocess.run([BUILD / "tests" / "make_recordings", folder], check=True)
    for golden in (SOURCE / "tests/golden").glob("*.strobe"):
        (folder / golden.name).write_bytes(golden.read_bytes())
    return folder


RUNS = ["rich.strobe", "traced.strobe", "blocks.strobe", "killed.strobe", "empty.strobe", "v1-records.strobe", "v1-digest.strobe", "v1-zones.strobe"]


def exported(folder, run, to, *options):
    strobe("export", run, "--to", to, "-o", "out." + to, *options, cwd=folder)
    return (folder / ("out." + to)).read_bytes()


def rows(folder, run, kinds=("zone", "open")):
    """Zones by the CSV export."""
    return [r for r in csv.DictReader(io.StringIO(exported(folder, run, "csv").decode())) if r["kind"] in kinds]


# ---- speedscope ----

def walk(profile, frames):
    """The zones of an evented profile, after a check that they nest."""
    stack, found, last = [], [], -1 << 62
    for event in profile["events"]:
        assert event["at"] >= last and profile["startValue"] <= event["at"] <= profile["endValue"]
        last = event["at"]
        if event["type"] == "O":
            stack.append((event["frame"], event["at"]))
        else:
            frame, begin = stack.pop()
            assert frame == event["frame"]
            found.append((begin, event["at"], frames[frame]["name"]))
    assert not stack
    return found


@pytest.mark.parametrize("run", RUNS)
def test_speedscope_has_every_zone_nested(runs, run):
    document = json.loads(exported(runs, run, "speedscope"))
    frames = document["shared"]["frames"]
    found = []
    for profile in document["profiles"]:
        if profile["type"] == "evented" and not profile["name"].startswith("GPU"):
            assert profile["unit"] == "nanoseconds"
            found += walk(profile, frames)
        elif profile["type"] == "evented":
            assert walk(profile, frames)
        else:
            assert len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == profile["endValue"]
            assert all(0 <= f < len(frames) for stack in profile["samples"] for f in stack)
    expected = []
    for r in rows(runs, run):
        name = f"[{r['code']}] {r['name']}" if r["code"] else r["name"]
        expected.append((int(r["start_ns"]), int(r["start_ns"]) + int(r["duration_ns"]), name))
    assert sorted(found) == sorted(expected)


def test_speedscope_shows_the_main_thread_first(runs):
    document = json.loads(exported(runs, "traced.strobe", "speedscope"))
    assert document["profiles"][document["activeProfileIndex"]]["name"] == "main"
    assert [p["name"] for p in document["profiles"]][-1].startswith("Python stacks")
    assert "GPU 0 stream 7" in [p["name"] for p in document["profiles"]]


# ---- pprof ----

def fields(data):
    """Every field of a protobuf message: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            at += 8
            yield tag >> 3, data[at - 8:at]
        elif tag & 7 == 2:
            size = varint()
            assert at + size <= len(data)
            at += size
            yield tag >> 3, data[at - size:at]
        else:
            raise AssertionError(f"wire type {tag & 7}")


def many(message, number):
    return [value for field, value in fields(message) if field == number]


def one(message, number):
    return (many(message, number) or [0])[-1]


class Profile:
    def __init__(self, packed):
        data = gzip.decompress(packed)
        self.strings = [s.decode() for s in many(data, 6)]
        assert self.strings[0] == ""
        functions = {one(f, 1): (self.strings[one(f, 2)], self.strings[one(f, 4)]) for f in many(data, 5)}
        self.locations = {}
        for location in many(data, 4):
            [line] = many(location, 4)
            self.locations[one(location, 1)] = (*functions[one(line, 1)], one(line, 2))
        self.types = [(self.strings[one(t, 1)], self.strings[one(t, 2)]) for t in many(data, 1)]
        self.samples = [(tuple(self.locations[i] for i in many(s, 1)), many(s, 2)) for s in many(data, 2)]
        self.duration_ns, self.time_ns, self.default = one(data, 10), one(data, 9), self.strings[one(data, 14)]

    def of(self, kind):
        index = [t for t, _ in self.types].index(kind)
        return [(stack, values[index]) for stack, values in self.samples if values[index]]


@pytest.mark.parametrize("run", RUNS)
def test_pprof_has_calls_and_own_time_of_every_stage(runs, run):
    profile = Profile(exported(runs, run, "pprof"))
    assert profile.default == "self" and profile.types[:2] == [("calls", "count"), ("self", "nanoseconds")]
    zones = rows(runs, run, kinds=("zone", "open", "span", "open_span"))
    report = json.loads(strobe("report", run, "--format", "json", "--no-groups", cwd=runs).stdout)
    folded = report["recording"]["folded_zone_count"]
    assert sum(v for _, v in profile.of("calls")) == len(zones) + folded
    own = sum(int(r["self_ns"] or r["duration_ns"]) for r in zones)
    total = sum(v for _, v in profile.of("self"))
    assert total == own if not folded else total > own
    for stack, _ in profile.of("self"):
        assert all(name for name, _, _ in stack)


def test_pprof_has_stacks_with_lines_and_gpu_time(runs):
    profile = Profile(exported(runs, "traced.strobe", "pprof"))
    stacks = profile.of("samples")
    assert stacks and any(line for stack, _ in stacks for _, _, line in stack)
    assert any(file.endswith(".py") for stack, _ in stacks for _, file, _ in stack)
    report = json.loads(strobe("report", "traced.strobe", "--format", "json", cwd=runs).stdout)["gpu_trace"]
    copies = sum(c["total_s"] for c in report["copies"]) + report["memsets"]["total_s"]
    assert sum(v for _, v in profile.of("gpu")) / 1e9 == pytest.approx(report["kernel_total_s"] + copies)


def test_pprof_names_are_final(runs):
    """Where a function's two names are the same, pprof strips template arguments and merges kernels."""
    data = gzip.decompress(exported(runs, "traced.strobe", "pprof"))
    assert any("<" in s.decode() for s in many(data, 6))
    assert not [f for f in many(data, 5) if one(f, 3)]


def test_pprof_has_gpu_time_inside_the_stage_that_launched_it(runs):
    profile = Profile(exported(runs, "traced.strobe", "pprof"))
    launched = [(stack, value) for stack, value in profile.of("gpu") if len(stack) > 1]
    assert launched
    stages = {tuple(reversed(names)) for names in
              [[n for n, _, _ in stack] for stack, _ in profile.of("calls")]}
    for stack, _ in launched:  # below the kernel is a path of stages
        assert tuple(reversed([n for n, _, _ in stack[1:]])) in stages


TRACED = {"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "outer", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
    {"ph": "X", "cat": "user_annotation", "name": "request", "pid": 1, "tid": 1, "ts": 10, "dur": 50,
     "args": {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}},
    {"ph": "X", "cat": "user_annotation", "name": "denoise", "pid": 1, "tid": 1, "ts": 20, "dur": 30},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 22, "dur": 2, "args": {"correlation": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 70, "dur": 2, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40, "dur": 25, "args": {"device": 0, "stream": 7, "correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 80, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 90, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": 99}}]}


def test_gpu_work_is_inside_what_launched_it(tmp_path):
    """A launch in a request's stage, one outside of it, and a kernel whose launch is not known."""
    (tmp_path / "t.json").write_text(json.dumps(TRACED))
    profile = Profile(exported(tmp_path, "t.json", "pprof"))
    found = {tuple(n for n, _, _ in stack): value for stack, value in profile.of("gpu")}
    assert found == {("gemm", "cudaLaunchKernel", "denoise", "request", "outer"): 25000, ("gemm", "cudaLaunchKernel", "outer"): 5000,
                     ("lost",): 3000}
    spans, _ = otlp(exported(tmp_path, "t.json", "otlp"))
    by_id = {s["spanId"]: s for s in spans}
    kernels = sorted((s for s in spans if s["name"] in ("gemm", "lost")), key=lambda s: int(s["startTimeUnixNano"]))
    assert [by_id[k["parentSpanId"]]["name"] if "parentSpanId" in k else None for k in kernels] == ["cudaLaunchKernel"] * 2 + [None]
    request, outer = ([s["traceId"] for s in spans if s["name"] == n][0] for n in ("request", "outer"))
    assert request == "4bf92f3577b34da6a3ce929d0e0e4736" and [k["traceId"] for k in kernels] == [request, outer, outer]
    assert all({"gpu.index", "gpu.stream"} <= {a["key"] for a in k["attributes"]} for k in kernels)


def test_pprof_of_folded_zones_is_exact(runs):
    report = json.loads(strobe("report", "v1-digest.strobe", "--format", "json", "--no-groups", cwd=runs).stdout)
    profile = Profile(exported(runs, "v1-digest.strobe", "pprof"))
    assert report["recording"]["folded_zone_count"] > 0
    expected = sum(s["self_s"] for s in report["stage_analysis"]["stages"])
    assert sum(v for _, v in profile.of("self")) / 1e9 == pytest.approx(expected, rel=1e-6)


# ---- OpenTelemetry ----

def otlp(data):
    spans, points = [], []
    for line in data.splitlines():
        message = json.loads(line)
        [kind] = message
        assert kind in ("resourceSpans", "resourceMetrics")
        for resource in message[kind]:
            attributes = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}
            assert {"service.name", "host.name", "process.pid"} <= set(attributes)
            for scope in resource.get("scopeSpans", []):
                spans += scope["spans"]
            for scope in resource.get("scopeMetrics", []):
                points += scope["metrics"]
    return spans, points


@pytest.mark.parametrize("run", RUNS)
def test_otlp_spans_are_the_zones_with_their_parents(runs, run):
    spans, points = otlp(exported(runs, run, "otlp"))
    by_id = {s["spanId"]: s for s in spans}
    assert len(by_id) == len(spans) and not any(set(i) <= {"0"} for i in by_id)
    assert all(len(s["spanId"]) == 16 and len(s["traceId"]) == 32 for s in spans)
    for span in spans:
        parent = by_id.get(span.get("parentSpanId"))
        assert (parent is None) == ("parentSpanId" not in span)
        if parent:
            assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            if "gpu.stream" not in [a["key"] for a in span["attributes"]]:  # a kernel may end after what launched it
                assert int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])
            assert parent["traceId"] == span["traceId"]
    on_gpu = [s for s in spans if any(a["key"] == "gpu.stream" for a in s["attributes"])]
    kinds = [r["kind"] for r in csv.DictReader(io.StringIO(exported(runs, run, "csv").decode()))]
    assert len(spans) - len(on_gpu) == kinds.count("zone") + kinds.count("open") + sum("span" in k for k in kinds)
    for point in points:
        assert point["name"] and "unit" in point and len(point["gauge"]["dataPoints"]) == 1


def test_otlp_has_attributes_and_metrics_with_units(runs):
    spans, points = otlp(exported(runs, "rich.strobe", "otlp"))
    [pipeline] = [s for s in spans if s["name"] == "WanPipeline"]
    assert {"key": "frames", "value": {"intValue": "81"}} in pipeline["attributes"]
    power = [p for p in points if p["name"] == "strobe.gpu.power_w"]
    assert len(power) == 263 and power[0]["unit"] == "W"
    assert power[0]["gauge"]["dataPoints"][0]["attributes"] == [{"key": "gpu.index", "value": {"intValue": "0"}}]


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.skipif("STROBE_SANITIZED" in os.environ, reason="no Python package in a build with sanitizers")
def test_otlp_spans_are_under_the_trace_of_their_request(tmp_path):
    (tmp_path / "p.py").write_text(f"""
import strobe
strobe.start()
with strobe.section("before"):
    pass
with strobe.section("request", traceparent="{PARENT}"):
    with strobe.section("denoise"):
        pass
with strobe.section("other", trace_id="AAAABBBBCCCCDDDD1111222233334444"):
    with strobe.section("decode", note='a "quoted" text, with: marks', ratio=0.5, count=7):
        pass
with strobe.section("bad", traceparent="00-zz-yy-01", trace_id="0" * 32):
    pass
strobe.stop()
""")
    strobe("run", "-o", "runs", "--no-python-hook", "--", "/usr/bin/python3", "p.py", cwd=tmp_path)
    spans = {s["name"]: s for s in otlp(exported(tmp_path, "runs/last", "otlp"))[0]}
    assert spans["request"]["traceId"] == spans["denoise"]["traceId"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert spans["request"]["parentSpanId"] == "00f067aa0ba902b7" and spans["denoise"]["parentSpanId"] == spans["request"]["spanId"]
    assert spans["other"]["traceId"] == spans["decode"]["traceId"] == "aaaabbbbccccdddd1111222233334444"
    assert "parentSpanId" not in spans["other"]
    assert spans["before"]["traceId"] == spans["bad"]["traceId"] != spans["other"]["traceId"]
    attributes = {a["key"]: a["value"] for a in spans["decode"]["attributes"]}
    assert attributes["note"] == {"stringValue": 'a "quoted" text, with: marks'}
    assert attributes["ratio"] == {"doubleValue": 0.5} and attributes["count"] == {"intValue": "7"}


# ---- findings in timelines ----

def test_chrome_has_findings_flows_and_counters(runs):
    events = json.loads(exported(runs, "traced.strobe", "chrome"))["traceEvents"]
    report = json.loads(strobe("report", "traced.strobe", "--format", "json", cwd=runs).stdout)
    found = [e for e in events if e.get("cat") == "strobe.finding" and e["ph"] != "e"]
    assert [e["name"] for e in found] == [f["id"] for f in report["recommendations"]]
    for event, finding in zip(found, report["recommendations"]):
        assert event["args"] == {"priority": finding["priority"], "issue": finding["issue"], "suggestion": finding["suggestion"]}
        if event["ph"] == "b":
            assert event["ts"] == pytest.approx(finding["where"]["from_s"] * 1e6)
            [end] = [e for e in events if e["ph"] == "e" and e.get("id") == event["id"] and e.get("cat") == "strobe.finding"]
            assert end["ts"] == pytest.approx(finding["where"]["to_s"] * 1e6)
        else:
            assert event["ph"] == "i" and event["s"] == "g"
    assert {e["ph"] for e in found} == {"b", "i"}
    launches = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime" and e["ph"] == "X"}
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert kernels and all(k["args"]["correlation"] in launches for k in kernels)
    arrows = {e["id"] for e in events if e.get("cat") == "ac2g" and e["ph"] == "s"}
    assert arrows == {e["id"] for e in events if e.get("cat") == "ac2g" and e["ph"] == "f"} and len(arrows) >= len(kernels)
    assert any(e["ph"] == "C" for e in events)
    plain = json.loads(exported(runs, "traced.strobe", "chrome", "--no-findings"))["traceEvents"]
    assert not any(e.get("cat") == "strobe.finding" for e in plain)


def test_findings_do_not_come_back_as_zones(runs):
    reports = []
    for options in (), ("--no-findings",):
        exported(runs, "traced.strobe", "chrome", *options)
        report = json.loads(strobe("report", "out.chrome", "--format", "json", cwd=runs).stdout)
        reports.append((report["stage_analysis"], report.get("events")))
    assert reports[0] == reports[1]


def test_perfetto_has_findings_on_tracks_of_their_own(runs):
    packets = many(exported(runs, "traced.strobe", "perfetto"), 1)
    report = json.loads(strobe("report", "traced.strobe", "--format", "json", cwd=runs).stdout)
    tracks = {one(t, 1): (one(t, 2), one(t, 5)) for p in packets for t in many(p, 60)}
    [parent] = [uuid for uuid, (name, _) in tracks.items() if name == b"findings"]
    own = {uuid: name.decode() for uuid, (name, above) in tracks.items() if above == parent}
    assert list(own.values()) == [f["id"] for f in report["recommendations"]]
    events = [e for p in packets for e in many(p, 11) if one(e, 11) in own]
    names = [one(e, 23).decode() for e in events if one(e, 9) != 2]
    assert names == list(own.values())
    assert sum(one(e, 9) == 1 for e in events) == sum(one(e, 9) == 2 for e in events) > 0  # begins and ends


# ---- all of them ----

@pytest.mark.parametrize("to", ["speedscope", "pprof", "otlp"])
def test_a_part_of_a_run(runs, to):
    part = exported(runs, "traced.strobe", to, "--from", "100ms", "--until", "200ms")
    if to == "speedscope":
        for profile in json.loads(part)["profiles"]:
            for event in profile.get("events", []):
                assert event["at"] <= 215_000_000  # GPU work that began inside is whole
    elif to == "pprof":
        assert Profile(part).duration_ns == 100_000_000
    else:
        assert otlp(part)[0]


@pytest.mark.parametrize("name, to", [("x.speedscope.json", b'{"$schema"'), ("x.pb.gz", b"\x1f\x8b"), ("x.otlp.jsonl", b'{"resourceSpans"'),
                                      ("x.json", b'{\n"schemaVersion"'), ("x.csv", b"kind,")])
def test_the_ending_chooses_the_format(runs, name, to):
    strobe("export", "traced.strobe", "-o", name, cwd=runs)
    assert (runs / name).read_bytes().startswith(to)


@pytest.mark.parametrize("to", ["speedscope", "pprof", "otlp"])
def test_a_file_that_cannot_be_written_is_one_line(runs, to):
    done = strobe("export", "rich.strobe", "--to", to, "-o", "no/such/folder/x", cwd=runs, check=False)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1
