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

/* The same for the runs of a job, one after the other with the same hashes: */
struct sb_share;
int sb_share_begin(struct sb_share *s);
/* Notes the host names of a RUN, which may stand in the texts of every run. Call it for all runs before
 * the first sb_share_add(). */
int sb_share_note_hosts(struct sb_share *s, const char *path);
/* Writes each recording of the run into a folder that exists, under its name: a run's folder again. */
int sb_share_add(struct sb_share *s, struct sb_run *run, const char *folder);
void sb_share_done(struct sb_share *s); /* s may be zeroed */

/* Copies a recording whole, as it is, into a file. */
int sb_share_copy(struct sb_reader *reader, int fd);

/* ---- share_records.c ---- */
struct sb_record;
/* Changes the texts of a record of that process of the run, in place. Every record type has its case
 * here; a record of an unknown type is cleared. */
void sb_share_clean_record(
	struct sb_share *s, const struct sb_run *run, uint32_t process, const struct sb_record *r);

/* ---- share_pack.c ---- */
#define SB_SHARE_MAGIC "STROBEp\n"
#define SB_SHARE_MAGIC_BYTES 8

/* Packs the recordings of a run into a new file. STROBE_ENOTSUP: the build cannot. */
int sb_share_pack(const struct sb_run *run, const char *path);
/* Makes one gathered file of them, at strobe_path, which exists. path: what messages name; most: bytes unpacked. */
int sb_share_unpack(const char *packed, const char *strobe_path, const char *path, uint64_t most);

/* Writes the size of a packed recording and the recording at the position of a file. path: for messages;
 * part: a temporary name. */
int sb_share_pack_one(struct sb_reader *reader, int to, const char *path, const char *part);
/* Writes the size of a file and the file at the position of another. */
int sb_share_put_file(const char *from, int to, const char *path);
/* Copies size bytes from the position of one file to that of another. */
bool sb_share_pass(int from, int to, uint64_t size);

/* ---- share_job.c ---- */
/* What the page of a job holds: the recordings of a folder and of its ranks, each behind its name. */
#define SB_SHARE_JOB_MAGIC "STROBEj\n"

/* Past most_bytes it fails, and says what to do instead. */
int sb_share_job_pack(const char *folder, const char *path, uint64_t most_bytes);
/* Makes the folder again, in one that is empty. packed: the file; path: what messages name. */
int sb_share_job_unpack(const char *packed, const char *folder, const char *path);

/* ---- share_in.c ---- */
bool sb_share_is_job(const char *path); /* a page with a job in it */
/* The job in a page, as a folder of ranks, in one that is empty. */
int sb_share_open_job(const char *path, const char *folder);

/* ---- share_rules.c ---- */
struct sb_share {
	uint64_t key[2]; /* by chance: hashes cannot be looked up */
	char **hosts;
	size_t host_count, host_room;
	struct sb_share_summary summary;
};

/* Each changes size bytes of text in place; what is left over is filled with zeros. */
void sb_share_remove(struct sb_share *s, enum sb_share_rule rule, char *text, size_t size);
void sb_share_hash(struct sb_share *s, enum sb_share_rule rule, char *text, size_t size);
/* Keeps a text, but hashes the folders of paths and the host names in it. */
void sb_share_clean(struct sb_share *s, char *text, size_t size);
/* Hashes a text that is attached under a key, unless strobe knows the key and the text is a single word. */
void sb_share_attached(struct sb_share *s, const char *key, char *text, size_t size);

#endif
