/* Slow moments, key by key. */
#include "analyze/model_slow_moments.h"

static const struct sb_field moment_part_rows[] = {
	SB_FIELD(sb_slow_part, kind, "kind", SB_ALWAYS,
		"\"kernel\", \"copy\" (or fill), \"stage\" (its own time), \"garbage\" (collections of a "
		"millisecond or more), \"function\" (sampled)"),
	SB_FIELD(sb_slow_part, name, "name", SB_ALWAYS, "name of the kernel, copy, stage or function"),
	SB_FIELD(sb_slow_part, file, "file", SB_KNOWN,
		"where that function is written; functions are those of the thread that ran the step"),
	SB_FIELD(sb_slow_part, line, "line", SB_KNOWN, "the line of it that most of the time was in"),
	SB_FIELD(sb_slow_part, inside, "inside", SB_KNOWN,
		"the function of a library that it had called there, such as a wait"),
	SB_FIELD(sb_slow_part, count, "count", SB_ALWAYS, "in the slow one: launches, calls, samples"),
	SB_FIELD(sb_slow_part, normal_count, "normal_count", SB_ALWAYS, "in the normal one"),
	SB_FIELD(sb_slow_part, total_s, "total_s", SB_ALWAYS, "in the slow one"),
	SB_FIELD(sb_slow_part, normal_s, "normal_s", SB_ALWAYS, "in the normal one"),
	SB_FIELD(sb_slow_part, more_s, "more_s", SB_ALWAYS, "total_s less normal_s"),
};
static SB_FIELDS(moment_part, sb_slow_part, "SlowMomentPart", "What took longer than in the normal one.");

static const struct sb_field moment_counter_rows[] = {
	SB_FIELD(sb_slow_counter, counter, "counter", SB_ALWAYS,
		"\"sm_active_percent\", \"tensor_active_percent\", \"dram_active_percent\" …"),
	SB_FIELD(sb_slow_counter, percent, "percent", SB_KNOWN, "mean of the samples inside the slow one"),
	SB_FIELD(sb_slow_counter, normal_percent, "normal_percent", SB_KNOWN, "inside the normal one"),
};
static SB_FIELDS(moment_counter, sb_slow_counter, "SlowMomentCounter",
	"What the GPU's counters said meanwhile (--gpu-counters=slow).");

SB_FIELD_WHEN(is_row, sb_slow_row, it->count > 1)

static const struct sb_field moment_row_rows[] = {
	SB_FIELD(sb_slow_row, count, "count", SB_ALWAYS, "how many there were in a row"),
	SB_FIELD(sb_slow_row, first_step, "first_step_index", SB_KNOWN, "the pipeline's own number"),
	SB_FIELD(sb_slow_row, last_step, "last_step_index", SB_KNOWN, "of the last one"),
	SB_FIELD(sb_slow_row, t_s, "t_s", SB_ALWAYS, "when the first one began", .range = SB_SIGNED),
	SB_FIELD(sb_slow_row, duration_s, "duration_s", SB_ALWAYS, "up to the end of the last one"),
	SB_FIELD(sb_slow_row, slowest_ratio, "slowest_ratio", SB_KNOWN,
		"the slowest over the median of its peers, by the measure it was judged by"),
	SB_FIELD(sb_slow_row, words, "words", SB_ALWAYS, "the same in words"),
};
static SB_FIELDS(moment_row, sb_slow_row, "SlowRow",
	"Steps or generations that were slow one after the other.", .present = is_row);

static const struct sb_field sb_slow_moment_fields_rows[] = {
	SB_FIELD(sb_slow_moment, what, "what", SB_ALWAYS,
		"\"step\", \"generation\", \"out_of_memory\", \"asked\""),
	SB_FIELD(sb_slow_moment, judged_by, "judged_by", SB_KNOWN,
		"\"clock\": its time, \"gpu\": the time of what it launched, \"pause\": that after it, up to "
		"the next step"),
	SB_FIELD(sb_slow_moment, why, "why", SB_KNOWN, "why it was caught, where it was asked for"),
	SB_FIELD(sb_slow_moment, step, "step_index", SB_KNOWN, "the pipeline's own number"),
	SB_FIELD(sb_slow_moment, generation, "generation_index", SB_KNOWN,
		"the generation that it lies in, from 1, as --generation takes it; absent: none, or several "
		"that ran at once"),
	SB_FIELD(sb_slow_moment, t_s, "t_s", SB_ALWAYS, "when it began", .range = SB_SIGNED),
	SB_FIELD(sb_slow_moment, duration_s, "duration_s", SB_ALWAYS, "how long it took"),
	SB_FIELD(sb_slow_moment, normal_t_s, "normal_t_s", SB_KNOWN, "when the normal one began",
		.range = SB_SIGNED),
	SB_FIELD(sb_slow_moment, normal_s, "normal_duration_s", SB_KNOWN, "how long that took"),
	SB_FIELD(sb_slow_moment, peer_s, "peer_median_s", SB_KNOWN,
		"of the last ones of its kind, by the measure it was judged by"),
	SB_FIELD(sb_slow_moment, work_s, "gpu_work_s", SB_KNOWN, "kernels and copies it launched, added up"),
	SB_FIELD(sb_slow_moment, normal_work_s, "normal_gpu_work_s", SB_KNOWN, "the same of the normal one"),
	SB_FIELD(sb_slow_moment, idle_s, "gpu_idle_s", SB_KNOWN,
		"time in which the GPU was idle between the first and the last of these"),
	SB_FIELD(sb_slow_moment, normal_idle_s, "normal_gpu_idle_s", SB_KNOWN, "the same of the normal one"),
	SB_FIELD_LIST(sb_slow_moment, counters, counter_count, "counters", SB_KNOWN, moment_counter,
		"sampled counters of both, where there are samples"),
	SB_FIELD_LIST(sb_slow_moment, parts, part_count, "parts", SB_KNOWN, moment_part,
		"what took longer: kernels, copies, stages, functions, each largest first; all of its time "
		"where "
		"there is no normal one"),
	SB_FIELD_STRUCT(sb_slow_moment, row, "row", SB_KNOWN, moment_row,
		"where several were slow one after the other: these; all else is of the slowest one"),
	SB_FIELD(sb_slow_moment, words, "words", SB_KNOWN, "where the time went, in a sentence"),
};
SB_FIELDS(sb_slow_moment_fields, sb_slow_moment, "SlowMoment",
	"A slow moment that was caught, beside a normal one.");

SB_FIELD_WHEN(was_watched, sb_slow_watch, it->known)

static const struct sb_field sb_slow_watch_fields_rows[] = {
	SB_FIELD(sb_slow_watch, ratio, "slow_ratio", SB_ALWAYS,
		"slow is so many times the median of its peers"),
	SB_FIELD(sb_slow_watch, steps, "step_count", SB_KNOWN,
		"steps that the watch saw end; absent where it did not end, as in a program that was killed"),
	SB_FIELD(sb_slow_watch, steps_judged, "judged_step_count", SB_KNOWN,
		"those of them that had peers: not the first of a generation, nor those with fewer than four "
		"of their kind before them"),
	SB_FIELD(sb_slow_watch, generations, "generation_count", SB_KNOWN, "generations that it saw end"),
	SB_FIELD(sb_slow_watch, generations_judged, "judged_generation_count", SB_KNOWN,
		"those of them that had peers"),
	SB_FIELD(sb_slow_watch, slow_count, "slow_count", SB_ALWAYS,
		"how many were caught for being slow: those of slow_moments"),
	SB_FIELD(sb_slow_watch, displaced, "displaced_count", SB_ALWAYS,
		"slow moments that were kept and gave way to slower ones, or to what was asked for"),
	SB_FIELD(sb_slow_watch, unkept, "unkept_count", SB_KNOWN,
		"slow moments that were not kept beside those"),
	SB_FIELD(sb_slow_watch, words, "words", SB_ALWAYS, "the same in a sentence"),
};
SB_FIELDS(sb_slow_watch_fields, sb_slow_watch, "SlowWatch",
	"What a watch for slow moments (--gpu-trace=slow:1.5) looked at.", .present = was_watched,
	SB_FLAG(sb_slow_watch, known));
