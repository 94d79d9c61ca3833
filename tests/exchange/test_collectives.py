"""NCCL in Kineto traces of several ranks: when each came, how long it waited and transferred, how fast, who came last."""
import json

import pytest

TIMES, LATE_US, MOVED_US, HIDDEN_US, ELEMENTS = 40, 3000, 200, 50, 1 << 20


def comms(number, ts):
    """torch's operator around the launch, with the arguments it writes."""
    return {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 7, "tid": 7, "ts": ts, "dur": 40, "args": {
        "External id": 9, "Record function id": 0, "Ev Idx": number, "Collective name": "allreduce", "In msg nelems": ELEMENTS,
        "Out msg nelems": ELEMENTS, "Group size": 2, "dtype": "Float", "In split size": "[]", "Out split size": "[]",
        "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Seq": number,
        "Is asynchronized op": False}}


def launch(number, ts):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 7, "tid": 7, "ts": ts, "dur": 5,
            "args": {"correlation": number, "cbid": 430}}


def kernel(name, number, ts, dur, stream=13):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
            "args": {"correlation": number, "stream": stream, "device": 0}}


def trace(rank, skew_us, late_us):
    """Rank 0 comes first at every collective; its GPU computes for HIDDEN_US beside it."""
    events = []
    for i in range(TIMES):
        start = 1000 + 10_000 * i + skew_us
        came = start + (late_us if rank else 0)
        end = start + late_us + MOVED_US
        events += [comms(i, start - 100), launch(100 + i, start - 80),
                   kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 100 + i, came, end - came),
                   launch(1000 + i, start - 50), kernel("gemm_bf16", 1000 + i, came, HIDDEN_US, 7)]
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "baseTimeNanoseconds": 1762000000000000000, "traceEvents": events}


@pytest.fixture
def report(strobe):
    runs = [strobe.imported(trace(rank, skew, LATE_US)) for rank, skew in ((0, 0), (1, 5000))]
    return json.loads(strobe("aggregate", *runs, "--format", "json")), strobe("aggregate", *runs)


def test_clocks_of_imported_ranks_are_set_by_their_kernels(report):
    clock = next(r for r in report[0]["reports_summary"] if r["rank"] == 1)["clock"]
    assert clock["method"] == "collectives"
    assert clock["offset_s"] == pytest.approx(-0.005, abs=clock["uncertainty_s"] + 1e-9)
    assert clock["uncertainty_s"] < LATE_US * 1e-6 / 2


def test_waiting_transferring_and_hidden_are_told_apart(report):
    row, = report[0]["communication"]
    assert (row["group"], row["operation"], row["collective_count"], row["rank_count"]) == ("nccl:0-1:0", "all_reduce", TIMES, 2)
    assert row["bytes"] == TIMES * ELEMENTS * 4
    doubt = 2 * TIMES * report[0]["clock_uncertainty_s"]
    assert row["hidden_s"] == pytest.approx(2 * TIMES * HIDDEN_US * 1e-6)
    assert row["late_wait_s"] == pytest.approx(TIMES * (LATE_US - HIDDEN_US) * 1e-6, abs=doubt)
    whole = TIMES * (LATE_US + 2 * MOVED_US - 2 * HIDDEN_US) * 1e-6
    assert row["late_wait_s"] + row["transfer_s"] == pytest.approx(whole)


def test_bus_bandwidth_and_the_last_rank(report):
    row, = report[0]["communication"]
    slowest = 1 / (MOVED_US * 1e-6 + 2 * report[0]["clock_uncertainty_s"])
    assert row["bus_bytes_per_s"] >= ELEMENTS * 4 * slowest * 0.999
    assert (row["last_rank"], row["last_count"]) == (1, TIMES - 1)  # the first one ends the start-up
    assert "all_reduce" in report[1] and "rank 1 at %d" % (TIMES - 1) in report[1]


def test_a_call_whose_kernel_is_not_there_says_nothing_about_the_others(strobe):
    """The call returns when the work is enqueued: its end must not set clocks nor blame."""
    traces = [trace(rank, 0, LATE_US) for rank in (0, 1)]
    for t in traces:
        t["traceEvents"] = [e for e in t["traceEvents"] if e["cat"] != "kernel"]
    made = json.loads(strobe("aggregate", *(strobe.imported(t) for t in traces), "--format", "json"))
    assert "communication" not in made and made["collective_count"] == 0
