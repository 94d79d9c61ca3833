"""A job packed or shared is the job it was: for report, diff, aggregate, serve, import, by rank and as a whole."""
import base64
import gzip
import json
import os
import struct
import subprocess
import urllib.request

import pytest

from conftest import BUILD, TOOL, environment

MARKED = BUILD / "tests" / "marked"
MARK = b'id="strobe-job" data-encoding="gzip">'
LAUNCHER = "for r in 0 1; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 TORCHELASTIC_RUN_ID=secret-job {} 3; done"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """A job of 8 ranks on 2 hosts, rank 5 slow; one that a launcher's one folder holds; copies of both."""
    folder = tmp_path_factory.mktemp("copies")

    def run(*args):
        done = subprocess.run([TOOL, *map(str, args)], cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    subprocess.run([BUILD / "tests" / "make_ranks", folder / "many", "8", "400", "5", "2", "3"], check=True)
    run("run", "-q", "-o", "out", "--name", "t", "--", "sh", "-c", LAUNCHER.format(MARKED))
    (launched,) = [p for p in (folder / "out").iterdir() if not p.is_symlink()]
    launched.rename(folder / "one")
    for job in ("many", "one"):
        run("export", job, "--to", "packed")
        run("share", job, "-o", f"{job}.html")
    return folder


def numbers(text):
    """A job's report without what names a host or where it lies."""
    report = json.loads(text)
    for rank in report["reports_summary"]:
        rank["run"] = rank["run"].rsplit("/", 1)[-1]
        rank["host"] = rank["session_id"] = None
    report.pop("job", None)
    for straggler in report.get("stragglers", []):
        straggler["host"] = None
    return report


COPIES = [(job, job + end) for job in ("many", "one") for end in (".packed", ".html")]


@pytest.mark.parametrize("job, copy", COPIES)
def test_a_copy_says_what_the_job_says(strobe, jobs, job, copy):
    for command in ("report", "aggregate"):
        was, now = (numbers(strobe(command, jobs / name, "--format", "json").stdout) for name in (job, copy))
        for key in ("rank_count", "metrics", "stages", "missing_ranks", "reports_summary"):
            assert now.get(key) == was.get(key), key
    diff = json.loads(strobe("diff", jobs / job, jobs / copy, "--format", "json").stdout)
    assert diff["total"]["base_value"] == diff["total"]["new_value"] and diff["jobs"]["new_rank_count"] == was["rank_count"]


@pytest.mark.parametrize("job, copy", COPIES)
def test_each_rank_of_a_copy_opens_by_name(strobe, jobs, job, copy):
    was, now = (json.loads(strobe("report", jobs / name / "rank_1", "--format", "json").stdout) for name in (job, copy))
    assert now["session_info"]["rank"] == 1 and now["stage_analysis"]["stages"] == was["stage_analysis"]["stages"]
    assert "rank_77" in strobe("report", jobs / copy / "rank_77", code=2).stderr


@pytest.mark.parametrize("command", [
    ["report", "JOB", "--format", "html", "-o", "page.html"], ["top", "JOB", "--once"], ["history", "add", "JOB"], ["share", "JOB", "-o", "twice.html"],
    ["export", "JOB", "--to", "chrome", "-o", "t.json"], ["export", "JOB", "--to", "packed", "-o", "again"], ["report", "JOB", "--brief"],
], ids=lambda c: " ".join(c[:1] + c[2:4]))
@pytest.mark.parametrize("job, copy", COPIES)
def test_every_command_takes_a_copy(strobe, jobs, job, copy, command, tmp_path):
    strobe(*[str(jobs / copy) if word == "JOB" else word for word in command], TMPDIR=str(tmp_path))
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith((".strobe", "strobe-"))]


@pytest.mark.parametrize("job", ["many", "one"])
def test_an_imported_page_is_the_folder_of_ranks(strobe, jobs, job, tmp_path):
    assert "job: again" in strobe("import", jobs / f"{job}.html", "-o", "again").stdout
    names = {p.relative_to(tmp_path / "again") for p in (tmp_path / "again").rglob("*.strobe")}
    assert names == {p.relative_to(jobs / job) for p in (jobs / job).rglob("*.strobe")}
    was, now = (json.loads(strobe("report", path, "--format", "json").stdout)["metrics"] for path in (jobs / job, "again"))
    assert now == was
    assert "exists already" in strobe("import", jobs / f"{job}.html", "-o", "again", code=2).stderr


def test_reports_of_a_page_are_written_where_it_is_said(strobe, jobs, tmp_path):
    assert "say where with -o" in strobe("report", jobs / "many.html", "--format", "all", code=2).stderr
    assert "say where with -o" in strobe("report", jobs / "many.html" / "rank_0", "--format", "all", code=2).stderr
    strobe("export", jobs / "many.html", "--to", "chrome")
    assert (tmp_path / "many.json").stat().st_size > 1000
    strobe("history", "add", jobs / "many.html")
    (row,) = json.loads(strobe("history", "list", "--format", "json").stdout)
    assert row["run"] == str(jobs / "many.html") and row["rank_count"] == 8


@pytest.mark.parametrize("job, private", [("many", ["node000", "node001"]), ("one", ["secret-job", str(MARKED), os.uname().nodename])])
def test_nothing_private_is_in_the_page_of_a_job(jobs, job, private):
    page = (jobs / f"{job}.html").read_bytes()
    inside = gzip.decompress(base64.b64decode(page.split(MARK)[1].split(b"<")[0]))
    assert inside.startswith(b"STROBEj\n") and page.startswith(b"<!doctype html><!--strobe:job-->")
    for word in [*private, str(jobs)]:
        assert len(word) < 4 or (word.encode() not in page and word.encode() not in inside), word


def test_what_was_removed_is_listed_by_each_rank(strobe, jobs):
    for rank in ("many.html/rank_0", "many.html/rank_7", "one.html/rank_0", "one.html/rank_1"):
        gone = [m for m in json.loads(strobe("report", jobs / rank, "--format", "json").stdout)["not_recorded"] if "strobe share" in m["why"]]
        assert "host names and job ids" in [m["what"] for m in gone], rank
        assert len({m["what"] for m in gone}) == len(gone), rank


def test_of_several_attempts_the_last_complete_one_is_packed(strobe, tmp_path):
    for port, ranks in (("1", (0, 1)), ("2", (0, 1)), ("3", (1,))):
        for rank in ranks:
            strobe("run", "-q", "-o", "out", "--name", "t", "--", MARKED, "3", RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                   TORCHELASTIC_RUN_ID="j", MASTER_PORT=port)
    strobe("export", "out/t-j", "--to", "packed")
    second, copy = (json.loads(strobe("report", f"out/{name}", "--format", "json").stdout) for name in ("t-j.2", "t-j.packed"))
    assert copy["metrics"] == second["metrics"] and "attempts" not in copy
    for attempt in ("t-j.1", "t-j.2"):
        strobe("export", f"out/{attempt}", "--to", "packed")
        assert (tmp_path / "out" / f"{attempt}.packed" / "rank_1").is_dir()


def test_a_rank_that_cannot_be_read_is_named_and_the_rest_is_copied(strobe, jobs, tmp_path):
    subprocess.run(["cp", "-r", jobs / "many", tmp_path / "bad"], check=True)
    (tmp_path / "bad" / "rank_2" / "run.strobe").write_text("not a recording")
    for command in (["export", "bad", "--to", "packed"], ["share", "bad", "-o", "bad.html"]):
        assert "rank_2 is left out" in strobe(*command).stderr
    for copy in ("bad.packed", "bad.html"):
        assert json.loads(strobe("report", copy, "--format", "json").stdout)["missing_ranks"] == [2]
    assert "exists already" in strobe("export", "bad", "--to", "packed", code=2).stderr
    assert "packed whole" in strobe("export", "bad", "--to", "packed", "--last", "1s", code=2).stderr


@pytest.mark.parametrize("name", [b"../run.strobe", b"/run.strobe", b"rank_1/../run.strobe", b"rank_x/run.strobe", b"rank_1/x.strobe", b"run.sh", b"a" * 300])
def test_a_page_writes_nowhere_else(strobe, jobs, tmp_path, name):
    page = (jobs / "many.html").read_bytes()
    packed = page.split(MARK)[1].split(b"<")[0]
    bad = gzip.compress(b"STROBEj\n" + struct.pack("<Q", len(name)) + name + struct.pack("<Q", 4) + b"evil")
    (tmp_path / "bad.html").write_bytes(page.replace(packed, base64.b64encode(bad)))
    (tmp_path / "tmp").mkdir()
    said = strobe("report", "bad.html", code=2, TMPDIR=str(tmp_path / "tmp")).stderr
    assert said == "strobe report: the job in 'bad.html' is damaged\n" and not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("cut", [0.2, 0.9, 0.999])
def test_a_page_that_is_cut_off_is_refused(strobe, jobs, tmp_path, cut):
    page = (jobs / "many.html").read_bytes()
    (tmp_path / "cut.html").write_bytes(page[: page.index(MARK) + int(cut * len(page.split(MARK)[1].split(b"<")[0]))])
    assert "cut off" in strobe("report", "cut.html", code=2).stderr


def test_a_page_through_a_pipe_is_refused_in_words(jobs, tmp_path):
    done = subprocess.run([TOOL, "report", "-"], stdin=open(jobs / "many.html", "rb"), env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 2 and "save it to a file" in done.stderr


@pytest.mark.parametrize("copy", ["many.packed", "many.html"])
def test_serve_shows_a_copy_as_the_job(jobs, tmp_path, copy):
    server = subprocess.Popen([TOOL, "serve", str(jobs / copy), "--port", "0"], stdout=subprocess.PIPE, env=environment(tmp_path, TMPDIR=str(tmp_path)), text=True)
    try:
        address = server.stdout.readline().split(" at ")[1].split()[0]
        runs = json.load(urllib.request.urlopen(address + "api/runs", timeout=60))["runs"]
        job = next(r for r in runs if r.get("rank_count"))
        assert job["rank_count"] == 8 and len(runs) == 9
    finally:
        server.terminate()
        server.wait()
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith("strobe-job")]
