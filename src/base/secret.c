/* Credentials in a text are known by the name before them, their place in a URL, or their form. */
#include "base/secret.h"

#include "base/secret_form.h"
#include "base/secret_name.h"
#include "base/secret_program.h"
#include "base/secret_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

size_t sb_secret_room(size_t length)
{
	return length + sizeof SB_SECRET_MASK * (length / 2 + 1);
}

void sb_secret_copy(struct sb_secret_text *t, size_t n)
{
	for (; n && *t->at; n--, t->at++)
		if (t->used + 1 < t->size)
			t->out[t->used++] = *t->at;
}

void sb_secret_hide(struct sb_secret_text *t, size_t n)
{
	const char *after = t->at + n;

	if (!n)
		return;
	t->at = SB_SECRET_MASK;
	sb_secret_copy(t, strlen(SB_SECRET_MASK));
	t->at = after;
	t->count++;
}

size_t sb_secret_name_size(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
}

bool sb_secret_is_plain(const char *value, size_t size)
{
	static const char *const words[] = { "true", "false", "none", "null", "yes", "no", "on", "off",
		"auto", "***", NULL };

	for (const char *const *w = words; *w; w++)
		if (strlen(*w) == size && !strncasecmp(value, *w, size))
			return true;
	return size == 0;
}

/* ---- values ------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return !c || strchr(" \t\r\n", c);
}

/* What ends a value in one text belongs to the password in another: a sign ends it if
 * what follows it is no part of a password. */
static bool ends_value(const char *at)
{
	size_t name;

	if (is_blank(*at) || *at == '"' || *at == '\'' || *at == '`')
		return true;
	if (!strchr(",;&|)}]>", *at))
		return false;
	if (is_blank(at[1]) || strchr("\"'`,;&|)}]>", at[1]))
		return true;
	name = sb_secret_name_size(at + 1);
	return name && strchr("=:", at[1 + name]) && at[1 + name];
}

static size_t value_size(const char *at)
{
	size_t n = 0;

	while (!ends_value(at + n))
		n += at[n] == '\\' && at[n + 1] ? 2 : 1;
	return n;
}

/* Up to the quote that closes it; of "\"…\"" the escaped one. */
static size_t quoted_size(const char *at, char quote, bool escaped)
{
	size_t n = 0;

	while (at[n] && !(escaped ? at[n] == '\\' && at[n + 1] == quote : at[n] == quote))
		n += at[n] == '\\' && at[n + 1] ? 2 : 1;
	return n;
}

static size_t quote_size(const char *at)
{
	size_t n = *at == '\\';

	return at[n] == '"' || at[n] == '\'' ? n + 1 : 0;
}

/* "Bearer abc": the word and the blanks behind it. */
static size_t scheme_size(const char *at)
{
	static const char *const schemes[] = { "bearer", "basic", "token", "digest", "apikey", "negotiate",
		NULL };

	for (const char *const *s = schemes; *s; s++) {
		size_t n = strlen(*s);

		if (!strncasecmp(at, *s, n) && at[n] == ' ')
			return n + strspn(at + n, " ");
	}
	return 0;
}

static void hide_quoted(struct sb_secret_text *t, size_t quote)
{
	char sign = t->at[quote - 1];

	sb_secret_copy(t, quote);
	sb_secret_hide(t, quoted_size(t->at, sign, quote == 2));
	sb_secret_copy(t, *t->at ? quote : 0);
	while (!strncmp(t->at, "\\''", 3)) { /* the shell's 'a'\''b' is one word */
		t->at += 3 + quoted_size(t->at + 3, '\'', false);
		t->at += !!*t->at;
	}
	t->at += value_size(t->at);
}

static void hide_value(struct sb_secret_text *t, enum sb_secret_value known, bool whole_line)
{
	size_t quote = quote_size(t->at), size = quote ? 0 : scheme_size(t->at);

	if (quote && (known == SB_SECRET_SURE ||
			     sb_secret_form_random(t->at + quote,
				     quoted_size(t->at + quote, t->at[quote - 1], quote == 2)))) {
		hide_quoted(t, quote);
		return;
	}
	size = whole_line ? strcspn(t->at, "\"'\r\n") : size + value_size(t->at + size);
	if (known == SB_SECRET_SURE ? !sb_secret_is_plain(t->at, size) : sb_secret_form_random(t->at, size))
		sb_secret_hide(t, size);
}

/* The sign between a name and its value, with the blanks around it; 0: none follows. */
static size_t sign_size(const char *at)
{
	size_t n = quote_size(at);

	n += strspn(at + n, " \t");
	if (!strncasecmp(at + n, "%3d", 3))
		return n + 3;
	if ((at[n] != '=' && at[n] != ':') || at[n + 1] == at[n] || (at[n] == ':' && at[n + 1] == '/'))
		return 0;
	n += strspn(at + n, ":=>");
	return n + strspn(at + n, " \t");
}

/* Finds the value behind a name: "=value", ": value", "\": \"value", " value" of an option, " 'value'". */
static void hide_after_name(
	struct sb_secret_text *t, enum sb_secret_value known, bool option, bool whole_line)
{
	size_t sign = sign_size(t->at), blanks = strspn(t->at, " ");
	const char *next = t->at + blanks;

	if (sign) {
		sb_secret_copy(t, sign);
		hide_value(t, known, whole_line);
	} else if (blanks && ((option && *next != '-') || (known == SB_SECRET_SURE && quote_size(next)))) {
		sb_secret_copy(t, blanks);
		hide_value(t, known, false);
	}
}

/* ---- places ------------------------------------------------------------------- */

/* Where the user of a URL ends, at its '@'; 0: it names none. A password may hold any sign but blanks and quotes;
 * what is digits up to a slash is a port. */
static size_t user_size(const char *at)
{
	size_t authority = strcspn(at, "/?# \t\r\n\"'"), most = authority;
	const char *colon = memchr(at, ':', authority), *sign = memchr(at, '@', authority);
	size_t port = colon ? 1 + strspn(colon + 1, "0123456789") : 0;

	if (colon && (!sign || colon < sign) && colon[port] && !strchr("/?#", colon[port])) {
		most = strcspn(at, "? \t\r\n\"'");
		if (!memchr(at, '@', most))
			most = strcspn(at, " \t\r\n\"'");
	}
	sign = memrchr(at, '@', most);
	return sign ? (size_t)(sign - at) : 0;
}

/* "scheme://user:password@host": t->at is behind the slashes. */
static void hide_user_of_url(struct sb_secret_text *t, bool http)
{
	size_t all = user_size(t->at);
	const char *colon = memchr(t->at, ':', all);
	size_t user = colon ? (size_t)(colon - t->at) : all;

	if (colon ? user >= 20 || (user && user + 1 == all) : http) /* the user is the token */
		sb_secret_hide(t, user);
	else
		sb_secret_copy(t, user);
	if (colon) {
		sb_secret_copy(t, 1);
		sb_secret_hide(t, all - user - 1);
	}
}

/* Addresses whose path is what lets anyone in. */
static size_t hook_size(const char *host)
{
	static const char *const hooks[] = { "hooks.slack.com/services/", "discord.com/api/webhooks/",
		"discordapp.com/api/webhooks/", "api.telegram.org/bot", NULL };

	for (const char *const *h = hooks; *h; h++)
		if (!strncasecmp(host, *h, strlen(*h)))
			return strlen(*h);
	return 0;
}

static void take_url(struct sb_secret_text *t, bool http)
{
	size_t hook;

	sb_secret_copy(t, 3);
	hook = hook_size(t->at);
	sb_secret_copy(t, hook);
	if (hook)
		sb_secret_hide(t, strcspn(t->at, "? \t\r\n\"'"));
	else
		hide_user_of_url(t, http);
}

/* Behind "user:", without a scheme: where "password@host" has its '@'; 0: it is something else. */
static size_t password_before_host(const char *at)
{
	size_t size = strcspn(at, "@ \t\r\n\"'/"), host = sb_secret_name_size(at + size + (at[size] == '@'));
	const char *name = at + size + 1, *dot;

	if (!size || at[size] != '@' || !host || !isalpha((unsigned char)*name))
		return 0;
	dot = memrchr(name, '.', host);
	if ((name[host] == ':' && isdigit((unsigned char)name[host + 1]) && strncmp(name, "sha", 3)) ||
		(host == 9 && !strncmp(name, "localhost", 9)))
		return size;
	return dot && isalpha((unsigned char)dot[1]) && isalpha((unsigned char)dot[2]) ? size : 0;
}

/* "Bearer abc1" without a name before it. */
static bool is_bearer(const char *word, size_t size, const char *value)
{
	size_t length = value_size(value);

	if (size == 6 && !strncasecmp(word, "bearer", 6))
		return length >= 8 && strcspn(value, "0123456789") < length;
	return size == 5 && !strncasecmp(word, "basic", 5) && sb_secret_form_random(value, length);
}

/* A header's value is the whole line: "Basic dTpw", "a=b; c=d". */
static bool is_header(const char *word, size_t size)
{
	static const char *const headers[] = { "authorization", "cookie", NULL };

	for (const char *const *h = headers; *h; h++) {
		size_t n = strlen(*h);

		if (size >= n && !strncasecmp(word + size - n, *h, n))
			return true;
	}
	return false;
}

/* mysql -pX, curl -u me:X: false where it is none of that. */
static bool take_program_option(struct sb_secret_text *t, size_t size)
{
	const struct sb_secret_program *program = is_blank(t->at[size]) ? sb_secret_program_find(t->at, size)
									: NULL;
	size_t glued;

	if (program)
		t->program = program;
	if (!t->program || !sb_secret_program_takes(t->program, t->at, size, &glued))
		return false;
	sb_secret_copy(t, size - glued);
	sb_secret_copy(t, glued ? 0 : strspn(t->at, " "));
	if (t->program->user) {
		size_t colon = value_size(t->at), user = strcspn(t->at, ":");

		sb_secret_copy(t, user < colon ? user + 1 : colon);
	}
	hide_value(t, SB_SECRET_SURE, false);
	return true;
}

static void take_word(struct sb_secret_text *t, size_t size)
{
	const char *word = t->at;
	size_t token = sb_secret_form_find(word, size);
	enum sb_secret_value known = sb_secret_value_of(word, size);

	if (take_program_option(t, size))
		return;
	sb_secret_copy(t, token);
	if (token < size) {
		sb_secret_hide(t, size - token);
	} else if (!strncmp(t->at, "://", 3)) {
		take_url(t, !strncmp(word, "http", 4));
	} else if (*t->at == ' ' && is_bearer(word, size, t->at + strspn(t->at, " "))) {
		sb_secret_copy(t, strspn(t->at, " "));
		sb_secret_hide(t, value_size(t->at));
	} else if (size == 4 && !strncmp(word, "pass", 4) && *t->at == ' ') {
		return; /* "cannot pass 'x'" */
	} else if (known != SB_SECRET_NOT) {
		hide_after_name(t, known, word[0] == '-', *t->at == ':' && is_header(word, size));
	} else if (*t->at == ':' && strncmp(word, "mailto", size)) {
		sb_secret_copy(t, 1);
		sb_secret_hide(t, password_before_host(t->at));
	}
}

size_t sb_secret_mask(const char *text, char *out, size_t size)
{
	struct sb_secret_text t = { .at = text, .out = out, .size = size };

	while (*t.at) {
		size_t word = sb_secret_name_size(t.at);

		if (word)
			take_word(&t, word);
		else /* an escape of a URL is no part of a name */
			sb_secret_copy(&t, *t.at == '%' && isxdigit((unsigned char)t.at[1]) ? 3 : 1);
	}
	out[t.used] = 0;
	return t.count;
}
