/* Forms of tokens, by the services that give them out. */
#include "base/secret_form.h"

#include <ctype.h>
#include <string.h>

enum { RUN_LEAST = 12 }; /* letters and digits in a row: no word of a name */

static size_t run_at(const char *word, size_t size)
{
	size_t n = 0;

	while (n < size && isalnum((unsigned char)word[n]))
		n++;
	return n;
}

static bool has_run(const char *word, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t run = run_at(word + i, size - i);

		if (run >= RUN_LEAST)
			return true;
		i += run;
	}
	return false;
}

bool sb_secret_form_random(const char *value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t run = run_at(value + i, size - i), digits = 0;

		for (size_t k = i; k < i + run; k++)
			digits += !!isdigit((unsigned char)value[k]);
		if (run >= RUN_LEAST && digits && digits < run)
			return true;
		i += run;
	}
	return false;
}

/* A prefix and at least so many characters. */
static bool begins_token(const char *word, size_t size)
{
	static const struct {
		const char *prefix;
		size_t least;
	} forms[] = { { "hf_", 20 }, { "api_org_", 25 }, { "sk-", 20 }, { "sk_live_", 20 },
		{ "sk_test_", 20 }, { "rk_live_", 20 }, { "ghp_", 20 }, { "gho_", 20 }, { "ghu_", 20 },
		{ "ghs_", 20 }, { "ghr_", 20 }, { "github_pat_", 30 }, { "glpat-", 20 }, { "glrt-", 20 },
		{ "xoxb-", 20 }, { "xoxp-", 20 }, { "xoxa-", 20 }, { "xoxr-", 20 }, { "xapp-", 20 },
		{ "AKIA", 20 }, { "ASIA", 20 }, { "AIza", 35 }, { "ya29.", 20 }, { "eyJ", 40 },
		{ "npm_", 30 }, { "pypi-", 30 }, { "nvapi-", 30 }, { "gsk_", 30 }, { "r8_", 30 },
		{ "xai-", 30 }, { "pplx-", 30 }, { "rpa_", 30 }, { "wandb_v1_", 30 }, { "dckr_pat_", 20 },
		{ "dop_v1_", 30 }, { "hvs.", 20 }, { "lsv2_", 30 }, { "shpat_", 30 }, { "dapi", 36 },
		{ "SG.", 30 } };

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (size >= forms[i].least && !strncmp(word, forms[i].prefix, strlen(forms[i].prefix)))
			return has_run(word + strlen(forms[i].prefix), size - strlen(forms[i].prefix));
	return false;
}

size_t sb_secret_form_find(const char *word, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool behind_letter = i == 2 && word[0] == '-'; /* of an option: -thf_... */

		if ((!i || behind_letter || !isalnum((unsigned char)word[i - 1])) &&
			begins_token(word + i, size - i))
			return i;
	}
	return size;
}
