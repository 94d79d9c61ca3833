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

static const struct sb_peak_rates *of(const char *gpu)
{
	return sb_peak_rates_find(gpu, NAN);
}

static void peak_rates_are_found_by_whole_words(void **state)
{
	(void)state;
	close_to(sb_peak_rate(of("NVIDIA L4"), "bf16"), 121);
	close_to(sb_peak_rate(of("NVIDIA L40S"), "bf16"), 362);
	close_to(sb_peak_rate(of("NVIDIA H100 80GB HBM3"), "fp16"), 989.5);
	close_to(sb_peak_rate(of("NVIDIA H100 PCIe"), "fp8"), 1513);
	close_to(sb_peak_rate(of("NVIDIA GeForce RTX 4090"), "bf16"), 165.2);
	close_to(sb_peak_rate(of("NVIDIA A100-SXM4-80GB"), "tf32"), 156);
	close_to(sb_peak_rate(of("AMD Instinct MI300X OAM"), "bf16"), 1307.4);
	assert_true(isnan(sb_peak_rate(of("NVIDIA A100-SXM4-80GB"), "fp8")));
	close_to(sb_peak_rate(of("NVIDIA GB200"), "bf16"), 2500);
	close_to(sb_peak_rate(of("NVIDIA GB300"), "fp4"), 15000);
	close_to(sb_peak_rate(of("NVIDIA GeForce RTX 4060"), "bf16"), 30.2);
	close_to(sb_peak_rate(of("NVIDIA GeForce RTX 4070 Ti"), "bf16"), 80.2);
	close_to(sb_peak_rate(of("NVIDIA GeForce RTX 4070 Ti SUPER"), "bf16"), 88.2);
	close_to(sb_peak_rate(of("NVIDIA GeForce RTX 4090 D"), "fp32"), 73.5);
	close_to(sb_peak_rate(of("NVIDIA GeForce RTX 5090"), "bf16"), 209.5);
	assert_null(of("NVIDIA GeForce RTX 4070 Laptop GPU"));
	assert_null(of("NVIDIA H100 80GB HBM3 MIG 1g.10gb"));
	assert_null(of("NVIDIA GeForce RTX 5090 D"));
	close_to(sb_peak_rate(of("NVIDIA H100 NVL"), "bf16"), 835);
	close_to(sb_peak_rate(of("NVIDIA H200 NVL"), "bf16"), 835.5); /* 989.5 on a board */
	close_to(of("NVIDIA H200 NVL")->gb_per_s, 4800);
	close_to(sb_peak_rate(of("NVIDIA H800 PCIe"), "bf16"), 756);
	close_to(sb_peak_rate(of("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"), "fp32"), 110);
	close_to(sb_peak_rate(of("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "fp32"), 125);
	assert_null(of("NVIDIA H20-3e")); /* another memory than the H20's */
	assert_null(of("NVIDIA A100-SXM-64GB")); /* made for one machine */
	assert_null(of("NVIDIA RTX 4000 SFF Ada Generation"));
	assert_null(of("NVIDIA RTX PRO 6000 Blackwell Server Edition"));
	assert_null(of("NVIDIA A800 40GB Active"));
	assert_null(of("NVIDIA GH200 144G HBM3e"));
	close_to(of("NVIDIA A100 80GB PCIe")->gb_per_s, 1935);
	close_to(of("NVIDIA A100-SXM4-80GB")->gb_per_s, 2039);
	close_to(of("NVIDIA B200")->gb_per_s, 7700);
	close_to(sb_peak_rate(of("NVIDIA A800-SXM4-80GB"), "fp64"), 19.5);
	assert_null(of("Tesla V100S-PCIE-32GB"));
	assert_null(of("Tesla V100-FHHL-16GB"));
	assert_null(of("Tesla V100-SXM2-32GB-LS"));
	assert_null(of("Fake GPU 9000"));
	assert_null(of(NULL));
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
		const struct sb_peak_rates *p = of(gpus[i].name);

		assert_non_null(p);
		close_to(sb_peak_rate(p, "fp16"), gpus[i].fp16);
		close_to(sb_peak_rate(p, "16-bit"), gpus[i].fp16);
		close_to(sb_peak_rate(p, "fp32"), gpus[i].fp32);
		close_to(sb_peak_rate(p, "fp64"), gpus[i].fp64);
		close_to(p->gb_per_s, gpus[i].gb_per_s);
		close_to(p->memory_gb, gpus[i].memory_gb);
		assert_true(isnan(sb_peak_rate(p, "bf16")) && isnan(sb_peak_rate(p, "tf32")));
	}
	close_to(sb_peak_rate(of("Tesla T4"), "int8"), 130);
}

/* A driver says a little less than the sheet, and the name of both kinds is the same. */
static void kinds_of_one_name_are_told_by_their_memory(void **state)
{
	static const struct {
		const char *name;
		double memory_gb, fp32, gb_per_s;
	} gpus[] = {
		{ "NVIDIA GeForce RTX 3080", 10, 29.8, 760 }, { "NVIDIA GeForce RTX 3080", 12, 30.6, 912 },
		{ "NVIDIA GeForce RTX 3060", 11.8, 12.7, 360 }, { "NVIDIA GeForce RTX 3060", 8, 12.7, 240 },
		{ "NVIDIA GeForce RTX 3050", 7.9, 9.1, 224 }, { "NVIDIA GeForce RTX 3050", 6, 6.8, 168 },
		{ "NVIDIA GeForce RTX 3080 Ti", 12, 34.1, 912 },
		{ "NVIDIA GeForce RTX 4060 Ti", 16, 22.1, 288 }, /* one row for both */
	};

	(void)state;
	for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
		const struct sb_peak_rates *p = sb_peak_rates_find(gpus[i].name, gpus[i].memory_gb);

		assert_non_null(p);
		close_to(p->fp32, gpus[i].fp32);
		close_to(p->gb_per_s, gpus[i].gb_per_s);
	}
	close_to(of("NVIDIA GeForce RTX 3080")->gb_per_s, 760); /* not known: the first */
}

/* Each of the two chips of a board is a device. */
static void a_device_of_a_board_has_its_own_part(void **state)
{
	(void)state;
	close_to(sb_peak_rate(of("AMD Instinct MI250X"), "bf16"), 191.5);
	close_to(of("AMD Instinct MI250X")->gb_per_s, 1638);
	close_to(sb_peak_rate(of("AMD Instinct MI250"), "bf16"), 181);
	close_to(sb_peak_rate(of("NVIDIA A16"), "bf16"), 17.4);
}

static void bf16_may_be_slower_than_fp16(void **state)
{
	const struct sb_peak_rates *p = of("AMD Instinct MI100");

	(void)state;
	close_to(sb_peak_rate(p, "bf16"), 92.3);
	close_to(sb_peak_rate(p, "fp16"), 184.6);
	assert_true(isnan(sb_peak_rate(p, "fp8")) && isnan(sb_peak_rate(p, "tf32")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peak_rates_are_found_by_whole_words),
		cmocka_unit_test(gpus_before_bf16_have_rates_of_fp16_alone),
		cmocka_unit_test(kinds_of_one_name_are_told_by_their_memory),
		cmocka_unit_test(a_device_of_a_board_has_its_own_part),
		cmocka_unit_test(bf16_may_be_slower_than_fp16),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
