"""A job that was started more than once, its attempts in folders side by side or in the one folder of `strobe run`: every command means the last
complete attempt, and an earlier one by its number."""
import json
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import BUILD, TOOL, environment

MARKED = BUILD / "tests" / "marked"
ITERATIONS = {"": 5, ".1": 3, ".2": 5}  # the third attempt never got its rank 0
START = "RANK={rank} LOCAL_RANK={rank} WORLD_SIZE=2 TORCHELASTIC_RUN_ID=j"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attempts")
    starts = [(3, 0), (3, 1), (5, 0), (5, 1), (7, 1)]

    def shell(text):
        subprocess.run(["sh", "-ec", text], cwd=folder, env=environment(folder), check=True, timeout=120)

    for iterations, rank in starts:
        shell(f"{START.format(rank=rank)} MASTER_PORT={iterations} {TOOL} run -q -o side --name t -- {MARKED} {iterations}")
    inner = "\n".join(f"{START.format(rank=rank)} {MARKED} {iterations}" for iterations, rank in starts)
    shell(f"{TOOL} run -q -o inside --name t -- sh -ec '{inner}'")
    (run,) = [p for p in (folder / "inside").iterdir() if not p.is_symlink()]
    run.rename(folder / "inside" / "t-j")
    return folder


KINDS = pytest.mark.parametrize("kind", ["side", "inside"])
ATTEMPTS = pytest.mark.parametrize("attempt", ITERATIONS)


@KINDS
@ATTEMPTS
def test_the_timeline_is_of_one_attempt(strobe, jobs, kind, attempt, tmp_path):
    job = jobs / kind / f"t-j{attempt}"
    strobe("export", job, "--to", "chrome", "-o", "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    lanes = {e["pid"] for e in events if e["name"] == "iteration"}
    assert len(lanes) == 2
    assert sum(e["name"] == "iteration" for e in events) == 2 * ITERATIONS[attempt]
    rows = strobe("export", job, "--to", "csv", "-o", "-").stdout.splitlines()
    assert sum(",iteration," in row for row in rows) == 2 * ITERATIONS[attempt]


@KINDS
@ATTEMPTS
def test_a_copy_is_of_one_attempt(strobe, jobs, kind, attempt, tmp_path):
    job = jobs / kind / f"t-j{attempt}"
    strobe("export", job, "--to", "packed", "-o", "copy")
    strobe("share", job, "-o", "copy.html")
    was = json.loads(strobe("report", job, "--format", "json").stdout)
    for copy in ("copy", "copy.html"):
        now = json.loads(strobe("report", copy, "--format", "json").stdout)
        assert now["metrics"] == was["metrics"] and "attempts" not in now


@KINDS
def test_a_served_job_lists_its_attempts_and_each_opens(jobs, kind, tmp_path):
    server = subprocess.Popen([TOOL, "serve", str(jobs / kind), "--port", "0"], stdout=subprocess.PIPE, env=environment(tmp_path), text=True)

    def get(run):
        return json.load(urllib.request.urlopen(f"{address}api/runs/{run}/report.json", timeout=60))

    try:
        address = server.stdout.readline().split(" at ")[1].split()[0]
        first, second = ("t-j", "t-j.2") if kind == "side" else ("t-j.1", "t-j")
        for run, taken in ((first, 1), (second, 2)):
            report = get(run)
            assert [(a["attempt_index"], a.get("taken", False)) for a in report["attempts"]] == [(n, n == taken) for n in (1, 2, 3)]
            assert [a["run"].rsplit("/", 1)[-1] for a in report["attempts"] if a["attempt_index"] == taken] == [run]
            frames = [get(f"{run}.rank_{rank}")["summary"]["frames"] for rank in (0, 1)]
            assert frames == [4 * ITERATIONS[f".{taken}"]] * 2
        for stranger in ("t-j.9", "t-j.1x", "t-j.1.rank_7", "t-j.1/rank_0"):
            with pytest.raises(urllib.error.HTTPError):
                get(stranger)
    finally:
        server.terminate()
        server.wait()
