"""The JSON that the session profiler's users read: its own keys, from the small
statistics it keeps. Strobe's full report lies in the run folder beside it."""
import datetime
import json
import math
import os
import re
import subprocess
import uuid
import warnings

from .. import _tool
from .._core import native
from .memory import write_json


def _masked(tags):
    """Without credentials, by the rule of recorded tags: under a name such as "token", and inside text."""
    def one(key, value):
        if isinstance(value, str):
            return native.mask(key, value)
        hidden = native.mask(key, "") if isinstance(value, int) and not isinstance(value, bool) else ""
        return hidden or value
    return {key: one(str(key), value) for key, value in tags.items()}


def build(session, recorded=None):
    """session: profiler.Session. Absent data is absent, not zero. recorded: the findings of strobe's own report of the
    same session, where it has a recording of its own: both reports say the same then."""
    wall = session.wall_s
    report = {
        "session_info": {
            "id": session.id, "start_time": _time(session.start_time), "end_time": _time(session.end_time),
            "duration": session.duration_s, "tags": _masked(session.tags), "generated_at": _time(None), **_rank(),
        },
        "summary": session.summary(),
        "stage_analysis": _stages(session, wall),
        "events": list(session.events),
        "recommendations": [],
    }
    if session.event_count > len(session.events):
        report["events_dropped_count"] = session.event_count - len(session.events)
    report.update(session.diffusion.get_analysis())
    for analysis in ("diffusion_analysis", "block_analysis"):
        whole_s = max(session.generations_s or wall, session.diffusion.compute_s)  # what was handed in may overlap
        if "fps" in report.get(analysis, {}) and whole_s > 0:
            report[analysis]["end_to_end_fps"] = report[analysis]["total_frames"] / whole_s
    for analysis, parent in session.loop_parents.items():
        if parent and analysis in report:
            report[analysis]["parent"] = parent
    report.update(_streaming(session))
    report.update(_layers(session))
    report.update(_cache(session))
    report.update(_memory(session))
    own = advise(report, session)
    report["recommendations"] = own if recorded is None else recorded + [a for a in own if a["category"] in _OWN_ALONE]
    return report


_RANKS = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
          ("PMI_RANK", "PMI_SIZE"))


def _is_slurm_task():
    """A batch script has rank 0 and the number of tasks without being one of them."""
    return "SLURM_STEP_ID" in os.environ and os.environ.get("SLURM_STEP_NUM_TASKS") != "1"


def _rank():
    """{rank, world_size, job} where a launcher says them."""
    found = {}
    for rank, world in _RANKS:
        if rank == "SLURM_PROCID" and not _is_slurm_task():
            continue
        if os.environ.get(rank, "").isdigit():
            found["rank"] = int(os.environ[rank])
            if os.environ.get(world, "").isdigit():
                found["world_size"] = int(os.environ[world])
            break
    job = os.environ.get("TORCHELASTIC_RUN_ID") or os.environ.get("SLURM_JOB_ID") if found else None
    if job and job != "none":
        found["job"] = job
    return found


def _time(moment):
    when = datetime.datetime.now() if moment is None else datetime.datetime.fromtimestamp(moment)
    return when.isoformat()


def _stages(session, wall):
    """Shares are of wall time, so nested stages do not add up to more than there was; what threads do at the same time
    counts once in a share and in wall_time, and for each of them in total_time."""
    rows = {}
    for name, t in sorted(session.stages.items(), key=lambda item: -item[1].total):
        rows[name] = {"total_time": t.total, "call_count": t.count, "avg_time": t.mean, "min_time": t.min,
                      "max_time": t.max, "percentage_of_total": min(100.0, 100.0 * t.covered / wall) if wall > 0 else 0.0}
        if t.covered < t.total - 1e-6:
            rows[name]["wall_time"] = t.covered
        if session.parents.get(name):
            rows[name]["parent"] = session.parents[name]
    own = _own_times(session)
    return {"total_stages": len(rows), "total_time": wall, "stages": rows,
            "bottlenecks": [name for name in sorted(own, key=own.get, reverse=True) if wall > 0 and own[name] / wall > 0.30][:3]}


def _own_times(session):
    """Of each stage, what its parts leave: the stage around everything is no bottleneck."""
    own = {name: t.total for name, t in session.stages.items()}
    for name, t in session.stages.items():
        if session.parents.get(name) in own:
            own[session.parents[name]] -= t.total
    inner = session.loop_parents.get("block_analysis") or session.loop_parents.get("diffusion_analysis")
    if inner in own:
        own[inner] -= session.diffusion.compute_s
    return own


def _streaming(session):
    if not session.batches.count and not session.dropped:
        return {}
    frames = session.batches.total
    result = {"total_batches": session.batches.count, "total_frames": int(frames), "dropped_frames": session.dropped}
    if frames + session.dropped > 0:
        result["drop_rate_percent"] = 100.0 * session.dropped / (frames + session.dropped)
    for key in ("encoding_time_ms", "network_latency_ms", "buffer_occupancy"):
        tally = session.streaming.get(key)
        if tally:
            result["avg_" + key] = tally.mean
            result["max_" + key] = tally.max
    if session.batches.fps is not None:
        result["fps"] = session.batches.fps
    return {"streaming_analysis": result}


def _layers(session):
    if not session.layers:
        return {}
    total = sum(t.total for t in session.layers.values())
    return {"computation_analysis": {"total_time_ms": total * 1e3, "layers": {
        name: {"total_time_ms": t.total * 1e3, "call_count": t.count, "avg_time_ms": t.mean * 1e3,
               "percentage_of_total": 100.0 * t.total / total if total > 0 else 0.0}
        for name, t in sorted(session.layers.items(), key=lambda item: -item[1].total)}}}


def _cache(session):
    c = session.cache
    if not any(c.values()):
        return {}
    asked = c["hits"] + c["misses"]
    result = dict(c, requests=asked)
    if asked:
        result["hit_rate_percent"] = 100.0 * c["hits"] / asked
    if session.cache_size is not None:
        result["cache_size"] = session.cache_size
    return {"cache_analysis": result}


def _memory(session):
    m = session.memory
    if not (m["allocations"] or m["frees"]):
        return {}
    return {"memory_analysis": dict(m, net_bytes=m["allocated_bytes"] - m["freed_bytes"])}


# ---- advice ----

_OWN_ALONE = ("layer",)  # what a session counts and the recording does not


def findings(run_dir):
    """What strobe's report of this run says, None where there is none to read."""
    try:
        with open(os.path.join(run_dir, "profiling_report.json"), encoding="utf-8") as file:
            return list(json.load(file)["recommendations"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _advice(category, priority, issue, suggestion):
    return {"category": category, "priority": priority, "issue": issue, "suggestion": suggestion}


def advise(report, session):
    """The rules that this data can decide; a rule without its data is silent. That a stage is the
    largest is low: no fault. Rules that know no goal (FPS, steps, step time, parameters) are low unless frames are streamed or target_fps is set, as in
    strobe's own report."""
    found = []
    goal = session.batches.count > 0 or session.config.target_fps is not None

    def absolute(priority):
        return priority if goal else "low"
    stages = report["stage_analysis"]["stages"]
    for name in report["stage_analysis"]["bottlenecks"]:
        found.append(_advice("stage", "low", "Stage '%s' takes %.1f%% of the time"
                             % (name, stages[name]["percentage_of_total"]), "Optimise this stage first."))
    diffusion, blocks = report.get("diffusion_analysis", {}), report.get("block_analysis", {})
    if diffusion.get("steps_per_block", 0) > 30:
        found.append(_advice("diffusion", absolute("high"), "%d diffusion steps per video" % diffusion["steps_per_block"],
                             "Fewer steps (a distilled model, a better scheduler) shorten it in proportion."))
    if diffusion.get("avg_step_time_ms", 0) > 200:
        found.append(_advice("diffusion", absolute("high"), "An average step takes %.1f ms" % diffusion["avg_step_time_ms"],
                             "Look at the model itself: compile it, use a faster attention, lower precision."))
    if blocks.get("avg_block_size", 0) > 8:
        found.append(_advice("block", absolute("medium"), "Blocks of %.1f frames on average" % blocks["avg_block_size"],
                             "Smaller blocks give the first frames earlier."))
    rates = blocks or diffusion
    if 0 < rates.get("end_to_end_fps", math.inf) < 10:
        found.append(_advice("throughput", absolute("high"), "%.2f frames/s end to end" % rates["end_to_end_fps"],
                             "Below real time: optimise the model."))
    if 0 < rates.get("bps", math.inf) < 2:
        found.append(_advice("throughput", absolute("medium"), "%.2f blocks/s" % rates["bps"], "Make blocks cheaper."))
    if report.get("streaming_analysis", {}).get("drop_rate_percent", 0) > 5:
        found.append(_advice("streaming", "high", "%.1f%% of frames dropped"
                             % report["streaming_analysis"]["drop_rate_percent"], "Send less or encode faster."))
    for name, layer in report.get("computation_analysis", {}).get("layers", {}).items():
        if layer["percentage_of_total"] > 30:
            found.append(_advice("layer", "high", "Layer '%s' takes %.1f%% of the layers' time"
                                 % (name, layer["percentage_of_total"]), "Optimise this layer."))
    if report.get("model_analysis", {}).get("total_parameters", 0) > 1e9:
        found.append(_advice("model", absolute("medium"), "%s parameters" % report["model_analysis"]["total_parameters_text"],
                             "Quantise or prune."))
    return found


# ---- files ----

def write(session, config, run_dir, report):
    """profiling_report_<id>_<YYYYmmdd_HHMMSS>.{json,html} in the output folder."""
    folder = os.path.abspath(config.folder)
    os.makedirs(folder, exist_ok=True)
    stem = _free_stem(folder, session)
    written = []
    if config.report_format in ("json", "both"):
        path = stem + ".json"
        write_json(path, report)
        written.append(path)
    if config.report_format in ("html", "both") and run_dir:
        written += _write_html(run_dir, stem + ".html")
    return written


def _free_stem(folder, session):
    """Ids are text from outside, not file names; two reports in a second are two."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", session.id).lstrip(".") or "session"
    stamp = datetime.datetime.now().strftime("%Y%m%d_%H%M%S")
    stem = os.path.join(folder, "profiling_report_%s_%s" % (safe[:100], stamp))
    return stem if not (os.path.exists(stem + ".json") or os.path.exists(stem + ".html")) \
        else "%s_%s" % (stem, uuid.uuid4().hex[:6])


def _write_html(run_dir, path):
    """The page, by the strobe command: there when this returns, else a warning says why."""
    tool = _tool.path()
    if tool is None:
        why = "the strobe command was not found"
    else:
        done = subprocess.run([tool, "report", run_dir, "--format", "html", "-o", path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ, STROBE_ENABLED="0"))
        if done.returncode == 0:
            return [path]
        why = done.stderr.decode(errors="replace").strip() or "strobe report ended with %d" % done.returncode
    warnings.warn("no page of this session: %s" % why, RuntimeWarning, stacklevel=4)
    return []
