/* The table of peak rates: which GPU a name means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/gpu/peak_rates.h"

#include <math.h>

static void close_to(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-6))
		fail_msg("%.9g is not %.9g", value, expected);
}

static void peak_rates_are_found_by_whole_words(void **state)
{
	(void)state;
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA L4"), "bf16"), 121);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA L40S"), "bf16"), 362);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA H100 80GB HBM3"), "fp16"), 989.5);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA H100 PCIe"), "fp8"), 1513);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GeForce RTX 4090"), "bf16"), 165.2);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA A100-SXM4-80GB"), "tf32"), 156);
	close_to(sb_peak_rate(sb_peak_rates_find("AMD Instinct MI300X OAM"), "bf16"), 1307.4);
	assert_true(isnan(sb_peak_rate(sb_peak_rates_find("NVIDIA A100-SXM4-80GB"), "fp8")));
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GB200"), "bf16"), 2500);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GB300"), "fp4"), 15000);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GeForce RTX 4060"), "bf16"), 30.2);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GeForce RTX 4070 Ti"), "bf16"), 80.2);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GeForce RTX 4070 Ti SUPER"), "bf16"), 88.2);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GeForce RTX 4090 D"), "fp32"), 73.5);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA GeForce RTX 5090"), "bf16"), 209.5);
	assert_null(sb_peak_rates_find("NVIDIA GeForce RTX 4070 Laptop GPU"));
	assert_null(sb_peak_rates_find("NVIDIA H100 80GB HBM3 MIG 1g.10gb"));
	assert_null(sb_peak_rates_find("NVIDIA GeForce RTX 5090 D"));
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA H100 NVL"), "bf16"), 835);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA H200 NVL"), "bf16"), 835.5); /* 989.5 on a board */
	close_to(sb_peak_rates_find("NVIDIA H200 NVL")->gb_per_s, 4800);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA H800 PCIe"), "bf16"), 756);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
			 "fp32"),
		110);
	close_to(
		sb_peak_rate(sb_peak_rates_find("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "fp32"),
		125);
	assert_null(sb_peak_rates_find("NVIDIA H20-3e")); /* another memory than the H20's */
	assert_null(sb_peak_rates_find("NVIDIA A100-SXM-64GB")); /* made for one machine */
	assert_null(sb_peak_rates_find("NVIDIA RTX 4000 SFF Ada Generation"));
	assert_null(sb_peak_rates_find("NVIDIA RTX PRO 6000 Blackwell Server Edition"));
	assert_null(sb_peak_rates_find("NVIDIA A800 40GB Active"));
	assert_null(sb_peak_rates_find("NVIDIA GH200 144G HBM3e"));
	close_to(sb_peak_rates_find("NVIDIA A100 80GB PCIe")->gb_per_s, 1935);
	close_to(sb_peak_rates_find("NVIDIA A100-SXM4-80GB")->gb_per_s, 2039);
	close_to(sb_peak_rates_find("NVIDIA B200")->gb_per_s, 7700);
	close_to(sb_peak_rate(sb_peak_rates_find("NVIDIA A800-SXM4-80GB"), "fp64"), 19.5);
	assert_null(sb_peak_rates_find("Tesla V100S-PCIE-32GB"));
	assert_null(sb_peak_rates_find("Tesla V100-FHHL-16GB"));
	assert_null(sb_peak_rates_find("Tesla V100-SXM2-32GB-LS"));
	assert_null(sb_peak_rates_find("Fake GPU 9000"));
	assert_null(sb_peak_rates_find(NULL));
}

static void gpus_before_bf16_have_rates_of_fp16_alone(void **state)
{
	static const struct {
		const char *name;
		double fp16, fp32, fp64, gb_per_s, memory_gb;
	} gpus[] = {
		{ "Tesla V100-SXM2-16GB", 125, 15.7, 7.8, 900, 16 },
		{ "Tesla V100-SXM2-32GB", 125, 15.7, 7.8, 900, 32 },
		{ "Tesla V100-SXM3-32GB", 125, 15.7, 7.8, 900, 32 },
		{ "Tesla V100-PCIE-16GB", 112, 14, 7, 900, 16 },
		{ "Tesla V100-PCIE-32GB", 112, 14, 7, 900, 32 },
		{ "Tesla T4", 65, 8.1, 0.25, 320, 16 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
		const struct sb_peak_rates *p = sb_peak_rates_find(gpus[i].name);

		assert_non_null(p);
		close_to(sb_peak_rate(p, "fp16"), gpus[i].fp16);
		close_to(sb_peak_rate(p, "16-bit"), gpus[i].fp16);
		close_to(sb_peak_rate(p, "fp32"), gpus[i].fp32);
		close_to(sb_peak_rate(p, "fp64"), gpus[i].fp64);
		close_to(p->gb_per_s, gpus[i].gb_per_s);
		close_to(p->memory_gb, gpus[i].memory_gb);
		assert_true(isnan(sb_peak_rate(p, "bf16")) && isnan(sb_peak_rate(p, "tf32")));
	}
	close_to(sb_peak_rate(sb_peak_rates_find("Tesla T4"), "int8"), 130);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peak_rates_are_found_by_whole_words),
		cmocka_unit_test(gpus_before_bf16_have_rates_of_fp16_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
