/* Names against the vocabulary. The first entry that matches counts. */
#include "analyze/gpu/kernel_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct entry {
	const char *words;
	enum sb_kernel_family family;
	const char *kind, *precision;
};

static const struct entry entries[] = {
#define KERNEL(words, family, kind, precision, example) { words, SB_KERNEL_##family, kind, precision },
#include "analyze/gpu/kernel_vocabulary.inc"
};

static const struct {
	const char *words, *precision;
} precisions[] = {
#define PRECISION(words, precision, example) { words, precision },
#include "analyze/gpu/kernel_vocabulary.inc"
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define PART_MOST 64

/* ---- one entry ---- */

static bool part_occurs(const char *name, const char *part, size_t length, bool at_start)
{
	char text[PART_MOST];

	if (at_start)
		return !strncasecmp(name, part, length);
	if (length >= sizeof text)
		return false;
	memcpy(text, part, length);
	text[length] = 0;
	return strcasestr(name, text) != NULL;
}

/* A word: parts separated by '|', with its "^" or "!". */
static bool word_holds(const char *name, const char *word, size_t length)
{
	bool at_start = *word == '^', absent = *word == '!';
	const char *end = word + length, *part = word + (at_start || absent);
	bool found = false;

	while (part < end && !found) {
		const char *bar = memchr(part, '|', (size_t)(end - part));
		size_t n = (size_t)((bar ? bar : end) - part);

		found = part_occurs(name, part, n, at_start);
		part += n + 1;
	}
	return found != absent;
}

static bool words_hold(const char *name, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");

		if (!word_holds(name, words, length))
			return false;
		words += length + (words[length] == ' ');
	}
	return true;
}

/* ---- classes ---- */

static const char *precision_of(const char *name)
{
	for (size_t i = 0; i < COUNT(precisions); i++)
		if (words_hold(name, precisions[i].words))
			return precisions[i].precision;
	return NULL;
}

static bool has_precision(enum sb_kernel_family family)
{
	return family == SB_KERNEL_GEMM || family == SB_KERNEL_ATTENTION || family == SB_KERNEL_CONVOLUTION;
}

struct sb_kernel_class sb_kernel_classify(const char *kernel)
{
	for (size_t i = 0; i < COUNT(entries); i++) {
		const struct entry *e = &entries[i];

		if (words_hold(kernel, e->words))
			return (struct sb_kernel_class){ e->family, e->kind,
				e->precision || !has_precision(e->family) ? e->precision
									  : precision_of(kernel),
				(int)i };
	}
	return (struct sb_kernel_class){ SB_KERNEL_UNRECOGNISED, NULL, NULL, -1 };
}

const char *sb_kernel_family_name(enum sb_kernel_family family)
{
	static const char *const names[SB_KERNEL_FAMILIES] = { "not recognised", "GEMM", "attention",
		"convolution", "normalisation", "element-wise", "reduction", "copy and layout",
		"quantisation", "communication", "sampling", "codec" };

	return (unsigned)family < SB_KERNEL_FAMILIES ? names[family] : names[0];
}

static const char *kind_within(const char *kernel, enum sb_kernel_family family)
{
	struct sb_kernel_class c = sb_kernel_classify(kernel);

	return c.family == family ? c.kind : NULL;
}

const char *sb_gpu_attention_kind(const char *kernel)
{
	return kind_within(kernel, SB_KERNEL_ATTENTION);
}

const char *sb_gpu_collective(const char *kernel)
{
	return kind_within(kernel, SB_KERNEL_COMMUNICATION);
}

bool sb_gpu_is_runtime_call(const char *zone)
{
	static const char *const heads[] = { "cuda", "cu", "hip", "hsa_" };

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		size_t n = strlen(heads[i]);

		if (!strncmp(zone, heads[i], n) &&
			(isupper((unsigned char)zone[n]) || heads[i][n - 1] == '_'))
			return true;
	}
	return false;
}

bool sb_gpu_is_wait(const char *zone)
{
	return sb_gpu_is_runtime_call(zone) && strstr(zone, "Synchronize");
}
