/* Ten days of samples at the default intervals, with eight GPUs, in a small recording: the
 * share for samples never runs out, and what must be exact is exact. Time is simulated. */
#pragma GCC diagnostic ignored "-Wunused-function" /* recording.h has more than is needed here */
#include "recording.h"

#include "format/cursor.h"
#include "monitor/samples.h"
#include "record/put.h"

#include <math.h>
#include <stdlib.h>

enum { GPUS = 8, DAYS = 10, GPU_HZ = 2, COLUMNS = 18, POWER = 0, ENERGY = 1, MEMORY = 2 };
static const uint64_t seconds = (uint64_t)DAYS * 86400 / SHRINK;

static void open_gpu(struct sb_samples *gpu, int device)
{
	struct sb_column columns[COLUMNS] = { { "power_w", SB_MERGE_MEAN }, { "energy_j", SB_MERGE_LAST },
		{ "memory_used_mb", SB_MERGE_MAX } };

	for (int i = 3; i < COLUMNS; i++) {
		snprintf(columns[i].name, sizeof columns[i].name, "other%d_percent", i);
		columns[i].merge = SB_MERGE_MEAN;
	}
	assert_true(sb_samples_open(gpu, "gpu", device, columns, COLUMNS, 10000000));
}

/* What the file has of a GPU: its last energy, its highest memory, its first and last time. */
struct kept {
	double energy_j, memory_mb;
	uint64_t first, last;
};

static void keep_row(struct kept *k, const struct sb_record *r)
{
	double values[COLUMNS];

	memcpy(values, r->payload + 1, sizeof values);
	if (!k->last || r->payload[0] < k->first)
		k->first = r->payload[0];
	if (r->payload[0] > k->last) {
		k->last = r->payload[0];
		k->energy_j = values[ENERGY];
	}
	k->memory_mb = fmax(k->memory_mb, values[MEMORY]);
}

static void read_back(const char *path, const uint32_t *schemas, struct kept *kept)
{
	struct sb_reader *r;
	struct sb_chunk_range range;
	uint64_t *buf;

	assert_int_equal(sb_reader_open(path, &r), 0);
	buf = malloc(r->head.chunk_bytes);
	range = sb_reader_range(r, SB_STREAM_KEEP, 0);
	for (uint32_t i = range.first; i < range.end; i++) {
		size_t words;
		const uint64_t *at = sb_reader_chunk(r, &r->chunks[i], buf, &words);
		struct sb_cursor c;
		struct sb_record record;

		if (!at)
			continue;
		sb_cursor_init(&c, at, words, r->chunks[i].base_ticks);
		while (sb_cursor_next(&c, &record))
			for (int g = 0; g < GPUS; g++)
				if (record.kind == SB_LONG && record.type == SB_SAMPLE &&
					record.aux == schemas[g] && record.words == COLUMNS + 1)
					keep_row(&kept[g], &record);
	}
	free(buf);
	sb_reader_close(r);
}

static void ten_days_keep_exact_energy_peaks_and_times(void **state)
{
	struct sb_samples gpus[GPUS];
	uint32_t schemas[GPUS];
	struct kept kept[GPUS] = { 0 };
	uint64_t samples = seconds * GPU_HZ;
	double energy_j = 0;
	char path[1200];

	start(8 << 20);
	for (int g = 0; g < GPUS; g++) {
		open_gpu(&gpus[g], g);
		schemas[g] = gpus[g].schema;
	}
	for (uint64_t t = 1; t <= samples; t++) {
		double row[COLUMNS] = { [POWER] = 700, [MEMORY] = t == samples / 3 * 2 ? 79000 : 100 };

		energy_j += 700.0 / GPU_HZ;
		row[ENERGY] = energy_j;
		for (int g = 0; g < GPUS; g++)
			sb_samples_push(&gpus[g], t, row);
	}
	for (int g = 0; g < GPUS; g++)
		sb_samples_close(&gpus[g], samples);
	snprintf(path, sizeof path, "%s/run.strobe", strobe_run_dir());
	assert_int_equal(strobe_stop(), 0);
	read_back(path, schemas, kept);
	for (int g = 0; g < GPUS; g++) {
		assert_true(kept[g].energy_j == energy_j);
		assert_true(kept[g].memory_mb == 79000);
		assert_int_equal(kept[g].first, 1);
		assert_int_equal(kept[g].last, samples);
	}
	assert_int_equal(recount_lost(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			ten_days_keep_exact_energy_peaks_and_times, make_folder, remove_folder),
	};

	setenv("STROBE_MONITOR", "0", 1);
	setenv("STROBE_GENERATE_FINAL_REPORT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
