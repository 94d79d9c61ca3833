/* recording: what was recorded, what was lost and why, what it cost. */
#include "analyze/model.h"

#include <string.h>

#define COUNT_MOST (INT64_C(1) << 53) /* a damaged file may claim anything */

static void fill_drops(struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_section *s = &m->recording;

	s->drops = sb_model_alloc(m, SB_LOST_REASONS * sizeof *s->drops);
	for (int i = 0; s->drops && i < SB_LOST_REASONS; i++) {
		int64_t count = run->lost[i] < COUNT_MOST ? (int64_t)run->lost[i] : COUNT_MOST;

		if (!count)
			continue;
		s->drops[s->drop_count++] = (struct sb_drop){ sb_lost_key((enum sb_lost_reason)i),
			sb_lost_text((enum sb_lost_reason)i), count };
		if (i != SB_LOST_COMPILED) /* the compiler was asked to take them out */
			s->dropped_count += count;
	}
}

static void fill_damage(struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_section *s = &m->recording;

	s->damage = sb_model_alloc(m, SB_DAMAGE_KINDS * sizeof *s->damage);
	for (int k = 0; s->damage && k < SB_DAMAGE_KINDS; k++) {
		int64_t count = 0;

		for (uint32_t i = 0; i < run->process_count; i++) {
			const struct sb_reader *r = run->processes[i].reader;

			if (!r->damage[k].count)
				continue;
			if (!count)
				sb_run_warn(run, "'%s' byte %llu: %s; %llu bytes skipped", r->path,
					(unsigned long long)r->damage[k].first_offset,
					sb_damage_text((enum sb_damage)k),
					(unsigned long long)r->damage[k].bytes);
			count += (int64_t)r->damage[k].count;
			s->skipped_bytes += (double)r->damage[k].bytes;
		}
		if (count)
			s->damage[s->damage_count++] = (struct sb_drop){ sb_damage_text((enum sb_damage)k),
				sb_damage_text((enum sb_damage)k), count };
	}
}

static void fill_cost(struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_section *s = &m->recording;

	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_file_header *h = &run->processes[i].reader->head;

		s->bytes += (double)run->processes[i].reader->file_bytes;
		s->own_cpu_s += (double)h->own_cpu_ns / 1e9;
		s->slow_path_s += (double)h->slow_ns / 1e9;
	}
	s->overhead_ratio = run->wall_ns > 0 ? (s->own_cpu_s + s->slow_path_s) / ((double)run->wall_ns / 1e9)
					     : NAN;
	s->files = run->process_count;
}

static int finish(void *self, struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_section *s = &m->recording;
	const struct sb_pass *pass = sb_run_pass(run);

	s->zones = (int64_t)(pass->zones + pass->folded_zones);
	s->events = (int64_t)(pass->zones + pass->folded_zones + pass->events);
	s->open_zones = (int64_t)pass->open_zones;
	s->folded_zones = (int64_t)pass->folded_zones;
	s->unmatched_ends = (int64_t)pass->unmatched_ends;
	s->complete = run->complete;
	s->live = run->live;
	s->folded_until_s = pass->folded_until_ns == INT64_MIN ? NAN : (double)pass->folded_until_ns / 1e9;
	fill_drops(run, m);
	fill_damage(run, m);
	fill_cost(run, m);
	if (run->is_cut && pass->folded_until_ns > run->from_ns)
		sb_run_warn(run,
			"the detail before %.3f s was folded to stay within max_trace_bytes: "
			"this part of the run is not complete",
			s->folded_until_s);
	if (pass->vanished_chunks)
		sb_run_warn(run,
			"%llu chunks were folded while this was read: read it again for exact totals",
			(unsigned long long)pass->vanished_chunks);
	s->warnings = sb_model_alloc(m, (run->warning_count + 1) * sizeof *s->warnings);
	for (uint32_t i = 0; s->warnings && i < run->warning_count; i++)
		s->warnings[s->warning_count++] = sb_model_text(m, run->warnings[i]);
	return 0;
}

const struct sb_analysis sb_analysis_recording = {
	.name = "recording",
	.finish = finish,
};
