/* The reader: header, index of chunks, checked copies of them. cursor.c and the analyses know what the
 * words mean. */
#include "format/reader.h"

#include "base/error.h"
#include "base/infile.h"
#include "format/packed.h"
#include "format/reader_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES_MAX (1u << 20)
#define WRITER_MAX (1u << 24)
#define EMPTY_MAX 256u

void sb_reader_damage(struct sb_reader *r, enum sb_damage kind, uint64_t bytes, uint64_t offset)
{
	if (!r->damage[kind].count++)
		r->damage[kind].first_offset = offset;
	r->damage[kind].bytes += bytes;
}

size_t sb_read_at(int fd, void *to, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, (char *)to + have, size - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	return have;
}

void sb_file_magic(const char *path, enum sb_infile_from from, char out_magic[8])
{
	int fd;

	memset(out_magic, 0, 8);
	if (sb_infile_open(path, from, &fd))
		return;
	sb_read_at(fd, out_magic, 8, 0);
	close(fd);
}

bool sb_reader_is_recording(const char *path)
{
	char magic[8];

	sb_file_magic(path, SB_INFILE_NAMED, magic);
	return !memcmp(magic, SB_MAGIC, 8) || !memcmp(magic, SB_PACKED_MAGIC, 8);
}

/* Never reads past the recording's end: in a gathered file another one follows. */
static size_t read_own(struct sb_reader *r, void *to, size_t size, uint64_t offset)
{
	uint64_t left = r->file_bytes > offset ? r->file_bytes - offset : 0;

	if (r->base && size > left)
		size = (size_t)left;
	return sb_read_at(sb_reader_fd(r), to, size, r->base + offset);
}

static int check_header(struct sb_reader *r)
{
	struct sb_file_header *h = &r->head;

	if (memcmp(h->magic, SB_MAGIC, sizeof h->magic))
		return sb_fail(STROBE_EFORMAT,
			"'%s' is not a .strobe recording: its first 8 bytes are something else", r->path);
	if (h->version != SB_FORMAT_VERSION)
		return sb_fail(STROBE_EFORMAT,
			"'%s' has format version %u; this strobe reads version %u: use a newer one", r->path,
			h->version, SB_FORMAT_VERSION);
	if (h->header_bytes < sizeof *h || h->header_bytes > (1u << 20) || h->header_bytes % 8)
		return sb_fail(STROBE_EFORMAT, "'%s' byte 12: a header of %u bytes makes no sense", r->path,
			h->header_bytes);
	if (h->chunk_bytes < 512 || h->chunk_bytes > CHUNK_BYTES_MAX ||
		(h->chunk_bytes & (h->chunk_bytes - 1)))
		return sb_fail(STROBE_EFORMAT, "'%s' byte 16: chunks of %u bytes make no sense", r->path,
			h->chunk_bytes);
	if (h->clock_hz < 1000 || h->clock_hz > 1000000000000u)
		return sb_fail(STROBE_EFORMAT, "'%s' byte 24: a clock of %llu Hz makes no sense", r->path,
			(unsigned long long)h->clock_hz);
	h->boot_id[sizeof h->boot_id - 1] = 0;
	h->host[sizeof h->host - 1] = 0;
	h->name[sizeof h->name - 1] = 0;
	h->run_dir[sizeof h->run_dir - 1] = 0;
	r->live = !h->closed;
	return 0;
}

static int read_header(struct sb_reader *r)
{
	char magic[8];
	size_t have;

	if (read_own(r, magic, sizeof magic, 0) == sizeof magic && !memcmp(magic, SB_PACKED_MAGIC, 8)) {
		int err = sb_packed_open(r->fd, r->file_bytes, r->path, &r->head, &r->packing);

		r->packed = true;
		return err ? err : check_header(r);
	}
	have = read_own(r, &r->head, sizeof r->head, 0);
	if (have < sizeof r->head) {
		if (have >= 8 && memcmp(r->head.magic, SB_MAGIC, 8))
			return check_header(r);
		return sb_fail(STROBE_EFORMAT,
			"'%s' ends after %zu bytes, inside its header: nothing in it can be read", r->path,
			have);
	}
	return check_header(r);
}

/* ---- the index ---------------------------------------------------------- */

static bool plausible_ticks(const struct sb_reader *r, uint64_t ticks)
{
	int64_t delta = (int64_t)(ticks - r->head.start_ticks);
	double year_ticks = 366.0 * 86400 * (double)r->head.clock_hz;

	return (double)delta < year_ticks && (double)delta > -year_ticks;
}

static bool header_makes_sense(const struct sb_reader *r, const struct sb_chunk_header *h)
{
	return h->stream >= SB_STREAM_HOT && h->stream <= SB_STREAM_DIGEST && h->writer &&
	       h->writer < WRITER_MAX && h->seq && h->seq < (uint64_t)1 << 48 &&
	       plausible_ticks(r, h->base_ticks);
}

static uint64_t chunk_offset(const struct sb_reader *r, uint64_t index)
{
	return r->head.header_bytes + index * r->head.chunk_bytes;
}

uint64_t sb_reader_chunk_offset(const struct sb_reader *r, const struct sb_chunk *chunk)
{
	return chunk_offset(r, chunk->index);
}

static bool room_for_chunk(struct sb_reader *r)
{
	uint32_t room = r->chunk_room ? r->chunk_room * 2 : 64;
	struct sb_chunk *more;

	if (r->chunk_count < r->chunk_room)
		return true;
	more = realloc(r->chunks, room * sizeof *more);
	if (!more)
		return false;
	r->chunks = more;
	r->chunk_room = room;
	return true;
}

static int add_chunk(struct sb_reader *r, uint32_t index, const struct sb_chunk_header *h)
{
	if (!room_for_chunk(r))
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	r->chunks[r->chunk_count++] = (struct sb_chunk){ .index = index,
		.epoch = h->epoch,
		.writer = h->writer,
		.tid = h->tid,
		.track = h->track,
		.stream = h->stream,
		.seq = h->seq,
		.base_ticks = h->base_ticks,
		.anchor_mono_ns = h->anchor_mono_ns,
		.anchor_width_ns = h->anchor_width_ns,
		.words_lost = h->words_lost };
	return 0;
}

static bool is_unused(const struct sb_chunk_header *h)
{
	return !h->epoch && !h->writer && !h->seq;
}

/* Chunks [first, end) were never used: a loss where a closed file had handed them out. */
static void miss_unused(struct sb_reader *r, uint64_t first, uint64_t end, uint64_t offset)
{
	uint64_t used = r->head.closed ? r->head.chunk_count : 0;

	if (end > used)
		end = used;
	if (first >= end)
		return;
	sb_reader_damage(r, SB_DAMAGE_MISSING, (end - first) * r->head.chunk_bytes, offset);
	r->damage[SB_DAMAGE_MISSING].count += end - first - 1;
}

/* In a file that was not closed, a header of all zeros or one being recycled is
 * no damage; in a closed one every chunk handed out is whole. */
static int take_header(struct sb_reader *r, uint32_t index, const struct sb_chunk_header *h, uint64_t offset)
{
	if (is_unused(h))
		miss_unused(r, index, index + 1ull, offset);
	else if (!header_makes_sense(r, h) || (r->head.closed && (!h->epoch || h->epoch & 1)))
		sb_reader_damage(r, SB_DAMAGE_CHUNK_HEADER, r->head.chunk_bytes, offset);
	else if (h->epoch && !(h->epoch & 1))
		return add_chunk(r, index, h);
	return 0;
}

/* Chunks that were handed out and that the file is too short for. */
static void miss_tail(struct sb_reader *r, uint64_t count)
{
	uint64_t missing = r->head.chunk_count > count ? r->head.chunk_count - count : 0;

	if (!missing)
		return;
	sb_reader_damage(r, SB_DAMAGE_MISSING, missing * r->head.chunk_bytes, r->file_bytes);
	r->damage[SB_DAMAGE_MISSING].count += missing - 1;
}

/* Gaps in sequence numbers that are not explained by missing places. */
static void miss_gaps(struct sb_reader *r, uint64_t gaps, uint64_t offset)
{
	uint64_t known = r->damage[SB_DAMAGE_MISSING].count + r->damage[SB_DAMAGE_CHUNK_HEADER].count;

	if (gaps <= known)
		return;
	sb_reader_damage(r, SB_DAMAGE_MISSING, (gaps - known) * r->head.chunk_bytes, offset);
	r->damage[SB_DAMAGE_MISSING].count += gaps - known - 1;
}

static int compare_chunks(const void *a, const void *b)
{
	const struct sb_chunk *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->writer != y->writer)
		return x->writer < y->writer ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch > y->epoch ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

static void sort_chunks(struct sb_reader *r)
{
	uint64_t gaps = 0, first_offset = 0;
	uint32_t kept = 0;

	qsort(r->chunks, r->chunk_count, sizeof *r->chunks, compare_chunks);
	for (uint32_t i = 0; i < r->chunk_count; i++) {
		struct sb_chunk *c = &r->chunks[i];
		struct sb_chunk *before = kept ? &r->chunks[kept - 1] : NULL;
		bool same = before && before->stream == c->stream && before->writer == c->writer;

		if (same && before->seq == c->seq) {
			sb_reader_damage(
				r, SB_DAMAGE_DUPLICATE, r->head.chunk_bytes, sb_reader_chunk_offset(r, c));
			continue;
		}
		c->gap = same && c->seq != before->seq + 1;
		if ((c->gap || (!same && c->stream != SB_STREAM_HOT && c->seq != 1)) && !gaps)
			first_offset = sb_reader_chunk_offset(r, c);
		if (same || c->stream != SB_STREAM_HOT)
			gaps += c->seq - (same ? before->seq : 0) - 1;
		r->chunks[kept++] = *c;
	}
	r->chunk_count = kept;
	miss_gaps(r, gaps, first_offset);
}

static int index_packed(struct sb_reader *r)
{
	uint32_t count = sb_packed_count(r->packing);
	struct sb_chunk_header h;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		if (!sb_packed_chunk_header(r->packing, i, &h))
			err = take_header(r, i, &h, 0);
	if (!err && r->head.closed)
		miss_tail(r, count);
	return err;
}

static int take_chunk(struct sb_reader *r, uint32_t index, bool *out_used)
{
	uint64_t offset = chunk_offset(r, index), left = r->file_bytes - offset;
	struct sb_chunk_header h = { 0 };
	bool whole = left >= r->head.chunk_bytes;
	int err = 0;

	if (read_own(r, &h, sizeof h, offset) == sizeof h && (whole || h.epoch))
		err = take_header(r, index, &h, offset);
	/* A file grows in steps larger than a chunk: an unused rest is not a loss. */
	if (!whole && (h.epoch || index < r->head.chunk_count))
		sb_reader_damage(r, SB_DAMAGE_TRUNCATED, r->head.chunk_bytes - left, offset + left);
	*out_used = !is_unused(&h);
	return err;
}

/* The first chunk from `index` on that is not all hole in the file; count: none. */
static uint64_t next_data(const struct sb_reader *r, uint64_t index, uint64_t count)
{
	off_t at = lseek(r->fd, (off_t)(r->base + chunk_offset(r, index)), SEEK_DATA);
	uint64_t next;

	if (at < 0)
		return errno == ENXIO ? count : index;
	next = ((uint64_t)at - r->base - r->head.header_bytes) / r->head.chunk_bytes;
	return next < count ? next : count;
}

static int index_plain(struct sb_reader *r)
{
	uint64_t body = r->file_bytes > r->head.header_bytes ? r->file_bytes - r->head.header_bytes : 0;
	uint64_t count = (body + r->head.chunk_bytes - 1) / r->head.chunk_bytes, empty = 0;
	int err = 0;

	if (count > UINT32_MAX / 2)
		return sb_fail(STROBE_EFORMAT, "'%s' is too large for a recording: %llu bytes", r->path,
			(unsigned long long)r->file_bytes);
	for (uint64_t i = 0; i < count && !err; i++) {
		bool used;

		err = take_chunk(r, (uint32_t)i, &used);
		empty = used ? 0 : empty + 1;
		if (empty == EMPTY_MAX) { /* no recorder leaves so many: ask where the file goes on */
			uint64_t next = next_data(r, i + 1, count);

			miss_unused(r, i + 1, next, chunk_offset(r, i + 1));
			i = next - 1;
			empty = 0;
		}
	}
	if (!err)
		miss_tail(r, count);
	return err;
}

static int open_file(struct sb_reader *r, enum sb_infile_from from)
{
	struct stat st;
	int err = sb_infile_open(r->path, from, &r->fd);

	if (!err && fstat(r->fd, &st))
		err = sb_fail_errno("cannot read '%s'", r->path);
	if (!err && !r->base)
		r->file_bytes = (uint64_t)st.st_size;
	else if (!err && r->base + r->file_bytes > (uint64_t)st.st_size)
		err = sb_fail(STROBE_EFORMAT, "'%s' has become shorter while it was read", r->path);
	return err;
}

static int open_reader(const char *path, enum sb_infile_from from, uint64_t base, uint64_t bytes,
	struct sb_reader **out_reader)
{
	struct sb_reader *r = calloc(1, sizeof *r);
	int err;

	if (!r || !(r->path = strdup(path))) {
		free(r);
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	}
	r->fd = -1;
	r->base = base;
	r->file_bytes = bytes;
	err = open_file(r, from);
	if (!err)
		err = read_header(r);
	if (!err && !room_for_chunk(r))
		err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	if (!err)
		err = r->packed ? index_packed(r) : index_plain(r);
	if (err) {
		sb_reader_close(r);
		return err;
	}
	sort_chunks(r);
	r->last_ticks = r->head.closed ? r->head.end_ticks : r->head.heartbeat_ticks;
	if (!plausible_ticks(r, r->last_ticks) || (int64_t)(r->last_ticks - r->head.start_ticks) < 0)
		r->last_ticks = r->head.start_ticks;
	*out_reader = r;
	return 0;
}

int sb_reader_open_from(const char *path, enum sb_infile_from from, struct sb_reader **out_reader)
{
	return open_reader(path, from, 0, 0, out_reader);
}

int sb_reader_open_part(const char *path, uint64_t offset, uint64_t bytes, struct sb_reader **out_reader)
{
	return open_reader(path, SB_INFILE_LISTED, offset, bytes, out_reader);
}

int sb_reader_open(const char *path, struct sb_reader **out_reader)
{
	return sb_reader_open_from(path, SB_INFILE_NAMED, out_reader);
}

void sb_reader_close(struct sb_reader *r)
{
	if (!r)
		return;
	sb_reader_files_remove(r);
	if (r->fd >= 0)
		close(r->fd);
	sb_packed_close(r->packing);
	free(r->chunks);
	free(r->path);
	free(r);
}

/* ---- chunks ------------------------------------------------------------- */

static bool still_there(struct sb_reader *r, const struct sb_chunk *chunk)
{
	uint32_t epoch = 0;

	if (!r->live || r->packed)
		return true;
	return read_own(r, &epoch, sizeof epoch, sb_reader_chunk_offset(r, chunk)) == sizeof epoch &&
	       epoch == chunk->epoch;
}

const uint64_t *sb_reader_chunk(
	struct sb_reader *r, const struct sb_chunk *chunk, uint64_t *buf, size_t *out_words)
{
	const struct sb_chunk_header *h = (const struct sb_chunk_header *)buf;
	uint64_t offset = sb_reader_chunk_offset(r, chunk);
	size_t have = r->packed ? sb_packed_chunk(r->packing, chunk->index, buf)
				: read_own(r, buf, r->head.chunk_bytes, offset);

	if (have < SB_CHUNK_HEADER_BYTES) {
		sb_reader_damage(
			r, r->packed ? SB_DAMAGE_PACKED : SB_DAMAGE_TRUNCATED, r->head.chunk_bytes, offset);
		return NULL;
	}
	if (h->epoch != chunk->epoch || h->seq != chunk->seq || !still_there(r, chunk)) {
		r->vanished_count++;
		return NULL;
	}
	*out_words = (have - SB_CHUNK_HEADER_BYTES) / sizeof *buf;
	return buf + SB_CHUNK_HEADER_BYTES / sizeof *buf;
}

struct sb_chunk_range sb_reader_range(const struct sb_reader *r, enum sb_stream stream, uint32_t writer)
{
	struct sb_chunk_range range;
	uint32_t low = 0, high = r->chunk_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct sb_chunk *c = &r->chunks[mid];

		if (c->stream < stream || (c->stream == stream && c->writer < writer))
			low = mid + 1;
		else
			high = mid;
	}
	range.first = range.end = low;
	while (range.end < r->chunk_count && r->chunks[range.end].stream == stream &&
		(!writer || r->chunks[range.end].writer == writer))
		range.end++;
	return range;
}
