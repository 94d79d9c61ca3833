/* The ring of GPU records that wait to be kept or forgotten. */
#include "gpu/held.h"

#include "format/wire.h"
#include "record/put.h"

#include <string.h>
#include <sys/mman.h>

#define MARKS 1024u /* a long generation has as many steps */
#define STRAYS \
	4096u /* launches come nearly in order: so many earlier ones in a row, and the rest is earlier */

static struct sb_held *records;
static uint64_t total; /* put so far */
static uint64_t newest;
static struct {
	uint64_t ticks, total_before;
	uint64_t overwritten; /* of what was launched from here to the next mark */
} marks[MARKS]; /* the last ones, in order */
static uint32_t mark_count;

#define BYTES (SB_HELD_RECORDS * sizeof(struct sb_held))

bool sb_held_init(void)
{
	void *memory = records;

	if (!memory)
		memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	records = memory;
	total = newest = 0;
	mark_count = 0;
	return true;
}

void sb_held_done(void)
{
	if (records)
		munmap(records, BYTES);
	records = NULL;
	total = 0;
}

static struct sb_held *at(uint64_t number)
{
	return &records[number & (SB_HELD_RECORDS - 1)];
}

static uint64_t oldest(void)
{
	return total > SB_HELD_RECORDS ? total - SB_HELD_RECORDS : 0;
}

/* How many marks are not after it. */
static uint32_t marks_until(uint64_t ticks)
{
	uint32_t low = 0, high = mark_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (marks[middle].ticks <= ticks)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void count_overwritten(const struct sb_held *r)
{
	uint32_t until = r->written ? 0 : marks_until(r->when);

	if (until)
		marks[until - 1].overwritten++;
}

/* The program's waits are held, too; the GPU does not work on them. */
static bool is_work(const struct sb_held *r)
{
	return (r->aux >> 20 & 15) != SB_GPU_SYNC;
}

void sb_held_put(const struct sb_held *record)
{
	if (!records)
		return;
	if (total >= SB_HELD_RECORDS)
		count_overwritten(at(total));
	*at(total) = *record;
	total++;
	if (is_work(record) && record->when > newest)
		newest = record->when;
}

uint64_t sb_held_newest(void)
{
	return newest;
}

uint64_t sb_held_total(void)
{
	return total;
}

uint64_t sb_held_work_ticks(uint64_t begin_ticks, uint64_t end_ticks)
{
	uint64_t sum = 0, strays = 0;

	for (uint64_t i = total; i > oldest() && strays < STRAYS; i--) {
		const struct sb_held *r = at(i - 1);

		strays = r->when < begin_ticks ? strays + 1 : 0;
		if (is_work(r) && !r->unattributed && r->when >= begin_ticks && r->when <= end_ticks)
			sum += r->payload[1];
	}
	return sum;
}

/* How long it worked from begin to end on what was launched before `launched_ticks`; *out_last: when that was done. Streams at the
 * same time are added up: no more than all of it. */
static uint64_t busy_ticks(
	uint64_t begin_ticks, uint64_t end_ticks, uint64_t launched_ticks, uint64_t *out_last_ticks)
{
	uint64_t sum = 0, strays = 0;

	*out_last_ticks = begin_ticks;
	for (uint64_t i = total; i > oldest() && strays < STRAYS; i--) {
		const struct sb_held *r = at(i - 1);
		uint64_t from = r->payload[0] > begin_ticks ? r->payload[0] : begin_ticks;
		uint64_t to = r->payload[0] + r->payload[1] < end_ticks ? r->payload[0] + r->payload[1]
									: end_ticks;

		strays = to <= begin_ticks ? strays + 1 : 0;
		if (!is_work(r) || r->when >= launched_ticks || to <= from)
			continue;
		sum += to - from;
		if (to > *out_last_ticks)
			*out_last_ticks = to;
	}
	return sum < end_ticks - begin_ticks ? sum : end_ticks - begin_ticks;
}

/* While earlier work waits in the queue, gaps between kernels are not the program's doing. */
struct sb_held_use sb_held_use(uint64_t begin_ticks, uint64_t end_ticks)
{
	uint64_t caught_up_ticks, ignored;
	struct sb_held_use use = { .backlog_ticks = busy_ticks(
					   begin_ticks, end_ticks, begin_ticks, &caught_up_ticks) };

	use.starved_ticks = end_ticks - caught_up_ticks -
			    busy_ticks(caught_up_ticks, end_ticks, UINT64_MAX, &ignored);
	return use;
}

uint64_t sb_held_write(uint64_t begin_ticks, uint64_t end_ticks, uint64_t before, uint64_t *out_kernels)
{
	uint64_t unwritten = 0;

	for (uint64_t i = before > oldest() ? before : oldest(); i < total; i++) {
		struct sb_held *r = at(i);

		if (r->written || r->when < begin_ticks || r->when > end_ticks)
			continue;
		r->written = true;
		if (!sb_put(SB_STREAM_DEVICE, SB_GPU, r->aux, r->payload, r->words))
			unwritten++;
		else
			*out_kernels += (r->aux >> 20 & 15) == SB_GPU_KERNEL;
	}
	return unwritten;
}

/* Threads step beside each other: one that comes late counts from the last mark. */
void sb_held_mark(uint64_t ticks)
{
	if (mark_count == MARKS)
		memmove(marks, marks + 1, --mark_count * sizeof *marks);
	if (mark_count && marks[mark_count - 1].ticks > ticks)
		ticks = marks[mark_count - 1].ticks;
	marks[mark_count].ticks = ticks;
	marks[mark_count].total_before = total;
	marks[mark_count++].overwritten = 0;
}

uint64_t sb_held_since(uint64_t ticks)
{
	uint32_t until = marks_until(ticks);

	return until ? total - marks[until - 1].total_before : UINT64_MAX;
}

uint64_t sb_held_overwritten(uint64_t ticks)
{
	uint64_t sum = 0;

	for (uint32_t i = mark_count; i-- > 0 && marks[i].ticks >= ticks;)
		sum += marks[i].overwritten;
	return sum;
}
