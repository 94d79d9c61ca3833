"""Text, JSON, Markdown and page say the same numbers, of random recordings: threads, tasks, nested, overlapping, open zones.

usage: check_faces.py STROBE MAKE_RANDOM"""
import json
import os
import re
import subprocess
import sys
import tempfile

STROBE, MAKE = sys.argv[1:3]
SEEDS = range(1, 61)
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
TIME = r"(\d[\d.]*) ?(s|ms|us|ns)"
WIDE = {**os.environ, "COLUMNS": "250", "NO_COLOR": "1"}  # no name is cut


def report(path, form):
    done = subprocess.run([STROBE, "report", path, "--format", form, "-o", "-", "--top", "1000"], capture_output=True, text=True, env=WIDE)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Shown(float):
    """A time as printed, with half of its last digit."""
    slack = 0.0


def seconds(number, unit):
    shown = Shown(float(number) * UNITS[unit])
    shown.slack = 0.5 * 10 ** -len(number.partition(".")[2]) * UNITS[unit]
    return shown


def is_as_printed(shown, exact):
    return abs(shown - exact) <= shown.slack * 1.001 + 1e-9


def section(text, heading):
    """The lines below a heading, to the next empty one."""
    found = re.search(rf"^{heading}.*\n((?:.+\n)*)", text, re.M)
    return found[1].splitlines() if found else []


def tree_rows(text):
    """(depth, name, total, share, self, calls) of every timed row."""
    row = re.compile(rf"^( +)(\S.*?) {{2,}}{TIME} +([\d.]+)%\*? +{TIME} +(?:(?:-|{TIME}) +)?(\d+)(?= |$)")
    found = []
    for line in section(text, "Stage tree"):
        m = row.match(line)
        if m:
            name = re.sub(r" \([^()]*(?:open|recursive|names)\)$", "", m[2])
            found.append((len(m[1]) // 2 - 1, name, seconds(m[3], m[4]), float(m[5]), seconds(m[6], m[7]), int(m[10])))
    return found


def check_tree(text, stages):
    shown = tree_rows(text)
    hidden = re.search(r"^  \((\d+) small stages? not shown", text, re.M)
    assert len(shown) + int(hidden[1] if hidden else 0) == len(stages), (len(shown), len(stages))
    rest = iter(stages)
    for depth, name, total, share, own, calls in shown:
        s = next(s for s in rest if (depth, name, calls) == (s["depth"], s["name"], s["count"]) and is_as_printed(total, s["total_s"]))
        assert is_as_printed(total, s["total_s"]) and is_as_printed(own, s["self_s"]), (name, total, own, s)
        assert abs(share - 100 * s["wall_ratio"]) <= 0.0501, (name, share, s)


def check_table(text, stages):
    """Every stage's numbers are in the table, extremes and percentiles too."""
    cell = r"(-|\d[\d.]*(?:s|ms|us|ns))"
    row = re.compile(rf"^(\S.*?) +(\d+) +{TIME} +{' +'.join([cell] * 7)} +([\d.]+)%\*?$")
    rows = [m for m in map(row.match, section(text, "Operation ")) if m]
    left = [s for s in stages]
    assert len(rows) == len(stages), (len(rows), len(stages))
    keys = ("mean_s", "min_s", "max_s", "p50_s", "p95_s", "p99_s", "last_s")

    def agrees(m, s):
        if re.sub(r" \([^()]*(?:open|recursive|names)\)$", "", m[1]).split("/")[-1] != s["name"]:
            return False
        if int(m[2]) != s["count"] or not is_as_printed(seconds(m[3], m[4]), s["total_s"]) or abs(float(m[12]) - 100 * s["wall_ratio"]) > 0.0501:
            return False
        for key, shown in zip(keys, m.groups()[4:11]):
            if shown == "-":
                if key in s and s["count"] and key != "last_s":
                    return False
            elif not is_as_printed(seconds(*re.match(TIME, shown).groups()), s[key]):
                return False
        return True

    for m in rows:
        match = next((s for s in left if agrees(m, s)), None)
        assert match is not None, m[0]
        left.remove(match)


def check_sums(text, analysis):
    for word, key in (("unattributed", "unattributed_s"), ("wall", "wall_s")):
        m = re.search(rf"^{word} +{TIME}", text, re.M)
        assert is_as_printed(seconds(m[1], m[2]), analysis[key]), (word, m[0], analysis[key])
    overlap = re.search(rf"^overlap, top level +-{TIME}", text, re.M)
    if overlap:
        assert is_as_printed(seconds(overlap[1], overlap[2]), analysis["overlap_s"]), overlap[0]
    else:
        assert analysis.get("overlap_s", 0) < 0.0005 * analysis["wall_s"] + 1e-9
    # what is printed adds up, to its own digits
    shares = [share for depth, _, _, share, _, _ in tree_rows(text) if depth == 0]
    rest = [float(v) for v in re.findall(r"^  (?:unattributed|overlap \(at the same time\)) .*?(-?[\d.]+)%$", "\n".join(section(text, "Stage tree")), re.M)]
    if shares:
        assert abs(sum(shares) + sum(rest) - 100) <= 0.051 * (len(shares) + 2), (shares, rest)


def check_generations(text, generations, summary):
    lines = section(text, "Generations")
    if generations["whole_run"]:
        assert not lines
        return
    row = re.compile(rf"^  \S.*? +([\d.]+) +{TIME} +(n/a|\d+) +(n/a|\d+) +(n/a|[\d.e-]+) +(?:n/a|[\d.]+ \w+) +(?:n/a|\d+)")
    rows = [m for m in map(row.match, lines) if m]
    assert len(rows) == min(20, len(generations["items"])), lines
    for m, g in zip(rows, generations["items"]):
        assert abs(float(m[1]) - g["start_s"]) <= 0.0051 and is_as_printed(seconds(m[2], m[3]), g["wall_s"]), (m[0], g)
        assert m[4] == str(g.get("frames", "n/a")) and m[5] == str(g.get("steps", "n/a")), (m[0], g)
        assert m[6] == "n/a" if "fps" not in g else abs(float(m[6]) - g["fps"]) <= 0.0051 + 0.01 * g["fps"] * (g["fps"] < 0.005), (m[0], g)
    spread = re.search(rf"^  (\d+), p50 {TIME}, p95 {TIME}, min {TIME}, max {TIME}$", "\n".join(lines), re.M)
    if generations.get("wall", {}).get("count", 0) > 1:
        for i, key in ((2, "p50_s"), (4, "p95_s"), (6, "min_s"), (8, "max_s")):
            assert is_as_printed(seconds(spread[i], spread[i + 1]), generations["wall"][key]), (spread[0], generations["wall"])
    assert summary["generation_s"] <= summary["wall_s"] * (1 + 1e-9)


def check_rates(text, diffusion):
    exact = diffusion.get("rates", [])
    for rate in exact:
        assert rate.get("compute_s", 0) <= rate["wall_s"] * (1 + 1e-9), rate
    if not any("wall_fps" in rate for rate in exact):
        return  # without frames no rate is shown
    shown = re.findall(rf"^  (denoise|denoise \+ VAE|end to end) +{TIME} +(n/a|[\d.]+) +(?:{TIME}|n/a) +(n/a|[\d.]+)$", "\n".join(section(text, "Video")), re.M)
    assert len(shown) == len(exact), (shown, exact)
    for (_, wall, wall_unit, wall_fps, compute, compute_unit, compute_fps), rate in zip(shown, exact):
        assert is_as_printed(seconds(wall, wall_unit), rate["wall_s"]), rate
        assert ("compute_s" in rate) == bool(compute) and (not compute or is_as_printed(seconds(compute, compute_unit), rate["compute_s"])), rate
        for text_fps, key in ((wall_fps, "wall_fps"), (compute_fps, "compute_fps")):
            assert text_fps == "n/a" if key not in rate else abs(float(text_fps) - rate[key]) <= 0.0051, (text_fps, rate)


def check(path):
    text, exact = report(path, "text"), json.loads(report(path, "json"))
    analysis = exact["stage_analysis"]
    timed = [s for s in analysis["stages"] if s.get("state") not in ("skipped", "untimed")]
    page = re.search(r'<script[^>]*id="strobe-report"[^>]*>(.*?)</script>', report(path, "html"), re.S)[1]
    volatile = ("session_info",)  # when it was made
    assert {k: v for k, v in json.loads(page).items() if k not in volatile} == {k: v for k, v in exact.items() if k not in volatile}
    if not timed:
        return 0
    check_tree(text, timed)
    check_table(text, timed)
    check_sums(text, analysis)
    check_generations(text, exact["generations"], exact["summary"])
    if "diffusion_analysis" in exact:
        check_rates(text, exact["diffusion_analysis"])
    return len(timed)


def main():
    rows = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            path = os.path.join(folder, "random.strobe")
            subprocess.run([MAKE, path, str(seed)], check=True)
            try:
                rows += check(path)
            except AssertionError as wrong:
                failed += 1
                print("seed %d: %s" % (seed, wrong))
    print("%d recordings, %d rows in every face, %d recordings disagree" % (len(SEEDS), rows, failed))
    assert rows > 500
    return failed > 0


sys.exit(main())
