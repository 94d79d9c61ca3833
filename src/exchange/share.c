/* Copies recordings chunk by chunk; every text in them passes through the rules. */
#include "exchange/share.h"

#include "base/error.h"
#include "base/room.h"
#include "base/whole_write.h"
#include "exchange/export.h"
#include "format/cursor.h"
#include "format/gathered.h"
#include "format/head.h"
#include "format/run_keys.h"
#include "run/resolve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARE_CHUNK_LEAST 4096u /* room for what was removed: 5 names and reasons */

struct copy {
	struct sb_share *share;
	const struct sb_run *run;
	uint32_t process;
	struct sb_reader *reader;
	int fd;
	bool lists_removed; /* ends with what was removed so far */
	uint32_t chunk_count;
};

/* ---- chunks ---- */

/* What cannot be read is not given away: it may hold anything. */
static void clean_words(const struct copy *c, const struct sb_chunk *chunk, uint64_t *words, size_t count)
{
	struct sb_cursor cursor;
	struct sb_record r;

	if (chunk->stream == SB_STREAM_DIGEST)
		return; /* numbers alone */
	sb_cursor_init(&cursor, words, count, chunk->base_ticks);
	while (sb_cursor_next(&cursor, &r))
		if (r.kind == SB_LONG)
			sb_share_clean_record(c->share, c->run, c->process, &r);
	memset((void *)(uintptr_t)cursor.at, 0, (size_t)(cursor.end - cursor.at) * sizeof *words);
}

static int write_all(int fd, const void *bytes, size_t size)
{
	return sb_write_whole(fd, bytes, size) ? 0 : sb_fail_errno("cannot write the recording to share");
}

static struct sb_chunk_header header_of(const struct sb_chunk *k)
{
	return (struct sb_chunk_header){ .epoch = k->epoch ? k->epoch : 2,
		.writer = k->writer,
		.tid = k->tid,
		.stream = k->stream,
		.seq = k->seq,
		.base_ticks = k->base_ticks,
		.anchor_mono_ns = k->anchor_mono_ns,
		.anchor_width_ns = k->anchor_width_ns,
		.track = k->track,
		.words_lost = k->words_lost };
}

/* buffer and whole: chunk_bytes each. */
static int copy_chunk(struct copy *c, const struct sb_chunk *k, uint64_t *buffer, char *whole)
{
	uint32_t bytes = c->reader->head.chunk_bytes;
	struct sb_chunk_header header = header_of(k);
	size_t count;
	const uint64_t *words = sb_reader_chunk(c->reader, k, buffer, &count);

	if (!words)
		return 0;
	memset(whole, 0, bytes);
	memcpy(whole, &header, sizeof header);
	if (count > (bytes - sizeof header) / 8)
		count = (bytes - sizeof header) / 8;
	memcpy(whole + sizeof header, words, count * 8);
	if (c->share)
		clean_words(c, k, (uint64_t *)(uintptr_t)(whole + sizeof header), count);
	c->chunk_count++;
	return write_all(c->fd, whole, bytes);
}

static int copy_chunks(struct copy *c)
{
	uint32_t bytes = c->reader->head.chunk_bytes;
	uint64_t *buffer = malloc(bytes);
	char *whole = malloc(bytes);
	int err = buffer && whole ? 0 : sb_fail(STROBE_ENOMEM, "no memory");

	for (uint32_t i = 0; !err && i < c->reader->chunk_count; i++)
		err = copy_chunk(c, &c->reader->chunks[i], buffer, whole);
	free(buffer);
	free(whole);
	return err;
}

/* ---- what was removed, in the recording itself ---- */

/* A chunk of names and facts, of a writer that the recording does not have. False: it has no such chunk. */
static bool new_keep_chunk(const struct sb_reader *r, struct sb_chunk_header *out_header)
{
	const struct sb_chunk *like = NULL;
	uint32_t writer = 0;

	for (uint32_t i = 0; i < r->chunk_count; i++) {
		if (r->chunks[i].stream == SB_STREAM_KEEP)
			like = &r->chunks[i];
		if (r->chunks[i].writer > writer)
			writer = r->chunks[i].writer;
	}
	if (!like)
		return false;
	*out_header = header_of(like);
	out_header->writer = writer + 1;
	out_header->seq = 1;
	out_header->words_lost = 0;
	return true;
}

/* A NAME and a META record: "command lines" is missing, "removed by strobe share (3)". */
static uint64_t *put_rule(
	uint64_t *at, const struct sb_share_summary *s, enum sb_share_rule rule, uint32_t id)
{
	const char *what = sb_share_rule_what(rule);
	uint32_t words = (uint32_t)(strlen(what) + 7) / 8;
	char why[SB_STRING_MAX];
	size_t size;

	*at++ = sb_long(SB_NAME, 1 + words, id);
	*at++ = strlen(what);
	memcpy(at, what, strlen(what));
	at += words;
	size = (size_t)snprintf(why, sizeof why, "%s by strobe share (%llu%s%s)|", sb_share_rule_done(rule),
		(unsigned long long)s->counts[rule], rule == SB_SHARE_TAGS && *s->tags ? ": " : "",
		rule == SB_SHARE_TAGS ? s->tags : "");
	words = (uint32_t)(size + 7) / 8;
	*at++ = sb_long(SB_META, 1 + words,
		id | (uint64_t)STROBE_TYPE_STRING << 20 | (uint64_t)SB_META_MISSING << 24);
	*at++ = size;
	memcpy(at, why, size);
	return at + words;
}

/* Behind the chunks of the last recording, so that every count is whole. */
static int add_removed(struct copy *c)
{
	uint32_t bytes = c->reader->head.chunk_bytes, id = c->run->processes[c->process].name_count;
	const struct sb_share_summary *s = &c->share->summary;
	struct sb_chunk_header header;
	uint64_t *whole, *at;
	int err;

	if (id + SB_SHARE_RULES >= SB_ID_MAX || bytes < SHARE_CHUNK_LEAST ||
		!new_keep_chunk(c->reader, &header))
		return 0;
	whole = calloc(1, bytes);
	if (!whole)
		return sb_fail(STROBE_ENOMEM, "no memory");
	memcpy(whole, &header, sizeof header);
	at = whole + sizeof header / sizeof *whole;
	for (int i = 0; i < SB_SHARE_RULES; i++)
		if (s->counts[i])
			at = put_rule(at, s, (enum sb_share_rule)i, id + (uint32_t)i);
	err = write_all(c->fd, whole, bytes);
	c->chunk_count++;
	free(whole);
	return err;
}

/* ---- recordings ---- */

static void clean_header(struct sb_share *s, struct sb_file_header *h)
{
	uint64_t hosts;

	h->header_bytes = SB_FILE_HEADER_BYTES;
	memcpy(h->magic, SB_MAGIC, sizeof h->magic);
	sb_share_hash(s, SB_SHARE_HOSTS, h->host, sizeof h->host);
	hosts = s->summary.counts[SB_SHARE_HOSTS];
	sb_share_hash(s, SB_SHARE_HOSTS, h->boot_id, sizeof h->boot_id - 1);
	s->summary.counts[SB_SHARE_HOSTS] = hosts; /* the boot is not worth a word */
	sb_share_clean(s, h->name, sizeof h->name - 1);
	if (*h->run_dir)
		s->summary.counts[SB_SHARE_PATHS]++;
	memset(h->run_dir, 0, sizeof h->run_dir);
}

static int copy_recording(struct copy *c)
{
	static const char zeros[SB_FILE_HEADER_BYTES - sizeof(struct sb_file_header)];
	struct sb_file_header head = c->reader->head;
	int err;

	if (c->share) {
		clean_header(c->share, &head);
	} else {
		head.header_bytes = SB_FILE_HEADER_BYTES;
		memcpy(head.magic, SB_MAGIC, sizeof head.magic);
	}
	err = write_all(c->fd, &head, sizeof head);
	if (!err)
		err = write_all(c->fd, zeros, sizeof zeros);
	if (!err)
		err = copy_chunks(c);
	if (!err && c->lists_removed)
		err = add_removed(c);
	return err;
}

int sb_share_copy(struct sb_reader *reader, int fd)
{
	struct copy c = { .reader = reader, .fd = fd };

	return copy_recording(&c);
}

/* One recording through a file of its own, which has its length then. */
static int add_recording(
	struct sb_share *s, const struct sb_run *run, uint32_t process, int to, const char *path)
{
	struct copy c = { .share = s,
		.run = run,
		.process = process,
		.reader = run->processes[process].reader,
		.lists_removed = process + 1 == run->process_count };
	char part[4096];
	int err = 0;

	if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", path);
	c.fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c.fd < 0)
		return sb_fail_errno("cannot write '%s'", part);
	err = copy_recording(&c);
	if (!err && !sb_gathered_add(to, c.fd))
		err = sb_fail_errno("cannot write '%s'", path);
	close(c.fd);
	unlink(part);
	return err;
}

static int check(const struct sb_run *run)
{
	if (run->live)
		return sb_fail(STROBE_EBUSY, "'%s' is still being recorded", run->path);
	if (run->is_cut)
		return sb_fail(STROBE_EINVAL, "share takes a whole run, not a part of it");
	return 0;
}

static int write_recordings(struct sb_share *s, const struct sb_run *run, int fd, const char *path)
{
	struct stat st;
	int err = sb_gathered_begin(fd) ? 0 : sb_fail_errno("cannot write '%s'", path);

	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = add_recording(s, run, i, fd, path);
	if (!err && !fstat(fd, &st))
		s->summary.recording_bytes = (uint64_t)st.st_size;
	s->summary.recording_count = run->process_count;
	return err;
}

/* ---- a run, and the runs of a job ---- */

int sb_share_begin(struct sb_share *s)
{
	memset(s, 0, sizeof *s);
	if (getrandom(s->key, sizeof s->key, 0) != sizeof s->key)
		return sb_fail_errno("cannot get random numbers for the hashes");
	return 0;
}

void sb_share_done(struct sb_share *s)
{
	for (size_t i = 0; i < s->host_count; i++)
		free(s->hosts[i]);
	free(s->hosts);
	s->hosts = NULL;
	s->host_count = s->host_room = 0;
}

/* One that there is no memory for stays in texts, but not in headers. */
static void note_host(const struct sb_file_header *head, void *context)
{
	struct sb_share *s = context;
	char host[sizeof head->host + 1];

	snprintf(host, sizeof host, "%.*s", (int)sizeof head->host, head->host);
	for (size_t i = 0; i < s->host_count; i++)
		if (!strcmp(s->hosts[i], host))
			return;
	if (*host && SB_MAKE_ROOM(s->hosts, s->host_count, s->host_room) &&
		(s->hosts[s->host_count] = strdup(host)))
		s->host_count++;
}

int sb_share_note_hosts(struct sb_share *s, const char *path)
{
	struct sb_recordings found = { 0 };
	int err = sb_recordings_find(path, &found);
	uint64_t bytes;

	for (size_t i = 0; !err && i < found.files.count; i++)
		sb_head_read(found.files.paths[i], found.listed ? SB_INFILE_LISTED : SB_INFILE_NAMED,
			note_host, s, &bytes);
	if (!err)
		sb_recordings_done(&found);
	return err;
}

static int add_file(
	struct sb_share *s, const struct sb_run *run, uint32_t process, bool lists_removed, const char *path)
{
	struct copy c = { .share = s,
		.run = run,
		.process = process,
		.reader = run->processes[process].reader,
		.lists_removed = lists_removed };
	struct stat st;
	int err;

	c.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c.fd < 0)
		return sb_fail_errno("cannot write '%s'", path);
	err = copy_recording(&c);
	if (!err && !fstat(c.fd, &st))
		s->summary.recording_bytes += (uint64_t)st.st_size;
	s->summary.recording_count++;
	close(c.fd);
	return err;
}

/* Counts from none again; the sum goes to out_before. */
static void begin_counts(struct sb_share *s, uint64_t *out_before)
{
	memcpy(out_before, s->summary.counts, sizeof s->summary.counts);
	memset(s->summary.counts, 0, sizeof s->summary.counts);
}

static void end_counts(struct sb_share *s, const uint64_t *before)
{
	for (int i = 0; i < SB_SHARE_RULES; i++)
		s->summary.counts[i] += before[i];
}

/* A run lists what was removed from it, in its last recording; where ranks lie together, each does. */
int sb_share_add(struct sb_share *s, struct sb_run *run, const char *folder)
{
	uint64_t of_others[SB_SHARE_RULES], of_ranks[SB_SHARE_RULES];
	int err = check(run);
	char path[4096];

	begin_counts(s, of_others);
	for (uint32_t i = 0; !err && i < run->process_count; i++) {
		bool lists_removed = run->job || i + 1 == run->process_count;

		if (run->job)
			begin_counts(s, of_ranks);
		sb_export_recording_path(run->processes[i].reader, i, folder, path, sizeof path);
		err = add_file(s, run, i, lists_removed, path);
		if (run->job)
			end_counts(s, of_ranks);
	}
	end_counts(s, of_others);
	return err;
}

int sb_share_write(struct sb_run *run, const char *path, struct sb_share_summary *out_summary)
{
	struct sb_share s;
	int fd, err = check(run);

	if (!err)
		err = sb_share_begin(&s);
	if (err)
		return err;
	for (uint32_t i = 0; i < run->process_count; i++)
		note_host(&run->processes[i].reader->head, &s);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? sb_fail_errno("cannot write '%s'", path) : write_recordings(&s, run, fd, path);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && err)
		unlink(path);
	if (!err)
		*out_summary = s.summary;
	sb_share_done(&s);
	return err;
}
