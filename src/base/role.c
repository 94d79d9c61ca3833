/* The table of roles, and what the words in a stage's name say it is. Not a list of products: the words
 * that pipelines use for the same thing. */
#include "base/role.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define OWN_NAME "strobe: " /* strobe's own stages, in recordings from before they had a role */

static const struct {
	const char *key, *words;
	enum strobe_role work;
	enum strobe_kind kind;
} roles[SB_ROLE_COUNT] = {
#define ROW(role, key, words, work, kind) \
	[STROBE_ROLE_##role] = { key, words, STROBE_ROLE_##work, STROBE_KIND_##kind },
	SB_ROLES(ROW)
#undef ROW
};

/* Each row: every word of `all` must be there, in this order; the first row
 * that fits decides. Words are looked for at the start of a word. */
static const struct {
	const char *all[3];
	enum strobe_role work;
} names[] = {
	{ { "offload" }, STROBE_ROLE_OFFLOAD },
	{ { "vae", "decod" }, STROBE_ROLE_VAE_DECODE },
	{ { "decode", "latent" }, STROBE_ROLE_VAE_DECODE },
	{ { "vae", "encod" }, STROBE_ROLE_VAE_ENCODE },
	{ { "encode", "latent" }, STROBE_ROLE_VAE_ENCODE },
	{ { "text", "encod" }, STROBE_ROLE_TEXT_ENCODE },
	{ { "encode", "prompt" }, STROBE_ROLE_TEXT_ENCODE },
	{ { "prompt", "encod" }, STROBE_ROLE_TEXT_ENCODE },
	{ { "prompt", "embed" }, STROBE_ROLE_TEXT_ENCODE },
	{ { "tokeniz" }, STROBE_ROLE_TEXT_ENCODE },
	{ { "denois" }, STROBE_ROLE_DENOISE },
	{ { "diffusion" }, STROBE_ROLE_DENOISE },
	{ { "sampling" }, STROBE_ROLE_DENOISE },
	{ { "transformer", "forward" }, STROBE_ROLE_DENOISE },
	{ { "unet" }, STROBE_ROLE_DENOISE },
	{ { "model", "load" }, STROBE_ROLE_LOAD },
	{ { "load", "model" }, STROBE_ROLE_LOAD },
	{ { "load", "weight" }, STROBE_ROLE_LOAD },
	{ { "load", "checkpoint" }, STROBE_ROLE_LOAD },
	{ { "checkpoint", "load" }, STROBE_ROLE_LOAD },
	{ { "load", "pipeline" }, STROBE_ROLE_LOAD },
	{ { "from", "pretrained" }, STROBE_ROLE_LOAD },
	{ { "compile" }, STROBE_ROLE_COMPILE },
	{ { "all", "reduce" }, STROBE_ROLE_COLLECTIVE },
	{ { "all", "gather" }, STROBE_ROLE_COLLECTIVE },
	{ { "all", "to", "all" }, STROBE_ROLE_COLLECTIVE },
	{ { "nccl" }, STROBE_ROLE_COLLECTIVE },
	{ { "export" }, STROBE_ROLE_EXPORT },
	{ { "video", "writ" }, STROBE_ROLE_EXPORT },
	{ { "video", "encod" }, STROBE_ROLE_EXPORT },
	{ { "write", "video" }, STROBE_ROLE_EXPORT },
	{ { "save", "video" }, STROBE_ROLE_EXPORT },
	{ { "encode", "video" }, STROBE_ROLE_EXPORT },
	{ { "data", "load" }, STROBE_ROLE_DATA },
	{ { "load", "data" }, STROBE_ROLE_DATA },
	{ { "dataloader" }, STROBE_ROLE_DATA },
	{ { "load", "video" }, STROBE_ROLE_DATA },
	{ { "read", "video" }, STROBE_ROLE_DATA },
	{ { "read", "input" }, STROBE_ROLE_DATA },
	{ { "wait", "input" }, STROBE_ROLE_DATA },
	{ { "load", "input" }, STROBE_ROLE_DATA },
	{ { "read", "frame" }, STROBE_ROLE_DATA },
	{ { "video", "load" }, STROBE_ROLE_DATA },
	{ { "video", "decod" }, STROBE_ROLE_DATA },
	{ { "frame", "load" }, STROBE_ROLE_DATA },
	{ { "preprocess" }, STROBE_ROLE_DATA },
};

enum { WORDS_MOST = 128 }; /* of a name; no name that people give has more */

/* Where the words of a name start: "VaeDecode" and "vae_decode" both have the word "decode". */
struct words {
	const char *starts[WORDS_MOST];
	size_t count;
};

static void find_starts(struct words *w, const char *name)
{
	bool after_letter = false, after_lower = false;

	w->count = 0;
	for (const char *p = name; *p && w->count < WORDS_MOST; p++) {
		unsigned char c = (unsigned char)*p;

		if (!after_letter || (after_lower && isupper(c)))
			w->starts[w->count++] = p;
		after_letter = isalpha(c);
		after_lower = islower(c);
	}
}

/* The end of the first such word from `from` on, which counts as a start itself, caseless; NULL: there is none. */
static const char *find_word(const struct words *w, const char *from, const char *word)
{
	size_t size = strlen(word);

	if (strncasecmp(from, word, size) == 0)
		return from + size;
	for (size_t i = 0; i < w->count; i++)
		if (w->starts[i] > from && strncasecmp(w->starts[i], word, size) == 0)
			return w->starts[i] + size;
	return NULL;
}

/* "compile (re/__init__.py:225)": a function that Python's own profiler lists. What such a function compiles is most
 * often a pattern or a module. */
static bool is_function(const char *name)
{
	const char *colon = strrchr(name, ':');

	return *name == '<' || (colon && strchr(name, '(') && isdigit((unsigned char)colon[1]) &&
				       name[strlen(name) - 1] == ')');
}

/* torch names what runs compiled code "Torch-Compiled Region: 0/0": that is no compiling. */
static bool compiles(const char *name)
{
	return !is_function(name) && !strcasestr(name, "compiled");
}

static bool has_all(const struct words *w, const char *name, const char *const *all)
{
	const char *p = name;

	for (size_t i = 0; i < 3 && all[i] && p; i++)
		p = find_word(w, p, all[i]);
	return p != NULL;
}

enum strobe_role sb_role_work(const char *name, uint32_t role)
{
	struct words words;

	if (role < SB_ROLE_COUNT && roles[role].work != STROBE_ROLE_STAGE)
		return roles[role].work;
	if (name && !strncmp(name, OWN_NAME, strlen(OWN_NAME)))
		return STROBE_ROLE_PROFILER;
	if (!name)
		return STROBE_ROLE_STAGE;
	find_starts(&words, name);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (has_all(&words, name, names[i].all) &&
			(names[i].work != STROBE_ROLE_COMPILE || compiles(name)))
			return names[i].work;
	}
	return STROBE_ROLE_STAGE;
}

bool sb_role_uses_gpu(const char *name, uint32_t role)
{
	enum strobe_role work = sb_role_work(name, role);

	return work != STROBE_ROLE_IMPORT && work != STROBE_ROLE_PROFILER;
}

int sb_role_phase(const char *name)
{
	static const char *const phases[] = {
#define NAME(name) #name,
		SB_PHASES(NAME)
#undef NAME
	};

	for (int i = 0; name && i < SB_PHASE_COUNT; i++)
		if (strcmp(name, phases[i]) == 0)
			return i;
	return -1;
}

const char *sb_role_name(uint32_t role)
{
	return role < SB_ROLE_COUNT ? roles[role].key : NULL;
}

const char *sb_role_words(enum strobe_role role)
{
	return roles[(uint32_t)role < SB_ROLE_COUNT ? role : STROBE_ROLE_STAGE].words;
}

enum strobe_kind sb_role_kind(enum strobe_role role)
{
	return roles[(uint32_t)role < SB_ROLE_COUNT ? role : STROBE_ROLE_STAGE].kind;
}
