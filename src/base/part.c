/* Names of stages, read for what they are. Not a list of products: words that
 * pipelines use for the same thing. */
#include "base/part.h"

#include "strobe.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *words;
} parts[SB_PART_COUNT] = {
	[SB_PART_OTHER] = { "other", "other" },
	[SB_PART_DENOISE] = { "denoise", "denoise" },
	[SB_PART_VAE_DECODE] = { "vae_decode", "VAE decode" },
	[SB_PART_VAE_ENCODE] = { "vae_encode", "VAE encode" },
	[SB_PART_TEXT_ENCODE] = { "text_encode", "text encode" },
	[SB_PART_OFFLOAD] = { "offload", "offload" },
	[SB_PART_DATA] = { "data", "data loading" },
	[SB_PART_EXPORT] = { "export", "export" },
	[SB_PART_IMPORT] = { "import", "imports" },
	[SB_PART_LOAD] = { "load", "model load" },
	[SB_PART_COMPILE] = { "compile", "compile" },
	[SB_PART_COLLECTIVE] = { "communication", "communication" },
};

static const struct {
	int role;
	enum sb_part part;
} roles[] = {
	{ STROBE_ROLE_STEP, SB_PART_DENOISE },
	{ STROBE_ROLE_BLOCK, SB_PART_DENOISE },
	{ STROBE_ROLE_FORWARD, SB_PART_DENOISE },
	{ STROBE_ROLE_IMPORT, SB_PART_IMPORT },
	{ STROBE_ROLE_LOAD, SB_PART_LOAD },
	{ STROBE_ROLE_COMPILE, SB_PART_COMPILE },
	{ STROBE_ROLE_OFFLOAD, SB_PART_OFFLOAD },
	{ STROBE_ROLE_COLLECTIVE, SB_PART_COLLECTIVE },
};

/* Each row: every word of `all` must be there, in this order; the first row
 * that fits decides. Words are looked for at the start of a word. */
static const struct {
	const char *all[3];
	enum sb_part part;
} names[] = {
	{ { "offload" }, SB_PART_OFFLOAD },
	{ { "vae", "decod" }, SB_PART_VAE_DECODE },
	{ { "decode", "latent" }, SB_PART_VAE_DECODE },
	{ { "vae", "encod" }, SB_PART_VAE_ENCODE },
	{ { "encode", "latent" }, SB_PART_VAE_ENCODE },
	{ { "text", "encod" }, SB_PART_TEXT_ENCODE },
	{ { "encode", "prompt" }, SB_PART_TEXT_ENCODE },
	{ { "prompt", "encod" }, SB_PART_TEXT_ENCODE },
	{ { "prompt", "embed" }, SB_PART_TEXT_ENCODE },
	{ { "tokeniz" }, SB_PART_TEXT_ENCODE },
	{ { "denois" }, SB_PART_DENOISE },
	{ { "diffusion" }, SB_PART_DENOISE },
	{ { "sampling" }, SB_PART_DENOISE },
	{ { "transformer", "forward" }, SB_PART_DENOISE },
	{ { "unet" }, SB_PART_DENOISE },
	{ { "model", "load" }, SB_PART_LOAD },
	{ { "load", "model" }, SB_PART_LOAD },
	{ { "load", "weight" }, SB_PART_LOAD },
	{ { "load", "checkpoint" }, SB_PART_LOAD },
	{ { "checkpoint", "load" }, SB_PART_LOAD },
	{ { "load", "pipeline" }, SB_PART_LOAD },
	{ { "from", "pretrained" }, SB_PART_LOAD },
	{ { "compile" }, SB_PART_COMPILE },
	{ { "all", "reduce" }, SB_PART_COLLECTIVE },
	{ { "all", "gather" }, SB_PART_COLLECTIVE },
	{ { "all", "to", "all" }, SB_PART_COLLECTIVE },
	{ { "nccl" }, SB_PART_COLLECTIVE },
	{ { "export" }, SB_PART_EXPORT },
	{ { "video", "writ" }, SB_PART_EXPORT },
	{ { "video", "encod" }, SB_PART_EXPORT },
	{ { "write", "video" }, SB_PART_EXPORT },
	{ { "save", "video" }, SB_PART_EXPORT },
	{ { "encode", "video" }, SB_PART_EXPORT },
	{ { "data", "load" }, SB_PART_DATA },
	{ { "load", "data" }, SB_PART_DATA },
	{ { "dataloader" }, SB_PART_DATA },
	{ { "load", "video" }, SB_PART_DATA },
	{ { "read", "video" }, SB_PART_DATA },
	{ { "read", "input" }, SB_PART_DATA },
	{ { "wait", "input" }, SB_PART_DATA },
	{ { "load", "input" }, SB_PART_DATA },
	{ { "read", "frame" }, SB_PART_DATA },
	{ { "video", "load" }, SB_PART_DATA },
	{ { "video", "decod" }, SB_PART_DATA },
	{ { "frame", "load" }, SB_PART_DATA },
	{ { "preprocess" }, SB_PART_DATA },
};

/* Where word begins a word of text, caseless; NULL: nowhere. "VaeDecode" and
 * "vae_decode" both have the word "decode". */
static const char *find_word(const char *text, const char *word)
{
	size_t size = strlen(word);

	for (const char *p = text; *p; p++) {
		bool starts = p == text || !isalpha((unsigned char)p[-1]) ||
			      (islower((unsigned char)p[-1]) && isupper((unsigned char)*p));

		if (starts && strncasecmp(p, word, size) == 0)
			return p + size;
	}
	return NULL;
}

static bool has_all(const char *name, const char *const *words)
{
	const char *p = name;

	for (size_t i = 0; i < 3 && words[i] && p; i++)
		p = find_word(p, words[i]);
	return p != NULL;
}

enum sb_part sb_part_of(const char *name, int role)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		if (roles[i].role == role)
			return roles[i].part;
	}
	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
		if (has_all(name, names[i].all))
			return names[i].part;
	}
	return SB_PART_OTHER;
}

const char *sb_part_name(enum sb_part part)
{
	return parts[part < SB_PART_COUNT ? part : SB_PART_OTHER].name;
}

const char *sb_part_words(enum sb_part part)
{
	return parts[part < SB_PART_COUNT ? part : SB_PART_OTHER].words;
}
