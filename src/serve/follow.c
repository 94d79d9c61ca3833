/* A chunk never moves and only its owner writes to it. A chunk that was folded
 * comes back with another epoch: a writer's oldest first, so looking at the
 * oldest of each writer finds them all. */
#include "serve/follow.h"

#include "base/error.h"
#include "format/reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNKS_MAX (1u << 20)
#define WRITERS_MAX 65536u

struct sb_follow_chunk {
	uint32_t index, epoch;
	uint64_t seq;
	uint64_t base_ticks;
	uint32_t tid, track;
};

/* One look: the file is open. */
struct look {
	struct sb_follow *f;
	int fd;
	uint64_t file_bytes;
	uint64_t *buf; /* of a chunk's size */
	bool has_digest; /* something was folded away */
	bool accept_holes; /* read anew, and still there: lost for good */
};

static uint64_t offset_of(const struct sb_follow *f, uint32_t index)
{
	return f->head.header_bytes + (uint64_t)index * f->head.chunk_bytes;
}

static struct sb_follow_chunk *chunk_at(const struct sb_follow_writer *s, size_t i)
{
	return (struct sb_follow_chunk *)s->chunks.items + i;
}

static size_t read_some(struct look *l, void *to, size_t size, uint64_t offset)
{
	size_t got = sb_read_at(l->fd, to, size, offset);

	l->f->read_bytes += got;
	return got;
}

/* ---- finding chunks ---- */

static struct sb_follow_writer *writer_of(struct sb_follow *f, const struct sb_chunk_header *h)
{
	uint64_t key = (uint64_t)h->stream << 32 | h->writer;
	struct sb_follow_writer *s;
	uint32_t index;

	if (sb_map_get(&f->writer_of, key, &index))
		return (struct sb_follow_writer *)f->writers.items + index;
	if (f->writers.count >= WRITERS_MAX)
		return NULL;
	s = sb_vec_push(&f->writers, sizeof *s);
	if (!s || !sb_map_put(&f->writer_of, key, (uint32_t)f->writers.count - 1))
		return NULL;
	s->stream = h->stream;
	s->writer = h->writer;
	s->next_seq = 1;
	s->who.tid = h->tid;
	return s;
}

static bool header_makes_sense(const struct sb_chunk_header *h)
{
	return h->stream >= SB_STREAM_HOT && h->stream <= SB_STREAM_DIGEST && h->writer && h->seq &&
	       h->seq < (uint64_t)1 << 48;
}

/* In the order of seq; most come in order already. */
static bool keep_chunk(struct sb_follow *f, uint32_t index, const struct sb_chunk_header *h)
{
	struct sb_follow_writer *s = writer_of(f, h);
	struct sb_follow_chunk *c;
	size_t i;

	if (!s || !sb_vec_push(&s->chunks, sizeof *c))
		return false;
	for (i = s->chunks.count - 1; i > s->at && chunk_at(s, i - 1)->seq > h->seq; i--)
		*chunk_at(s, i) = *chunk_at(s, i - 1);
	*chunk_at(s, i) = (struct sb_follow_chunk){ .index = index,
		.epoch = h->epoch,
		.seq = h->seq,
		.base_ticks = h->base_ticks,
		.tid = h->tid,
		.track = h->track };
	return true;
}

/* False: no memory. */
static bool see_chunk(struct look *l, uint32_t index)
{
	struct sb_chunk_header h;
	uint32_t *wait;

	if (read_some(l, &h, sizeof h, offset_of(l->f, index)) < sizeof h || !h.epoch || h.epoch & 1) {
		wait = sb_vec_push(&l->f->waiting, sizeof *wait);
		if (wait)
			*wait = index;
		return wait != NULL;
	}
	if (!header_makes_sense(&h))
		return true;
	if (h.stream == SB_STREAM_DIGEST) { /* of a thread that may have nothing else left */
		l->has_digest = true;
		h.stream = SB_STREAM_HOT;
		return writer_of(l->f, &h) != NULL;
	}
	return keep_chunk(l->f, index, &h);
}

/* Chunks that were folded and given out again. */
static bool see_recycled(struct look *l, struct sb_follow_writer *s)
{
	while (s->first < s->at) {
		struct sb_follow_chunk *c = chunk_at(s, s->first);
		uint32_t epoch = 0, *wait;

		read_some(l, &epoch, sizeof epoch, offset_of(l->f, c->index));
		if (epoch == c->epoch)
			return true;
		wait = sb_vec_push(&l->f->waiting, sizeof *wait);
		if (!wait)
			return false;
		*wait = c->index;
		s->first++;
	}
	return true;
}

/* Forgets what has been read and is gone. */
static void shorten(struct sb_follow_writer *s)
{
	if (s->first < 1024)
		return;
	memmove(s->chunks.items, chunk_at(s, s->first),
		(s->chunks.count - s->first) * sizeof(struct sb_follow_chunk));
	s->chunks.count -= s->first;
	s->at -= s->first;
	s->first = 0;
}

static bool find_chunks(struct look *l)
{
	struct sb_follow *f = l->f;
	uint64_t room = l->file_bytes > f->head.header_bytes
				? (l->file_bytes - f->head.header_bytes) / f->head.chunk_bytes
				: 0;
	uint32_t count = f->head.chunk_count < room ? f->head.chunk_count : (uint32_t)room;
	struct sb_vec before;
	bool good = true;

	for (size_t i = 0; i < f->writers.count && good; i++) {
		good = see_recycled(l, (struct sb_follow_writer *)f->writers.items + i);
		shorten((struct sb_follow_writer *)f->writers.items + i);
	}
	before = f->waiting;
	memset(&f->waiting, 0, sizeof f->waiting);
	for (size_t i = 0; i < before.count && good; i++)
		good = see_chunk(l, ((uint32_t *)before.items)[i]);
	sb_vec_done(&before);
	for (; f->chunk_count < count && f->chunk_count < CHUNKS_MAX && good; f->chunk_count++)
		good = see_chunk(l, f->chunk_count);
	return good;
}

/* ---- reading them ---- */

static void give(struct sb_follow *f, struct sb_follow_writer *s, struct sb_cursor *cursor)
{
	struct sb_record r;

	if (s->stream == SB_STREAM_HOT)
		sb_tally_hot_chunk(&f->tally, &s->who, cursor);
	else
		while (sb_cursor_next(cursor, &r))
			sb_tally_keep(&f->tally, &r);
}

/* The words of the stream's present chunk that have not been read; 0: none. */
static size_t new_words(struct look *l, struct sb_follow_writer *s, bool *out_gone)
{
	const struct sb_follow_chunk *c = chunk_at(s, s->at);
	uint64_t done = SB_CHUNK_HEADER_BYTES + (uint64_t)s->words_done * 8;
	uint32_t epoch = 0;
	size_t got;

	*out_gone = false;
	if (done >= l->f->head.chunk_bytes)
		return 0;
	got = read_some(l, l->buf, l->f->head.chunk_bytes - done, offset_of(l->f, c->index) + done);
	if (l->f->head.closed)
		return got / 8;
	read_some(l, &epoch, sizeof epoch, offset_of(l->f, c->index));
	*out_gone = epoch != c->epoch;
	return *out_gone ? 0 : got / 8;
}

static void open_chunk(struct sb_follow *f, struct sb_follow_writer *s)
{
	const struct sb_follow_chunk *c = chunk_at(s, s->at);

	s->opened = true;
	s->words_done = 0;
	s->base_ticks = c->base_ticks;
	if (s->stream == SB_STREAM_HOT && (s->who.tid != c->tid || s->who.track != c->track || !s->who.stack))
		sb_tally_switch(&f->tally, &s->who, c->tid, c->track);
}

/* True: the chunk is done with, the next one may follow. */
static bool read_chunk(struct look *l, struct sb_follow_writer *s, bool has_next)
{
	struct sb_cursor cursor;
	bool gone;
	size_t count = new_words(l, s, &gone);

	if (gone) {
		l->f->lost_track = true;
		return false;
	}
	sb_cursor_init(&cursor, l->buf, count, s->base_ticks);
	give(l->f, s, &cursor);
	s->words_done += (uint32_t)(cursor.at - l->buf);
	s->base_ticks = cursor.base;
	return has_next || cursor.why == SB_CURSOR_BAD_KIND || cursor.why == SB_CURSOR_BAD_LENGTH ||
	       SB_CHUNK_HEADER_BYTES + (uint64_t)s->words_done * 8 >= l->f->head.chunk_bytes;
}

/* Reads a stream as far as it is written. What follows a hole waits for the next
 * look; a hole that is there again was folded before it was read. */
static void read_writer(struct look *l, struct sb_follow_writer *s)
{
	while (s->at < s->chunks.count && !l->f->lost_track) {
		const struct sb_follow_chunk *c = chunk_at(s, s->at);
		bool has_next = s->at + 1 < s->chunks.count && chunk_at(s, s->at + 1)->seq == c->seq + 1;

		if (c->seq < s->next_seq) { /* folded before we came */
			s->at++;
			continue;
		}
		if (c->seq > s->next_seq && l->accept_holes) {
			s->next_seq = c->seq;
		} else if (c->seq > s->next_seq) {
			l->f->lost_track = s->gap;
			s->gap = true;
			return;
		}
		s->gap = false;
		if (!s->opened)
			open_chunk(l->f, s);
		if (!read_chunk(l, s, has_next))
			return;
		s->opened = false;
		s->next_seq++;
		s->at++;
	}
}

static void read_streams(struct look *l, uint32_t stream)
{
	for (size_t i = 0; i < l->f->writers.count; i++)
		if (((struct sb_follow_writer *)l->f->writers.items)[i].stream == stream)
			read_writer(l, (struct sb_follow_writer *)l->f->writers.items + i);
}

/* ---- the first look ---- */

static void start_anew(struct sb_follow *f)
{
	for (size_t i = 0; i < f->writers.count; i++)
		sb_vec_done(&((struct sb_follow_writer *)f->writers.items)[i].chunks);
	sb_vec_done(&f->writers);
	sb_vec_done(&f->waiting);
	sb_map_done(&f->writer_of);
	sb_tally_done(&f->tally);
	f->chunk_count = 0;
	f->begun = f->lost_track = false;
}

static int load_digests(struct look *l)
{
	struct sb_reader *r = NULL;
	int err = sb_reader_open(l->f->path, &r);

	for (size_t i = 0; !err && i < l->f->writers.count; i++) {
		struct sb_follow_writer *s = (struct sb_follow_writer *)l->f->writers.items + i;
		struct sb_digest d;

		if (s->stream != SB_STREAM_HOT)
			continue;
		err = sb_digest_load(r, s->writer, &d);
		if (err)
			break;
		if (d.folded_seq) {
			s->next_seq = d.folded_seq + 1;
			sb_tally_digest(&l->f->tally, &s->who, &d);
		}
		sb_digest_done(&d);
	}
	sb_reader_close(r);
	return err;
}

/* The latest chunk's reading of both clocks gives the best rate. */
static void find_rate(struct sb_follow *f, struct look *l)
{
	struct sb_chunk_header h;
	uint64_t ticks = 0, mono_ns = 0;

	for (size_t i = 0; i < f->writers.count; i++) {
		const struct sb_follow_writer *s = (struct sb_follow_writer *)f->writers.items + i;

		if (!s->chunks.count ||
			read_some(l, &h, sizeof h, offset_of(f, chunk_at(s, s->chunks.count - 1)->index)) <
				sizeof h)
			continue;
		if (h.anchor_mono_ns && h.anchor_width_ns < 1000000 && h.base_ticks > ticks) {
			ticks = h.base_ticks;
			mono_ns = h.anchor_mono_ns;
		}
	}
	if (f->head.closed && f->head.end_ticks > ticks) {
		ticks = f->head.end_ticks;
		mono_ns = f->head.end_mono_ns;
	}
	if (ticks)
		sb_tally_set_rate(&f->tally, ticks, mono_ns);
}

/* ---- looking ---- */

static bool same_recording(const struct sb_file_header *a, const struct sb_file_header *b)
{
	return a->pid == b->pid && a->start_ticks == b->start_ticks && a->start_real_ns == b->start_real_ns &&
	       !memcmp(a->session_uuid, b->session_uuid, sizeof a->session_uuid) &&
	       a->chunk_bytes == b->chunk_bytes && a->header_bytes == b->header_bytes;
}

static int check_header(const struct sb_follow *f, const struct sb_file_header *h)
{
	if (memcmp(h->magic, SB_MAGIC, sizeof h->magic) || h->version != SB_FORMAT_VERSION ||
		h->header_bytes < sizeof *h || h->header_bytes > (1u << 20) || h->header_bytes % 8 ||
		h->chunk_bytes < 512 || h->chunk_bytes > (1u << 20) ||
		h->chunk_bytes & (h->chunk_bytes - 1) || h->clock_hz < 1000 || h->clock_hz > 1000000000000u)
		return sb_fail(STROBE_EFORMAT, "'%s' is not a recording that can be followed", f->path);
	return 0;
}

static int look_with(struct look *l)
{
	struct sb_follow *f = l->f;
	bool first = !f->begun;
	int err = 0;

	l->buf = malloc(f->head.chunk_bytes);
	if (!l->buf || (first && !sb_tally_init(&f->tally, &f->head)))
		return sb_fail(STROBE_ENOMEM, "no memory to follow '%s'", f->path);
	f->begun = true;
	memcpy(f->tally.head.lost, f->head.lost, sizeof f->head.lost);
	l->accept_holes = first && f->restarts;
	if (!find_chunks(l))
		return sb_fail(STROBE_ENOMEM, "no memory to follow '%s'", f->path);
	if (first)
		find_rate(f, l);
	read_streams(l, SB_STREAM_KEEP);
	if (first && l->has_digest)
		err = load_digests(l);
	read_streams(l, SB_STREAM_DEVICE);
	read_streams(l, SB_STREAM_HOT);
	read_streams(l, SB_STREAM_KEEP); /* names that came meanwhile */
	if (!err && f->tally.no_memory)
		err = sb_fail(STROBE_ENOMEM, "no memory to follow '%s'", f->path);
	f->closed = f->head.closed && !f->lost_track;
	return err;
}

int sb_follow_look(struct sb_follow *f)
{
	struct look l = { .f = f, .fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) };
	struct sb_file_header head;
	struct stat st;
	int err = 0;

	if (l.fd < 0)
		return sb_fail_errno("cannot read '%s'", f->path);
	if (fstat(l.fd, &st) || !S_ISREG(st.st_mode) || read_some(&l, &head, sizeof head, 0) < sizeof head)
		err = sb_fail(STROBE_EFORMAT, "'%s' is not a recording", f->path);
	if (!err)
		err = check_header(f, &head);
	if (!err) {
		l.file_bytes = (uint64_t)st.st_size;
		if (f->begun && (f->lost_track || !same_recording(&f->head, &head))) {
			f->restarts++;
			start_anew(f);
		}
		f->head = head;
		sb_tally_refresh(&f->tally);
		err = look_with(&l);
	}
	if (err)
		start_anew(f);
	free(l.buf);
	close(l.fd);
	return err;
}

int sb_follow_init(struct sb_follow *f, const char *path)
{
	memset(f, 0, sizeof *f);
	f->path = strdup(path);
	return f->path ? 0 : sb_fail(STROBE_ENOMEM, "no memory to follow '%s'", path);
}

void sb_follow_done(struct sb_follow *f)
{
	start_anew(f);
	free(f->path);
	memset(f, 0, sizeof *f);
}
