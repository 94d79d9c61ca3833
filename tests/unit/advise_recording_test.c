/* What is advised against losses of the recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

static void lost_events_are_named_with_their_reason(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "work", 0);
	sb_builder_lost(s.b, SB_LOST_DISK_FULL, 2, 0, SECOND);
	sb_builder_lost(s.b, SB_LOST_CUPTI, 7, 0, SECOND);
	m = synthetic_model(&s, SECOND);
	assert_near(finding(m, "events_dropped")->value, 9, 0);
	assert_non_null(strstr(finding(m, "events_dropped")->evidence, "; mostly: CUPTI dropped records"));
	assert_memory_equal(finding(m, "events_dropped")->suggestion, "The GPU's times", 15);
	assert_non_null(strstr(finding(m, "events_dropped")->suggestion, " Make room on the disk"));
	assert_null(strstr(finding(m, "events_dropped")->suggestion, "max_trace_bytes"));
	synthetic_done(&s);
}

/* Its event is there: nothing a reader has to act on. */
static void a_string_that_was_cut_is_no_lost_event(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "work", 0);
	sb_builder_lost(s.b, SB_LOST_STRING, 2, 0, SECOND);
	assert_null(finding(synthetic_model(&s, SECOND), "events_dropped"));
	synthetic_done(&s);
}

/* More room in the file brings none of these back. */
static void what_helps_against_a_loss_depends_on_its_reason(void **state)
{
	static const struct {
		enum sb_lost_reason reason;
		const char *helps;
	} cases[] = { { SB_LOST_GPU_CAPTURE, "around the replay of the CUDA graph" },
		{ SB_LOST_UNRESOLVED, "Let the GPU finish" }, { SB_LOST_GPU_POOL, "Time larger zones" },
		{ SB_LOST_DEVICE_FULL, "Raise max_trace_bytes" }, { SB_LOST_CUPTI, "CUPTI had buffers" },
		{ SB_LOST_GPU_BUFFER, "all 64 MiB of buffers were in use" },
		{ SB_LOST_GPU_TIME, "torch.cuda.synchronize()" }, { SB_LOST_GPU_WAIT, "16384 waits" },
		{ SB_LOST_GPU_HELD, "131072 records" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct synthetic s;
		const struct sb_advice *f;

		synthetic_open(&s);
		synthetic_stage(&s, 0, SECOND, "work", 0);
		sb_builder_lost(s.b, cases[i].reason, 1, 0, SECOND);
		sb_builder_lost(s.b, SB_LOST_COMPILED, 7, 0, SECOND); /* no loss, and no reason */
		f = finding(synthetic_model(&s, SECOND), "events_dropped");
		assert_string_equal(f->issue, "1 event was lost while recording");
		assert_non_null(strstr(f->evidence, sb_lost_text(cases[i].reason)));
		assert_non_null(strstr(f->suggestion, cases[i].helps));
		assert_null(strstr(f->suggestion, "steps:3")); /* it may be what was traced */
		assert_true(!strstr(f->suggestion, "max_trace_bytes") ==
			    (cases[i].reason != SB_LOST_DEVICE_FULL));
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_events_are_named_with_their_reason),
		cmocka_unit_test(a_string_that_was_cut_is_no_lost_event),
		cmocka_unit_test(what_helps_against_a_loss_depends_on_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
