/* The table of peak rates. */
#include "analyze/gpu/peak_rates.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct sb_peak_rates table[] = {
#define PEAK(words, fp64, fp32, tf32, bf16, fp8, int8, fp4, gb_per_s, memory_gb, source) \
	{ words, fp64, fp32, tf32, bf16, bf16, fp8, int8, fp4, gb_per_s, memory_gb, source },
#define PEAK_FP16(words, fp64, fp32, bf16, fp16, int8, gb_per_s, memory_gb, source) \
	{ words, fp64, fp32, 0, bf16, fp16, 0, int8, 0, gb_per_s, memory_gb, source },
#include "analyze/gpu/peak_rates.inc"
};

/* A word of the name: "L4" is not in "L40S". */
static bool has_word(const char *name, const char *word, size_t length)
{
	for (const char *at = name; *at; at++) {
		bool begins = at == name || strchr(" -_", at[-1]);

		if (begins && !strncasecmp(at, word, length) && (!at[length] || strchr(" -_", at[length])))
			return true;
	}
	return false;
}

static bool has_words(const char *name, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");

		if (!has_word(name, words, length))
			return false;
		words += length + (words[length] == ' ');
	}
	return true;
}

/* A part or another kind of the GPU whose name it bears: the rates or the memory are others. */
static bool is_lesser(const char *name, const char *words)
{
	static const char *const lesser[] = { "Laptop", "Max-Q", "Mobile", "D", "MIG", "NVL", "SFF", "Server",
		"Active", "144G", "64GB", "3e", "LS", "H" };

	for (size_t i = 0; i < sizeof lesser / sizeof *lesser; i++)
		if (has_word(name, lesser[i], strlen(lesser[i])) &&
			!has_word(words, lesser[i], strlen(lesser[i])))
			return true;
	return false;
}

const struct sb_peak_rates *sb_peak_rates_find(const char *gpu, double memory_gb)
{
	const struct sb_peak_rates *found = NULL;

	for (size_t i = 0; gpu && i < sizeof table / sizeof table[0]; i++) {
		const struct sb_peak_rates *p = &table[i];

		if (found ? strcmp(p->words, found->words) != 0
			  : !has_words(gpu, p->words) || is_lesser(gpu, p->words))
			continue;
		if (!found || fabs(p->memory_gb - memory_gb) < fabs(found->memory_gb - memory_gb))
			found = p;
	}
	return found;
}

double sb_peak_rate(const struct sb_peak_rates *p, const char *precision)
{
	static const struct {
		const char *name;
		size_t at;
	} rates[] = { { "fp64", offsetof(struct sb_peak_rates, fp64) },
		{ "fp32", offsetof(struct sb_peak_rates, fp32) },
		{ "tf32", offsetof(struct sb_peak_rates, tf32) },
		{ "bf16", offsetof(struct sb_peak_rates, bf16) },
		{ "fp16", offsetof(struct sb_peak_rates, fp16) },
		{ "16-bit", offsetof(struct sb_peak_rates, fp16) },
		{ "fp8", offsetof(struct sb_peak_rates, fp8) },
		{ "int8", offsetof(struct sb_peak_rates, int8) },
		{ "fp4", offsetof(struct sb_peak_rates, fp4) } };

	for (size_t i = 0; p && precision && i < sizeof rates / sizeof rates[0]; i++) {
		double rate;

		if (strcmp(rates[i].name, precision) != 0)
			continue;
		memcpy(&rate, (const char *)p + rates[i].at, sizeof rate);
		return rate > 0 ? rate : NAN;
	}
	return NAN;
}
