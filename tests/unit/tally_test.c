/* What /metrics counts from words of a recording, whatever they claim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "serve/tally.h"
#include "strobe.h"

#include <string.h>

enum { DEEP = 40000, NEAR_EACH = 300, BUDGET = 1 << 24, NAME = 7, OTHER = 8 };

static struct sb_tally tally;
static struct sb_tally_writer writer;

static int setup(void **state)
{
	struct sb_file_header head = { .clock_hz = 1000000000, .main_tid = 1 };

	memset(&writer, 0, sizeof writer);
	writer.tid = 1;
	return !sb_tally_init(&tally, &head);
}

static int teardown(void **state)
{
	sb_tally_done(&tally);
	return 0;
}

static void word(uint32_t kind, uint32_t id, uint64_t ticks)
{
	sb_tally_hot(&tally, &writer, &(struct sb_record){ .kind = kind, .id = id, .ticks = ticks });
}

static void an_end_without_a_begin_looks_at_few_open_zones(void **state)
{
	for (uint64_t i = 0; i < DEEP; i++)
		word(SB_BEGIN, NAME, i);
	for (uint64_t i = 0; i < DEEP; i++)
		word(SB_END, OTHER, DEEP + i);
	assert_true(tally.looked_count < 2ull * DEEP * NEAR_EACH + BUDGET); /* not DEEP * DEEP */
	word(SB_END, 0, 3 * DEEP);
	assert_int_equal(tally.zones, 1);
}

static void a_measured_span_looks_at_few_open_zones(void **state)
{
	uint64_t payload[4] = { 0, 0, 1, 0 };

	for (uint64_t i = 0; i < DEEP; i++)
		word(SB_BEGIN, i % 2 ? NAME : OTHER, 10 + i);
	for (uint64_t i = 0; i < DEEP; i++)
		sb_tally_hot(&tally, &writer,
			&(struct sb_record){ .kind = SB_LONG,
				.type = SB_SPAN,
				.aux = NAME,
				.words = 4,
				.payload = payload });
	assert_true(tally.looked_count < 4ull * DEEP * NEAR_EACH + BUDGET);
	assert_int_equal(tally.zones, DEEP);
}

static void a_look_begins_with_a_whole_budget(void **state)
{
	for (uint64_t i = 0; i < DEEP; i++)
		word(SB_BEGIN, i ? NAME : OTHER, i);
	for (uint64_t i = 0; i < 2000; i++)
		word(SB_END, 9, DEEP + i);
	word(SB_END, OTHER, 2 * DEEP); /* the outermost: beyond what may still be looked at */
	assert_int_equal(tally.zones, 0);
	sb_tally_refresh(&tally);
	word(SB_END, OTHER, 2 * DEEP);
	assert_int_equal(tally.zones, DEEP);
}

static void role(enum strobe_role role)
{
	sb_tally_hot(&tally, &writer,
		&(struct sb_record){ .kind = SB_ATTR, .id = SB_NAME_ROLE, .value = (int64_t)role });
}

/* As in the report: steps "denoise" in a section "denoise" are a stage inside it. */
static void steps_in_a_section_of_their_name_are_a_stage(void **state)
{
	const struct sb_tally_stage *stages, *outer = NULL, *steps = NULL;

	word(SB_BEGIN, 700, 0);
	for (uint64_t i = 0; i < 3; i++) {
		word(SB_BEGIN, 700, 10 + i * 10);
		role(STROBE_ROLE_STEP);
		word(SB_END, 0, 15 + i * 10);
	}
	word(SB_END, 0, 100);
	stages = tally.stages.items;
	for (size_t i = 0; i < tally.stages.count; i++)
		if (stages[i].calls)
			*(stages[i].role == STROBE_ROLE_STEP ? &steps : &outer) = &stages[i];
	assert_non_null(outer);
	assert_non_null(steps);
	assert_int_equal(outer->calls, 1);
	assert_int_equal(steps->calls, 3);
	assert_int_equal(steps->total_ns, 15);
	assert_int_equal(outer->self_ns, 85);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_end_without_a_begin_looks_at_few_open_zones, setup, teardown),
		cmocka_unit_test_setup_teardown(a_measured_span_looks_at_few_open_zones, setup, teardown),
		cmocka_unit_test_setup_teardown(a_look_begins_with_a_whole_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(
			steps_in_a_section_of_their_name_are_a_stage, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
