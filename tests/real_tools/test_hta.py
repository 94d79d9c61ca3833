"""The Chrome export in HolisticTraceAnalysis: launches are matched with kernels, and numbers are those of the trace it came from."""
import gzip
import pathlib
import subprocess

import pytest
from conftest import TOOL
from hta.trace_analysis import TraceAnalysis

TRACE = pathlib.Path(__file__).resolve().parents[1] / "data" / "kineto-h200.json.gz"


def analysis(run, path):
    subprocess.run([TOOL, "export", run, "--to", "chrome", "-o", path], check=True, capture_output=True)
    packed = path.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return TraceAnalysis(trace_files={0: str(packed)}, trace_dir="")


def test_a_trace_of_torch_reads_the_same_through_strobe(tmp_path):
    before = TraceAnalysis(trace_files={0: str(TRACE)}, trace_dir="")
    after = analysis(TRACE, tmp_path / "again.json")
    times = [t.get_temporal_breakdown(visualize=False).iloc[0] for t in (before, after)]
    for column in ("idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"):
        assert times[1][column] == pytest.approx(times[0][column], rel=0.01)  # HTA rounds to whole microseconds
    launches = [t.get_cuda_kernel_launch_stats(visualize=False)[0] for t in (before, after)]
    assert len(launches[0]) == len(launches[1]) > 2000
    assert launches[1]["launch_delay"].sum() == pytest.approx(launches[0]["launch_delay"].sum(), rel=0.02)
    queues = [t.get_queue_length_summary() for t in (before, after)]
    assert queues[0].to_string() == queues[1].to_string()
    assert after.get_memory_bw_summary().loc[(0, "Memcpy HtoD")][("memory_bw_gbps", "count")] == 2


def test_a_recording_of_strobe(runs, tmp_path):
    t = analysis(runs / "traced", tmp_path / "traced.json")
    kinds, kernels = t.get_gpu_kernel_breakdown(visualize=False)
    assert {"COMPUTATION", "MEMORY", "COMMUNICATION"} <= set(kinds["kernel_type"])
    assert any(name.startswith("flash_fwd_kernel") for name in kernels["name"])
    launches = t.get_cuda_kernel_launch_stats(visualize=False)[0]
    assert len(launches) == 32 and (launches["launch_delay"] >= 0).all()  # of 44: HTA leaves out the last step
    idle = t.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
    assert set(idle["stream"]) == {7, 13}
