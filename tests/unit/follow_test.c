/* A recording that grows: read piece by piece it adds up to the report, and
 * what was read is not read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "serve/follow.h"
#include "synthetic.h"

#include <sys/stat.h>

#define CHUNK 4096u
#define CHUNKS_MOST 4096u

/* ---- a recording that grows ---- */

/* The whole file, and how much of it is there. */
struct growing {
	char path[64];
	struct sb_buf whole, now;
	uint32_t order[CHUNKS_MOST], count; /* chunks by stream, writer, seq */
};

static struct sb_chunk_header *head_of(const struct sb_buf *file, uint32_t chunk)
{
	const struct sb_file_header *h = (const struct sb_file_header *)file->data;

	return (struct sb_chunk_header *)(file->data + h->header_bytes + (size_t)chunk * h->chunk_bytes);
}

static const struct growing *sorting;

static int by_place(const void *a, const void *b)
{
	const struct sb_chunk_header *x = head_of(&sorting->whole, *(const uint32_t *)a);
	const struct sb_chunk_header *y = head_of(&sorting->whole, *(const uint32_t *)b);

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->writer != y->writer)
		return x->writer < y->writer ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void grow_open(struct growing *g, const char *whole)
{
	struct sb_file_header *h;

	memset(g, 0, sizeof *g);
	assert_int_equal(sb_buf_read_file(&g->whole, whole, 64u << 20), 0);
	h = (struct sb_file_header *)g->whole.data;
	g->count = (uint32_t)((g->whole.size - h->header_bytes) / h->chunk_bytes);
	assert_true(g->count && g->count <= CHUNKS_MOST);
	for (uint32_t i = 0; i < g->count; i++)
		g->order[i] = i;
	sorting = g;
	qsort(g->order, g->count, sizeof *g->order, by_place);
	sb_buf_add(&g->now, g->whole.data, g->whole.size);
	memset(g->now.data + h->header_bytes, 0, g->now.size - h->header_bytes);
	((struct sb_file_header *)g->now.data)->closed = 0;
	strcpy(g->path, "/tmp/strobe-follow-XXXXXX.strobe");
	close(mkstemps(g->path, 7));
}

static void grow_done(struct growing *g)
{
	sb_buf_done(&g->whole);
	sb_buf_done(&g->now);
	unlink(g->path);
}

static size_t records_in(const struct growing *g, uint32_t chunk, size_t most, size_t *out_words)
{
	const struct sb_chunk_header *h = head_of(&g->whole, chunk);
	const uint64_t *words = (const uint64_t *)(h + 1);
	struct sb_cursor c;
	struct sb_record r;
	size_t count = 0;

	sb_cursor_init(&c, words, (CHUNK - sizeof *h) / 8, h->base_ticks);
	while (count < most && sb_cursor_next(&c, &r))
		count++;
	*out_words = (size_t)(c.at - words);
	return count;
}

/* Shows the first part of every stream's records, and writes the file. */
static void grow(struct growing *g, double part)
{
	struct sb_buf file = { 0 };
	size_t words;

	for (uint32_t i = 0, end; i < g->count; i = end) {
		const struct sb_chunk_header *h = head_of(&g->whole, g->order[i]);
		size_t all = 0, left;

		for (end = i; end < g->count; end++) {
			const struct sb_chunk_header *other = head_of(&g->whole, g->order[end]);

			if (other->stream != h->stream || other->writer != h->writer)
				break;
			all += records_in(g, g->order[end], SIZE_MAX, &words);
		}
		left = (size_t)((double)all * part + 0.5);
		for (uint32_t k = i; k < end && left; k++) {
			left -= records_in(g, g->order[k], left, &words);
			memcpy(head_of(&g->now, g->order[k]), head_of(&g->whole, g->order[k]),
				left || part >= 1 ? CHUNK : sizeof *h + words * 8);
		}
	}
	if (part >= 1)
		memcpy(g->now.data, g->whole.data, sizeof(struct sb_file_header));
	sb_buf_add(&file, g->now.data, g->now.size);
	assert_int_equal(sb_buf_write_file(&file, g->path, 0600), 0);
	sb_buf_done(&file);
}

/* ---- comparing ---- */

static void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-6 + fabs(expected) * 1e-6))
		fail_msg("%.12g is not %.12g", value, expected);
}

static struct sb_tally_stage sum_of(const struct sb_tally *t, const char *name)
{
	struct sb_tally_stage sum = { 0 };

	for (size_t i = 1; i < t->stages.count; i++) {
		const struct sb_tally_stage *s = (struct sb_tally_stage *)t->stages.items + i;

		if (strcmp(sb_tally_stage_name(t, s), name) != 0)
			continue;
		sum.calls += s->calls;
		sum.total_ns += s->total_ns;
		sum.self_ns += s->self_ns;
		sum.role = s->role;
		for (size_t k = 0; k <= SB_TALLY_BOUNDS; k++)
			sum.buckets[k] += s->buckets[k];
	}
	return sum;
}

static void equals_the_report(const struct sb_tally *t, const struct sb_model *m)
{
	double compared = 0;

	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];
		struct sb_tally_stage sum = sum_of(t, s->name);
		double total_s = 0, self_s = 0, calls = 0;
		uint64_t in_buckets = 0;

		for (size_t k = 0; k < m->stages.stage_count; k++) {
			const struct sb_stage *other = &m->stages.stages[k];

			if (strcmp(other->name, s->name) != 0)
				continue;
			total_s += other->total_s;
			self_s += other->self_s;
			calls += (double)other->time.count;
		}
		for (size_t k = 0; k <= SB_TALLY_BOUNDS; k++)
			in_buckets += sum.buckets[k];
		assert_int_equal(in_buckets, sum.calls);
		assert_int_equal(sum.calls, (uint64_t)calls);
		near((double)sum.total_ns * 1e-9, total_s);
		near((double)sum.self_ns * 1e-9, self_s);
		compared++;
	}
	assert_true(compared > 0);
	assert_int_equal(t->steps, m->diffusion.steps > 0 ? m->diffusion.steps : 0);
}

static void record_much(struct synthetic *s, uint64_t generations)
{
	uint32_t schema, cache = sb_builder_name(s->b, "text", NULL);
	struct sb_stream_writer *other = sb_builder_thread(s->b, 77, "loader");
	uint32_t load = sb_builder_name(s->b, "load", "1a");

	(void)cache;
	schema = synthetic_gpu(s, 1);
	for (uint64_t i = 0; i < generations; i++) {
		uint64_t t = i * 100 * MS;

		synthetic_begin(s, t, "generation", STROBE_ROLE_GENERATION);
		synthetic_attr(s, "frames", 16);
		for (int64_t k = 0; k < 3; k++)
			synthetic_step(
				s, t + (uint64_t)k * 20 * MS, t + (uint64_t)k * 20 * MS + 15 * MS, k, 0);
		synthetic_begin(s, t + 70 * MS, "down", 0); /* recursion */
		synthetic_begin(s, t + 71 * MS, "down", 0);
		synthetic_end(s, t + 74 * MS);
		synthetic_end(s, t + 75 * MS);
		synthetic_end(s, t + 90 * MS);
		sb_builder_begin(other, t + 5 * MS, load);
		sb_builder_end(other, t + 65 * MS, 0);
		sb_builder_span(
			s->main, sb_builder_name(s->b, "encode", NULL), 0, t + 91 * MS, 8 * MS, 0, NULL, 0);
		synthetic_gpu_sample(s, schema, t, 1000 + (double)(i % 50), 50, 300);
		sb_builder_cache(s->b, t,
			&(struct strobe_cache_event){ .cache = "text",
				.kind = i % 3 ? STROBE_CACHE_HIT : STROBE_CACHE_MISS,
				.count = 1,
				.size_bytes = -1,
				.score = NAN,
				.threshold = NAN,
				.frame = NAN,
				.chunk = -1 });
	}
	sb_builder_lost(s->b, SB_LOST_STRING, 2, 0, 1);
}

static void follow_in_pieces(const char *whole, int pieces, struct sb_follow *f)
{
	struct growing g;

	grow_open(&g, whole);
	assert_int_equal(sb_follow_init(f, g.path), 0);
	for (int i = 0; i <= pieces; i++) {
		grow(&g, (double)i / pieces);
		assert_int_equal(sb_follow_look(f), 0);
		assert_false(f->lost_track);
	}
	assert_int_equal(f->restarts, 0);
	assert_true(f->closed);
	grow_done(&g);
}

static void read_piece_by_piece_it_adds_up_to_the_report(void **state)
{
	static const int pieces[] = { 1, 2, 7, 100, 997 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	record_much(&s, 300);
	m = synthetic_model(&s, 31 * SECOND);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct sb_follow f;
		const struct sb_tally *t = &f.tally;
		const struct sb_tally_series *series;
		const struct sb_tally_cache *cache;

		follow_in_pieces(s.path, pieces[i], &f);
		equals_the_report(t, m);
		assert_int_equal(t->generations, m->summary.generation_count);
		assert_int_equal(sb_tally_frames(t), m->summary.frames);
		assert_int_equal(sum_of(t, "step").role, STROBE_ROLE_STEP);
		assert_int_equal(t->zones, m->recording.zones);
		near((double)t->attributed_ns * 1e-9, m->stages.wall_s - m->stages.unattributed_s);
		assert_int_equal(t->lost[SB_LOST_STRING], 2);
		series = t->series.items;
		assert_int_equal(t->series.count, 1);
		assert_int_equal(series->device, 1);
		near(series->last[0], 1049);
		near(series->max[0], 1049);
		cache = t->caches.items;
		assert_int_equal(cache->hits, 200);
		assert_int_equal(cache->misses, 100);
		sb_follow_done(&f);
	}
	synthetic_done(&s);
}

static void what_was_folded_away_counts(void **state)
{
	static const char *const files[] = { "v1-digest", "v1-zones" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct sb_model_options options = { .now_real_ns = 1 };
		struct sb_model *m = NULL;
		struct sb_run *run = NULL;
		struct sb_follow f;
		char path[512];

		snprintf(path, sizeof path, "%s/tests/golden/%s.strobe", STROBE_SOURCE_DIR, files[i]);
		assert_int_equal(sb_run_open(path, NULL, &run), 0);
		assert_int_equal(sb_report_build(run, &options, &m), 0);
		assert_int_equal(sb_follow_init(&f, path), 0);
		assert_int_equal(sb_follow_look(&f), 0);
		assert_int_equal(
			f.tally.zones + (uint64_t)m->recording.open_zones, (uint64_t)m->recording.zones);
		sb_follow_done(&f);
		sb_model_free(m);
		sb_run_close(run);
	}
}

/* The cost of a look is what is new, not what is there. */
static void a_look_reads_what_is_new(void **state)
{
	struct synthetic s;
	struct growing g;
	struct sb_follow f;
	uint64_t before, writers;

	synthetic_open(&s);
	record_much(&s, 1500);
	synthetic_model(&s, 151 * SECOND);
	grow_open(&g, s.path);
	assert_int_equal(sb_follow_init(&f, g.path), 0);
	grow(&g, 0.9);
	assert_int_equal(sb_follow_look(&f), 0);
	assert_true(f.read_bytes > g.whole.size / 2);
	writers = f.writers.count;
	assert_true(g.whole.size > 10 * writers * CHUNK); /* else this shows nothing */
	for (int i = 0; i < 10; i++) {
		before = f.read_bytes;
		assert_int_equal(sb_follow_look(&f), 0);
		assert_true(
			f.read_bytes - before <=
			sizeof(struct sb_file_header) + 2 * writers * (CHUNK + 128) + 64 * f.waiting.count);
	}
	sb_follow_done(&f);
	grow_done(&g);
	synthetic_done(&s);
}

/* A chunk that is folded and used again before anybody looked: read anew. */
static void a_part_that_is_gone_is_noticed(void **state)
{
	struct synthetic s;
	struct growing g;
	struct sb_follow f;
	uint32_t victim = 0;

	synthetic_open(&s);
	record_much(&s, 1500);
	synthetic_model(&s, 151 * SECOND);
	grow_open(&g, s.path);
	assert_int_equal(sb_follow_init(&f, g.path), 0);
	grow(&g, 0.3);
	assert_int_equal(sb_follow_look(&f), 0);
	grow(&g, 0.8);
	for (size_t i = 0; i < f.writers.count; i++) {
		const struct sb_follow_writer *writer = (struct sb_follow_writer *)f.writers.items + i;

		for (uint32_t k = 0; k < g.count && writer->stream == SB_STREAM_HOT; k++) {
			const struct sb_chunk_header *h = head_of(&g.now, g.order[k]);

			if (h->stream == SB_STREAM_HOT && h->writer == writer->writer &&
				h->seq == writer->next_seq + 1)
				victim = g.order[k];
		}
	}
	assert_true(victim);
	memset(head_of(&g.now, victim), 0, CHUNK);
	grow(&g, 0); /* writes it */
	for (int i = 0; i < 3; i++)
		assert_int_equal(sb_follow_look(&f), 0);
	assert_true(f.restarts >= 1);
	sb_follow_done(&f);
	grow_done(&g);
	synthetic_done(&s);
}

static void names_that_count_up_become_one_stage(void **state)
{
	struct synthetic s;
	struct sb_follow f;
	char name[32];

	synthetic_open(&s);
	for (uint64_t i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "request %d", (int)i);
		synthetic_stage(&s, i * MS, i * MS + MS / 2, name, 0);
	}
	synthetic_model(&s, 4 * SECOND);
	assert_int_equal(sb_follow_init(&f, s.path), 0);
	assert_int_equal(sb_follow_look(&f), 0);
	assert_int_equal(f.tally.stages.count, 1 + SB_TALLY_SIBLINGS_MAX + 1);
	assert_int_equal(sum_of(&f.tally, "request *").calls, 3000 - SB_TALLY_SIBLINGS_MAX);
	sb_follow_done(&f);
	synthetic_done(&s);
}

static void what_is_not_a_recording_is_refused(void **state)
{
	char path[] = "/tmp/strobe-follow-XXXXXX";
	struct sb_follow f;

	assert_non_null(mkdtemp(path));
	assert_int_equal(sb_follow_init(&f, path), 0);
	assert_true(sb_follow_look(&f) < 0); /* a folder */
	rmdir(path);
	assert_true(sb_follow_look(&f) < 0); /* nothing */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(sb_follow_look(&f) < 0); /* a pipe that nobody writes to: no waiting */
	unlink(path);
	sb_follow_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_piece_by_piece_it_adds_up_to_the_report),
		cmocka_unit_test(what_was_folded_away_counts),
		cmocka_unit_test(a_look_reads_what_is_new),
		cmocka_unit_test(a_part_that_is_gone_is_noticed),
		cmocka_unit_test(names_that_count_up_become_one_stage),
		cmocka_unit_test(what_is_not_a_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
