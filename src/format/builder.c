/* The synthetic recording: its file from open to close, its names and threads. */
#include "format/builder.h"

#include "base/error.h"
#include "format/builder_stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const fixed_names[] = { "",
#define TEXT_(sym, text) text,
	SB_FIXED_NAMES(TEXT_)
#undef TEXT_
};

/* ---- open, close -------------------------------------------------------- */

static void fill_header(struct sb_builder *b, const struct sb_builder_options *o)
{
	struct sb_file_header *h = &b->head;

	memcpy(h->magic, SB_MAGIC, sizeof h->magic);
	h->version = SB_FORMAT_VERSION;
	h->header_bytes = SB_FILE_HEADER_BYTES;
	h->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : SB_CHUNK_BYTES_DEFAULT;
	h->clock_kind = o->clock_kind ? o->clock_kind : SB_CLOCK_SYNTHETIC;
	h->clock_hz = o->clock_hz ? o->clock_hz : 1000000000u;
	h->start_mono_ns = o->start_mono_ns ? o->start_mono_ns : 1000000000u;
	h->start_ticks = h->start_mono_ns;
	h->start_real_ns = o->start_real_ns ? o->start_real_ns : 1767225600000000000u;
	h->heartbeat_ticks = h->start_ticks;
	h->pid = o->pid ? o->pid : 1000;
	h->ppid = o->ppid ? o->ppid : 1;
	h->main_tid = o->main_tid ? o->main_tid : h->pid;
	h->rank = o->rank;
	h->local_rank = o->local_rank;
	h->world_size = o->world_size;
	memcpy(h->session_uuid, &o->session, sizeof o->session);
	snprintf(h->boot_id, sizeof h->boot_id, "00000000-0000-0000-0000-000000000000");
	snprintf(h->host, sizeof h->host, "%s", o->host ? o->host : "synthetic");
	snprintf(h->name, sizeof h->name, "%s", o->name ? o->name : "synthetic");
}

static void builder_free(struct sb_builder *b)
{
	struct sb_stream_writer *next;

	for (struct sb_stream_writer *w = b->writers; w; w = next) {
		next = w->next;
		free(w->words);
		free(w);
	}
	sb_strings_done(&b->names);
	sb_map_done(&b->ids);
	free(b->path);
	free(b);
}

int sb_builder_open(const char *path, const struct sb_builder_options *opts, struct sb_builder **out_builder)
{
	static const struct sb_builder_options defaults = SB_BUILDER_DEFAULTS;
	struct sb_builder *b = calloc(1, sizeof *b);
	int err;

	if (!b || !(b->path = strdup(path))) {
		free(b);
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	}
	fill_header(b, opts ? opts : &defaults);
	b->chunk_words = b->head.chunk_bytes / 8;
	b->name_count = SB_NAME_FIXED;
	b->last_ticks = b->head.start_ticks;
	for (uint32_t i = 1; i < SB_NAME_FIXED_END; i++) {
		uint32_t number = sb_strings_add(&b->names, fixed_names[i], strlen(fixed_names[i]) + 1);

		sb_map_put(&b->ids, number, i);
	}
	b->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (b->fd < 0) {
		err = sb_fail_errno("cannot write '%s'", path);
		builder_free(b);
		return err;
	}
	b->keep = sb_stream_writer_new(b, SB_STREAM_KEEP, b->head.main_tid);
	b->device = sb_stream_writer_new(b, SB_STREAM_DEVICE, b->head.main_tid);
	if (!b->keep || !b->device) {
		close(b->fd);
		builder_free(b);
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	}
	*out_builder = b;
	return 0;
}

static int finish(struct sb_builder *b)
{
	static const char zeros[SB_FILE_HEADER_BYTES];
	int err;

	for (struct sb_stream_writer *w = b->writers; w; w = w->next)
		sb_stream_writer_flush(w);
	b->head.chunk_count = b->chunk_count;
	sb_builder_write_at(b, &b->head, sizeof b->head, 0);
	sb_builder_write_at(b, zeros, SB_FILE_HEADER_BYTES - sizeof b->head, sizeof b->head);
	if (close(b->fd))
		sb_builder_fail(b);
	err = b->error;
	builder_free(b);
	return err;
}

int sb_builder_close(struct sb_builder *b, uint64_t end_ns)
{
	if (!b)
		return 0;
	b->head.end_ticks = sb_builder_ticks_at(b, end_ns);
	b->head.heartbeat_ticks = b->head.end_ticks;
	b->head.end_mono_ns = b->head.start_mono_ns +
			      (uint64_t)((double)end_ns * 1e9 / (double)b->head.clock_hz);
	b->head.end_real_ns = b->head.start_real_ns + (b->head.end_mono_ns - b->head.start_mono_ns);
	b->head.closed = 1;
	return finish(b);
}

int sb_builder_abandon(struct sb_builder *b)
{
	return b ? finish(b) : 0;
}

void sb_builder_discard(struct sb_builder *b)
{
	if (!b)
		return;
	close(b->fd);
	unlink(b->path);
	builder_free(b);
}

/* ---- names, threads, tracks --------------------------------------------- */

uint32_t sb_builder_name(struct sb_builder *b, const char *name, const char *code)
{
	char text[SB_STRING_MAX];
	size_t name_size = strnlen(name, 1900);
	size_t code_size = code ? strnlen(code, 64) : 0;
	uint32_t number, id, words;
	uint64_t *at;

	memcpy(text, name, name_size);
	text[name_size] = 0;
	if (code_size)
		memcpy(text + name_size + 1, code, code_size);
	number = sb_strings_add(&b->names, text, name_size + 1 + code_size);
	if (number && sb_map_get(&b->ids, number, &id))
		return id;
	if (!number || b->name_count >= SB_NAME_COUNT_MAX)
		return SB_NAME_OTHER;
	id = b->name_count++;
	sb_map_put(&b->ids, number, id);
	memmove(text + name_size, text + name_size + 1, code_size);
	words = (uint32_t)(name_size + code_size + 7) / 8;
	at = sb_stream_writer_long(b->keep, SB_NAME, id, 1 + words);
	if (!at)
		return SB_NAME_OTHER;
	at[0] = name_size | (uint64_t)code_size << 32;
	if (words)
		at[words] = 0;
	memcpy(at + 1, text, name_size + code_size);
	return id;
}

uint32_t sb_builder_track(struct sb_builder *b, const char *name)
{
	uint32_t track = ++b->track_count;

	sb_stream_writer_text(b->keep, SB_TRACK, track, NULL, 0, name);
	return track;
}

struct sb_stream_writer *sb_builder_thread(struct sb_builder *b, uint32_t tid, const char *name)
{
	struct sb_stream_writer *w = sb_stream_writer_new(b, SB_STREAM_HOT, tid ? tid : b->head.main_tid);

	if (!w) {
		b->error = sb_fail(STROBE_ENOMEM, "no memory to write '%s'", b->path);
		return NULL;
	}
	if (name)
		sb_stream_writer_text(b->keep, SB_THREAD, w->head.tid, NULL, 0, name);
	return w;
}

void sb_builder_thread_done(struct sb_stream_writer *w)
{
	struct sb_stream_writer **at = &w->builder->writers;

	sb_stream_writer_flush(w);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	free(w->words);
	free(w);
}
