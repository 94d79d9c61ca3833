"""`export --to pprof`, read by the real pprof: the one on PATH, else the one that Go brings (`go tool pprof`)."""
import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import TOOL


def pprof():
    """tools/real-test runs nothing of this where there is none."""
    return ["pprof"] if shutil.which("pprof") else ["go", "tool", "pprof"]


ROW = re.compile(r"\s*(\d+)(?:ns)?\s+[\d.]+%\s+[\d.]+%\s+(\d+)(?:ns)?\s+[\d.]+%\s+(.*)")


def top(profile, index):
    """What `pprof -top` prints: {name: (flat, cumulative)}, in nanoseconds or calls."""
    words = ["-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0", "-unit=ns", f"-sample_index={index}", str(profile)]
    done = subprocess.run([*pprof(), *words], check=True, capture_output=True, text=True,
                          env=dict(os.environ, PPROF_TMPDIR=str(profile.parent)))
    rows = [ROW.fullmatch(line) for line in done.stdout.splitlines()]
    return {r[3]: (int(r[1]), int(r[2])) for r in rows if r}


@pytest.fixture
def profile(runs, tmp_path):
    def export(run):
        path = tmp_path / f"{run}.pb.gz"
        subprocess.run([TOOL, "export", runs / run, "--to", "pprof", "-o", path], check=True, capture_output=True)
        return path
    return export


@pytest.mark.parametrize("run", ["rich", "traced"])
def test_own_time_and_calls_of_every_stage_are_the_reports(runs, profile, run):
    report = json.loads(subprocess.run([TOOL, "report", runs / run, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    path, own, calls = profile(run), {}, {}
    for stage in (s for s in report["stage_analysis"]["stages"] if "self_s" in s):
        name = "[%s] %s" % (stage["code"], stage["name"]) if "code" in stage else stage["name"]
        own[name] = own.get(name, 0) + round(stage["self_s"] * 1e9)
        calls[name] = calls.get(name, 0) + stage["count"]
    assert own and {name: flat for name, (flat, _) in top(path, "self").items()} == own
    assert {name: flat for name, (flat, _) in top(path, "calls").items()} == calls


def test_kernels_keep_their_template_arguments_inside_the_stage_that_launched_them(profile):
    gpu = top(profile("traced"), "gpu")
    assert gpu["flash_fwd_kernel<bf16, 128>"] == (108000000, 108000000)
    assert gpu["ncclDevKernel_AllReduce_Sum_bf16_RING_LL"][0] == gpu["all_reduce"][1] == 20000000
