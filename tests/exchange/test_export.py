"""strobe export, read by Python's json and csv and by protobuf's own decoder."""
import collections
import json
import os
import re
import subprocess
import sys

import pytest

from conftest import BUILD, DATA, HERE

ITERATION = 2  # STROBE_ROLE_ITERATION


@pytest.fixture
def run(strobe, kineto):
    return strobe.imported(kineto("k.json", "--steps", 4, "--blocks", 2, "--rank", 1))


@pytest.fixture(scope="session")
def perfetto(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proto")
    try:
        subprocess.run(["protoc", f"--python_out={folder}", f"-I{HERE}", str(HERE / "perfetto.proto")], check=True)
        sys.path.insert(0, str(folder))
        import perfetto_pb2
    except (OSError, ImportError) as why:
        pytest.skip(f"no protobuf decoder: {why}")
    return perfetto_pb2


def test_chrome_follows_kineto_conventions(strobe, run):
    text = strobe("export", run, "--to", "chrome", "-o", "-")
    assert re.search(r'"rank":\s+1\b', text) and text.index("distributedInfo") < text.index("traceEvents")
    trace = json.loads(text)
    by_phase = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        by_phase[e["ph"]].append(e)
    assert re.search(r'"ts":\d+\.\d{3},"dur":\d+\.\d{3}', text)
    kernels = [e for e in by_phase["X"] if e["cat"] == "kernel"]
    assert kernels and all(e["pid"] == 0 and e["tid"] == 7 and e["args"]["stream"] == 7 for e in kernels)
    starts, ends = ({e["id"]: e for e in by_phase[p] if e["name"] == "ac2g"} for p in "sf")
    assert set(starts) == set(ends) and all(e["bp"] == "e" for e in ends.values())
    for kernel in kernels:
        arrow = ends[kernel["args"]["correlation"]]
        assert (arrow["pid"], arrow["tid"], arrow["ts"]) == (kernel["pid"], kernel["tid"], kernel["ts"])
    assert {e["name"] for e in by_phase["X"] if e["name"].startswith("ProfilerStep#")} == {f"ProfilerStep#{i}" for i in range(4)}
    assert {e["cat"] for e in by_phase["X"]} == {"cpu_op", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset"}
    names = {(e["name"], e["pid"]): e["args"]["name"] for e in by_phase["M"]}
    assert names["process_name", 0] == "GPU 0" and names["thread_name", 0] == "stream 7"


def slices(decoded):
    """The slices of a trace as its viewer would build them: sorted by time, a stack per track."""
    names, tracks, stacks, done, counters, flows = {}, {}, collections.defaultdict(list), [], collections.defaultdict(list), []
    packets = [p for p in decoded.packet]
    for p in packets:
        for n in p.interned_data.event_names:
            names[n.iid] = n.name
        if p.HasField("track_descriptor"):
            tracks[p.track_descriptor.uuid] = p.track_descriptor
    for p in sorted((p for p in packets if p.HasField("track_event")), key=lambda p: p.timestamp):
        e = p.track_event
        assert e.track_uuid in tracks and p.trusted_packet_sequence_id == 1 and p.sequence_flags & 2
        if e.type == e.SLICE_BEGIN:
            stacks[e.track_uuid].append((names[e.name_iid] if e.name_iid else e.name, p.timestamp, e))
            flows += [("end", f) for f in e.terminating_flow_ids]
        elif e.type == e.SLICE_END:
            name, begin, _ = stacks[e.track_uuid].pop()
            notes = {a.name: a for a in e.debug_annotations}
            done.append((e.track_uuid, name, begin - 1, p.timestamp - begin, len(stacks[e.track_uuid]), notes))
        elif e.type == e.COUNTER:
            counters[tracks[e.track_uuid].name].append((p.timestamp - 1, e.double_counter_value))
        else:
            flows += [("start", f) for f in e.flow_ids]
    assert not any(stacks.values())
    return tracks, done, counters, flows


def decode(strobe, perfetto, run, *more):
    path = strobe.folder / "t.pftrace"
    strobe("export", run, "--to", "perfetto", "-o", path, *more)
    trace = perfetto.Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def test_perfetto_has_every_slice_where_it_belongs(strobe, run, perfetto):
    tracks, done, _, flows = slices(decode(strobe, perfetto, run))
    rows = strobe.rows(run)
    ours = sorted((n, b, d, depth) for uuid, n, b, d, depth, _ in done if tracks[uuid].HasField("thread"))
    assert ours == sorted((r["name"], r["start_ns"], r["duration_ns"], r["depth"]) for r in rows if r["kind"] == "zone")
    gpu = sorted((n, b, d) for uuid, n, b, d, _, _ in done if tracks[uuid].name.startswith("stream"))
    assert gpu == sorted((r["name"], r["start_ns"], r["duration_ns"]) for r in rows if r["thread"].startswith("gpu"))
    starts, ends = ({f for kind, f in flows if kind == which} for which in ("start", "end"))
    assert starts == ends and len(starts) == len(gpu)


def test_perfetto_counters_spans_and_attributes(strobe, perfetto):
    events = [{"ph": "X", "name": "a", "ts": 0, "dur": 100, "pid": 1, "tid": 1, "args": {"frames": 3, "f": 0.5, "s": "t\u00e9xt"}},
              {"ph": "C", "name": "mem", "ts": 4, "pid": 1, "args": {"value": 2.5}}, {"ph": "C", "name": "mem", "ts": 9, "pid": 1, "args": {"value": 3}}]
    events += [{"ph": p, "cat": "c", "id": i, "name": "s", "ts": ts, "pid": 1, "tid": 1} for i, (b, e) in enumerate([(10, 40), (20, 50), (45, 60)])
               for p, ts in (("b", b), ("e", e))]
    tracks, done, counters, _ = slices(decode(strobe, perfetto, strobe.imported(events)))
    assert dict(counters) == {"mem": [(4000, 2.5), (9000, 3.0)]}
    a = next(s for s in done if s[1] == "a")
    assert (a[5]["frames"].int_value, a[5]["f"].double_value, a[5]["s"].string_value) == (3, 0.5, "t\u00e9xt")
    spans = [s for s in done if s[1] == "s"]
    assert sorted((b, d) for _, _, b, d, _, _ in spans) == [(10000, 30000), (20000, 30000), (45000, 15000)]
    assert all(depth == 0 for _, _, _, _, depth, _ in spans)  # overlapping ones on tracks of their own


def test_a_part_of_a_run(strobe, run, perfetto):
    wall_ms = strobe.report(run)["stage_analysis"]["wall_s"] * 1000
    part = ["--from", "%fms" % (wall_ms * 0.3), "--until", "%fms" % (wall_ms * 0.6)]
    rows = strobe.rows(run, *part)
    assert 0 < len(rows) < len(strobe.rows(run))
    assert all(r["start_ns"] >= wall_ms * 0.3e6 - 1 for r in rows if r["kind"] == "zone")
    _, done, _, _ = slices(decode(strobe, perfetto, run, *part))
    assert len(done) == len([r for r in rows if r["kind"] in ("zone", "kernel", "memset") or r["kind"].startswith("copy")])


def test_names_that_need_care_in_every_format(strobe, perfetto):
    names = ['quote " comma , new\nline', "=1+1", "tab\tback\\slash", "é€😀", "\x01"]
    run = strobe.imported([{"ph": "X", "name": n, "ts": i * 10, "dur": 5, "pid": 1, "tid": 1} for i, n in enumerate(names)])
    chrome = json.loads(strobe("export", run, "--to", "chrome", "-o", "-"))
    assert [e["name"] for e in chrome["traceEvents"] if e["ph"] == "X"] == names
    as_csv = {"=1+1": " =1+1", "\x01": "\ufffd"}  # which a spreadsheet or a terminal would obey
    assert [z["name"] for z in strobe.zones(run)] == [as_csv.get(n, n) for n in names]
    _, done, _, _ = slices(decode(strobe, perfetto, run))
    assert [s[1] for s in done] == names


def test_a_small_file_has_a_size_that_says_something(strobe, run):
    assert re.match(r".*: \d+\.\d kB, ", strobe("export", run, "--to", "chrome", "-o", strobe.folder / "small.json"))


def test_the_file_appears_whole_or_not_at_all(strobe, run):
    before = sorted(os.listdir(run))
    assert "cannot write" in strobe("export", run, "--to", "chrome", "-o", strobe.folder / "no" / "such" / "t.json", code=2)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BUILD / "strobe", "export", run, "--to", "chrome", "-o", "-"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "No space left" in done.stderr
    assert sorted(os.listdir(run)) == before
    out = strobe("export", run, "--to", "perfetto")
    assert sorted(os.listdir(run)) == sorted(before + ["trace.pftrace"]) and "trace.pftrace" in out


def test_wrong_formats_and_runs_are_named(strobe, run):
    assert "chrome, perfetto, csv, packed" in strobe("export", run, "--to", "xls", code=2)
    assert "--to is missing" in strobe("export", run, code=2)
    assert strobe("export", strobe.folder / "none", "--to", "csv", code=2).count("\n") == 1


@pytest.mark.parametrize("name, to", [("t.json", "chrome"), ("t.pftrace", "perfetto"), ("t.csv", "csv")])
def test_the_ending_of_the_file_chooses_the_format(strobe, run, name, to):
    strobe("export", run, "-o", strobe.folder / name)
    strobe("export", run, "--to", to, "-o", strobe.folder / "named")
    assert (strobe.folder / name).read_bytes() == (strobe.folder / "named").read_bytes()
    assert "--to is missing" in strobe("export", run, "-o", strobe.folder / "t.txt", code=2)


def test_a_stage_log_exports_too(strobe):
    trace = json.loads(strobe("export", DATA / "stagelog-before.txt", "--to", "chrome", "-o", "-"))
    unet = next(e for e in trace["traceEvents"] if e["name"].startswith("UNet"))
    assert unet["dur"] == pytest.approx(116.33e6) and unet["args"]["code"] == "4f.2" and unet["args"]["steps"] == 2
    skipped = next(e for e in trace["traceEvents"] if e["name"] == "Pre-inference")
    assert skipped["args"]["skipped"] == "keyframe pass disabled"


def test_a_packed_run_is_a_run_and_lies_beside_the_first(strobe, run):
    probe = subprocess.run([BUILD / "strobe", "export", run, "--to", "packed", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "zstd" in probe.stderr:
        pytest.skip(probe.stderr)
    packed = run.with_name(run.name + ".packed.strobe")
    assert probe.stdout.strip() == str(packed) and sorted(os.listdir(run)) == ["run.strobe"]
    assert packed.stat().st_size < (run / "run.strobe").stat().st_size / 2
    assert strobe.rows(packed) == strobe.rows(run)


def test_a_run_of_several_recordings_is_packed_into_a_folder(strobe, run):
    (run / "run.strobe").rename(run / "run.1.strobe")
    (run / "run.2.strobe").write_bytes((run / "run.1.strobe").read_bytes())
    probe = subprocess.run([BUILD / "strobe", "export", run, "--to", "packed", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if "zstd" in probe.stderr:
        pytest.skip(probe.stderr)
    folder = run.with_name(run.name + ".packed")
    assert sorted(os.listdir(folder)) == ["run.1.strobe", "run.2.strobe"]
    assert len(strobe.rows(folder)) == len(strobe.rows(run))


def test_nested_iterations_come_back_from_the_chrome_trace_as_they_were(strobe):
    events = []
    for i in range(3):
        events.append(("iteration", i * 1000, 900, {"strobe.role": ITERATION, "index": i}))
        for k in range(4):
            events.append(("denoising_steps", i * 1000 + k * 200, 190, {"strobe.role": ITERATION, "index": k}))
            events.append(("transformer_forward", i * 1000 + k * 200, 180, {}))
    run = strobe.imported({"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "name": n, "ts": t, "dur": d, "args": a} for n, t, d, a in events]})
    text = strobe("export", run, "--to", "chrome", "-o", "-", "-q")
    assert "ProfilerStep#" in text
    again = strobe.imported(text)
    stages = [(s["name"], s.get("parent"), s["count"], s["total_s"], s["self_s"]) for s in strobe.report(run)["stage_analysis"]["stages"]]
    assert ("denoising_steps", "iteration", 12, 0.00228, 0.00012) in stages
    assert [(s["name"], s.get("parent"), s["count"], s["total_s"], s["self_s"]) for s in strobe.report(again)["stage_analysis"]["stages"]] == stages
    assert [(i["name"], i["count"]) for i in strobe.report(again)["iterations"]] == [("denoising_steps", 12), ("iteration", 3)]


def test_a_chrome_trace_of_an_older_strobe_has_each_iteration_once(strobe):
    """It wrote ProfilerStep#N before each iteration, without a marker."""
    events = []
    for i in range(3):
        for name, begin, duration, index in [("iteration", i * 1000, 900, i)] + [("denoising_steps", i * 1000 + k * 200, 190, k) for k in range(4)]:
            zone = {"ph": "X", "pid": 1, "tid": 1, "ts": begin, "dur": duration}
            events += [{**zone, "cat": "user_annotation", "name": f"ProfilerStep#{index}"}, {**zone, "name": name, "args": {"strobe.role": ITERATION, "index": index}}]
    report = strobe.report(strobe.imported({"traceEvents": events}))
    assert [(s["name"], s.get("parent"), s["count"]) for s in report["stage_analysis"]["stages"]] == [("iteration", None, 3), ("denoising_steps", "iteration", 12)]
    assert [(i["name"], i["count"]) for i in report["iterations"]] == [("denoising_steps", 12), ("iteration", 3)]


def test_steps_of_another_profiler_stay_also_where_a_range_is_as_long(strobe):
    zone = {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 500}
    events = [{**zone, "cat": "user_annotation", "name": "ProfilerStep#4"}, {**zone, "cat": "user_annotation", "name": "my_range"},
              {"ph": "X", "pid": 1, "tid": 1, "ts": 100, "dur": 300, "cat": "user_annotation", "name": "ProfilerStep#7"},
              {"ph": "X", "pid": 1, "tid": 1, "ts": 600, "dur": 100, "cat": "user_annotation", "name": "ProfilerStep#5"}]
    run = strobe.imported({"traceEvents": events})
    assert sorted((z["name"], z["attributes"].get("index")) for z in strobe.zones(run)) == [("ProfilerStep", 4), ("ProfilerStep", 5), ("ProfilerStep", 7), ("my_range", None)]


def test_every_format_that_the_help_names_is_written(strobe, run, tmp_path):
    """The help's list is of the table's names, --to takes an exporter's own: both are one."""
    listed = re.search(r"--to=FORMAT +(.*?), or\s", strobe("export", "--help"), re.S).group(1).split(", ")
    assert len(listed) > 5
    for name in listed:
        strobe("export", run, "--to", name, "-o", tmp_path / name)
        assert (tmp_path / name).exists(), name
