/* The rules by which texts are removed or hashed. */
#include "exchange/share.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REMOVED "(removed)"
#define HASH_ROOM 10 /* "#3fa9c2d1" */
#define HOST_LEAST 3 /* a shorter name would be found inside words */
#define WORD_MOST 40

static const struct {
	const char *what, *done;
} rules[] = {
	[SB_SHARE_COMMANDS] = { "command lines", "removed" },
	[SB_SHARE_TAGS] = { "values of tags", "texts hashed, numbers removed" },
	[SB_SHARE_TEXTS] = { "texts attached to zones and events", "hashed" },
	[SB_SHARE_PATHS] = { "paths", "folders hashed, file names kept" },
	[SB_SHARE_HOSTS] = { "host names and job ids", "hashed" },
};

/* Keys of attributes whose single words analyses read. */
static const char *const known_keys[] = { "dtype", "variant", "device", "state", "precision", "module",
	"component", "kind", "type", "error", "backend", "scheduler", NULL };

/* In a path these and what follows are public, and tell a library from the program. */
static const char *const public_parts[] = { "/lib/python", "/site-packages/", "/dist-packages/", "/torch/",
	"/diffusers/", "/transformers/", NULL };

const char *sb_share_rule_what(enum sb_share_rule rule)
{
	return rules[rule].what;
}

const char *sb_share_rule_done(enum sb_share_rule rule)
{
	return rules[rule].done;
}

/* ---- SipHash-2-4 ---- */

static uint64_t rotate(uint64_t v, int bits)
{
	return v << bits | v >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void take_block(uint64_t v[4], uint64_t block)
{
	v[3] ^= block;
	mix(v, 2);
	v[0] ^= block;
}

static uint64_t hash_of(const uint64_t key[2], const char *text, size_t size)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull };
	uint64_t block, last = (uint64_t)size << 56;
	size_t i = 0;

	for (; i + 8 <= size; i += 8) {
		memcpy(&block, text + i, 8);
		take_block(v, block);
	}
	for (size_t k = 0; i + k < size; k++)
		last |= (uint64_t)(unsigned char)text[i + k] << (8 * k);
	take_block(v, last);
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* "#3fa9c2d1", as much of it as fits. Returns its length. */
static size_t put_hash(struct sb_share *s, const char *text, size_t size, char *out, size_t room)
{
	char digits[HASH_ROOM];
	size_t length = HASH_ROOM - 1 < room ? HASH_ROOM - 1 : room;

	snprintf(digits, sizeof digits, "#%08x", (unsigned)hash_of(s->key, text, size));
	memcpy(out, digits, length);
	return length;
}

/* ---- whole texts ---- */

void sb_share_remove(struct sb_share *s, enum sb_share_rule rule, char *text, size_t size)
{
	size_t length = sizeof REMOVED - 1 < size ? sizeof REMOVED - 1 : size;

	if (!strnlen(text, size))
		return;
	memset(text, 0, size);
	memcpy(text, REMOVED, length);
	s->summary.counts[rule]++;
}

void sb_share_hash(struct sb_share *s, enum sb_share_rule rule, char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char hash[HASH_ROOM];
	size_t used;

	if (!length)
		return;
	used = put_hash(s, text, length, hash, size);
	memset(text, 0, size);
	memcpy(text, hash, used);
	s->summary.counts[rule]++;
}

static bool is_known_key(const char *key)
{
	for (const char *const *k = known_keys; *k; k++)
		if (!strcmp(*k, key))
			return true;
	return false;
}

static bool is_word(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("_.:+-", text[i]))
			return false;
	return length <= WORD_MOST;
}

void sb_share_attached(struct sb_share *s, const char *key, char *text, size_t size)
{
	if (is_known_key(key) && is_word(text, strnlen(text, size)))
		return;
	sb_share_hash(s, SB_SHARE_TEXTS, text, size);
}

/* ---- paths and hosts inside a text ---- */

static bool begins_path(const char *start, const char *at, const char *end)
{
	bool alone = at == start || strchr(" \t\n'\"=:,;([<|", at[-1]);

	if (!alone || at + 1 >= end)
		return false;
	return (*at == '/' && at[1] != '/' && !isspace((unsigned char)at[1])) || (*at == '~' && at[1] == '/');
}

static const char *path_end(const char *at, const char *end)
{
	while (at < end && *at && !strchr(" \t\n'\",;()<>|", *at))
		at++;
	return at;
}

/* Where the part of a path begins that stays: its file name, or a library's place. */
static const char *kept_part(const char *path, const char *end)
{
	const char *kept = end;

	for (const char *const *p = public_parts; *p; p++) {
		const char *found = memmem(path, (size_t)(end - path), *p, strlen(*p));

		if (found && found < kept)
			kept = found;
	}
	if (kept < end)
		return kept;
	while (kept > path && kept[-1] != '/')
		kept--;
	return kept > path ? kept - 1 : path; /* with the slash before it */
}

/* The folders of the path at `at` into out. Returns what was written; *out_end: where the path ends. */
static size_t put_path(struct sb_share *s, const char *at, const char *end, char *out, const char **out_end)
{
	const char *stop = path_end(at, end), *kept = kept_part(at, stop);
	size_t used = 0;

	*out_end = stop;
	if (kept > at) {
		used = put_hash(s, at, (size_t)(kept - at), out, (size_t)(kept - at));
		s->summary.counts[SB_SHARE_PATHS]++;
	}
	memcpy(out + used, kept, (size_t)(stop - kept));
	return used + (size_t)(stop - kept);
}

static size_t host_at(const struct sb_share *s, const char *at, const char *end)
{
	for (size_t i = 0; i < s->host_count; i++) {
		size_t length = strlen(s->hosts[i]);

		if (length >= HOST_LEAST && (size_t)(end - at) >= length && !memcmp(at, s->hosts[i], length))
			return length;
	}
	return 0;
}

void sb_share_clean(struct sb_share *s, char *text, size_t size)
{
	const char *at = text, *end = text + strnlen(text, size);
	char out[4096 * 8]; /* as long as a record can be */
	size_t used = 0, length;

	if ((size_t)(end - text) > sizeof out)
		end = text + sizeof out;
	while (at < end) {
		if (begins_path(text, at, end)) {
			used += put_path(s, at, end, out + used, &at);
		} else if ((length = host_at(s, at, end))) {
			used += put_hash(s, at, length, out + used, length);
			s->summary.counts[SB_SHARE_HOSTS]++;
			at += length;
		} else {
			out[used++] = *at++;
		}
	}
	memset(text, 0, size);
	memcpy(text, out, used);
}
