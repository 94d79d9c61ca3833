/* The rules about memory that ran out: the first finding of a run that died of it, and an allocator that got memory only after it
 * had given its cache back. */
#include "advise/out_of_memory.h"

#include "advise/growth.h"
#include "advise/rule.h"
#include "advise/symptoms.h"
#include "advise/weigh.h"

#include "base/memory_units.h"

#include <string.h>

#define GB (1024 * SB_MB)
#define RESIDENTS_SAID 4
#define MUCH_FREE 0.05 /* of what there is */

/* "27.1 GB"; less than one in megabytes. */
static const char *size_words(struct sb_advisor *a, double bytes)
{
	return bytes < GB ? sb_say(a, "%.0f MB", bytes / SB_MB) : sb_say(a, "%.1f GB", bytes / GB);
}

/* "weights of WanTransformer 27.1 GB (bfloat16), activations and other tensors 40.2 GB" */
static const char *residents_words(struct sb_advisor *a, const struct sb_resident *all, size_t count)
{
	const char *words = "";

	for (size_t i = 0; i < count && i < RESIDENTS_SAID; i++) {
		const struct sb_resident *r = &all[i];

		words = sb_say(a, "%s%s%s %s%s%s%s", words, i ? ", " : "", r->component,
			size_words(a, r->bytes), r->dtype ? " (" : "", r->dtype ? r->dtype : "",
			r->dtype ? ")" : "");
	}
	return words;
}

/* "fragmentation: 3.0 GB are reserved and in no use, in 46 pieces of at most 64 MB: it fits with ..." */
static const char *fragments_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p, double slack)
{
	const char *pieces = "";

	if (p->piece_count > 0 && p->largest_piece_bytes > 0)
		pieces = sb_say(a, ", in %lld piece%s of at most %.0f MB", (long long)p->piece_count,
			p->piece_count == 1 ? "" : "s", p->largest_piece_bytes / SB_MB);
	return sb_say(a,
		"fragmentation: %s are reserved and in no use%s: it fits with "
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		size_words(a, slack), pieces);
}

/* What the request could have at most, if nothing else were there. */
static double room(const struct sb_out_of_memory_panel *p)
{
	return isnan(p->limit_bytes) ? p->total_bytes : fmin(p->limit_bytes, p->total_bytes);
}

static bool never_fits(const struct sb_out_of_memory_panel *p)
{
	return p->requested_bytes > room(p);
}

static const char *never_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	const char *has = !isnan(p->limit_bytes) ? "the program's limit"
			  : p->device < 0        ? "the host"
						 : "the device";

	return sb_say(a,
		"the request alone is larger than %s: %s of %s. It cannot fit, whatever is freed: a smaller "
		"size, fewer frames at a time, or tiles",
		has, size_words(a, p->requested_bytes), size_words(a, room(p)));
}

static const char *limit_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p, const char *in)
{
	return p->total_bytes > 0 ? sb_say(a, "the process's memory reached the limit of %s%s",
					    size_words(a, p->total_bytes), in)
				  : NULL;
}

/* Of an error that does not tell what was asked for: where much was free, it was a large request. */
static const char *large_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	return p->free_bytes >= MUCH_FREE * p->total_bytes
		       ? sb_say(a, "one request was for more than the %s that were free",
				 size_words(a, p->free_bytes))
		       : NULL;
}

static const char *help_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	const struct sb_would_fit *first = p->would_fit_count ? p->would_fit : NULL;
	double most = 0;

	if (never_fits(p))
		return never_words(a, p);
	if (isnan(p->requested_bytes))
		return large_words(a, p);
	if (first && first->fits)
		return strcmp(first->free, "allocator slack") == 0
			       ? fragments_words(a, p, first->bytes)
			       : sb_say(a, "without the %s (%s) it fits: offload them before this stage",
					 first->free, size_words(a, first->bytes));
	for (size_t i = 0; i < p->would_fit_count; i++)
		most += p->would_fit[i].bytes;
	if (first && most + p->free_bytes >= p->requested_bytes)
		return sb_say(a, "no single part gives enough; all weights and the slack together are %s",
			size_words(a, most));
	if (first)
		return sb_say(a,
			"even without all weights and the slack (%s) it does not fit: a smaller size, fewer "
			"frames at a time, or tiles",
			size_words(a, most));
	return NULL;
}

/* "8.00 GB", so that what was asked for and what was free differ; less in megabytes. */
static const char *exact_words(struct sb_advisor *a, double bytes)
{
	return bytes < GB ? sb_say(a, "%.1f MB", bytes / SB_MB) : sb_say(a, "%.2f GB", bytes / GB);
}

/* ": 8.00 GB were asked for, 1.00 GB were free"; of an error that does not tell nothing. */
static const char *asked_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	const char *asked = isnan(p->requested_bytes)
				    ? ""
				    : sb_say(a, ": %s were asked for", exact_words(a, p->requested_bytes));

	if (isnan(p->free_bytes))
		return asked;
	asked = sb_say(a, "%s%s%s were free", asked, *asked ? ", " : ": ", exact_words(a, p->free_bytes));
	return isnan(p->limit_bytes)
		       ? asked
		       : sb_say(a, "%s of the limit of %s it has", asked, exact_words(a, p->limit_bytes));
}

static const char *held_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	if (p->resident_count)
		return sb_say(a, "held by %s", residents_words(a, p->residents, p->resident_count));
	if (!isnan(p->allocated_bytes))
		return sb_say(a, "%s were allocated", size_words(a, p->allocated_bytes));
	return sb_say(a, "%lld time%s", (long long)p->count, p->count == 1 ? "" : "s");
}

/* ": 304 MB were resident at most, of 300 MB" */
static const char *most_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	if (!(p->allocated_bytes > 0) || !(p->total_bytes > 0))
		return "";
	return sb_say(a, ": %s resident at most, of %s", size_words(a, p->allocated_bytes),
		size_words(a, p->total_bytes));
}

/* The error is the end of what the retries began: one finding says both. */
static bool ended_in_error(const struct sb_model *model)
{
	const struct sb_out_of_memory_panel *p = &model->out_of_memory;
	const struct sb_alloc_retries_panel *r = &model->alloc_retries;

	if (!p->present || !r->present || p->device != r->device)
		return false;
	return p->stage && r->stage ? !strcmp(p->stage, r->stage) : p->stage == r->stage;
}

static const char *times_words(struct sb_advisor *a, int64_t count)
{
	return count == 1 ? "once" : sb_say(a, "%lld times", (long long)count);
}

void sb_rule_out_of_memory(struct sb_advisor *a)
{
	const struct sb_out_of_memory_panel *p = &a->model->out_of_memory;
	const char *in, *help;
	struct sb_advice *f;

	if (!p->present)
		return;
	in = p->stage ? sb_say(a, " in '%s'", p->stage) : "";
	if (p->killed)
		f = sb_advisor_find(a, (double)p->count, NAN,
			sb_say(a, "the kernel killed the run for its memory%s%s", in, most_words(a, p)),
			sb_say(a, "held by %s", residents_words(a, p->residents, p->resident_count)));
	else
		f = sb_advisor_find(a, (double)p->count, NAN,
			sb_say(a, "%s ran out%s%s", p->device < 0 ? "memory" : "GPU memory", in,
				asked_words(a, p)),
			held_words(a, p));
	help = p->killed ? limit_words(a, p, in) : help_words(a, p);
	sb_finding_cause(f, help ? help : "what is resident leaves no room for it", SB_GAIN_ESTIMATED,
		help ? SB_LIKELY : SB_POSSIBLE);
	if (!f)
		return;
	if (ended_in_error(a->model))
		f->evidence = sb_say(a, "%s; %s the allocator got memory by giving its cache back",
			f->evidence, times_words(a, a->model->alloc_retries.count));
	if (p->file && p->line > 0)
		sb_finding_line(f, p->file, (uint32_t)p->line);
	if (never_fits(p))
		f->suggestion =
			"Ask for less at a time: a smaller size, fewer frames, a smaller batch, or tiles "
			"(vae.enable_tiling() in diffusers).";
	if (p->stage)
		f->stage = f->where.stage = p->stage;
	if (!isnan(p->t_s)) { /* of all the stage's calls, the one */
		f->where.from_s = isnan(p->stage_begin_s) ? p->t_s : p->stage_begin_s;
		f->where.to_s = p->t_s;
	}
	f->rank_s = a->model->summary.wall_s * 1000; /* before everything else */
}

/* ---- what it stands for ---- */

#define LEAKED_LEAST 0.25 /* of what was held */

/* Without what leaks there would have been room: it is what the request lacked, or much of what was held. */
static bool is_of_leak(const struct sb_out_of_memory_panel *p, double leaked_bytes)
{
	double held = fmax(p->allocated_bytes, 0), missing = p->requested_bytes - p->free_bytes;

	return !never_fits(p) && leaked_bytes > 0 &&
	       (isnan(missing) || held > 0 ? leaked_bytes >= LEAKED_LEAST * held : leaked_bytes >= missing);
}

static void blame_leak(struct sb_advisor *a, struct sb_advice *f, const struct sb_advice *leak, double bytes)
{
	f->evidence = sb_say(a, "%s; %s of it came one by one: %s (%s)", f->evidence, size_words(a, bytes),
		leak->issue, leak->evidence);
	sb_finding_cause(f, sb_say(a, "memory leaks: %s", leak->cause), SB_GAIN_ESTIMATED,
		strcmp(leak->confidence, "likely") ? SB_POSSIBLE : SB_LIKELY);
	f->suggestion = leak->suggestion;
	if (leak->where.file)
		sb_finding_line(f, leak->where.file, leak->where.line);
}

void sb_out_of_memory_explain(struct sb_advisor *a)
{
	const struct sb_out_of_memory_panel *p = &a->model->out_of_memory;
	struct sb_advice *f = sb_symptoms_found(a, "out_of_memory"), *other;
	double leaked = sb_growth_leaked(a->model, p->device < 0);

	if (!f)
		return;
	other = sb_symptoms_found(a, "memory_leak");
	if (other && is_of_leak(p, leaked) && sb_symptoms_name(a, f, other->id)) {
		blame_leak(a, f, other, leaked);
		sb_symptoms_leave_out(a, other);
		f = sb_symptoms_found(a, "out_of_memory");
	}
	other = sb_symptoms_found(a, p->device < 0 ? "ram_limit" : "gpu_memory");
	if (other && sb_symptoms_name(a, f, other->id))
		sb_symptoms_leave_out(a, other);
}

/* ---- the allocator tries again ---- */

/* To order findings by: the cache goes back segment by segment, and each time the GPU is waited for. No saving is said. */
#define RETRY_COSTS_S 0.03
#define RARE 0.005 /* of the time */

/* "before the last time 61.2 GB of the 79.1 GB that the GPU has were allocated, and 17.0 GB more reserved; " */
static const char *full_words(struct sb_advisor *a, const struct sb_alloc_retries_panel *p)
{
	bool limited = !isnan(p->limit_bytes);
	double room_bytes = limited ? p->limit_bytes : p->total_bytes;
	const char *of = "";

	if (isnan(p->allocated_bytes) || isnan(p->slack_bytes))
		return "";
	if (!isnan(room_bytes))
		of = sb_say(a, " of the %s that the %s", size_words(a, room_bytes),
			limited ? "program may take" : "GPU has");
	return sb_say(a, "before the last time %s%s were allocated, and %s more reserved; ",
		size_words(a, p->allocated_bytes), of, size_words(a, p->slack_bytes));
}

static const struct sb_resident *largest_weights(const struct sb_alloc_retries_panel *p)
{
	for (size_t i = 0; i < p->resident_count; i++)
		if (!strncmp(p->residents[i].component, "weights of ", 11))
			return &p->residents[i];
	return NULL;
}

static const char *retries_cause(struct sb_advisor *a, const struct sb_alloc_retries_panel *p)
{
	const struct sb_resident *weights = largest_weights(p);
	const char *more = "";

	if (weights)
		more = sb_say(a, "; the largest model there is %s (%s)", weights->component + 11,
			size_words(a, weights->bytes));
	return sb_say(a,
		"each time the whole cache goes back to the driver, the GPU is waited for, and all of it is "
		"allocated anew%s",
		more);
}

void sb_rule_allocator_retries(struct sb_advisor *a)
{
	const struct sb_alloc_retries_panel *p = &a->model->alloc_retries;
	const char *given_back = "";
	struct sb_advice *f;

	if (!p->present || ended_in_error(a->model))
		return;
	if (p->given_back_bytes > 0)
		given_back = sb_say(a, ", and gave %s back", size_words(a, p->given_back_bytes));
	f = sb_advisor_find(a, (double)p->count, NAN,
		sb_say(a, "GPU memory was full%s: torch's allocator had to ask again %s%s",
			p->stage ? sb_say(a, " in '%s'", p->stage) : "", times_words(a, p->count),
			given_back),
		sb_say(a, "%sheld by %s", full_words(a, p),
			p->resident_count ? residents_words(a, p->residents, p->resident_count)
					  : "what is not known"));
	sb_finding_cause(f, retries_cause(a, p), SB_GAIN_ESTIMATED, SB_LIKELY);
	if (!f)
		return;
	if (p->stage)
		f->stage = f->where.stage = p->stage;
	f->rank_s = fmin((double)p->count * RETRY_COSTS_S, sb_weigh_work_s(a->model));
	if (f->rank_s < RARE * sb_weigh_work_s(a->model))
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
}
