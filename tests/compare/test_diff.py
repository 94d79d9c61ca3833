"""strobe diff. Expected output lies in tests/cli/diff/; STROBE_ACCEPT=1 takes what is printed now."""
import json
import os
import subprocess

import pytest

from conftest import BUILD, SOURCE


def expect(name, text):
    path = SOURCE / "tests" / "cli" / name
    if os.environ.get("STROBE_ACCEPT"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("form, rest", [("text", "\n  Metric"), ("markdown", "\n<details>"), ("template", "\f")])
def test_diff_of_two_stage_logs(strobe, form, rest):
    option = ["--template"] if form == "template" else ["--format", form]
    expect(f"diff/stagelog.{form}", strobe("diff", "before.txt", "after.txt", *option).stdout.split(rest)[0])


def test_the_tracking_sheet_has_one_unit_and_the_digits_that_short_stages_need(strobe, tmp_path):
    (tmp_path / "old.txt").write_text("[1a] prepare: 0.0031s\n[1b] copy: 0.000035s\n[1c] decode: 1.5s\n")
    (tmp_path / "new.txt").write_text("[1a] prepare: 0.0042s\n[1b] copy: 0.000032s\n[1c] decode: 1.25s\n")
    after = strobe("diff", "old.txt", "new.txt", "--template").stdout.split("AFTER")[1]
    assert "- [1a] prepare: 0.004200s (Δ: +0.001100s)\n" in after
    assert "- [1b] copy:    0.000032s (Δ: -0.000003s)\n" in after
    assert "- [1c] decode:  1.250000s (Δ: -0.250000s)\n" in after


def test_diff_leads_with_the_total_although_a_stage_gained(strobe):
    lines = strobe("diff", "before.txt", "after.txt").stdout.splitlines()
    assert lines[1].startswith("Total 281.96 s -> 299.88 s  (+17.92 s, +6.4 %)")
    assert "[4f.2]" in lines[3] and "largest" in lines[3]
    assert any("[3b] RAFT" in line and "3.97 s less" in line for line in lines)


def test_diff_fails_above_its_limit_only(strobe):
    failed = strobe("diff", "before.txt", "after.txt", "--fail-above", "5%", code=1)
    assert "FAIL: Total 281.96 s -> 299.88 s" in failed.stdout
    assert "PASS" in strobe("diff", "before.txt", "after.txt", "--fail-above", "7%").stdout
    assert "FAIL: [4c]" in strobe("diff", "before.txt", "after.txt", "--fail-above", "4c=3%", code=1).stdout


def test_diff_fails_on_what_is_missing(strobe):
    assert "neither a metric nor a stage" in strobe("diff", "before.txt", "after.txt", "--fail-above", "upscale=5%",
                                                    code=2).stderr
    assert "'vram' is missing" in strobe("diff", "before.txt", "after.txt", "--fail-above", "vram=5%", code=1).stdout
    # [4d] had a time in BASE and has none in NEW
    assert "has no time in NEW" in strobe("diff", "before.txt", "after.txt", "--fail-above", "4d=5%", code=1).stdout
    strobe("diff", "before.txt", "after.txt", "--fail-above", "vram=5%", "--format", "json", code=1)


def test_diff_of_several_runs_a_side_needs_four_of_them(strobe):
    def total(count):
        out = strobe("diff", "--base", ",".join(["before.txt"] * count), "--new", ",".join(["after.txt"] * count),
                     "--format", "json").stdout
        return json.loads(out)["total"]

    assert total(3)["verdict"] == "too_few"
    assert total(4)["verdict"] == "worse" and total(4)["basis"] == "rank_test"
    text = strobe("diff", "--base", "before.txt,before.txt", "--new", "after.txt,after.txt", "--fail-above", "5%",
                  code=1).stdout
    assert "too few to judge: 4 a side are needed" in text
    assert "not judged, 2 and 2 repetitions are too few" in text
    same = json.loads(strobe("diff", "--base", "before.txt", "--new", "before.txt", "--format", "json").stdout)
    assert same["total"]["verdict"] == "same" and not same["explanations"]


def test_a_change_inside_the_noise_does_not_fail(strobe):
    mixed = "before.txt,after.txt,before.txt,after.txt"
    out = strobe("diff", "--base", mixed, "--new", mixed.removesuffix("before.txt,after.txt") + "after.txt,after.txt",
                 "--fail-above", "2%").stdout
    assert "PASS" in out


@pytest.mark.parametrize("args, words", [
    (["--fail-above", "5"], "--fail-above 5 would allow 500 %: write 5%"),
    (["--tolerance", "2"], "--tolerance 2 would allow 200 %: write 2%"),
    (["--template", "--format", "json"], "--template and --format cannot be used together"),
    (["--top", "0"], "--top takes a whole number from 1 to 1000000, not '0'"),
    (["--top", "2.5"], "--top takes a whole number from 1 to 1000000, not '2.5'"),
])
def test_diff_refuses_what_is_hardly_meant(strobe, args, words):
    assert words in strobe("diff", "before.txt", "after.txt", *args, code=2).stderr


def test_diff_of_a_part_compares_that_part(strobe, tmp_path):
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "job", "2", "400", "1"], check=True)
    whole = json.loads(strobe("diff", "job/rank_0", "job/rank_1", "--format", "json").stdout)["total"]["base_value"]
    part = json.loads(strobe("diff", "job/rank_0", "job/rank_1", "--last", "500ms", "--format", "json").stdout)["total"]
    assert part["base_value"] == pytest.approx(0.5) and whole > 1


def test_diff_judges_steps_by_a_rank_test(strobe, tmp_path):
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "even", "2", "200"], check=True)
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "slow", "2", "200", "1"], check=True)
    report = json.loads(strobe("diff", "even/rank_0", "slow/rank_0", "--format", "json").stdout)
    step = next(s for s in report["stages"] if s["name"] == "step")
    assert (step["judged"], step["basis"], step["verdict"]) == ("single_calls", "rank_test", "worse")
    assert step["p_ratio"] < 0.001 and step["change_low_ratio"] > 1.1


def test_twice_as_many_of_the_same_calls_take_longer(strobe, tmp_path):
    """A call takes what it took: in a generation the stage takes twice as long, and the gate says so."""
    for count in (4, 8):
        subprocess.run([BUILD / "tests" / "make_steps", tmp_path / f"s{count}.strobe", str(count)], check=True)
    report = json.loads(strobe("diff", "s4.strobe", "s8.strobe", "--format", "json").stdout)
    stage = next(s for s in report["stages"] if s["name"] == "denoise")
    assert stage["verdict"] == "worse" and stage["change_low_ratio"] > 0.9
    assert "FAIL: denoise" in strobe("diff", "s4.strobe", "s8.strobe", "--fail-above", "denoise=5%", code=1).stdout


def test_diff_says_what_it_cannot_open(strobe):
    assert "nosuch" in strobe("diff", "nosuch", "after.txt", code=2).stderr
    assert "BASE" in strobe("diff", code=2).stderr
    assert "--fail-above" in strobe("diff", "before.txt", "after.txt", "--fail-above", "much", code=2).stderr


def test_the_ending_of_the_output_chooses_the_format(strobe, tmp_path):
    strobe("report", "before.txt", "-o", "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["stage_analysis"]["wall_s"] == pytest.approx(281.96)
    strobe("report", "before.txt", "-o", "a.html")
    assert (tmp_path / "a.html").read_text().lstrip().lower().startswith("<!doctype html")
    strobe("diff", "before.txt", "after.txt", "-o", "d.json")
    assert json.loads((tmp_path / "d.json").read_text())
    strobe("diff", "before.txt", "after.txt", "-o", "d.md")
    assert "|" in (tmp_path / "d.md").read_text()
    strobe("import", "-q", "-o", "runs/a", "before.txt")
    strobe("aggregate", "runs", "-o", "g.json")
    assert json.loads((tmp_path / "g.json").read_text())["report_count"] == 1
    strobe("aggregate", "runs", "-o", "g.html")
    assert "<html" in (tmp_path / "g.html").read_text()[:2000].lower()
    strobe("export", "runs/a", "-o", "t.json")
    assert "traceEvents" in json.loads((tmp_path / "t.json").read_text())
    strobe("report", "before.txt", "--format", "text", "-o", "b.json")  # what is said counts
    assert (tmp_path / "b.json").read_text().startswith("strobe: before.txt")


def test_a_command_that_one_side_lacks_is_said_once(strobe):
    strobe("run", "-q", "-o", "runs", "--", BUILD / "tests" / "marked", "3")
    text = strobe("diff", "before.txt", "runs/last").stdout
    assert "    command: not recorded -> " in text and "command command" not in text
    assert "- command: not recorded → " in strobe("diff", "before.txt", "runs/last", "--format", "markdown").stdout
