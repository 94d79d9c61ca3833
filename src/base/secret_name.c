/* Names of credentials: known by their last words. */
#include "base/secret_name.h"

#include "base/secret.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 24 };

static bool is_in(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

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

/* The last word that says what it is: TOKEN of HF_TOKEN_2, SECRET_VALUE and key3. */
static void take_noun(const char *name, size_t *size, char out[WORD_MAX])
{
	static const char *const tails[] = { "value", "prod", "production", "dev", "staging", "b64", "base64",
		"str", "string", "env", "plaintext", "default", NULL };

	do {
		take_last_word(name, size, out);
		for (size_t n = strlen(out); n && isdigit((unsigned char)out[n - 1]); n--)
			out[n - 1] = 0;
	} while (*size && (!*out || is_in(out, tails)));
}

/* FAL_KEY: a name of the environment. */
static bool is_of_environment(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isupper((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) && name[i] != '_')
			return false;
	return size > 0;
}

static enum sb_secret_value of_key(const char *before, bool of_environment)
{
	static const char *const keys[] = { "api", "app", "access", "secret", "private", "ssh", "encryption",
		"signing", "auth", "account", "license", "master", "shared", "storage", "service",
		"subscription", "openai", "anthropic", "wandb", "hf", "azure", NULL };
	static const char *const plain[] = { "sort", "primary", "foreign", "public", "cache", "partition",
		"group", "dict", "map", "state", "image", "video", "audio", "frame", "prompt", "text",
		"input", "output", "data", "query", "index", "unique", "row", "column", "hot", "object", "s3",
		"routing", "join", NULL };

	if (is_in(before, keys))
		return SB_SECRET_SURE;
	if (is_in(before, plain))
		return SB_SECRET_NOT;
	return of_environment && *before ? SB_SECRET_SURE : SB_SECRET_MAYBE;
}

static enum sb_secret_value of_token(const char *before)
{
	static const char *const plain[] = { "pad", "eos", "bos", "unk", "sep", "cls", "class", "mask",
		"first", "last", "next", "start", "end", "stop", "image", "video", "audio", "text", "visual",
		"latent", "frame", "register", "special", "extra", "added", "placeholder", "decoder", "per",
		"max", "min", "num", "unexpected", "invalid", NULL };

	return is_in(before, plain) ? SB_SECRET_NOT : SB_SECRET_SURE;
}

static enum sb_secret_value of_others(const char *word, const char *before, bool of_environment)
{
	static const char *const secret[] = { "secret", "secrets", "pwd", "passphrase", "passin", "passout",
		"credential", "credentials", "apikey", "apikeys", "secretkey", "accesskey", "privatekey",
		"apitoken", "accesstoken", "authtoken", "hftoken", "authorization", "auth", "signature",
		"sig", "cookie", "bearer", "jwt", "otp", NULL };
	static const char *const owners[] = { "", "db", "database", "user", "http", "https", "smtp", "mail",
		"email", "imap", "mysql", "pg", "postgres", "redis", "mongo", "rabbitmq", "ftp", "root",
		"admin", "ssh", "vnc", "auth", "login", "proxy", "ldap", NULL };
	static const char *const forges[] = { "github", "gitlab", "git", "gh", "azure", "ado", NULL };

	if (!strcmp(word, "pass"))
		return is_in(before, owners) ? SB_SECRET_SURE : SB_SECRET_NOT;
	if (!strcmp(word, "pat"))
		return is_in(before, forges) ? SB_SECRET_SURE : SB_SECRET_MAYBE;
	if (!strcmp(word, "cookies"))
		return SB_SECRET_MAYBE;
	if (!strcmp(word, "pwd") && of_environment && !*before) /* PWD: the folder */
		return SB_SECRET_NOT;
	return strstr(word, "passw") || is_in(word, secret) ? SB_SECRET_SURE : SB_SECRET_NOT;
}

enum sb_secret_value sb_secret_value_of(const char *name, size_t size)
{
	static const char *const many[] = { "api", "access", "auth", "hf", NULL };
	bool of_environment = is_of_environment(name, size);
	char word[WORD_MAX], before[WORD_MAX];
	enum sb_secret_value value;

	take_noun(name, &size, word);
	take_last_word(name, &size, before);
	if (!strcmp(before, "no")) /* --no-auth */
		return SB_SECRET_NOT;
	if (!strcmp(word, "token"))
		value = of_token(before);
	else if (!strcmp(word, "key"))
		value = of_key(before, of_environment);
	else if (!strcmp(word, "tokens") || !strcmp(word, "keys"))
		value = is_in(before, many) ? SB_SECRET_SURE : SB_SECRET_NOT;
	else
		value = of_others(word, before, of_environment);
	return value;
}

bool sb_secret_name(const char *name, size_t size)
{
	return sb_secret_value_of(name, size) == SB_SECRET_SURE;
}
