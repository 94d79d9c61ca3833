"""speedscope files in: what strobe exports comes back, what others write is read, what is wrong is refused."""
import json
import os
import pathlib
import random
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def strobe(*arguments, cwd, check=True):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    environment["TMPDIR"] = str(cwd)
    return subprocess.run([BUILD / "strobe", *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, timeout=120, check=check)


def stages(run, cwd):
    report = json.loads(strobe("report", run, "--format", "json", "--no-groups", cwd=cwd).stdout)
    return {(s["name"], s.get("parent")): (s["count"], pytest.approx(s.get("total_s", 0)), pytest.approx(s.get("self_s", 0)))
            for s in report["stage_analysis"]["stages"]}


def document(*profiles, frames=("main", "load", "decode"), **more):
    return {"$schema": SCHEMA, "shared": {"frames": [{"name": f} for f in frames]}, "profiles": list(profiles), **more}


def evented(*events, unit="milliseconds", start=0, end=100, name="t"):
    return {"type": "evented", "name": name, "unit": unit, "startValue": start, "endValue": end,
            "events": [{"type": t, "frame": f, "at": at} for t, f, at in events]}


def sampled(samples, weights, unit="milliseconds", name="t"):
    return {"type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": sum(weights), "samples": samples, "weights": weights}


def imported(tmp_path, value, name="x.json"):
    (tmp_path / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return stages(name, tmp_path)


@pytest.mark.parametrize("run", ["rich", "blocks"])
def test_what_strobe_exports_comes_back(tmp_path, run):
    subprocess.run([BUILD / "tests" / "make_recordings", tmp_path], check=True)
    strobe("export", f"{run}.strobe", "-o", "x.speedscope.json", cwd=tmp_path)
    document_of = json.loads((tmp_path / "x.speedscope.json").read_text())
    zones = sum(len(p.get("events", [])) // 2 for p in document_of["profiles"])
    said = strobe("import", "x.speedscope.json", "-o", "again", cwd=tmp_path).stdout.decode()
    assert f"speedscope, {zones} zones" in said
    before, after = stages(f"{run}.strobe", tmp_path), stages("again", tmp_path)
    for key, value in before.items():
        if value[0]:
            name = next(k for k in after if k[0].endswith(key[0]) and (k[1] or "").endswith(key[1] or ""))
            assert after[name] == value


def test_events_open_and_close_zones(tmp_path):
    found = imported(tmp_path, document(evented(("O", 0, 10), ("O", 1, 20), ("C", 1, 50), ("O", 1, 50), ("C", 1, 60), ("C", 0, 90), start=10)))
    assert found == {("main", None): (1, 0.08, 0.04), ("load", "main"): (2, 0.04, 0.04)}


def test_samples_become_the_zones_they_were_taken_in(tmp_path):
    found = imported(tmp_path, document(sampled([[0, 1], [0, 1], [0, 2], [0], [], [0, 1]], [5, 5, 20, 10, 7, 3])))
    assert found == {("main", None): (2, 0.043, 0.01), ("load", "main"): (2, 0.013, 0.013), ("decode", "main"): (1, 0.02, 0.02)}


@pytest.mark.parametrize("unit, seconds", [("nanoseconds", 1e-9), ("microseconds", 1e-6), ("milliseconds", 1e-3), ("seconds", 1.0)])
def test_units(tmp_path, unit, seconds):
    [total] = [v[1] for v in imported(tmp_path, document(evented(("O", 0, 1000), ("C", 0, 3000), unit=unit, start=1000))).values()]
    assert total == 2000 * seconds


def test_times_of_the_day_and_fractions_are_exact(tmp_path):
    at = 1_767_225_600_123_456_789
    found = imported(tmp_path, document(evented(("O", 0, at), ("C", 0, at + 7), unit="nanoseconds", start=at, end=at + 7)))
    assert found[("main", None)][1] == 7e-9
    assert imported(tmp_path, document(evented(("O", 0, 0.25), ("C", 0, 0.5), unit="seconds")))[("main", None)][1] == 0.25


def test_frames_may_come_last_and_profiles_are_threads(tmp_path):
    value = document(evented(("O", 0, 0), ("C", 0, 10), name="a"), evented(("O", 1, 0), ("C", 1, 10), name="b"), activeProfileIndex=1)
    shared = value.pop("shared")
    (tmp_path / "x.json").write_text(json.dumps({**value, "shared": shared}))
    rows = strobe("export", "x.json", "--to", "csv", "-o", "-", cwd=tmp_path).stdout.decode().splitlines()
    assert len(rows) == 3 and {r.split(",")[6] for r in rows[1:]} == {"a", "b"}


def test_frames_that_never_close_end_with_the_profile(tmp_path):
    assert imported(tmp_path, document(evented(("O", 0, 0), ("O", 1, 40), end=100))) == {("main", None): (1, 0.1, 0.04), ("load", "main"): (1, 0.06, 0.06)}


def test_samples_without_a_unit_say_so(tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(document(sampled([[0], [0, 1]], [1, 3], unit="none"))))
    said = strobe("import", "x.json", "-o", "again", cwd=tmp_path).stdout.decode()
    assert "1 ms each" in said and stages("again", tmp_path)[("load", "main")][1] == 0.003


BAD = {
    "no profiles": document(),
    "profiles": {"$schema": SCHEMA, "shared": {"frames": []}, "profiles": 3},
    "neither evented nor sampled": document({"type": "x", "name": "p", "unit": "none"}),
    "not known": document(evented(unit="fortnights")),
    "counts bytes": document(evented(unit="bytes")),
    "frame that is not there": document(evented(("O", 9, 0))),
    "frame that is not": document(sampled([[0, -1]], [1])),
    "goes back": document(evented(("O", 0, 5), ("C", 0, 4))),
    "not the innermost": document(evented(("O", 0, 0), ("O", 1, 1), ("C", 0, 2))),
    "innermost": document(evented(("C", 0, 2))),
    "without a time": document({**evented(), "events": [{"type": "O", "frame": 0, "at": "soon"}]}),
    "neither opens": document(evented(("X", 0, 2))),
    "no time": document(sampled([[0]], [-4])),
    "fewer weights": document(sampled([[0], [1]], [1])),
    "no list": document(sampled([7], [1])),
    "longer than": document(sampled([[0], [0]], [3e9, 3e9], unit="seconds")),
    "line 1": json.dumps(document(evented(("O", 0, 0))))[:-20],
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_wrong_is_one_line(tmp_path, words):
    value = BAD[words]
    (tmp_path / "x.json").write_text(value if isinstance(value, str) else json.dumps(value))
    done = strobe("report", "x.json", cwd=tmp_path, check=False)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and words.encode() in done.stderr, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_random_profiles_against_a_model(tmp_path):
    """Own time by frame, counted here and by strobe."""
    chance = random.Random(7)
    for _ in range(5):
        samples = [[chance.randrange(3) for _ in range(chance.randrange(6))] for _ in range(60)]
        weights = [chance.randrange(1, 9) for _ in samples]
        own = {}
        for stack, weight in zip(samples, weights):
            if stack:
                own[stack[-1]] = own.get(stack[-1], 0) + weight
        (tmp_path / "x.json").write_text(json.dumps(document(sampled(samples, weights))))
        report = json.loads(strobe("report", "x.json", "--format", "json", "--combine", cwd=tmp_path).stdout)
        found = {s["name"]: s["self_s"] for s in report["stage_analysis"]["stages"]}
        assert found == pytest.approx({("main", "load", "decode")[k]: v / 1000 for k, v in own.items()})
