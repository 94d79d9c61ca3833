/* What GPUs can do at most, by their name. The figures are in peak_rates.inc. */
#ifndef SB_ANALYZE_GPU_PEAK_RATES_H
#define SB_ANALYZE_GPU_PEAK_RATES_H

struct sb_peak_rates {
	const char *words;
	double fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4; /* dense TFLOP/s; 0: no such unit */
	double gb_per_s; /* of its memory */
	double memory_gb; /* how much it has */
	const char *source;
};

/* NULL: not in the table. memory_gb tells kinds of one name apart; NAN: not known. */
const struct sb_peak_rates *sb_peak_rates_find(const char *gpu, double memory_gb);
/* TFLOP/s of a precision ("bf16", "fp16", "16-bit"...); NAN: not known, or no such unit. */
double sb_peak_rate(const struct sb_peak_rates *p, const char *precision);

#endif
