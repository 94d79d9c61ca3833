/* A natural merge sort per load (input that is nearly in order costs little; what is in no
 * order is first put into one by its leading bits), then one merge of all loads through a heap. */
#include "base/extsort.h"

#include "base/error.h"
#include "base/tempfile.h"
#include "base/prefixsort.h"
#include "base/room.h"
#include "base/whole_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_CAPACITY 1024u
#define READ_BYTES_MAX 65536u
#define READ_BYTES_MIN 4096u

/* One sorted load: in the file, or (the last) in memory. */
struct load {
	uint64_t offset; /* of the next byte to read from the file */
	uint64_t left; /* records not yet in the buffer */
	char *buffer;
	size_t buffered;
	size_t used;
};

struct sb_extsort {
	size_t record_bytes;
	size_t capacity_max; /* records of one load */
	char folder[512];
	char *records;
	char *spare; /* the merge's other half */
	size_t count;
	size_t descents; /* records of this load that come before the one added before them */
	size_t capacity;
	uint64_t total_count;
	int fd;
	uint64_t file_bytes;
	struct load *loads;
	size_t load_count;
	size_t load_capacity;
	uint32_t *heap; /* of load numbers */
	size_t heap_count;
	size_t read_bytes;
	bool advance; /* the top of the heap was handed out */
	int err;
};

const char *sb_extsort_folder(void)
{
	const char *named = secure_getenv("TMPDIR");

	if (named && *named && !access(named, W_OK))
		return named;
	return access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
}

int sb_extsort_new(size_t record_bytes, size_t memory_bytes, const char *folder, struct sb_extsort **out_sort)
{
	struct sb_extsort *s = calloc(1, sizeof *s);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory to sort");
	s->fd = -1;
	s->record_bytes = record_bytes;
	s->capacity_max = memory_bytes / 2 / record_bytes;
	snprintf(s->folder, sizeof s->folder, "%s", folder ? folder : sb_extsort_folder());
	*out_sort = s;
	return 0;
}

static void free_buffers(struct sb_extsort *s)
{
	for (size_t i = 0; i < s->load_count; i++)
		if (s->loads[i].buffer != s->records)
			free(s->loads[i].buffer);
	free(s->records);
	free(s->spare);
	s->records = s->spare = NULL;
}

void sb_extsort_free(struct sb_extsort *s)
{
	if (!s)
		return;
	free_buffers(s);
	free(s->loads);
	free(s->heap);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

/* ---- one load ---- */

static inline int key_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	for (int i = 0; i < SB_EXTSORT_KEY_WORDS; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* Merges [from, middle) and [middle, to) of source into target. */
static void merge_pair(
	const struct sb_extsort *s, const char *source, char *target, size_t from, size_t middle, size_t to)
{
	size_t bytes = s->record_bytes;
	const char *a = source + from * bytes, *a_end = source + middle * bytes;
	const char *b = a_end, *b_end = source + to * bytes;
	char *out = target + from * bytes;

	while (a < a_end && b < b_end) {
		const char **smaller = key_compare(b, a) < 0 ? &b : &a;

		memcpy(out, *smaller, bytes);
		*smaller += bytes;
		out += bytes;
	}
	memcpy(out, a, (size_t)(a_end - a));
	memcpy(out + (a_end - a), b, (size_t)(b_end - b));
}

static size_t ascent_end(const struct sb_extsort *s, size_t from)
{
	const char *r = s->records + from * s->record_bytes;

	for (from++; from < s->count; from++, r += s->record_bytes)
		if (key_compare(r, r + s->record_bytes) > 0)
			break;
	return from;
}

/* More than one in so many records is out of order: merging would move each record many times. */
#define ASCENT_RECORDS 8u
#define PREFIX_LEAST_RECORDS 256u

static void swap_halves(struct sb_extsort *s)
{
	char *swap = s->records;

	s->records = s->spare;
	s->spare = swap;
}

/* Merges neighbouring ascents, two and two. Returns how many are left. */
static size_t merge_ascents(struct sb_extsort *s)
{
	size_t from = 0, left = 0;

	for (; from < s->count; left++) {
		size_t middle = ascent_end(s, from);
		size_t to = middle < s->count ? ascent_end(s, middle) : middle;

		if (!from && middle == s->count)
			return 1;
		merge_pair(s, s->records, s->spare, from, middle, to);
		from = to;
	}
	swap_halves(s);
	return left;
}

static int sort_load(struct sb_extsort *s)
{
	if (!s->descents)
		return 0;
	if (!s->spare)
		s->spare = malloc(s->capacity * s->record_bytes);
	if (!s->spare)
		return sb_fail(STROBE_ENOMEM, "no memory to sort");
	if (s->count >= PREFIX_LEAST_RECORDS && s->descents + 1 >= s->count / ASCENT_RECORDS &&
		!sb_prefixsort(s->records, s->spare, s->record_bytes, s->count))
		swap_halves(s);
	while (merge_ascents(s) > 1)
		;
	return 0;
}

static int spill(struct sb_extsort *s)
{
	size_t bytes = s->count * s->record_bytes;

	if (!sb_write_whole_at(s->fd, s->records, bytes, s->file_bytes))
		return sb_fail_errno("cannot write a temporary file in '%s'", s->folder);
	s->file_bytes += bytes;
	return 0;
}

static struct load *new_load(struct sb_extsort *s)
{
	if (!SB_MAKE_ROOM(s->loads, s->load_count, s->load_capacity))
		return NULL;
	s->loads[s->load_count] = (struct load){ 0 };
	return &s->loads[s->load_count++];
}

static int end_load(struct sb_extsort *s)
{
	struct load *load;
	uint64_t offset = s->file_bytes;
	int err = sort_load(s);

	if (!err && s->fd < 0)
		err = sb_tempfile_open(s->folder, &s->fd);
	if (!err)
		err = spill(s);
	if (err)
		return err;
	load = new_load(s);
	if (!load)
		return sb_fail(STROBE_ENOMEM, "no memory to sort");
	load->offset = offset;
	load->left = s->count;
	s->count = s->descents = 0;
	return 0;
}

static int grow(struct sb_extsort *s)
{
	size_t capacity = s->capacity ? s->capacity * 2 : FIRST_CAPACITY;
	char *records;

	if (s->capacity == s->capacity_max)
		return end_load(s);
	if (capacity > s->capacity_max)
		capacity = s->capacity_max;
	records = realloc(s->records, capacity * s->record_bytes);
	if (!records)
		return sb_fail(STROBE_ENOMEM, "no memory to sort");
	s->records = records;
	s->capacity = capacity;
	return 0;
}

int sb_extsort_add(struct sb_extsort *s, const void *record)
{
	char *to;

	if (s->count == s->capacity) {
		int err = grow(s);

		if (err)
			return err;
	}
	to = s->records + s->count * s->record_bytes;
	memcpy(to, record, s->record_bytes);
	if (s->count && key_compare(to - s->record_bytes, to) > 0)
		s->descents++;
	s->count++;
	s->total_count++;
	return 0;
}

uint64_t sb_extsort_count(const struct sb_extsort *s)
{
	return s->total_count;
}

/* ---- the merge of all loads ---- */

static int fill(struct sb_extsort *s, struct load *load)
{
	uint64_t records = s->read_bytes / s->record_bytes;
	size_t want, got = 0;

	load->used = load->buffered = 0;
	if (!load->left)
		return 0;
	if (records > load->left)
		records = load->left;
	want = (size_t)records * s->record_bytes;
	while (got < want) {
		ssize_t n = pread(s->fd, load->buffer + got, want - got, (off_t)load->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sb_fail_errno("cannot read a temporary file in '%s'", s->folder);
		got += (size_t)n;
		load->offset += (uint64_t)n;
	}
	load->left -= records;
	load->buffered = (size_t)records;
	return 0;
}

static inline const char *head_of(const struct sb_extsort *s, uint32_t number)
{
	return s->loads[number].buffer + s->loads[number].used * s->record_bytes;
}

static bool before(const struct sb_extsort *s, uint32_t a, uint32_t b)
{
	int order = key_compare(head_of(s, a), head_of(s, b));

	return order < 0 || (order == 0 && a < b);
}

static void sift_down(struct sb_extsort *s, size_t i)
{
	for (;;) {
		size_t child = i * 2 + 1;
		uint32_t swap;

		if (child >= s->heap_count)
			return;
		if (child + 1 < s->heap_count && before(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s, s->heap[child], s->heap[i]))
			return;
		swap = s->heap[i];
		s->heap[i] = s->heap[child];
		s->heap[child] = swap;
		i = child;
	}
}

static int open_loads(struct sb_extsort *s)
{
	size_t share = s->capacity_max * s->record_bytes / s->load_count;

	s->read_bytes = share > READ_BYTES_MAX   ? READ_BYTES_MAX
			: share < READ_BYTES_MIN ? READ_BYTES_MIN
						 : share;
	if (s->read_bytes < s->record_bytes)
		s->read_bytes = s->record_bytes;
	for (size_t i = 0; i < s->load_count; i++) {
		int err;

		s->loads[i].buffer = malloc(s->read_bytes);
		if (!s->loads[i].buffer)
			return sb_fail(STROBE_ENOMEM, "no memory to sort");
		err = fill(s, &s->loads[i]);
		if (err)
			return err;
	}
	return 0;
}

static int finish_in_memory(struct sb_extsort *s)
{
	int err = sort_load(s);
	struct load *load;

	if (err)
		return err;
	free(s->spare);
	s->spare = NULL;
	load = new_load(s);
	if (!load)
		return sb_fail(STROBE_ENOMEM, "no memory to sort");
	load->buffer = s->records;
	load->buffered = s->count;
	return 0;
}

static int finish_with_file(struct sb_extsort *s)
{
	int err = s->count ? end_load(s) : 0;

	if (err)
		return err;
	free(s->records);
	free(s->spare);
	s->records = s->spare = NULL;
	return open_loads(s);
}

int sb_extsort_finish(struct sb_extsort *s)
{
	int err = s->fd < 0 ? finish_in_memory(s) : finish_with_file(s);

	if (err)
		return err;
	s->heap = malloc(s->load_count * sizeof *s->heap);
	if (!s->heap)
		return sb_fail(STROBE_ENOMEM, "no memory to sort");
	for (uint32_t i = 0; i < s->load_count; i++)
		if (s->loads[i].buffered)
			s->heap[s->heap_count++] = i;
	for (size_t i = s->heap_count / 2; i-- > 0;)
		sift_down(s, i);
	return 0;
}

/* Takes the record that was handed out off its load. */
static void advance_top(struct sb_extsort *s)
{
	struct load *load = &s->loads[s->heap[0]];

	load->used++;
	if (load->used == load->buffered) {
		s->err = fill(s, load);
		if (s->err)
			s->heap_count = 0;
		else if (!load->buffered)
			s->heap[0] = s->heap[--s->heap_count];
	}
	sift_down(s, 0);
}

const void *sb_extsort_next(struct sb_extsort *s)
{
	if (s->advance)
		advance_top(s);
	s->advance = s->heap_count > 0;
	return s->heap_count ? head_of(s, s->heap[0]) : NULL;
}

int sb_extsort_error(const struct sb_extsort *s)
{
	return s->err;
}
