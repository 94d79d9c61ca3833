"""The table that torch.profiler prints, prof.key_averages().table(), pasted into a file."""
import pytest

# As torch 2.11 printed it on an H200, fewer rows and spaces.
TORCH = """-----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  Self CUDA  Self CUDA %  CUDA total  CUDA time avg  CPU Mem  Self CPU Mem  CUDA Mem  Self CUDA Mem  # of Calls
-----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
aten::linear  1.08%  476.808us  8.01%  3.549ms  36.966us  0.000us  0.00%  27.169ms  283.008us  0 B  0 B  1.69 GB  0 B  96
aten::addmm  4.43%  1.962ms  5.82%  2.578ms  26.858us  27.169ms  62.23%  27.169ms  283.008us  0 B  0 B  1.69 GB  1.69 GB  96
sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x12...  0.00%  0.000us  0.00%  0.000us  0.000us  19.514ms  44.69%  19.514ms  271.033us  0 B  0 B  0 B  0 B  72
aten::_efficient_attention_forward  0.66%  294.496us  1.68%  743.651us  30.985us  13.764ms  31.52%  13.764ms  573.487us  384 B  0 B  192.00 MB  0 B  24
fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEf...  0.00%  0.000us  0.00%  0.000us  0.000us  13.764ms  31.52%  13.764ms  573.487us  0 B  0 B  0 B  0 B  24
sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64...  0.00%  0.000us  0.00%  0.000us  0.000us  7.654ms  17.53%  7.654ms  318.932us  0 B  0 B  0 B  0 B  24
aten::native_layer_norm  1.61%  715.081us  6.09%  2.697ms  55.033us  440.900us  1.01%  1.270ms  25.920us  0 B  0 B  392.77 MB  -392.00 MB  49
void at::native::(anonymous namespace)::vectorized_l...  0.00%  0.000us  0.00%  0.000us  0.000us  440.900us  1.01%  440.900us  8.998us  0 B  0 B  0 B  0 B  49
-----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
Self CPU time total: 44.286ms
Self CUDA time total: 43.662ms
"""

# The range has a row for the CPU and one for the GPU: the second is no kernel.
RANGES = """
-----  -----
Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg     Self CUDA   Self CUDA %    CUDA total  CUDA time avg    # of Calls
-----  -----
denoise_step        10.00%       1.000ms       100.00%      10.000ms       5.000ms       0.000us         0.00%       8.000ms       4.000ms             2
cudaDeviceSynchronize        90.00%       9.000ms        90.00%       9.000ms       9.000ms       0.000us         0.00%       0.000us       0.000us             1
denoise_step         0.00%       0.000us         0.00%       0.000us       0.000us       9.500ms       118.75%       9.500ms       4.750ms             2
Memcpy HtoD (Pageable -> Device)         0.00%       0.000us         0.00%       0.000us       0.000us       6.000ms        75.00%       6.000ms       3.000ms             2
flash_fwd_kernel         0.00%       0.000us         0.00%       0.000us       0.000us       2.000ms        25.00%       2.000ms       0.500ms             4
-----  -----
Self CPU time total: 10.000ms
Self CUDA time total: 8.000ms
"""

OLDER = """
Name                  Self CPU total %  Self CPU total   CPU total %      CPU total        CPU time avg     Number of Calls
aten::conv2d          90.00%           9.000ms          95.00%           9.500ms          4.750ms          2
aten::relu            10.00%           1.000ms          10.00%           1.000ms          500.000us        2
Self CPU time total: 10.000ms
"""


def stages(report):
    return {s["name"]: (s["count"], s["total_s"]) for s in report["stage_analysis"]["stages"]}


def kernels(report):
    return {k["name"]: (k["count"], k["total_s"]) for k in report["gpu_trace"]["top_kernels"]}


def test_operators_have_their_own_time(strobe):
    path = strobe.write("table.txt", TORCH)
    report = strobe.report(path)
    own = {"aten::linear": (96, 476.808e-6), "aten::addmm": (96, 1.962e-3), "aten::_efficient_attention_forward": (24, 294.496e-6), "aten::native_layer_norm": (49, 715.081e-6)}
    assert stages(report) == {name: (count, pytest.approx(total)) for name, (count, total) in own.items()}
    assert report["stage_analysis"]["wall_s"] == pytest.approx(44.286e-3)
    assert report["stage_analysis"]["unattributed_s"] == pytest.approx(44.286e-3 - sum(total for _, total in own.values()))
    rows = {s["name"]: s["attributes"] for s in report["stage_analysis"]["stages"]}
    assert [rows["aten::addmm"][k] for k in ("cumulative_s", "gpu_s", "gpu_memory_mb")] == pytest.approx([2.578e-3, 27.169e-3, 1.69 * 1024])
    assert rows["aten::native_layer_norm"]["gpu_memory_mb"] == pytest.approx(-392)
    assert strobe("import", path, "-o", "table-run") and "Total 44.3 ms -> 44.3 ms" in strobe("diff", path, path)


def test_kernels_are_work_of_the_gpu(strobe):
    path = strobe.write("table.txt", TORCH)
    report = strobe.report(path)
    rows = {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x12...": (72, 19.514e-3), "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEf...": (24, 13.764e-3),
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64...": (24, 7.654e-3), "void at::native::(anonymous namespace)::vectorized_l...": (49, 440.9e-6)}
    rows["(rows that the table leaves out)"] = 1, 43.662e-3 - sum(total for _, total in rows.values())
    assert kernels(report) == {name: (count, pytest.approx(total)) for name, (count, total) in rows.items()}
    assert report["gpu_trace"]["busy_s"] == pytest.approx(43.662e-3)
    assert "Bound by: GPU" in strobe("report", path)


def test_a_table_that_was_printed_in_part_is_told_so(strobe):
    found = {f["id"]: f for f in strobe.report(strobe.write("table.txt", TORCH))["recommendations"]}["unattributed"]
    assert "printed in part" in found["cause"] and "row_limit=-1" in found["suggestion"]


def test_a_range_is_no_kernel_and_a_copy_has_its_direction(strobe):
    report = strobe.report(strobe.write("table.txt", RANGES))
    assert stages(report) == {"denoise_step": (2, 0.001), "cudaDeviceSynchronize": (1, 0.009)}
    assert kernels(report) == {"flash_fwd_kernel": (4, pytest.approx(0.002))}
    copy, = report["gpu_trace"]["copies"]
    assert (copy["direction"], copy["count"], copy["total_s"]) == ("H2D", 2, pytest.approx(0.006))
    assert "unattributed" not in {f["id"] for f in report["recommendations"]}


def test_without_kernels_the_operators_that_launched_them_count(strobe):
    rows = [line for line in TORCH.splitlines() if not line.startswith(("sm80", "fmha", "void"))]
    report = strobe.report(strobe.write("table.txt", "\n".join(rows)))
    assert {n: c for n, (c, _) in kernels(report).items() if n.startswith("aten")} == {"aten::addmm": 96, "aten::_efficient_attention_forward": 24, "aten::native_layer_norm": 49}
    assert report["gpu_trace"]["busy_s"] == pytest.approx(43.662e-3)


def test_a_range_whose_own_row_was_left_out_is_no_kernel_either(strobe):
    """Sorted by GPU time and cut: of a range only the GPU's row is there, and lasts longer than all kernels."""
    rows = [line for line in RANGES.splitlines() if "100.00%" not in line]
    report = strobe.report(strobe.write("table.txt", "\n".join(rows)))
    assert kernels(report) == {"flash_fwd_kernel": (4, pytest.approx(0.002))} and report["gpu_trace"]["busy_s"] == pytest.approx(0.008)


def test_what_the_cpu_took_longer_than_the_gpu_the_gpu_was_idle(strobe):
    """On the H200, 2.26 ms of kernels in 13.6 ms of operators."""
    text = RANGES.replace("Self CPU time total: 10.000ms", "Self CPU time total: 40.000ms")
    gpu = strobe.report(strobe.write("table.txt", text))["gpu_trace"]
    assert gpu["busy_s"] == pytest.approx(0.008) and gpu["idle_s"] == pytest.approx(0.032, rel=0.01)
    assert "Bound by: GPU" not in strobe("report", "table.txt")
    alone = "Name  Self CPU  CPU total  Self CUDA  CUDA total  # of Calls\naten::copy_  40.000ms  40.000ms  0.000us  8.000ms  4\nSelf CPU time total: 40.000ms\nSelf CUDA time total: 8.000ms\n"
    gpu = strobe.report(strobe.write("alone.txt", alone))["gpu_trace"]
    assert gpu["busy_s"] == pytest.approx(0.008) and gpu["idle_s"] == pytest.approx(0.032, rel=0.01)


@pytest.mark.parametrize("calls", ["0", "-4", "1e300", "nan", "12x", "99999999999999999999"])
def test_a_row_without_a_count_is_left_out(strobe, calls):
    text = RANGES.replace("0.500ms             4", "0.500ms             " + calls)
    assert kernels(strobe.report(strobe.write("table.txt", text))) == {"(rows that the table leaves out)": (1, pytest.approx(0.002))}


def test_below_the_stages_of_the_same_program_it_adds_nothing(strobe):
    report = strobe.report(strobe.write("both.txt", "[3b] RAFT: 5.00s\n[4c] VAE: 2.00s\nTOTAL TIME: 7.00s\n" + TORCH))
    assert stages(report) == {"RAFT": (1, 5), "VAE": (1, 2)} and report["stage_analysis"]["wall_s"] == 7
    assert not report.get("gpu_trace", {}).get("top_kernels")


def test_the_columns_of_an_older_torch(strobe):
    assert stages(strobe.report(strobe.write("table.txt", OLDER))) == {"aten::conv2d": (2, 0.009), "aten::relu": (2, 0.001)}


def test_what_was_measured_explains_no_change(strobe):
    slow = RANGES.replace("ms", "s")
    fast = slow.replace("9.000s        90.00%       9.000s       9.000s", "7.000s        80.00%       7.000s       7.000s").replace("total: 10.000s", "total: 8.000s")
    shown = strobe("diff", strobe.write("a.txt", slow), strobe.write("b.txt", fast))
    assert "cudaDeviceSynchronize took 2.00 s less" in shown and "cumulative_s" not in shown


def test_a_table_of_kernels_alone_is_a_run_of_bounded_size(strobe):
    rows = [f"kernel_{i}  0.000us  0.000us  1.000s  1.000s  100000000" for i in range(500)]
    path = strobe.write("table.txt", "Name  Self CPU  CPU total  Self CUDA  CUDA total  # of Calls\n" + "\n".join(rows))
    report = strobe.report(path)
    assert report["gpu_trace"]["busy_s"] == pytest.approx(500) and report["gpu_trace"]["kernel_count"] < 400000
