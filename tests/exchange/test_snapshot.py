"""Memory snapshots of torch in: the peak and who held it must be what playing the history says."""
import collections
import io
import os
import pickle
import pickletools
import random
import resource
import subprocess

import make_snapshot
import pytest

MB = 1 << 20


def held(report, device=0, which="peak_mb"):
    """Bytes by line number; what has no line is under None."""
    found = collections.Counter()
    for row in report["memory"]["lines"]:
        if row["device_index"] == device and row[which]:
            found[row.get("line")] += round(row[which] * MB)
    return dict(found)


def labelled(report, label, device=0):
    return next(s for s in report["memory"]["snapshots"] if s["label"] == label and s["device"] == "gpu:%d" % device)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_peak_is_what_the_history_says(strobe, protocol):
    snapshot, truth = make_snapshot.make(devices=2)
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot, protocol))))
    for device in (0, 1):
        assert labelled(report, "the peak of the history", device)["peak_mb"] * MB == truth[device]["peak"]
        assert labelled(report, "the snapshot", device)["allocated_mb"] * MB == truth[device]["end"]
        assert held(report, device) == truth[device]["by_line"]


def with_memo_from(pickled, first):
    """The same pickle, its memo's numbers that much higher."""
    out, end = bytearray(), 0
    for op, number, at in pickletools.genops(pickled):
        out += pickled[end:at]
        end = at + (2 if op.name in ("BINPUT", "BINGET") else 5 if op.name in ("LONG_BINPUT", "LONG_BINGET") else 0)
        if end > at:
            out += (b"r" if "PUT" in op.name else b"j") + (number + first).to_bytes(4, "little")
        end = max(end, at)
    return bytes(out + pickled[end:])


@pytest.mark.parametrize("first", [0, (1 << 20) - 20, 1 << 30])
def test_the_numbers_of_the_memo_may_be_any(strobe, first):
    snapshot, truth = make_snapshot.make()
    report = strobe.report(strobe.imported(strobe.write("s.pickle", with_memo_from(pickle.dumps(snapshot, 3), first))))
    assert labelled(report, "the peak of the history")["peak_mb"] * MB == truth[0]["peak"]
    assert held(report) == truth[0]["by_line"]


@pytest.mark.parametrize("entries", [30, 3000, 40000])
def test_lines_over_time_are_what_the_history_says(strobe, entries):
    snapshot, truth = make_snapshot.make(entries=entries)
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot))))
    picture, = report["memory_over_time"]
    assert picture["by_line"] and 20 <= len(picture["t_s"]) <= 201
    peak, last = picture["peak_index"], len(picture["t_s"]) - 1
    by_layer = {layer["component"]: layer["held_mb"] for layer in picture["layers"]}
    lines = {int(name[len("model.py:"):-len(" forward")]): held for name, held in by_layer.items() if name != "other lines"}
    largest = sorted(truth[0]["by_line"], key=truth[0]["by_line"].get)[-10:]
    assert {line: lines[line][peak] * MB for line in largest} == {line: truth[0]["by_line"][line] for line in largest}
    assert sum(held[peak] for held in by_layer.values()) * MB == truth[0]["peak"]
    assert sum(held[last] for held in by_layer.values()) * MB == truth[0]["end"]
    if entries < 100:  # every moment
        live, at = {}, {round(t * 1e6) for t in picture["t_s"]}
        begin = snapshot["device_traces"][0][0]["time_us"]
        for entry in snapshot["device_traces"][0]:
            live.update({entry["addr"]: entry["size"]} if entry["action"] == "alloc" else {})
            live.pop(entry["addr"], None) if entry["action"] == "free_completed" else None
            if entry["time_us"] - begin in at:
                index = [round(t * 1e6) for t in picture["t_s"]].index(entry["time_us"] - begin)
                assert sum(held[index] for held in by_layer.values()) * MB == sum(live.values())


def test_layers_of_lines_have_their_stacks(strobe):
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(make_snapshot.make()[0]))))
    layers = report["memory_over_time"][0]["layers"]
    assert all(layer["stack"].startswith(layer["component"]) and "main.py:3" in layer["stack"] for layer in layers[1:])
    assert "stack" not in layers[0]


def segment(device, address, blocks):
    """blocks: MB in use, or minus MB free, one after the other."""
    made, at = [], address
    for mb in blocks:
        made.append({"address": at, "size": abs(mb) * MB, "requested_size": abs(mb) * MB, "state": "active_allocated" if mb > 0 else "inactive", "frames": []})
        at += abs(mb) * MB
    return {"device": device, "address": address, "total_size": at - address, "stream": 0, "segment_type": "large", "blocks": made}


def test_fragmentation_is_the_blocks_of_the_segments(strobe):
    tiny = [2 if i % 2 else -2 for i in range(1000)]  # in use and free by turns: as full in every part
    snapshot = {"segments": [segment(0, 1 << 40, [100, -300, 50, 50, -200, 324]), segment(0, 2 << 40, [-512]), segment(0, 3 << 40, [64]),
                             segment(1, 4 << 40, tiny)], "device_traces": [[], []]}
    found = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot))))["memory_segments"]
    assert [s["device_index"] for s in found] == [0, 1]  # one that is wholly free, or wholly in use, is not fragmented
    assert found[0]["part_bytes"] == [mb * MB for mb in (100, 300, 100, 200, 324)] and found[0]["used_ratio"] == [1, 0, 1, 0, 1]
    assert [found[0][k] for k in ("segment_bytes", "free_bytes", "free_count", "largest_free_bytes")] == [1024 * MB, 500 * MB, 2, 300 * MB]
    assert found[1]["free_count"] == 500 and found[1]["largest_free_bytes"] == 2 * MB
    assert sum(found[1]["part_bytes"]) == 2000 * MB and len(found[1]["part_bytes"]) < 70
    assert all(0.4 < ratio < 0.6 for ratio in found[1]["used_ratio"])


def test_of_many_fragmented_segments_those_with_the_most_free_memory(strobe):
    snapshot = {"segments": [segment(0, i << 30, [10, -(i + 1), 10]) for i in range(200)], "device_traces": [[]]}
    found = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot))))["memory_segments"]
    assert [s["free_bytes"] // MB for s in found] == list(range(200, 188, -1))
    text = strobe("report", strobe.imported(strobe.write("t.pickle", pickle.dumps(snapshot))))
    assert "Fragmentation" in text and "GPU 0, 220 MB, 1 free piece, largest 200" in text and "and 6 more" in text


@pytest.mark.parametrize("ring", [1, 100, 700, 2000])
def test_a_history_that_begins_in_the_middle(strobe, ring):
    """What was allocated before it and never freed has its line from the segments; what was freed since has none."""
    snapshot, truth = make_snapshot.make(ring=ring)
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot))))
    assert labelled(report, "the peak of the history")["peak_mb"] * MB == truth[0]["peak"]
    found = held(report)
    assert sum(found.values()) == truth[0]["peak"]
    assert all(found[line] <= truth[0]["by_line"][line] for line in found if line)


def test_blocks_without_a_stack_are_named_by_their_size(strobe):
    """Ten steps, stacks in the first and the sixth alone; each line has a size of its own, but for one that is new in the third."""
    a = make_snapshot.Allocator(1, 0x7F0000000000)
    for step in range(10):
        first = len(a.entries)
        for stack in range(5):
            a.alloc((stack + 1) * MB, stack)
        if step == 2:
            a.alloc(100 * MB, 11)
        for entry in a.entries[first:] if step % 5 else ():
            entry["frames"] = []
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps({"segments": [], "device_traces": [a.entries]}))))
    assert held(report) == {**{10 + stack: 10 * (stack + 1) * MB for stack in range(5)}, None: 100 * MB}
    assert [row.get("by_size", False) for row in report["memory"]["lines"]] == ["line" in row for row in report["memory"]["lines"]]
    snapshot, _ = make_snapshot.make()
    report = strobe.report(strobe.imported(strobe.write("all.pickle", pickle.dumps(snapshot))))
    assert not any("by_size" in row for row in report["memory"]["lines"])


class AllAtOnce(pickle._Pickler):
    """As torch's C++ side writes: a list's items all lie on the stack before they are appended."""
    _BATCHSIZE = 1 << 60


def test_a_list_that_is_appended_at_once(strobe):
    snapshot, truth = make_snapshot.make(entries=90000)
    out = io.BytesIO()
    AllAtOnce(out, 2).dump(snapshot)
    report = strobe.report(strobe.imported(strobe.write("s.pickle", out.getvalue())))
    assert held(report) == truth[0]["by_line"]


def test_without_a_history_what_is_there_is_listed(strobe):
    snapshot, truth = make_snapshot.make()
    snapshot["device_traces"] = [[]]
    path = strobe.write("s.pickle", pickle.dumps(snapshot))
    assert "no history" in strobe("import", path, "-o", strobe.folder / "run")
    report = strobe.report(strobe.folder / "run")
    assert sum(held(report, which="end_mb").values()) == truth[0]["end"]


def test_an_allocation_that_failed_is_an_event(strobe):
    snapshot, truth = make_snapshot.make(oom=True)
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot))))
    event, = [e for e in report["events"] if e["name"] == "out_of_memory"]
    assert event["attributes"]["requested_bytes"] == 7 << 30
    assert event["attributes"]["free_bytes"] == 123 << 20
    assert event["attributes"]["allocated_bytes"] == truth[0]["end"]
    assert (event["attributes"]["file"], event["attributes"]["line"]) == ("/app/model.py", 15)


def test_stacks_are_told_without_torch(strobe):
    snapshot, _ = make_snapshot.make()
    report = strobe.report(strobe.imported(strobe.write("s.pickle", pickle.dumps(snapshot))))
    row = report["memory"]["lines"][0]
    assert row["file"] == "/app/model.py"
    assert row["stack"] == "model.py:%d forward < main.py:3 <module> < main.py:3 <module>" % row["line"]
    assert not report.get("events")


class Runs:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (self.mark, "w")


def test_a_pickle_that_would_run_code_is_refused(strobe):
    mark = strobe.folder / "ran"
    for protocol in (2, 4):
        path = strobe.write("s.pickle", pickle.dumps({"segments": [Runs(str(mark))], "device_traces": []}, protocol))
        assert "it would run code" in strobe("import", path, "-o", strobe.folder / "run", code=2)
    assert not mark.exists() and not (strobe.folder / "run").exists()


@pytest.mark.parametrize("content, words", [
    (pickle.dumps({"a": 1}), "not a torch memory snapshot"),
    (b"\x80\x04" + b"(" * 100000 + b".", "nested too deep"),
    (b"\x80\x04" + b"]" * 100000 + b".", "nested too deep"),
    (b"\x80\x04u.", "values without a place"),
    (b"\x80\x04h\x07.", "never there"),
    (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc", "ends too early"),
    (b"\x80\x04}(K\x01e.", "no list"),
    (b"\x80\x04]\x94(h\x00h\x00e.", "not a torch memory snapshot"),
    (b"\x80\x04.", "something else than one object"),
])
def test_hostile_pickles_are_refused(strobe, content, words):
    assert words in strobe("import", strobe.write("s.pickle", content), "-o", strobe.folder / "run", code=2)


def test_every_cut_is_refused(strobe):
    content = pickle.dumps(make_snapshot.make(entries=40)[0])
    for size in range(3, len(content) - 1, 97):
        strobe("import", strobe.write("s.pickle", content[:size]), "-o", strobe.folder / "run", code=2)


def test_damage_is_refused_or_read_but_never_crashes(strobe):
    content = pickle.dumps(make_snapshot.make(entries=60)[0])
    chance = random.Random(7)
    for _ in range(80):
        damaged = bytearray(content)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(2, len(damaged))] = chance.randrange(256)
        done = subprocess.run([os.environ["STROBE_BUILD"] + "/strobe", "report", "-"], input=bytes(damaged), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode in (0, 2), done.stderr


@pytest.mark.skipif("STROBE_SANITIZED" in os.environ, reason="a sanitizer maps terabytes, a limit of memory refuses them")
def test_memory_does_not_depend_on_the_size(strobe):
    path = strobe.folder / "large.pickle"
    make_snapshot.large(str(path), 30 << 20)

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (96 << 20, 96 << 20))
    done = subprocess.run([os.environ["STROBE_BUILD"] + "/strobe", "import", "-q", str(path), "-o", str(strobe.folder / "run")],
                          preexec_fn=limited, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def test_the_same_from_gzip(strobe):
    import gzip
    snapshot, truth = make_snapshot.make()
    report = strobe.report(strobe.imported(strobe.write("s.pickle.gz", gzip.compress(pickle.dumps(snapshot)))))
    assert held(report) == truth[0]["by_line"]
