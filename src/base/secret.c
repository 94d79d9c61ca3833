/* Credentials are known by their name, their place in a URL, or their form. */
#include "base/secret.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX = 24 };

static bool is_in(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* ---- names -------------------------------------------------------------------- */

/* A word of a name ends where it is not a letter or digit, or where aB begins a new one. */
static bool begins_word(const char *name, size_t i)
{
	return !i || !isalnum((unsigned char)name[i - 1]) ||
	       (islower((unsigned char)name[i - 1]) && isupper((unsigned char)name[i]));
}

/* The last word before *size, in small letters; *size becomes where it begins. */
static void take_last_word(const char *name, size_t *size, char out[WORD_MAX])
{
	size_t end = *size, begin;

	while (end && !isalnum((unsigned char)name[end - 1]))
		end--;
	begin = end;
	while (begin && isalnum((unsigned char)name[begin - 1]) &&
		(begin == end || !begins_word(name, begin)))
		begin--;
	*size = begin;
	if (end - begin >= WORD_MAX)
		begin = end - WORD_MAX + 1;
	for (size_t i = begin; i < end; i++)
		out[i - begin] = (char)tolower((unsigned char)name[i]);
	out[end - begin] = 0;
}

bool sb_secret_name(const char *name, size_t size)
{
	static const char *const secret[] = { "secret", "pwd", "passphrase", "credential", "credentials",
		"apikey", "secretkey", "accesskey", "privatekey", "authorization", "auth", "signature", "sig",
		NULL };
	static const char *const plain_tokens[] = { "pad", "eos", "bos", "unk", "sep", "cls", "mask", "first",
		"last", "next", "start", "end", "stop", "image", "video", "audio", "special", "per", "max",
		"min", NULL };
	static const char *const keys[] = { "api", "access", "secret", "private", "ssh", "encryption",
		"signing", "auth", "account", "license", "master", "shared", "storage", "openai", "anthropic",
		"wandb", "hf", "azure", NULL };
	char last[WORD_MAX], before[WORD_MAX];

	take_last_word(name, &size, last);
	take_last_word(name, &size, before);
	if (!strcmp(last, "token"))
		return !is_in(before, plain_tokens);
	if (!strcmp(last, "key"))
		return is_in(before, keys);
	return strstr(last, "passw") || is_in(last, secret);
}

bool sb_secret_option(const char *argument)
{
	return argument[0] == '-' && !strpbrk(argument, "= \t\n:/") &&
	       sb_secret_name(argument, strlen(argument));
}

/* ---- forms -------------------------------------------------------------------- */

/* Tokens of well-known services have a prefix and at least so many characters. */
static bool has_form_of_token(const char *word, size_t size)
{
	static const struct {
		const char *prefix;
		size_t least;
	} forms[] = { { "hf_", 20 }, { "sk-", 20 }, { "ghp_", 20 }, { "gho_", 20 }, { "ghs_", 20 },
		{ "github_pat_", 30 }, { "glpat-", 20 }, { "xoxb-", 20 }, { "xoxp-", 20 }, { "AKIA", 20 },
		{ "ASIA", 20 }, { "AIza", 35 }, { "ya29.", 20 }, { "eyJ", 40 }, { "npm_", 30 },
		{ "pypi-", 30 } };

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		if (size >= forms[i].least && !strncmp(word, forms[i].prefix, strlen(forms[i].prefix)))
			return true;
	return false;
}

/* ---- text --------------------------------------------------------------------- */

struct masking {
	const char *at;
	char *out;
	size_t used, size, count;
};

static void copy(struct masking *m, size_t n)
{
	for (; n && *m->at; n--, m->at++)
		if (m->used + 1 < m->size)
			m->out[m->used++] = *m->at;
}

static void mask(struct masking *m, size_t n)
{
	const char *after = m->at + n;

	if (!n)
		return;
	m->at = SB_SECRET_MASK;
	copy(m, strlen(SB_SECRET_MASK));
	m->at = after;
	m->count++;
}

/* The value at this place: up to its quote, or to what ends a word or parameter. */
static void mask_value(struct masking *m, const char *ends)
{
	char quote[2] = { *m->at, 0 };

	if (*m->at == '"' || *m->at == '\'') {
		copy(m, 1);
		ends = quote;
	}
	mask(m, strcspn(m->at, ends));
}

/* Finds the value after a secret name: "=value", ": value", "\": \"value", or " value" of an option. */
static void mask_after_name(struct masking *m, bool option, bool header)
{
	const char *p = m->at;

	if (*p == '"' || *p == '\'')
		p++;
	if (*p == '=' || (*p == ':' && p[1] != '/')) {
		p += 1 + strspn(p + 1, " ");
		copy(m, (size_t)(p - m->at));
		mask_value(m, header ? "\"'\n" : " \t\n&,;\"')}|");
	} else if (option && *p == ' ' && p[strspn(p, " ")] != '-') {
		copy(m, strspn(p, " "));
		mask_value(m, " \t\n;|");
	}
}

/* "scheme://user:password@host": m->at is behind the slashes. */
static void mask_user_of_url(struct masking *m, bool http)
{
	size_t authority = strcspn(m->at, "/?# \t\n\"'");
	const char *sign = memrchr(m->at, '@', authority);
	const char *colon = sign ? memchr(m->at, ':', (size_t)(sign - m->at)) : NULL;

	if (!sign)
		return;
	if (colon)
		copy(m, (size_t)(colon + 1 - m->at));
	if (colon || http)
		mask(m, (size_t)(sign - m->at));
}

static void mask_word(struct masking *m, size_t size)
{
	const char *word = m->at;

	if (has_form_of_token(word, size)) {
		mask(m, size);
		return;
	}
	copy(m, size);
	if (!strncmp(m->at, "://", 3)) {
		copy(m, 3);
		mask_user_of_url(m, !strncmp(word, "http", 4));
	} else if (sb_secret_name(word, size)) {
		mask_after_name(m, word[0] == '-', size == 13 && !strncasecmp(word, "authorization", 13));
	}
}

size_t sb_secret_mask(const char *text, char *out, size_t size)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	struct masking m = { text, out, 0, size, 0 };

	while (*m.at) {
		size_t word = strspn(m.at, letters);

		if (word)
			mask_word(&m, word);
		else
			copy(&m, 1);
	}
	out[m.used] = 0;
	return m.count;
}

size_t sb_secret_mask_argument(const char *previous, const char *argument, char *out, size_t size)
{
	struct masking m = { argument, out, 0, size, 0 };

	if (!previous || !sb_secret_option(previous) || argument[0] == '-')
		return sb_secret_mask(argument, out, size);
	mask(&m, strlen(argument));
	out[m.used] = 0;
	return m.count;
}
