"""strobe.output(): what a program names as its result."""
import os
import pathlib

import strobe


def outputs(record):
    folder = strobe.run_dir()
    record()
    return strobe.report(folder).data.get("outputs")


def test_a_path_is_recorded_whole_and_given_back(record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("out.mp4").write_bytes(b"abc")
    assert strobe.output("out.mp4") == "out.mp4"
    strobe.output(pathlib.Path("/data/out.rgb"), width=8, height=4, pixel_format="rgb24")
    written, missing = outputs(record)
    assert written["path"] == os.path.join(os.getcwd(), "out.mp4") and written["state"] == "written"
    assert written["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert missing == {"path": "/data/out.rgb", "state": "missing", "width_px": 8, "height_px": 4, "pixel_format": "rgb24"}


def test_the_same_path_counts_once(record, tmp_path):
    for _ in range(3):
        strobe.output(tmp_path / "out.mp4")
    assert len(outputs(record)) == 1


def test_without_a_session_it_only_gives_the_path_back(tmp_path):
    assert strobe.output(tmp_path / "out.mp4") == tmp_path / "out.mp4"


def test_a_name_that_is_no_utf8_does_no_harm(record):
    strobe.output(b"/tmp/\xff.mp4")
    assert len(outputs(record)) == 1
