"""Quality beside speed: what two runs wrote, compared in diff, journal, JSON and page. The files are y4m, which strobe
reads by itself; videos go through ffmpeg where there is one, and through a stand-in that hands out a y4m."""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
STROBE = BUILD / "strobe"
FRAMES, WIDTH, HEIGHT = 12, 32, 16


def y4m(plus=0, frames=FRAMES, only=None):
    """Samples of which those of one frame, or all, are raised."""
    parts = [b"YUV4MPEG2 W%d H%d F8:1 C420jpeg\n" % (WIDTH, HEIGHT)]
    for f in range(frames):
        raised = plus if only in (None, f) else 0
        parts.append(b"FRAME\n" + bytes((7 * f + 3 * i) % 200 + raised for i in range(WIDTH * HEIGHT * 3 // 2)))
    return b"".join(parts)


@pytest.fixture
def desk(tmp_path):
    """A folder in which runs are made: run(bytes) records a program that writes them to out.y4m."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    environment.update(STROBE_FFMPEG="/nowhere/ffmpeg", STROBE_HISTORY=str(tmp_path / "history.db"))

    class Desk:
        folder = tmp_path

        def strobe(self, *arguments, code=0, **env):
            done = subprocess.run([STROBE, *map(str, arguments)], cwd=tmp_path, env={**environment, **env}, capture_output=True, text=True)
            assert done.returncode == code, done.stdout + done.stderr
            return done.stdout

        def run(self, content, name="out.y4m", **env):
            (tmp_path / "new").write_bytes(content)
            self.strobe("run", "-q", "--output", name, "--", "cp", "new", name, **env)

        def outputs(self, *arguments, **env):
            return json.loads(self.strobe("diff", *arguments, "--format", "json", **env))["outputs"]
    return Desk()


def test_the_run_keeps_size_sum_and_a_copy(desk):
    import hashlib
    desk.run(y4m())
    (desk.folder / "out.y4m").write_bytes(b"written by another program")
    one, = json.loads(desk.strobe("report", "--format", "json"))["outputs"]
    assert one["state"] == "written" and one["size_bytes"] == len(y4m())
    assert one["sha256"] == hashlib.sha256(y4m()).hexdigest()
    assert pathlib.Path(one["kept_path"]).read_bytes() == y4m()
    assert "out.y4m" in desk.strobe("report") and "copy kept" in desk.strobe("report")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_another_users_run_names_is_not_read(desk):
    """It may be any file of this user: a key, say, whose copy would lie in the other one's folder."""
    desk.run(y4m(), STROBE_KEEP_OUTPUT_BYTES="0")
    run = (desk.folder / "strobe-runs" / "last").resolve()
    (run / "outputs.json").unlink()
    os.chown(run, 65534, -1)
    one, = json.loads(desk.strobe("report", "--format", "json"))["outputs"]
    assert one["state"] == "not read" and one["why"] == "the run is another user's" and "sha256" not in one
    desk.strobe("report", "--write")
    assert not (run / "outputs").exists()


def test_reports_follow_no_link_out_of_the_runs_folder(desk):
    """A folder that was unpacked may hold links, which are the user's own then."""
    desk.run(y4m())
    run = (desk.folder / "strobe-runs" / "last").resolve()
    precious = desk.folder / "precious"
    names = ["profiling_report.json", "profiling_report.html", "timing_summary.txt", "memory_log.json", "trace.json"]
    precious.write_text("mine")
    for name in names:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(precious)
    desk.strobe("report", "--write", "--format", "all")
    desk.strobe("export", "--to", "chrome")
    assert precious.read_text() == "mine"
    assert all((run / name).is_file() and not (run / name).is_symlink() for name in names)


def test_the_same_file_is_identical(desk):
    desk.run(y4m())
    desk.run(y4m())
    assert "Output out.y4m: identical" in desk.strobe("diff", "last~1", "last")
    desk.strobe("diff", "last~1", "last", "--min-psnr", "90")


def test_another_file_has_its_psnr_although_the_first_was_overwritten(desk):
    desk.run(y4m())
    desk.run(y4m(plus=2, only=5))
    one, = desk.outputs("last~1", "last")
    assert one["verdict"] == "changed" and one["different_frame_count"] == 1 and one["compared_frame_count"] == FRAMES
    assert one["worst_frames"][0]["frame_index"] == 5
    assert one["worst_frames"][0]["psnr_db"] == pytest.approx(20 * math.log10(255 / 2))
    assert one["psnr_db"] == pytest.approx(20 * math.log10(255 / 2) + 10 * math.log10(FRAMES))
    assert "base_picture" not in one["worst_frames"][0]  # pages alone
    assert desk.outputs("strobe-runs/last/profiling_report.json", "last")[0]["verdict"] == "identical"


def test_a_speed_up_whose_output_changed_says_so(desk):
    report = {"schema": "strobe.report/1", "session_info": {"name": "a"}, "recording": {},
              "stage_analysis": {"wall_s": 10, "unattributed_s": 0, "stages": []}, "summary": {"wall_s": 10}}
    for name, wall, raised in ("slow", 10, 0), ("fast", 5, 3), ("faster", 5, 0):
        (desk.folder / (name + ".y4m")).write_bytes(y4m(raised))
        report["session_info"]["name"] = name
        report["stage_analysis"]["wall_s"] = report["summary"]["wall_s"] = wall
        report["outputs"] = [{"path": str(desk.folder / (name + ".y4m")), "state": "written", "size_bytes": len(y4m()),
                              "sha256": name[0] * 64, "kept_path": str(desk.folder / (name + ".y4m"))}]
        (desk.folder / (name + ".json")).write_text(json.dumps(report))
    text = desk.strobe("diff", "slow.json", "fast.json")
    assert "faster, but the output changed" in text.splitlines()[1]
    assert "PSNR 38.6 dB" in text
    assert "faster, but the output changed" in desk.strobe("diff", "slow.json", "fast.json", "--format", "markdown")
    assert "faster, but the output changed" in desk.strobe("diff", "slow.json", "fast.json", "--format", "json")
    same = desk.strobe("diff", "slow.json", "faster.json")
    assert "output changed" not in same and "the same pixels in another file" in same


def test_an_output_below_the_psnr_asked_for_fails(desk):
    desk.run(y4m())
    desk.run(y4m(plus=2))
    desk.strobe("diff", "last~1", "last", "--min-psnr", "40")
    said = desk.strobe("diff", "last~1", "last", "--min-psnr", "45", code=1)
    assert "FAIL: the output 'out.y4m' must keep a PSNR of 45 dB: changed: PSNR 42.1 dB" in said
    desk.strobe("run", "-q", "--", "true")
    assert "must keep a PSNR" in desk.strobe("diff", "last~1", "last", "--min-psnr", "20", code=1)
    desk.strobe("diff", "last~1", "last", "--min-psnr", "much", code=2)


def test_a_copy_too_large_is_not_kept_and_the_diff_says_so(desk):
    desk.run(y4m(), STROBE_KEEP_OUTPUT_BYTES="0")
    desk.run(y4m(plus=2), STROBE_KEEP_OUTPUT_BYTES="0")
    one, = desk.outputs("last~1", "last")
    assert one["verdict"] == "changed" and "overwritten, and the run kept no copy" in one["not_measured"]


def test_an_output_that_was_never_written_is_missing(desk):
    desk.strobe("run", "-q", "--output", "nothing.mp4", "--", "true")
    assert json.loads(desk.strobe("report", "--format", "json"))["outputs"][0]["state"] == "missing"
    desk.run(y4m(), name="nothing.mp4")
    one, = desk.outputs("last~1", "last")
    assert one["verdict"] == "unknown" and "did not leave" in one["not_measured"]


def test_without_a_report_at_the_end_a_later_writer_is_noticed(desk):
    desk.run(y4m(), STROBE_GENERATE_FINAL_REPORT="0")
    (desk.folder / "strobe-runs/last/outputs.json").unlink(missing_ok=True)
    os.utime(desk.folder / "out.y4m", (4e9, 4e9))
    assert json.loads(desk.strobe("report", "--format", "json"))["outputs"][0]["state"] == "overwritten"


def test_the_journal_has_a_column_against_the_baseline(desk):
    desk.run(y4m())
    desk.strobe("journal", "start", "last")
    desk.run(y4m())
    desk.strobe("journal", "add", "last", "again")
    desk.run(y4m(plus=2))
    text = desk.strobe("journal", "add", "last", "fewer steps")
    rows = [line.split() for line in text.splitlines()[:4]]
    assert "output" in rows[0] and "same" in rows[2] and rows[3][-2:] == ["42.1", "dB"]
    steps = json.loads(desk.strobe("journal", "show", "--format", "json"))["steps"]
    assert [step.get("output_verdict") for step in steps] == [None, "identical", "changed"]
    assert steps[2]["psnr_db"] == pytest.approx(20 * math.log10(255 / 2))
    assert "| 42.1 dB |" in desk.strobe("journal", "show", "--format", "markdown")


def test_the_page_shows_the_frames(desk):
    desk.run(y4m())
    desk.run(y4m(plus=40, only=3))
    page = desk.strobe("diff", "last~1", "last", "-o", "d.html") or (desk.folder / "d.html").read_text()
    assert "base_picture" in page or "strobe-report" in page  # packed where there is zlib
    data = subprocess.run([sys.executable, "-c", UNPACK, desk.folder / "d.html"], capture_output=True, text=True, check=True).stdout
    frame = json.loads(data)["outputs"][0]["worst_frames"][0]
    assert frame["frame_index"] == 3 and frame["difference_picture"].startswith("data:image/png;base64,")


UNPACK = r"""
import base64, re, sys, zlib
text = open(sys.argv[1]).read()
found = re.search(r'<script type="application/([^"]*)"[^>]*id="strobe-report"[^>]*>(.*?)</script>', text, re.S)
body = found.group(2)
try:
    print(zlib.decompress(base64.b64decode(body), 31).decode())
except Exception:
    print(body.replace("<\\/", "</"))
"""


def test_a_video_goes_through_ffmpeg(desk):
    """A stand-in for ffmpeg: it hands out the y4m that was put behind the video's name."""
    fake = desk.folder / "ffmpeg"
    fake.write_text("#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -i ] && file=${2#file:}; shift; done\ntail -c +9 \"$file\"\n")
    fake.chmod(0o755)
    desk.run(b"somehead" + y4m(), name="out.mp4")
    desk.run(b"somehead" + y4m(plus=2), name="out.mp4")
    assert desk.outputs("last~1", "last", STROBE_FFMPEG=str(fake))[0]["psnr_db"] == pytest.approx(20 * math.log10(255 / 2))
    one, = desk.outputs("last~1", "last")
    assert one["verdict"] == "changed" and "needs ffmpeg, which is not on this machine" in one["not_measured"]
    assert one["words"] == "changed (by how much is not known: reading 'out.mp4' needs ffmpeg, which is not on this machine)"


def test_real_videos_match_ffmpegs_own_numbers(desk):
    ffmpeg = os.environ.get("IMAGEIO_FFMPEG_EXE") or shutil.which("ffmpeg")
    if not ffmpeg:
        pytest.skip("no ffmpeg here")
    for name, quality in ("a.mp4", "10"), ("b.mp4", "35"):
        subprocess.run([ffmpeg, "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=12:d=2", "-c:v", "libx264", "-crf", quality, name], cwd=desk.folder, check=True)
    desk.run((desk.folder / "a.mp4").read_bytes(), name="out.mp4")
    desk.run((desk.folder / "b.mp4").read_bytes(), name="out.mp4")
    one, = desk.outputs("last~1", "last", STROBE_FFMPEG=ffmpeg)
    said = subprocess.run([ffmpeg, "-i", "b.mp4", "-i", "a.mp4", "-lavfi", "split=2[x][y];[x][1]psnr;[y][1]ssim", "-f", "null", "-"], cwd=desk.folder, capture_output=True, text=True).stderr
    assert one["psnr_db"] == pytest.approx(float(re.search(r"average:([\d.]+)", said).group(1)), abs=0.001)
    assert one["ssim_ratio"] == pytest.approx(float(re.search(r"SSIM Y:([\d.]+)", said).group(1)), abs=0.0002)
