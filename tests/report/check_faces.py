"""Text, JSON, the one-screen summary and page say the same numbers, of random recordings: threads, tasks, nested, overlapping, open zones.

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


def percent(shown):
    """Of what is less than a tenth, nothing is as near as a tenth."""
    return 0.0 if shown.startswith("<") else float(shown)


def tree_rows(text):
    """(depth, name, total, share, self, calls) of every timed row."""
    row = re.compile(rf"^( +)(\S.*?) {{2,}}{TIME} +(<?[\d.]+)%\*? +{TIME} +(?:(?:-|{TIME}) +)?(\d+)(?= |$)")
    found = []
    for line in section(text, "Stage tree"):
        m = row.match(line)
        if m:
            name = re.sub(r" \([^()]*(?:open|recursive|names)\)$", "", m[2])
            found.append((len(m[1]) // 2 - 1, name, seconds(m[3], m[4]), percent(m[5]), seconds(m[6], m[7]), int(m[10])))
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
    row = re.compile(rf"^(\S.*?) +(\d+) +{TIME} +{' +'.join([cell] * 7)} +(<?[\d.]+)%\*?$")
    rows = [m for m in map(row.match, section(text, "Operation ")) if m]
    left = [s for s in stages]
    assert len(rows) == len(stages), (len(rows), len(stages))
    keys = ("mean_s", "min_s", "max_s", "p50_s", "p95_s", "p99_s", "last_s")

    def agrees(m, s):
        if re.sub(r" \([^()]*(?:open|recursive|names)\)$", "", m[1]).split("/")[-1] != s["name"]:
            return False
        if int(m[2]) != s["count"] or not is_as_printed(seconds(m[3], m[4]), s["total_s"]) or abs(percent(m[12]) - 100 * s["wall_ratio"]) > 0.0501:
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
    rest = [percent(v) for v in re.findall(r"^  (?:unattributed|overlap \(at the same time\)) .*? (<?-?[\d.]+)%$", "\n".join(section(text, "Stage tree")), re.M)]
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


# ---- the one-screen summary: every line has a form, and every number in it is that of the JSON ----

SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
POWERS = {"B": 1, "kB": 2 ** 10, "MB": 2 ** 20, "GB": 2 ** 30, "TB": 2 ** 40}  # of memory
ENERGIES = {"J": 1 / 3600, "mJ": 1 / 3.6e6, "Wh": 1, "kWh": 1e3}


def near(number, unit, units, exact):
    """Whether a printed number is the exact one to its last digit."""
    return abs(float(number) * units[unit] - exact) <= 0.5005 * 10 ** -len(number.partition(".")[2]) * units[unit] + 1e-12


def is_time(number, unit, exact):
    return is_as_printed(seconds(number, unit), exact)


MARK = r"  <- (MAJOR BOTTLENECK|BOTTLENECK|MAIN MODEL|MAIN PART|LARGEST STAGE)"
LEVELS = {"MAJOR BOTTLENECK": ("major",), "BOTTLENECK": ("major", "other"), "MAIN MODEL": ("model",),
          "MAIN PART": ("part",), "LARGEST STAGE": ("largest",)}


def screen_lines(screen):
    """What was broken into two lines is one again."""
    lines = []
    for line in screen.splitlines():
        inside = re.search(rf" % .* \d+{MARK}$", line)  # a marked stage inside the one above
        broken = line.startswith("    ") and not inside and not re.match(r"    (warm step|[ \d]\d % of )", line)
        if broken:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def screen_title(m, exact):
    return is_time(m[1], m[2], exact["stage_analysis"]["wall_s"])


def screen_made(m, exact):
    summary = exact["summary"]
    for pattern, key in ((r"(\d+) (?:video|generation)s?", "generation_count"), (r"(\d+) unfinished", "unfinished_generation_count"), (r"(\d+) failed", "failed_generation_count"), (r"(\d+) frames?", "frames"),
                         (r"(\d+) steps?", "steps"), (r"(\d+) blocks?", "blocks")):
        found = re.search(pattern, m[1])
        if (int(found[1]) if found else 0) != max(0, summary.get(key, 0)):
            return False
    return is_time(m[2], m[3], summary["generation_s"]) and (not m[4] or screen_bound(re.match("(.*)", m[4]), exact))


def screen_bound(m, exact):
    """The words are the verdict's own."""
    return re.search(r"\((.*)\)$", m[1])[1] == exact["verdict"]["why"]


def screen_speed(m, exact):
    summary, left = exact["summary"], m[0]
    forms = ((r"([\d.]+) frames/s end to end(?: \(target ([\d.]+): (?:reached|MISSED)\))?", "", {"": 1}, summary.get("fps")),
             (r"([\d.]+) frames/s in (?:steps|blocks|denoise)", "", {"": 1}, exact.get("diffusion_analysis", {}).get("fps")),
             (r"([\d.]+) (\w+) per (?:video|generation)", None, ENERGIES, summary.get("video_energy_wh")),
             (r"GPU energy ([\d.]+) (\w+)", None, ENERGIES, summary.get("run_energy_wh")),
             (rf"first block after {TIME}", None, UNITS, summary.get("first_block_latency_s")))
    spread = re.search(rf"p50 {TIME}, p95 {TIME} per (?:video|generation)", left)
    if spread:
        wall = exact["generations"]["wall"]
        if not (is_time(spread[1], spread[2], wall["p50_s"]) and is_time(spread[3], spread[4], wall["p95_s"])):
            return False
        left = left.replace(spread[0], "")
    for pattern, unit, units, value in forms:
        found = re.search(pattern, left)
        if not found:
            continue
        if value is None or not near(found[1], found[2] if unit is None else unit, units, value):
            return False
        left = left.replace(found[0], "")
    return not re.search(r"\d", left)


def screen_row(m, exact):
    """A row of the table: the sum of the stages of that name inside the generations, or of those beside one another."""
    name, took, unit, share, gpu, calls = m[1], m[2], m[3], m[4], m[5], m[6]
    wall_s = exact["summary"]["generation_s"]
    name = re.sub(r" \((?:\d+ steps?|[\d.]+ at once|\d+ open|\d+ frames[^)]*|[^)]*CFG[^)]*)\)", "", name)
    same = [s for s in exact["stage_analysis"]["stages"] if s["name"] == name]
    if not same or m[7] and not any(s.get("bottleneck_level") in LEVELS[m[7]] for s in same):
        return False
    for some in subsets(same):  # those that stand side by side; the others are inside another stage
        if sum(s["count"] for s in some) != int(calls):
            continue
        total_s = sum(s.get("covered_s", s["wall_ratio"] * exact["summary"]["wall_s"]) for s in some)
        if is_time(took, unit, total_s) and abs(float(share) - 100 * total_s / wall_s) <= 0.0501:
            return gpu == "n/a" or is_time(*re.match(TIME, gpu.lstrip(">")).groups(), sum(s.get("gpu_span_s", 0) for s in some))
    return False


def subsets(rows):
    for bits in range(1, 1 << min(len(rows), 12)):
        yield [r for i, r in enumerate(rows) if bits >> i & 1]


def screen_rest(m, exact):
    key = "unattributed_s" if m[1] == "unattributed" else "overlap_s"
    value = exact["summary"][key] * (1 if m[1] == "unattributed" else -1)
    return is_time(m[3], m[4], abs(value)) and abs(float(m[5]) - 100 * value / exact["summary"]["generation_s"]) <= 0.0501


def screen_warm(m, exact):
    warm, diffusion = exact["diffusion_analysis"]["warm_step"], exact["diffusion_analysis"]
    return is_time(m[1], m[2], warm["p50_s"]) and is_time(m[3], m[4], warm["p95_s"]) and is_time(m[5], m[6], diffusion["first_step_s"])


def screen_offload(m, exact):
    """Of all time in which weights move, in shares of the generations, the parts are no more than the whole."""
    all_s, wall_s = seconds(m[1], m[2]), exact["summary"]["generation_s"]
    parts = re.findall(rf"(\S.*?) {TIME}(?:, |$)", m[4])
    times = [seconds(number, unit) for _, number, unit in parts]
    names = {s["name"] for s in exact["stage_analysis"]["stages"]}
    return (abs(float(m[3]) - 100 * all_s / wall_s) <= 0.0501 + 100 * all_s.slack / wall_s and all(name in names for name, _, _ in parts)
            and 0 < sum(times) <= all_s + all_s.slack + sum(t.slack for t in times))


def screen_outside(m, exact):
    summary = exact["summary"]
    line, _, at_once = m[1].partition("; ")
    parts = re.findall(rf"([^,]+?) {TIME}((?: \([^()]*\))*)(?:, |$)", line)
    named = [one for one in summary.get("outside", [])[:5] if one["total_s"] >= 1e-6]
    left_s = summary["outside_s"] + summary.get("outside_overlap_s", 0) - sum(o["total_s"] for o in named)
    for (name, number, unit, notes), exactly in zip(parts, named):
        rate = re.search(r"\(([\d.]+) GB/s\)", notes)
        if name != exactly["name"] or not is_time(number, unit, exactly["total_s"]):
            return False
        if ("(BOTTLENECK)" in notes) != exactly.get("bottleneck", False):
            return False
        if bool(rate) != (exactly.get("moved_bytes", 0) >= 5e6 * exactly["total_s"]):  # less would read 0.00
            return False
        if rate and not near(rate[1], "", {"": 1}, exactly["moved_bytes"] / exactly["total_s"] / 1e9):
            return False
    rest = parts[len(named):]
    if not rest or not rest[0][0].endswith("unattributed") or not is_time(rest[0][1], rest[0][2], max(0, left_s)):
        return False
    same = re.match(rf"{TIME} of these at the same time$", at_once)
    return len(rest) == 1 and (is_time(same[1], same[2], summary["outside_overlap_s"]) if same else not at_once)


def screen_memory(m, exact):
    summary = exact["summary"]
    left = m[0]
    for pattern, key in ((r"VRAM peak ([\d.]+) (\w+)", "gpu_memory_peak_bytes"), (r" \(reserved ([\d.]+) (\w+)\)", "gpu_memory_reserved_peak_bytes"),
                         (r"(?:machine|cgroup)'s RAM (?:peak )?([\d.]+) (\w+)", "ram_peak_bytes"), (r"^ of ([\d.]+) (\w+)", "gpu_memory_total_bytes"),
                         (r" of ([\d.]+) (\w+)", "ram_total_bytes")):
        found = re.search(pattern, left)
        if found:
            if not near(found[1], found[2], POWERS, summary.get(key, float("nan"))):
                return False
            left = left.replace(found[0], "", 1)
    return not re.search(r"\d", left)


def screen_finding(m, exact):
    finding = exact["recommendations"][int(m[1]) - 1]
    return m[3] == finding["issue"] and (not m[4] or is_time(m[4], m[5], finding["gain_s"]))


def screen_more(m, exact):
    verdict = exact["verdict"]
    if m[1] and int(m[1]) != len(exact["recommendations"]) - 3:
        return False
    if not m[2]:
        return not verdict.get("leave_alone")
    names, below, percent = re.match(r"(.*?) \((< )?([\d.]+) % of the run\)$", m[2]).groups()
    if names.split(", ")[:3] != [row["name"] for row in verdict["leave_alone"]][:3]:
        return False
    return verdict["leave_alone_ratio"] < 0.0005 if below else near(percent, "", {"": 1}, 100 * verdict["leave_alone_ratio"])


def screen_next(m, exact):
    verdict = exact["verdict"]
    program = verdict["next_command"].index(" -- ")
    return m[2] == verdict["next_reason"] and m[1] in (verdict["next_command"], verdict["next_command"][:program] + " -- COMMAND")


def screen_missing(m, exact):
    return any(missing["what"] == m[1] and m[2] in (None, missing.get("why")) for missing in exact.get("not_recorded", []))


def screen_how(m, exact):
    return any(missing.get("how", "").startswith(m[1]) for missing in exact.get("not_recorded", []))


def screen_foot(m, exact):
    r = exact["recording"]
    return int(m[1]) == r["dropped_count"] and near(m[3], m[4], SIZES, r["bytes"]) and (
        not m[2] or near(m[2], "", {"": 1}, 100 * r["overhead_ratio"]))


SCREEN = [(re.compile(pattern), agrees) for pattern, agrees in (
    (rf"== strobe: .*?, {TIME} =+$", screen_title),
    (rf"(\d+ (?:videos?|images?|generations?|frames?|steps?|blocks?|unfinished)\b.*?) in {TIME}(?:, partly at the same time)?(?: {{6}}(.+))?$", screen_made),
    (r"((?:bound: mixed|bound: not known|\S+-bound) \(.*\))$", screen_bound),
    (r".*(?:frames/s|per video|per generation|first block|GPU energy|cost).*$", screen_speed),
    (r"(?:Generation|Run) +wall +share +GPU span +calls$", None),
    (rf"  (unattributed|overlap \(at the same time\)) +(-?){TIME} +(-?[\d.]+) %$", screen_rest),
    (rf" {{2,}}(\S.*?) +{TIME} +(?:< )?([\d.]+) % +(n/a|>?[\d.]+ \w+) +(\d+)(?: +[\d.]+ GB/s)?(?:{MARK})?$", screen_row),
    (rf"  offload in all {TIME} \(([\d.]+) %\), of which in (.*)$", screen_offload),
    (rf"    warm step {TIME}  p95 {TIME}; first(?: ones)? {TIME}(?: \(warm-up\))?$", screen_warm),
    (rf"    \d+ cached \(\d+ %\), {TIME} each; first(?: ones)? {TIME}$", None),
    (r"No stage was recorded.*\.$", None),
    (r"  \(wall: as the GPU went through the stages; the stage tree has the CPU's times\)$", None),
    (r"Outside: (.*)$", screen_outside),
    (r"Beside: \S+ of \d+ frames? in .* on \d+ threads? \([\d.e+]+ frames/s\)$", None),
    (r"(?:VRAM peak|(?:machine|cgroup)'s RAM peak) .*$", screen_memory),
    (rf"(\d+) (HIGH|MED |LOW ) (.*?)(?: \(could save {TIME}\))?$", screen_finding),
    (r"(?:(\d+) more in the report)?(?:\.  )?(?:Not worth tuning: (.*))?$", screen_more),
    (r"Next: (.*) \((no cause found; .*)\)$", screen_next),
    (r"Not recorded: (\w+)(?:: (.*?))?(?: \(.*\))?$", screen_missing),
    (r"  -> (.+)$", screen_how),
    (r"strobe: (\d+) events dropped(?:, (?:< )?([\d.]+) % overhead)?, ([\d.]+) (\w+)$", screen_foot))]


def check_screen(path, exact):
    done = subprocess.run([STROBE, "report", path, "--brief"], capture_output=True, text=True, env=WIDE)
    assert done.returncode == 0, done.stderr
    lines = screen_lines(done.stdout)
    for line in lines:
        found = [(agrees, m) for pattern, agrees in SCREEN for m in [pattern.match(line)] if m]
        assert found, "no form for this line of the summary: " + line
        assert any(agrees is None or agrees(m, exact) for agrees, m in found), "the summary says otherwise than the JSON: " + line
    return len(re.findall(r"\d[\d.]*", done.stdout))


def check(path):
    text, exact = report(path, "text"), json.loads(report(path, "json"))
    analysis = exact["stage_analysis"]
    timed = [s for s in analysis["stages"] if s.get("state") not in ("skipped", "untimed")]
    page = re.search(r'<script[^>]*id="strobe-report"[^>]*>(.*?)</script>', report(path, "html"), re.S)[1]
    volatile = ("session_info",)  # when it was made
    assert {k: v for k, v in json.loads(page).items() if k not in volatile} == {k: v for k, v in exact.items() if k not in volatile}
    shown = check_screen(path, exact)
    if not timed:
        return 0, shown
    check_tree(text, timed)
    check_table(text, timed)
    check_sums(text, analysis)
    check_generations(text, exact["generations"], exact["summary"])
    if "diffusion_analysis" in exact:
        check_rates(text, exact["diffusion_analysis"])
    return len(timed), shown


def main():
    rows = screen = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            path = os.path.join(folder, "random.strobe")
            subprocess.run([MAKE, path, str(seed)], check=True)
            try:
                row_count, shown_count = check(path)
                rows += row_count
                screen += shown_count
            except AssertionError as wrong:
                failed += 1
                print("seed %d: %s" % (seed, wrong))
    print("%d recordings, %d rows in every face, %d numbers of the summary, %d recordings disagree" % (len(SEEDS), rows, screen, failed))
    assert rows > 500 and screen > 1500
    return failed > 0


sys.exit(main())
