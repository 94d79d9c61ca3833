/* The rule about the recording itself: what was lost, and what helps against that. */
#include "advise/rule.h"

#include "format/reader.h"

#include <string.h>

static const char *const remedies[SB_LOST_REASONS] = {
	[SB_LOST_NO_CHUNK] =
		"Raise max_trace_bytes, or record fewer zones; totals of folded zones stay exact.",
	[SB_LOST_DISK_FULL] = "Make room on the disk, or record to another one (output_dir).",
	[SB_LOST_KEEP_FULL] = "Raise max_trace_bytes, or sample and mark less often.",
	[SB_LOST_NAMES_FULL] = "Keep numbers and paths out of names: give them as attributes.",
	[SB_LOST_DIGEST_FULL] = "Keep numbers and paths out of names: give them as attributes.",
	[SB_LOST_DEVICE_FULL] = "Raise max_trace_bytes, or trace fewer steps or seconds than this run did.",
	[SB_LOST_GPU_POOL] = "Time larger zones on the GPU (steps, not layers): 8192 events can be in flight "
			     "in a process, in 16 contexts.",
	[SB_LOST_GPU_CAPTURE] = "Put the GPU zone around the replay of the CUDA graph: what is captured runs "
				"later and has no time of its own.",
	[SB_LOST_UNRESOLVED] =
		"Let the GPU finish (torch.cuda.synchronize()) before the session stops, and end "
		"GPU zones before their stream or context is destroyed.",
	[SB_LOST_DEPTH] = "Nest zones less deeply: a recursion may open one at every level.",
	[SB_LOST_CUPTI] =
		"The GPU's times and counts lack these records, nothing else does. CUPTI had buffers for "
		"them: a trace of fewer steps, or of one stage (strobe.gpu_trace()), may be whole.",
	[SB_LOST_GPU_BUFFER] = "Trace fewer steps or seconds than this run did, or a part that fewer threads "
			       "launch (each has buffers of its own): all 64 MiB of buffers were in use, "
			       "more than a busy machine could read.",
	[SB_LOST_GPU_TIME] =
		"Let the GPU finish before a trace ends, as torch.cuda.synchronize() at the end of "
		"strobe.gpu_trace() does: work that it has not done in time has no times.",
	[SB_LOST_GPU_WAIT] = "Wait for the GPU less often (.item(), synchronize()): 16384 waits fit between "
			     "two looks of strobe's.",
	[SB_LOST_GPU_HELD] = "Mark shorter steps or generations, or trace the slow one itself "
			     "(strobe.gpu_trace()): the last 131072 records are kept.",
	[SB_LOST_OPENING] =
		"Record to a folder that answers faster (output_dir), or start the session before "
		"the threads.",
};

static const char *remedy_of(const struct sb_drop *drop)
{
	for (int i = 0; i < SB_LOST_REASONS; i++)
		if (remedies[i] && !strcmp(sb_lost_key((enum sb_lost_reason)i), drop->reason))
			return remedies[i];
	return NULL;
}

/* Sections in compiled code are no loss: the compiler was asked to take them out. Nor is a long
 * string: its event is there. */
static bool is_loss(const struct sb_drop *drop)
{
	return strcmp(drop->reason, sb_lost_key(SB_LOST_COMPILED)) != 0 &&
	       strcmp(drop->reason, sb_lost_key(SB_LOST_STRING)) != 0;
}

/* What was lost most comes first; reasons may share their remedy. */
static const char *remedies_for(
	struct sb_advisor *a, const struct sb_recording_panel *r, const struct sb_drop *most)
{
	const char *all = remedy_of(most);

	for (size_t i = 0; all && i < r->drop_count; i++) {
		const char *more = is_loss(&r->drops[i]) ? remedy_of(&r->drops[i]) : NULL;

		if (more && !strstr(all, more))
			all = sb_say(a, "%s %s", all, more);
	}
	return all;
}

void sb_rule_events_dropped(struct sb_advisor *a)
{
	const struct sb_recording_panel *r = &a->model->recording;
	const struct sb_drop *most = NULL;
	int64_t lost = 0;
	const char *remedy;
	struct sb_advice *f;

	for (size_t i = 0; i < r->drop_count; i++) {
		if (!is_loss(&r->drops[i]))
			continue;
		lost += (int64_t)r->drops[i].count;
		most = !most || r->drops[i].count > most->count ? &r->drops[i] : most;
	}
	if (!most || !((double)lost > a->limit))
		return;
	f = sb_advisor_find(a, (double)lost, NAN,
		sb_say(a, "%lld event%s lost while recording", (long long)lost,
			lost == 1 ? " was" : "s were"),
		sb_say(a, "%lld of %lld events%s: %s", (long long)lost, (long long)(r->events + lost),
			(int64_t)most->count < lost ? "; mostly" : "", most->text));
	remedy = remedies_for(a, r, most);
	if (f && remedy)
		f->suggestion = remedy;
}
