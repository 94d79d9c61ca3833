"""strobe share: nothing private is in the file, the numbers are, and every command opens it."""
import base64
import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
MARK = b'id="strobe-recording" data-encoding="gzip">'
PRIVATE = ["a secret cat", "hush-hush", "classified", "/home/ann", "/data/models", "private-module", "ann-the-user", "reason-text"]

PROGRAM = """
import strobe, sys
strobe.start(tags={"prompt": "a secret cat", "seed": 987654321, "user": "ann-the-user"})
for i in range(3):
    with strobe.section("vae_decode", frames=16, code="4c", where="/home/ann/classified/x.bin", dtype="bf16", note="private-module"):
        pass
strobe.event("ckpt", path="/data/models/wan.safetensors", note="classified words")
with strobe.section("read /home/ann/classified/weights.bin"):
    pass
with strobe.generation(frames=16):
    for _ in strobe.steps(range(4)):
        pass
strobe.stop()
"""


def strobe(*arguments, cwd, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    environment.update(PYTHONPATH=str(BUILD / "python"), STROBE_HISTORY=str(cwd / "history.db"), TMPDIR=str(cwd), NO_COLOR="1")
    return subprocess.run([BUILD / "strobe", *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL, **more)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A run of two recordings, shared; (folder, what share printed)."""
    if "STROBE_SANITIZED" in os.environ:
        pytest.skip("no Python package in a build with sanitizers")
    folder = tmp_path_factory.mktemp("share")
    (folder / "program.py").write_text(PROGRAM)
    done = strobe("run", "-o", "runs", "--", "/usr/bin/python3", "program.py", "--prompt", "hush-hush", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = strobe("share", "runs/last", "-o", "x.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.decode()


def packed_of(page):
    return gzip.decompress(base64.b64decode(page.split(MARK)[1].split(b"<")[0]))


def recording_of(page):
    """The recording inside a page as every command reads it."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "page.html").write_bytes(page)
        done = strobe("import", "page.html", "-o", "run", cwd=pathlib.Path(folder))
        assert done.returncode == 0, done.stderr
        return b"".join(p.read_bytes() for p in sorted((pathlib.Path(folder) / "run").glob("*.strobe")))


def packed_of_base64(page):
    return page.split(MARK)[1].split(b"<")[0]


def timeline_of(page):
    return gzip.decompress(base64.b64decode(re.search(rb'id="strobe-timeline"[^>]*>([^<]*)<', page).group(1)))


def test_nothing_private_is_in_the_file(shared):
    folder, _ = shared
    page = (folder / "x.html").read_bytes()
    for where in (page, packed_of(page), recording_of(page), timeline_of(page)):
        for private in [*PRIVATE, str(folder), os.uname().nodename if len(os.uname().nodename) > 4 else "no-such-host", "987654321"]:
            assert private.encode() not in where, private
    recording = recording_of(page)
    for name in (b"vae_decode", b"weights.bin", b"bf16", b"prompt"):
        assert name in recording  # what analyses need is still there


def test_the_recording_is_packed(tmp_path):
    subprocess.run([BUILD / "tests" / "make_recordings", tmp_path], check=True)
    if strobe("export", "rich.strobe", "--to", "packed", "-o", "p.strobe", cwd=tmp_path).returncode:
        pytest.skip("this build has no zstd")
    assert strobe("share", "rich.strobe", "-o", "x.html", cwd=tmp_path).returncode == 0
    page = (tmp_path / "x.html").read_bytes()
    packed = packed_of(page)
    assert packed.startswith(b"STROBEp\n") and packed[16:24] == b"STROBEz\n"
    assert len(packed) < len(gzip.compress(recording_of(page)))


def test_a_page_that_has_the_recording_as_it_is_is_read(shared, tmp_path):
    """As builds without zstd write it, and earlier versions did."""
    page = (shared[0] / "x.html").read_bytes()
    before, after = page.split(packed_of_base64(page))
    (tmp_path / "old.html").write_bytes(before + base64.b64encode(gzip.compress(recording_of(page))) + after)
    old, new = (json.loads(strobe("report", p, "--format", "json", cwd=tmp_path).stdout) for p in (tmp_path / "old.html", shared[0] / "x.html"))
    assert old["stage_analysis"] == new["stage_analysis"] and old["recording"]["zones"] == new["recording"]["zones"]


@pytest.mark.parametrize("at", [8, 20, 100, 1000])
def test_damaged_packed_recordings_are_refused_or_read_in_part(shared, tmp_path, at):
    page = (shared[0] / "x.html").read_bytes()
    packed = bytearray(packed_of(page))
    packed[at:at + 8] = b"\xff" * 8
    before, after = page.split(packed_of_base64(page))
    (tmp_path / "bad.html").write_bytes(before + base64.b64encode(gzip.compress(bytes(packed))) + after)
    done = strobe("report", "bad.html", cwd=tmp_path)
    assert done.returncode in (0, 2) and (done.returncode == 0 or done.stderr.count(b"\n") == 1), done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["bad.html"]


def test_what_was_removed_is_listed(shared):
    folder, said = shared
    assert re.search(r"\d+ command lines: removed", said) and "(prompt, seed, user)" in said
    assert re.search(r"[3-9]\d* paths: folders hashed", said)
    report = json.loads(re.search(rb'id="strobe-report"[^>]*>(.*?)</script>', (folder / "x.html").read_bytes(), re.S).group(1))
    gone = {m["what"]: m["why"] for m in report["not_recorded"]}
    assert re.fullmatch(r"removed by strobe share \(\d+\)", gone["command lines"]) and "hashed" in gone["values of tags"]
    assert report["session_info"]["command"] == "(removed)" and report["session_info"]["run"] == "x.html"


def test_a_report_of_the_page_lists_what_was_removed(shared):
    folder, said = shared
    counts = {what.strip(): count for count, what in re.findall(r"^ +(\d+) ([^:(\n]+)", said, re.M)}
    for form in ("text", "md", "json"):
        report = strobe("report", "x.html", "--format", form, cwd=folder).stdout.decode()
        for what, done in (("command lines", "removed"), ("values of tags", "texts hashed, numbers removed"), ("paths", "folders hashed"),
                           ("host names and job ids", "hashed")):
            assert re.search(rf"{what}[^\n]*{done}[^\n]* by strobe share \({counts[what]}", report.replace('",\n', " ")), (form, what)
        assert "prompt, seed, user" in report
    report = json.loads(strobe("report", "x.html", "--format", "json", cwd=folder).stdout)
    assert report["recording"]["complete"]


def test_the_numbers_are_those_of_the_run(shared):
    folder, _ = shared
    both = [json.loads(strobe("report", run, "--format", "json", cwd=folder).stdout) for run in ("runs/last", "x.html")]

    def stages(report):
        return [(s["count"], s["total_s"], s.get("code"), s.get("attributes", {}).get("frames")) for s in report["stage_analysis"]["stages"]]

    assert stages(both[0]) == stages(both[1]) and len(stages(both[1])) >= 4
    assert both[0]["summary"]["steps"] == both[1]["summary"]["steps"] == 4
    assert both[0]["recording"]["zones"] == both[1]["recording"]["zones"]
    assert both[1]["recording"]["complete"] and both[0]["session_info"]["id"] == both[1]["session_info"]["id"]


@pytest.mark.parametrize("command", [
    ["report", "x.html"], ["report", "x.html", "--format", "md"], ["report", "x.html", "--format", "html", "-o", "page.html"],
    ["report", "x.html", "--generation", "1"], ["top", "x.html", "--once"], ["diff", "x.html", "x.html"], ["aggregate", "x.html"],
    ["export", "x.html", "--to", "chrome", "-o", "t.json"], ["export", "x.html", "--to", "perfetto", "-o", "t.pftrace"],
    ["export", "x.html", "--to", "csv", "-o", "t.csv"], ["history", "add", "x.html"], ["import", "x.html", "-o", "again"],
    ["share", "x.html", "-o", "twice.html"], ["whatif", "x.html", "4c.frames=8"], ["journal", "start", "x.html"],
], ids=lambda c: " ".join(c[:1] + c[2:4]))
def test_every_command_opens_it(shared, command):
    folder, _ = shared
    done = strobe(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"private-module" not in done.stdout


def test_two_shares_have_no_hash_in_common(shared):
    folder, _ = shared
    assert strobe("share", "runs/last", "-o", "y.html", "-q", cwd=folder).stdout == b"y.html\n"
    hashes = [set(re.findall(rb"#[0-9a-f]{8}", recording_of((folder / name).read_bytes()))) for name in ("x.html", "y.html")]
    assert hashes[0] and hashes[1] and not hashes[0] & hashes[1]


def test_nothing_is_left_beside_the_file(shared):
    folder, _ = shared
    assert not [p.name for p in folder.iterdir() if ".tmp" in p.name or p.name.endswith(".part") or p.name.startswith("strobe-import")]


@pytest.mark.parametrize("cut", [0.3, 0.9, 0.999])
def test_a_page_that_is_cut_off_is_refused_or_read_up_to_there(shared, tmp_path, cut):
    page = (shared[0] / "x.html").read_bytes()
    at = page.index(MARK) + len(MARK)
    packed = page[at:].split(b"<")[0]
    (tmp_path / "cut.html").write_bytes(page[:at + int(len(packed) * cut)])
    done = strobe("report", "cut.html", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"'cut.html' is cut off: " in done.stderr
    (tmp_path / "cut.html").write_bytes(page[:int(at * cut)])  # before the recording
    assert b"'cut.html' is cut off: " in strobe("report", "cut.html", cwd=tmp_path).stderr
    assert [p.name for p in tmp_path.iterdir()] == ["cut.html"]


def test_damaged_bytes_are_refused(shared, tmp_path):
    page = (shared[0] / "x.html").read_bytes()
    at = page.index(MARK) + len(MARK) + 5000
    (tmp_path / "bad.html").write_bytes(page[:at] + b"A" * 400 + page[at + 400:])
    done = strobe("report", "bad.html", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_a_recording_that_is_none_is_refused(tmp_path):
    packed = base64.b64encode(gzip.compress(b"\0" * 100000))
    (tmp_path / "no.html").write_bytes(b"<!DOCTYPE html><script " + MARK + packed + b"</script>")
    done = strobe("report", "no.html", cwd=tmp_path)
    assert done.returncode == 2 and b"contain a recording" in done.stderr


def test_a_damaged_recording_gives_no_unread_bytes_away(tmp_path):
    """What a reader skips may hold anything."""
    subprocess.run([BUILD / "tests" / "make_recordings", tmp_path], check=True)
    whole = bytearray((tmp_path / "rich.strobe").read_bytes())
    whole[4096 + 64:4096 + 72] = b"\xff" * 8  # a word of no known kind: the rest of the chunk is not read
    whole[4096 + 2000:4096 + 2012] = b"TOP-SECRET!!"
    (tmp_path / "damaged.strobe").write_bytes(whole)
    done = strobe("share", "damaged.strobe", "-o", "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"TOP-SECRET" not in recording_of((tmp_path / "x.html").read_bytes())
