/* The ring of samples that wait to be kept or forgotten, and how a row is written. */
#include "gpu/counter_rows.h"

#include "gpu/kept_moments.h"
#include "gpu/ring.h"
#include "record/clock.h"
#include "record/put.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define ASKED 64u
#define PATIENCE_S 3u /* the hardware's buffer is read less often than every second at worst */

struct held_row {
	struct sb_counter_rows *rows; /* NULL: written */
	uint64_t from_ticks, to_ticks;
	double row[SB_PM_COLUMNS];
};

static struct held_row *ring; /* NULL: rows are written at once */
static uint64_t total;
static struct sb_ring asked; /* made once, kept: a thread may be about to push */
static _Atomic bool made;
static struct sb_kept_moments kept;
static struct sb_counter_counts counts;

#define BYTES (SB_COUNTER_ROWS_HELD * sizeof(struct held_row))

bool sb_counter_rows_start(bool held)
{
	struct sb_kept_moment old;
	void *memory = NULL;

	sb_counter_rows_stop();
	memset(&counts, 0, sizeof counts);
	if (!held)
		return true;
	if (!made)
		made = sb_ring_init(&asked, ASKED, sizeof(struct sb_kept_moment));
	while (made && sb_ring_pop(&asked, &old))
		;
	if (made)
		memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!made || memory == MAP_FAILED)
		return false;
	ring = memory;
	return true;
}

void sb_counter_rows_stop(void)
{
	if (ring)
		munmap(ring, BYTES);
	ring = NULL;
	total = 0;
	kept.count = 0;
}

struct sb_counter_counts sb_counter_rows_counts(void)
{
	return counts;
}

/* ---- writing ------------------------------------------------------------- */

static bool put_row(const struct sb_counter_rows *rows, uint64_t ticks, const double *row)
{
	uint64_t payload[1 + SB_PM_COLUMNS];

	payload[0] = ticks;
	memcpy(payload + 1, row, SB_PM_COLUMNS * sizeof *row);
	if (sb_put(SB_STREAM_DEVICE, SB_SAMPLE, rows->schema, payload, 1 + SB_PM_COLUMNS))
		return true;
	counts.unwritten++;
	return false;
}

/* A row tells of the time since the row before: where samples do not meet, an empty one lies between. */
static void put_gap(const struct sb_counter_rows *rows, uint64_t ticks)
{
	double row[SB_PM_COLUMNS];

	for (int i = 0; i < SB_PM_COLUMNS; i++)
		row[i] = NAN;
	put_row(rows, ticks, row);
}

/* How far a sample is from the one before: less than half of one is the clocks' doing. */
static uint64_t gap_after(uint64_t before_ticks, uint64_t from_ticks, uint64_t to_ticks)
{
	uint64_t gap = before_ticks && from_ticks > before_ticks ? from_ticks - before_ticks : 0;

	return gap > (to_ticks - from_ticks) / 2 ? gap : 0;
}

static void write_row(struct sb_counter_rows *rows, uint64_t from_ticks, uint64_t to_ticks, const double *row)
{
	if (!rows->written_ticks || to_ticks <= rows->written_ticks ||
		gap_after(rows->written_ticks, from_ticks, to_ticks))
		put_gap(rows, from_ticks);
	rows->written_ticks = to_ticks;
	counts.written += put_row(rows, to_ticks, row);
}

void sb_counter_rows_take(
	struct sb_counter_rows *rows, uint64_t from_ticks, uint64_t to_ticks, const double *row)
{
	uint64_t width = to_ticks - from_ticks, gap = gap_after(rows->seen_ticks, from_ticks, to_ticks);
	struct held_row *held;

	if (to_ticks <= rows->seen_ticks)
		return; /* out of order: it was counted as lost when the one after it came */
	if (gap)
		counts.lost += (gap + width / 2) / width;
	rows->seen_ticks = to_ticks;
	rows->width_ticks = width;
	counts.taken++;
	if (!ring) {
		write_row(rows, from_ticks, to_ticks, row);
		return;
	}
	held = &ring[total++ & (SB_COUNTER_ROWS_HELD - 1)];
	*held = (struct held_row){ .rows = rows, .from_ticks = from_ticks, .to_ticks = to_ticks };
	memcpy(held->row, row, sizeof held->row);
}

void sb_counter_rows_lose(uint64_t samples)
{
	counts.lost += samples;
}

/* ---- keeping ------------------------------------------------------------- */

void sb_counter_rows_keep(uint64_t begin_ticks, uint64_t end_ticks)
{
	struct sb_kept_moment m = { begin_ticks, end_ticks, sb_clock_ticks() + PATIENCE_S * sb_clock_hz() };

	if (made)
		sb_ring_push(&asked, &m);
}

static void hear(void)
{
	struct sb_kept_moment m;

	while (sb_ring_pop(&asked, &m))
		sb_kept_moments_add(&kept, m);
}

static bool is_kept(const struct held_row *held)
{
	for (uint32_t i = 0; i < kept.count; i++)
		if (held->to_ticks > kept.all[i].begin_ticks && held->from_ticks < kept.all[i].end_ticks)
			return true;
	return false;
}

void sb_counter_rows_look(void)
{
	uint64_t first = total > SB_COUNTER_ROWS_HELD ? total - SB_COUNTER_ROWS_HELD : 0;

	if (!ring)
		return;
	hear();
	for (uint64_t i = first; kept.count && i < total; i++) {
		struct held_row *held = &ring[i & (SB_COUNTER_ROWS_HELD - 1)];

		if (!held->rows || !is_kept(held))
			continue;
		write_row(held->rows, held->from_ticks, held->to_ticks, held->row);
		held->rows = NULL;
	}
	sb_kept_moments_forget(&kept, sb_clock_ticks());
}
