/* A run to give away: its recordings in one file, with private texts removed or hashed by rule. What
 * analyses need stays: names of stages, functions and kernels, numbers, times. */
#ifndef SB_EXCHANGE_SHARE_H
#define SB_EXCHANGE_SHARE_H

#include "run/run.h"

#include <stddef.h>
#include <stdint.h>

enum sb_share_rule {
	SB_SHARE_COMMANDS, /* command lines: removed */
	SB_SHARE_TAGS, /* values of tags: texts hashed, numbers removed */
	SB_SHARE_TEXTS, /* texts attached to zones and events: hashed, but for words strobe knows */
	SB_SHARE_PATHS, /* folders of absolute paths: hashed; file names stay */
	SB_SHARE_HOSTS, /* host names and launchers' job ids: hashed */
	SB_SHARE_RULES
};

struct sb_share_summary {
	uint64_t counts[SB_SHARE_RULES];
	char tags[512]; /* their keys: "prompt, seed" */
	uint64_t recording_bytes; /* before packing */
	uint32_t recording_count;
};

/* What a rule is about and what it did: "values of tags", "hashed, numbers removed". */
const char *sb_share_rule_what(enum sb_share_rule rule);
const char *sb_share_rule_done(enum sb_share_rule rule);

/* Writes the recordings of a run that has ended into one new file. The same text has the same hash
 * within the file; files of two calls have nothing in common. */
int sb_share_write(struct sb_run *run, const char *path, struct sb_share_summary *out_summary);

/* Copies a recording whole, as it is, into a file. */
int sb_share_copy(struct sb_reader *reader, int fd);

/* ---- share_pack.c ---- */
#define SB_SHARE_MAGIC "STROBEp\n"
#define SB_SHARE_MAGIC_BYTES 8

/* Packs the recordings of a run into a new file. STROBE_ENOTSUP: the build cannot. */
int sb_share_pack(const struct sb_run *run, const char *path);
/* Makes one gathered file of them, at strobe_path, which exists. path: what messages name; most: bytes unpacked. */
int sb_share_unpack(const char *packed, const char *strobe_path, const char *path, uint64_t most);

/* ---- share_rules.c ---- */
struct sb_share {
	uint64_t key[2]; /* by chance: hashes cannot be looked up */
	const char *hosts[64];
	size_t host_count;
	struct sb_share_summary summary;
};

/* Each changes size bytes of text in place; what is left over is filled with zeros. */
void sb_share_remove(struct sb_share *s, enum sb_share_rule rule, char *text, size_t size);
void sb_share_hash(struct sb_share *s, enum sb_share_rule rule, char *text, size_t size);
/* A text that stays: the folders of paths and the host names in it do not. */
void sb_share_clean(struct sb_share *s, char *text, size_t size);
/* A text attached under a key: kept where it is a single word of a key that strobe knows. */
void sb_share_attached(struct sb_share *s, const char *key, char *text, size_t size);

#endif
