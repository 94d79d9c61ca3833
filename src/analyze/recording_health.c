/* recording: what was recorded, what was lost and why, what it cost. */
#include "analyze/analysis.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define WRITERS_MOST (1u << 20)
#define COUNT_MOST (INT64_C(1) << 53) /* a damaged file may claim anything */

static void fill_drops(struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_panel *s = &m->recording;

	s->drops = sb_model_alloc(m, SB_LOST_REASONS * sizeof *s->drops);
	s->drop_reasons = sb_model_alloc(m, SB_LOST_REASONS * sizeof *s->drop_reasons);
	for (int i = 0; s->drops && s->drop_reasons && i < SB_LOST_REASONS; i++) {
		int64_t count = run->lost[i] < COUNT_MOST ? (int64_t)run->lost[i] : COUNT_MOST;

		if (!count)
			continue;
		s->drops[s->drop_count++] = (struct sb_drop){ sb_lost_key((enum sb_lost_reason)i),
			sb_lost_text((enum sb_lost_reason)i), count };
		s->drop_reasons[s->drop_reason_count++] = (struct sb_pair){
			.key = sb_lost_key((enum sb_lost_reason)i), .type = STROBE_TYPE_INT, .i = count
		};
		if (i != SB_LOST_COMPILED) /* the compiler was asked to take them out */
			s->dropped_count += count;
	}
}

/* While a file is written to, its chunks come and go. */
static bool is_moving(const struct sb_reader *r, int kind)
{
	return (kind == SB_DAMAGE_MISSING || kind == SB_DAMAGE_TRUNCATED) && sb_run_is_running(&r->head);
}

static void fill_damage(struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_panel *s = &m->recording;

	s->damage = sb_model_alloc(m, SB_DAMAGE_KINDS * sizeof *s->damage);
	for (int k = 0; s->damage && k < SB_DAMAGE_KINDS; k++) {
		struct sb_damaged *d = &s->damage[s->damage_count];

		for (uint32_t i = 0; i < run->process_count; i++) {
			const struct sb_reader *r = run->processes[i].reader;

			if (!r->damage[k].count || is_moving(r, k))
				continue;
			if (!d->count) {
				d->text = sb_damage_text((enum sb_damage)k);
				d->file = sb_model_text(m, r->path);
				d->first_offset = (int64_t)r->damage[k].first_offset;
			}
			d->count += (int64_t)r->damage[k].count;
			d->bytes += (int64_t)r->damage[k].bytes;
		}
		if (!d->count)
			continue;
		s->damage_count++;
		s->skipped_bytes += (double)d->bytes;
		sb_run_warn(run, "'%s' byte %lld: %s%s; %lld bytes lost", d->file, (long long)d->first_offset,
			d->text,
			d->count > 1 ? sb_model_printf(m, " (and %lld more)", (long long)d->count - 1) : "",
			(long long)d->bytes);
	}
	s->complete &= !s->damage_count;
	if (s->damage_count && !run->live)
		m->session.state = "damaged";
}

static const char *limit_words(uint32_t limit)
{
	switch (limit) {
	case SB_LIMIT_BUDGET: return "max_trace_bytes";
	case SB_LIMIT_DISK: return "disk full";
	case SB_LIMIT_FILE_SIZE: return "file size limit";
	case SB_LIMIT_RUN: return "max_run_bytes";
	default: return NULL;
	}
}

static void fill_limit(struct sb_run *run, struct sb_recording_panel *s)
{
	for (uint32_t i = 0; i < run->process_count && !s->limited_by; i++)
		s->limited_by = limit_words(run->processes[i].reader->head.limited_by);
}

#define UNSTOPPED_NAMED 3u

/* The main process heads the run; of the others the first few are named that were cut off. */
static void warn_unstopped(struct sb_run *run)
{
	uint32_t pids[UNSTOPPED_NAMED] = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_run_process *p = &run->processes[i];

		if (i == run->main_process || p->reader->head.closed || sb_run_is_running(&p->reader->head))
			continue;
		if (count < UNSTOPPED_NAMED)
			pids[count] = p->pid;
		count++;
	}
	if (count > UNSTOPPED_NAMED)
		sb_run_warn(run,
			"%u processes (%u, %u, %u, ...) ended without a stop: their open zones end at their "
			"last events",
			count, pids[0], pids[1], pids[2]);
	for (uint32_t i = 0; i < count && count <= UNSTOPPED_NAMED; i++)
		sb_run_warn(run, "process %u ended without a stop: its open zones end at its last event",
			pids[i]);
}

/* Threads that have recorded into the file and of which it holds nothing. */
static uint32_t silent_writers(const struct sb_reader *r)
{
	uint32_t count = r->head.writer_count < WRITERS_MOST ? r->head.writer_count : WRITERS_MOST;
	bool *seen = calloc(count + 1, sizeof *seen);
	uint32_t silent = 0;

	if (r->head.clock_kind ==
		SB_CLOCK_SYNTHETIC) /* made by a builder: its writers may have nothing to say */
		count = 0;
	for (uint32_t i = 0; seen && i < r->chunk_count; i++)
		if (r->chunks[i].writer <= count)
			seen[r->chunks[i].writer] = true;
	for (uint32_t i = 1; seen && i <= count; i++)
		silent += !seen[i];
	free(seen);
	return silent;
}

/* A file that was not closed cannot say how many chunks it should have. What hints
 * at one that is not there may also be a thread stopped while it took it. */
static void warn_unclosed(struct sb_run *run)
{
	uint64_t unfollowed = sb_run_pass(run)->unfollowed_chunks;

	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_reader *r = run->processes[i].reader;
		uint32_t silent = r->head.closed || sb_run_is_running(&r->head) ? 0 : silent_writers(r);

		if (silent)
			sb_run_warn(run,
				"'%s': %u of the %u threads that recorded left nothing: it was lost, or they "
				"had only just begun",
				r->path, silent, r->head.writer_count);
	}
	if (unfollowed && !run->live && !run->lost[SB_LOST_NO_CHUNK] && !run->lost[SB_LOST_DISK_FULL])
		sb_run_warn(run,
			"the last chunk of %llu thread%s is full and no other follows: it was lost, or the "
			"end came before it was taken",
			(unsigned long long)unfollowed, unfollowed == 1 ? "" : "s");
}

static void warn_import(struct sb_run *run)
{
	const struct sb_run_meta *note = sb_run_meta_find(run, SB_META_RUN, SB_RUN_IMPORT_NOTE);

	if (note && note->attr.type == STROBE_TYPE_STRING && *note->attr.s)
		sb_run_warn(run, "import: %s", note->attr.s);
}

/* Every word was written once; a folded one was read and summed up as well, which
 * costs about the same again. A thread's time is from its first word to its last,
 * the main thread's the whole of its process. */
static void fill_recording_cost(struct sb_run *run, struct sb_recording_panel *s)
{
	size_t count;
	const struct sb_writer_use *uses = sb_run_writers(run, &count);

	s->record_cost_s = s->recording_s = s->overhead_ratio = NAN;
	for (size_t i = 0; i < count; i++) {
		const struct sb_writer_use *use = &uses[i];
		const struct sb_run_process *p = &run->processes[use->process];
		double word_s = p->reader->head.record_ps / 1e12;
		int64_t ns = use->main ? p->end_ns - p->start_ns : use->last_ns - use->first_ns;

		if (!(word_s > 0))
			continue;
		s->record_cost_s = isnan(s->record_cost_s) ? word_s : fmax(s->record_cost_s, word_s);
		s->recording_s = (isnan(s->recording_s) ? 0 : s->recording_s) +
				 ((double)use->words + 2 * (double)use->folded_words) * word_s;
		s->threads_s += ns > 0 ? (double)ns / 1e9 : 0;
	}
	if (s->threads_s > 0)
		s->overhead_ratio = fmin(1, s->recording_s / s->threads_s);
}

static bool is_own(const struct sb_stage *s)
{
	return s->role == STROBE_ROLE_PROFILER && s->name && !strncmp(s->name, "strobe: ", 8);
}

static double own_stages_s(const struct sb_model *m)
{
	double sum_s = NAN;

	for (size_t i = 0; i < m->stages.stage_count; i++)
		if (is_own(&m->stages.stages[i]))
			sum_s = (isnan(sum_s) ? 0 : sum_s) + m->stages.stages[i].total_s;
	return sum_s;
}

#define CPU_SHARE_LEAST_S 1.0 /* a shorter run pays for the start of the monitors alone */

static void fill_cost(struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_panel *s = &m->recording;
	double wall_s = (double)run->wall_ns / 1e9;

	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_file_header *h = &run->processes[i].reader->head;

		s->bytes += (double)run->processes[i].reader->file_bytes;
		s->own_cpu_s += (double)h->own_cpu_ns / 1e9;
		s->waiting_s += (double)h->slow_ns / 1e9;
	}
	s->own_cpu_ratio = wall_s >= CPU_SHARE_LEAST_S ? s->own_cpu_s / wall_s : NAN;
	fill_recording_cost(run, s);
	s->own_stages_s = own_stages_s(m);
	s->files = run->process_count;
}

static int finish(void *self, struct sb_run *run, struct sb_model *m)
{
	struct sb_recording_panel *s = &m->recording;
	const struct sb_pass *pass = sb_run_pass(run);

	s->zones = (int64_t)(pass->zones + pass->folded_zones);
	s->events = (int64_t)(pass->zones + pass->folded_zones + pass->events);
	s->open_zones = (int64_t)pass->open_zones;
	s->folded_zones = (int64_t)pass->folded_zones;
	s->unmatched_ends = (int64_t)pass->unmatched_ends;
	s->complete = run->complete && !s->unrecorded_count;
	s->live = run->live;
	s->folded_until_s = pass->folded_until_ns == INT64_MIN ? NAN : (double)pass->folded_until_ns / 1e9;
	fill_drops(run, m);
	fill_damage(run, m);
	fill_limit(run, s);
	warn_unstopped(run);
	warn_unclosed(run);
	warn_import(run);
	fill_cost(run, m);
	if (run->is_cut && pass->folded_until_ns > run->from_ns)
		sb_run_warn(run,
			"before %.3f s only totals are kept (%s): this part of the run is not complete",
			s->folded_until_s, s->limited_by ? s->limited_by : "max_trace_bytes");
	if (pass->vanished_chunks)
		sb_run_warn(run,
			"%llu pieces of the file were rewritten while this was read: read it again for "
			"exact totals",
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
