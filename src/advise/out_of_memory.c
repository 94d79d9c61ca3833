/* The rule about memory that ran out: the first finding of a run that died of it. */
#include "advise/rule.h"
#include "advise/weigh.h"

#include "base/memory_units.h"

#include <string.h>

#define GB (1024 * SB_MB)
#define RESIDENTS_SAID 4

/* "27.1 GB"; less than one in megabytes. */
static const char *size_words(struct sb_advisor *a, double bytes)
{
	return bytes < GB ? sb_say(a, "%.0f MB", bytes / SB_MB) : sb_say(a, "%.1f GB", bytes / GB);
}

/* "weights of WanTransformer 27.1 GB (bfloat16), activations and other tensors 40.2 GB" */
static const char *residents_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	const char *words = "";

	for (size_t i = 0; i < p->resident_count && i < RESIDENTS_SAID; i++) {
		const struct sb_resident *r = &p->residents[i];

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
		"fragmentation: %.1f GB are reserved and in no use%s: it fits with "
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		slack / GB, pieces);
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
		"the request alone is larger than %s: %.1f of %.1f GB. It cannot fit, whatever is freed: a "
		"smaller "
		"size, fewer frames at a time, or tiles",
		has, p->requested_bytes / GB, room(p) / GB);
}

static const char *help_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	const struct sb_would_fit *first = p->would_fit_count ? p->would_fit : NULL;
	double most = 0;

	if (never_fits(p))
		return never_words(a, p);
	if (first && first->fits)
		return strcmp(first->free, "allocator slack") == 0
			       ? fragments_words(a, p, first->bytes)
			       : sb_say(a, "without the %s (%.1f GB) it fits: offload them before this stage",
					 first->free, first->bytes / GB);
	for (size_t i = 0; i < p->would_fit_count; i++)
		most += p->would_fit[i].bytes;
	if (first && most + p->free_bytes >= p->requested_bytes)
		return sb_say(a,
			"no single part gives enough; all weights and the slack together are %.1f GB",
			most / GB);
	if (first)
		return sb_say(a,
			"even without all weights and the slack (%.1f GB) it does not fit: a smaller size, "
			"fewer "
			"frames at a time, or tiles",
			most / GB);
	return NULL;
}

/* ": 8.00 GB were asked for, 1.00 GB were free"; of an error that does not tell nothing. */
static const char *asked_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	const char *asked = isnan(p->requested_bytes)
				    ? ""
				    : sb_say(a, ": %.2f GB were asked for", p->requested_bytes / GB);

	if (isnan(p->free_bytes))
		return asked;
	asked = sb_say(a, "%s%s%.2f GB were free", asked, *asked ? ", " : ": ", p->free_bytes / GB);
	return isnan(p->limit_bytes)
		       ? asked
		       : sb_say(a, "%s of the limit of %.2f GB it has", asked, p->limit_bytes / GB);
}

static const char *held_words(struct sb_advisor *a, const struct sb_out_of_memory_panel *p)
{
	if (p->resident_count)
		return sb_say(a, "held by %s", residents_words(a, p));
	if (!isnan(p->allocated_bytes))
		return sb_say(a, "%.1f GB were allocated", p->allocated_bytes / GB);
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
			sb_say(a, "held by %s", residents_words(a, p)));
	else
		f = sb_advisor_find(a, (double)p->count, NAN,
			sb_say(a, "%s ran out%s%s", p->device < 0 ? "memory" : "GPU memory", in,
				asked_words(a, p)),
			held_words(a, p));
	help = p->killed ? NULL : help_words(a, p);
	if (!help && p->killed && p->total_bytes > 0)
		help = sb_say(a, "the process's memory reached the limit of %s%s",
			size_words(a, p->total_bytes), in);
	sb_finding_cause(f, help ? help : "what is resident leaves no room for it", SB_GAIN_ESTIMATED,
		help ? SB_LIKELY : SB_POSSIBLE);
	if (!f)
		return;
	if (p->file && p->line > 0)
		sb_finding_line(f, p->file, (uint32_t)p->line);
	if (never_fits(p))
		f->suggestion =
			"Ask for less at a time: a smaller size, fewer frames, a smaller batch, or tiles "
			"(vae.enable_tiling() in diffusers).";
	if (p->stage)
		f->stage = f->where.stage = p->stage;
	f->rank_s = a->model->summary.wall_s * 1000; /* before everything else */
}
