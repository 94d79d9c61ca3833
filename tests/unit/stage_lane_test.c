/* Which stage most of each part of a run was in, of one run and of a job's ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/rank_stages.h"
#include "format/builder.h"
#include "report/build.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART 1000u /* ns of one of the lane's parts */
#define WHOLE (SB_STAGE_LANE_BINS * PART)

static char path[] = "/tmp/strobe-stage-lane-test-XXXXXX.strobe";
static struct sb_builder *builder;
static struct sb_stream_writer *thread;
static struct sb_run *run;
static struct sb_model *model;

static void begin(void)
{
	assert_int_equal(sb_builder_open(path, NULL, &builder), 0);
	thread = sb_builder_thread(builder, 0, NULL);
}

static void open_zone(uint64_t part, const char *name, enum strobe_role role)
{
	sb_builder_begin(thread, part * PART, sb_builder_name(builder, name, NULL));
	if (role)
		sb_builder_role(thread, role);
}

static void close_zone(uint64_t part)
{
	sb_builder_end(thread, part * PART, 0);
}

static void zone(uint64_t from, uint64_t to, const char *name)
{
	open_zone(from, name, STROBE_ROLE_STAGE);
	close_zone(to);
}

static const struct sb_stage_lane *lane(void)
{
	assert_int_equal(sb_builder_close(builder, WHOLE), 0);
	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_report_build(run, NULL, &model), 0);
	return &model->stage_lane;
}

static void done(void)
{
	sb_model_free(model);
	sb_run_close(run);
}

static const char *at(const struct sb_stage_lane *l, uint32_t part)
{
	return l->bins[part] == SB_STAGE_LANE_NONE ? "-" : l->names[l->bins[part]];
}

/* A zone around everything and the videos in it say nothing; where a video is in no stage it is named itself. */
static void stages_are_seen_through_videos_and_what_is_around_them(void **state)
{
	const struct sb_stage_lane *l;

	(void)state;
	begin();
	open_zone(10, "main", STROBE_ROLE_STAGE);
	zone(10, 20, "load");
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t from = 20 + i * 100;

		open_zone(from, "video", STROBE_ROLE_GENERATION);
		open_zone(from, "denoise", STROBE_ROLE_STAGE);
		for (uint64_t step = 0; step < 4; step++) {
			open_zone(from + step * 10, "step", STROBE_ROLE_STEP);
			zone(from + step * 10, from + step * 10 + 9, "transformer");
			close_zone(from + step * 10 + 10);
		}
		close_zone(from + 60);
		zone(from + 70, from + 90, "decode");
		close_zone(from + 100);
	}
	close_zone(220);
	l = lane();
	assert_string_equal(at(l, 5), "-");
	assert_string_equal(at(l, 15), "load");
	assert_string_equal(at(l, 25), "denoise");
	assert_string_equal(at(l, 85), "video");
	assert_string_equal(at(l, 100), "decode");
	assert_string_equal(at(l, 130), "denoise");
	assert_string_equal(at(l, 230), "-");
	done();
}

static void most_of_a_part_counts(void **state)
{
	const struct sb_stage_lane *l;

	(void)state;
	begin();
	for (uint64_t i = 0; i < 10; i++) {
		sb_builder_begin(thread, i * PART + 100, sb_builder_name(builder, "short", NULL));
		sb_builder_end(thread, i * PART + 300, 0);
		sb_builder_begin(thread, i * PART + 300, sb_builder_name(builder, "long", NULL));
		sb_builder_end(thread, i * PART + (i < 5 ? 900 : 500), 0);
	}
	zone(100, 200, "rest");
	l = lane();
	assert_string_equal(at(l, 3), "long");
	assert_string_equal(at(l, 7), "-"); /* 0.6 of it are in no zone */
	done();
}

static void more_names_than_there_is_room_for_are_others(void **state)
{
	const struct sb_stage_lane *l;
	char name[16];

	(void)state;
	begin();
	for (uint64_t i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "stage %d", (int)i);
		zone(i * 5, i * 5 + 5, name);
	}
	l = lane();
	assert_int_equal(l->name_count, SB_STAGE_LANE_NAMES);
	assert_string_equal(at(l, 2), "stage 0");
	assert_string_equal(at(l, 199), "(other stages)");
	done();
}

/* The second rank began when half of the first one's time was over, and names one stage more. */
static void ranks_share_their_names_and_one_clock(void **state)
{
	const char *first_names[] = { "denoise", "decode" },
		   *second_names[] = { "decode", "denoise", "save" };
	uint8_t first[SB_STAGE_LANE_BINS], second[SB_STAGE_LANE_BINS], wait[3 * 8] = { 0 };
	struct sb_aggregate_rank ranks[] = { { .stage_lane = { first_names, 2, first } },
		{ .stage_lane = { second_names, 3, second } }, { .rank = 2 } };
	struct sb_lane_span spans[] = { { 0, 8 }, { 4, 8 }, { 0, 8 } };
	struct sb_aggregate a = { .ranks = ranks, .rank_count = 3 };
	struct sb_rank_lanes lanes = { 1, 8, wait, spans };
	struct sb_lane_letters letters = { 0 };

	(void)state;
	for (uint32_t i = 0; i < SB_STAGE_LANE_BINS; i++) {
		first[i] = i < 180 ? 0 : 1;
		second[i] = i < 60 ? 2 : i < 120 ? SB_STAGE_LANE_NONE : i < 180 ? 1 : 0;
	}
	assert_int_equal(sb_rank_stages_of(&a, &lanes, &letters), 0);
	assert_int_equal(letters.stage_name_count, 3);
	assert_string_equal(letters.stage_names[0], "denoise");
	assert_string_equal(letters.stage_names[1], "decode");
	assert_string_equal(letters.stages[0], "aaaaaabb");
	assert_string_equal(letters.stages[1], "....c-ab");
	assert_string_equal(letters.stages[2], "????????");
	for (size_t i = 0; i < letters.stage_rank_count; i++)
		free(letters.stages[i]);
	free(letters.stages);
	free(letters.stage_names);
}

static int setup(void **state)
{
	int fd = mkstemps(path, 7);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages_are_seen_through_videos_and_what_is_around_them),
		cmocka_unit_test(most_of_a_part_counts),
		cmocka_unit_test(more_names_than_there_is_room_for_are_others),
		cmocka_unit_test(ranks_share_their_names_and_one_clock),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
