/* The table of known stages and their knobs, and its reading against a run. A row is left out for stages
 * too small to pay, and said once for a stage and the stages inside it. */
#include "advise/strategies.h"

#include "advise/rule.h"
#include "advise/weigh.h"
#include "base/knob.h"
#include "base/role.h"

#include <stdlib.h>
#include <string.h>

#define WORTH_IT 0.01 /* of the wall time */
#define FEW_STEPS 4 /* below that a model has to be distilled for it */
#define STRATEGIES_MAX 40

/* The condition besides the kind of stage. */
enum need {
	ALWAYS,
	KNOB, /* the stage carries the knob */
	KNOB_FEW, /* and it is FEW_STEPS at most */
	KNOB_MANY, /* and it is more */
	NOT_COMPILED, /* the run compiles nothing, and the stage carries the knob */
	NOT_COMPILED_UNPADDED, /* … and nothing is padded yet */
	NOT_COMPILED_FIXED, /* … and does not carry it */
	CALLED_AGAIN, /* more than one call */
	FULL_PRECISION /* its precision is said to be FP32 */
};

struct row {
	enum strobe_role work; /* STAGE: decided by the words */
	const char *words[3]; /* any of them, at any place of the name */
	enum need need;
	const char *knob; /* NULL: none */
	double keep; /* this share of the knob's value is proposed; 0: no number */
	double saves; /* at most this share of the stage's time; 0: not known */
	enum sb_effort effort;
	const char *what; /* NULL: said by the knob's numbers */
	const char *trade_off;
};

#define TWO_THIRDS (2.0 / 3)

static const struct row rows[] = {
	{ STROBE_ROLE_STAGE, { "raft", "optical flow", "flow estim" }, KNOB, "iters", TWO_THIRDS, 0,
		SB_EFFORT_HOURS, NULL, "flow accuracy" },
	{ STROBE_ROLE_STAGE, { "raft", "optical flow", "flow estim" }, NOT_COMPILED, "iters", 0, 0,
		SB_EFFORT_DAYS, "torch.compile on the flow model: its shapes hardly change",
		"minutes of compiling per shape" },
	{ STROBE_ROLE_DENOISE, { NULL }, KNOB_MANY, "steps", TWO_THIRDS, 0, SB_EFFORT_HOURS, NULL,
		"detail and motion; a faster solver gives some of it back" },
	{ STROBE_ROLE_DENOISE, { NULL }, KNOB_FEW, "steps", TWO_THIRDS, 0, SB_EFFORT_DAYS, NULL,
		"detail; needs a model distilled for so few steps" },
	{ STROBE_ROLE_DENOISE, { NULL }, FULL_PRECISION, "precision", 0, 0.5, SB_EFFORT_HOURS,
		"FP16 or BF16 instead of FP32", "numerical range: compare the output" },
	{ STROBE_ROLE_DENOISE, { NULL }, NOT_COMPILED_UNPADDED, "frames", 0, 0, SB_EFFORT_WEEKS,
		"pad every video to one number of frames, mask what is padded, compile for that shape",
		"padded frames are computed and thrown away; memory" },
	{ STROBE_ROLE_DENOISE, { NULL }, NOT_COMPILED_FIXED, "frames", 0, 0, SB_EFFORT_DAYS,
		"torch.compile on the denoiser", "minutes of compiling; new shapes compile again" },
	{ STROBE_ROLE_VAE_ENCODE, { NULL }, KNOB, "batch", 2, 0, SB_EFFORT_HOURS, NULL,
		"memory grows with the batch" },
	{ STROBE_ROLE_VAE_ENCODE, { NULL }, NOT_COMPILED, "batch", 0, 0, SB_EFFORT_DAYS,
		"torch.compile on the VAE: batches of one size have one shape", "minutes of compiling" },
	{ STROBE_ROLE_VAE_DECODE, { NULL }, KNOB, "batch", 2, 0, SB_EFFORT_HOURS, NULL,
		"memory grows with the batch" },
	{ STROBE_ROLE_VAE_DECODE, { NULL }, KNOB, "tiles", 0.5, 0, SB_EFFORT_HOURS, NULL,
		"memory: larger tiles overlap less and hold more" },
	{ STROBE_ROLE_VAE_DECODE, { NULL }, FULL_PRECISION, "precision", 0, 0.5, SB_EFFORT_HOURS,
		"FP16 or BF16 instead of FP32", "some VAEs overflow in FP16: compare the output" },
	{ STROBE_ROLE_VAE_DECODE, { NULL }, ALWAYS, NULL, 0, 0, SB_EFFORT_DAYS,
		"decode in chunks, the next chunk's denoising beside it; offload what it does not need",
		"seams between chunks; memory for both" },
	{ STROBE_ROLE_TEXT_ENCODE, { NULL }, CALLED_AGAIN, NULL, 0, 0, SB_EFFORT_HOURS,
		"keep the embeddings of prompts that come again", "memory for the embeddings" },
	{ STROBE_ROLE_OFFLOAD, { NULL }, ALWAYS, NULL, 0, 1, SB_EFFORT_HOURS,
		"keep it on the GPU where it fits, or copy it while something else computes", "GPU memory" },
	{ STROBE_ROLE_DATA, { NULL }, ALWAYS, NULL, 0, 1, SB_EFFORT_HOURS,
		"read ahead in a worker while the GPU works", "RAM for what was read ahead" },
	{ STROBE_ROLE_EXPORT, { NULL }, ALWAYS, NULL, 0, 1, SB_EFFORT_HOURS,
		"encode on the GPU (NVENC), or in a thread beside the next video",
		"quality per bit of the hardware encoder" },
	{ STROBE_ROLE_STAGE, { "postprocess" }, CALLED_AGAIN, NULL, 0, 0, SB_EFFORT_HOURS,
		"take the frames as tensors (output_type=\"pt\"), copy them through pinned memory and make "
		"arrays of them in a thread beside the next video",
		"GPU memory for the frames of one video more" },
	{ STROBE_ROLE_STAGE, { "i/o", "reading", "fetch" }, ALWAYS, NULL, 0, 1, SB_EFFORT_HOURS,
		"read ahead in a worker while the GPU works; pass frames on in memory, not in files",
		"RAM for what was read ahead" },
	{ STROBE_ROLE_STAGE, { "deep copy", "deepcopy", "clone" }, ALWAYS, NULL, 0, 1, SB_EFFORT_HOURS,
		"copy only what is changed later, or nothing", "care with what is changed in place" },
	{ STROBE_ROLE_STAGE, { "blend", "blur", "composit" }, ALWAYS, NULL, 0, 1, SB_EFFORT_DAYS,
		"do it on the GPU, in batches", "GPU memory for the frames" },
	{ STROBE_ROLE_STAGE, { "upscal", "interpolat", "super resolution" }, KNOB, "tiles", 0.5, 0,
		SB_EFFORT_HOURS, NULL, "memory: larger tiles overlap less and hold more" },
};

/* ---- knobs of a stage ------------------------------------------------------ */

static const struct sb_stage_attr *attr_of(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; i < s->attr_count; i++)
		if (!strcmp(s->attrs[i].key, key))
			return &s->attrs[i];
	return NULL;
}

/* The knob's value in one call; NAN: the stage does not carry it. Steps that are zones of their own are
 * counted by chain: those of one video, or of one block. */
static double value_of(const struct sb_model *m, const struct sb_stage *s, const char *key)
{
	const struct sb_stage_attr *a = attr_of(s, key);

	if (a && !a->text && a->count > 0)
		return a->sum / (double)a->count;
	if (s->role == STROBE_ROLE_STEP && !strcmp(key, "steps") && m->diffusion.steps_per_chain > 0)
		return (double)m->diffusion.steps_per_chain;
	return NAN;
}

static bool compiles(const struct sb_model *m)
{
	for (size_t i = 0; i < m->stages.stage_count; i++)
		if (m->stages.stages[i].role == STROBE_ROLE_COMPILE)
			return true;
	return false;
}

static bool is_full_precision(const struct sb_stage *s)
{
	static const char *const keys[] = { "precision", "dtype" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct sb_stage_attr *a = attr_of(s, keys[i]);

		if (a && a->text && (strcasestr(a->text, "fp32") || strcasestr(a->text, "float32")))
			return true;
	}
	return false;
}

static bool pads_frames(const struct sb_model *m)
{
	for (size_t i = 0; i < m->padding.count; i++)
		if (!isnan(m->padding.all[i].padded_frames))
			return true;
	return false;
}

static bool needs_met(const struct sb_model *m, const struct sb_stage *s, const struct row *row)
{
	double value = row->knob ? value_of(m, s, row->knob) : NAN;

	switch (row->need) {
	case ALWAYS: return true;
	case KNOB: return value > 1;
	case KNOB_FEW: return value > 1 && value <= FEW_STEPS;
	case KNOB_MANY: return value > FEW_STEPS;
	case NOT_COMPILED_UNPADDED:
		if (pads_frames(m))
			return false; /* another finding says what that costs */
		/* fallthrough */
	case NOT_COMPILED: return value > 0 && (SB_STAGE_ROLES >> s->role & 1) && !compiles(m);
	case NOT_COMPILED_FIXED: return isnan(value) && !s->child_count && !compiles(m);
	case CALLED_AGAIN: return s->count > 1;
	case FULL_PRECISION: return is_full_precision(s);
	}
	return false;
}

static bool is_kind(const struct sb_stage *s, const struct row *row)
{
	if (sb_role_work(s->name, s->role) != row->work)
		return false;
	if (row->work != STROBE_ROLE_STAGE)
		return true;
	for (size_t i = 0; i < sizeof row->words / sizeof *row->words && row->words[i]; i++)
		if (strcasestr(s->name, row->words[i]))
			return true;
	return false;
}

/* ---- one strategy ---------------------------------------------------------- */

#define say(m, ...) sb_model_printf(m, __VA_ARGS__)

static const char *seconds(struct sb_model *m, double s)
{
	struct sb_advisor a = { .model = m };

	return sb_say_seconds(&a, s);
}

/* "3b.iters=8": the code, else the name where that is one word. */
static const char *trial(struct sb_model *m, const struct sb_stage *s, const char *knob, double value)
{
	if (s->code)
		return say(m, "%s.%s=%.0f", s->code, knob, value);
	return strpbrk(s->name, " \t=\"'") ? say(m, "'%s.%s=%.0f'", s->name, knob, value)
					   : say(m, "%s.%s=%.0f", s->name, knob, value);
}

/* "12 iterations of 7.94 s; 8 would save about 31.77 s". */
static void say_each(
	struct sb_model *m, const struct sb_stage *s, const struct sb_knob *knob, struct sb_strategy *f)
{
	double warm = s->role == STROBE_ROLE_STEP ? sb_weigh_warm_step_ratio(m)
						  : 1; /* the first step stays */

	f->each_s *= warm;
	f->gain_s = sb_stage_in_turn_s(m, s) * warm * (1 - f->proposed / f->now);
	f->gain_basis = "estimated";
	f->what = say(m, "%.6g %s of %s; %.6g would save about %s", f->now, knob->many, seconds(m, f->each_s),
		f->proposed, seconds(m, f->gain_s));
}

static void say_other(struct sb_model *m, const struct sb_knob *knob, struct sb_strategy *f)
{
	if (knob->law == SB_KNOB_BATCH)
		f->what = say(m,
			"batches of %.6g, try %.6g: half as many calls; a sweep tells what that saves",
			f->now, f->proposed);
	else
		f->what = say(m, "%.6g %s, try %.6g; a sweep tells what that saves", f->now, knob->many,
			f->proposed);
}

static double proposed(double now, double keep)
{
	double value = nearbyint(now * keep);

	if (value >= now && keep < 1)
		value = now - 1;
	return value < 1 ? 1 : value;
}

static double real_mean_s(const struct sb_stage *s)
{
	return s->count > 0 && s->moved_s != 0 ? (s->total_s + s->moved_s) / (double)sb_stage_calls(s)
					       : s->time.mean;
}

static void say_knob(
	struct sb_model *m, const struct sb_stage *s, const struct row *row, struct sb_strategy *f)
{
	const struct sb_knob *knob = sb_knob_find(row->knob);
	double sum = sb_stage_attr_total(s, row->knob);

	f->knob = knob->key;
	f->unit = knob->many;
	f->now = value_of(m, s, row->knob);
	f->proposed = proposed(f->now, row->keep);
	f->each_s = knob->law != SB_KNOB_EACH ? NAN
		    : sum > 0                 ? (s->total_s + s->moved_s) / sum
					      : real_mean_s(s);
	if (knob->law == SB_KNOB_EACH)
		say_each(m, s, knob, f);
	else
		say_other(m, knob, f);
	f->try_it = knob->law == SB_KNOB_OTHER ? NULL : trial(m, s, knob->key, f->proposed);
}

/* All moves of a model in the generations, wherever they happen, without the moves of others inside them. */
static double moves_s(const struct sb_model *m, const char *name)
{
	double sum_s = 0;

	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];

		if (s->role == STROBE_ROLE_OFFLOAD && s->in_generation && !strcmp(s->name, name))
			sum_s += sb_stage_worked_s(s);
	}
	return sum_s;
}

static void say_whole(
	struct sb_model *m, const struct sb_stage *s, const struct row *row, struct sb_strategy *f)
{
	double in_turn_s = row->work == STROBE_ROLE_OFFLOAD && s->in_generation ? moves_s(m, s->name)
			   : row->work == STROBE_ROLE_OFFLOAD                   ? sb_stage_worked_s(s)
										: sb_stage_in_turn_s(m, s);
	double most_s = row->need == CALLED_AGAIN ? in_turn_s - s->time.max : in_turn_s * row->saves;

	f->what = row->what;
	if (!(most_s > 0))
		return;
	f->gain_s = most_s;
	f->gain_basis = "bounded";
	f->what = say(m, "%s; saves %s at most", row->what, seconds(m, most_s));
}

static void add(struct sb_model *m, size_t stage, const struct row *row)
{
	const struct sb_stage *s = &m->stages.stages[stage];
	struct sb_strategy *f = &m->strategies.all[m->strategies.count++];

	*f = (struct sb_strategy){ .stage = (int64_t)stage,
		.stage_name = s->name,
		.code = s->code,
		.now = NAN,
		.proposed = NAN,
		.each_s = NAN,
		.gain_s = NAN,
		.effort = sb_effort_name(row->effort),
		.trade_off = row->trade_off };
	if (row->keep > 0)
		say_knob(m, s, row, f);
	else
		say_whole(m, s, row, f);
}

/* ---- the whole run --------------------------------------------------------- */

#define EDGE 0.75 /* of width and height */

/* Fewer pixels: all that computes on them takes its share less, at least. */
static void add_resolution(struct sb_model *m)
{
	const struct sb_summary_panel *s = &m->summary;
	const struct sb_diffusion_panel *d = &m->diffusion;
	double pixels_s = 0;
	const double parts[] = { d->denoise_s, d->vae_s, d->vae_encode_s };
	struct sb_strategy *f;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		pixels_s += parts[i] > 0 ? parts[i] : 0;
	pixels_s = fmin(pixels_s, m->stages.wall_s);
	if (m->generations.in_turn_ratio < 1 && m->generations.union_s > 0) /* the others run beside them */
		pixels_s *= fmin(
			1, m->generations.in_turn_ratio * m->generations.total_s / m->generations.union_s);
	if (!d->present || s->width <= 0 || s->height <= 0 || pixels_s < m->stages.wall_s * WORTH_IT)
		return;
	f = &m->strategies.all[m->strategies.count++];
	*f = (struct sb_strategy){ .stage = -1,
		.stage_name = "generation",
		.knob = "width",
		.now = (double)s->width,
		.proposed = nearbyint((double)s->width * EDGE / 16) * 16,
		.unit = "pixels",
		.each_s = NAN,
		.gain_s = pixels_s * (1 - EDGE * EDGE),
		.gain_basis = "estimated",
		.effort = sb_effort_name(SB_EFFORT_HOURS),
		.trade_off = "resolution; an upscaler gives some of it back" };
	f->what = say(m, "%lldx%lld, three quarters of each edge would save about %s", (long long)s->width,
		(long long)s->height, seconds(m, f->gain_s));
}

static void add_thresholds(struct sb_model *m)
{
	for (size_t i = 0; i < m->caches.cache_count && m->strategies.count < STRATEGIES_MAX; i++) {
		const struct sb_cache_entry *c = &m->caches.caches[i];
		struct sb_strategy *f;

		if (c->scored_misses < 10 || c->near_misses * 2 <= c->scored_misses)
			continue;
		f = &m->strategies.all[m->strategies.count++];
		*f = (struct sb_strategy){ .stage = -1,
			.stage_name = c->cache,
			.knob = "threshold",
			.now = c->threshold,
			.proposed = c->miss_score_median,
			.unit = "threshold",
			.each_s = NAN,
			.gain_s = NAN,
			.effort = sb_effort_name(SB_EFFORT_HOURS),
			.trade_off = "results of inputs that are only similar" };
		f->what = say(m, "cache threshold %.4g; half of the misses would hit at %.4g", c->threshold,
			c->miss_score_median);
	}
}

/* ---- all of them ----------------------------------------------------------- */

/* A row without a number is said once, about the largest stage. */
static bool said_before(const struct sb_model *m, const char *what)
{
	for (size_t i = 0; what && i < m->strategies.count; i++)
		if (m->strategies.all[i].what == what)
			return true;
	return false;
}

/* True if the same row was said about a stage around this one. */
static bool said_around(const struct sb_model *m, size_t stage, const char *trade_off)
{
	for (int64_t p = m->stages.stages[stage].parent; p >= 0; p = m->stages.stages[p].parent)
		for (size_t i = 0; i < m->strategies.count; i++)
			if (m->strategies.all[i].stage == p && m->strategies.all[i].trade_off == trade_off)
				return true;
	return false;
}

/* Where there are generations, weights that move before them are the start; all moves of a model in them are one row. */
static bool is_told_with_others(const struct sb_model *m, const struct sb_stage *s)
{
	if (s->role != STROBE_ROLE_OFFLOAD || m->generations.whole_run)
		return false;
	for (size_t i = 0; s->in_generation && i < m->strategies.count; i++)
		if (!strcmp(m->strategies.all[i].stage_name, s->name))
			return true;
	return !s->in_generation;
}

static int effort_order(const char *effort)
{
	int order = SB_EFFORT_HOURS;

	while (order < SB_EFFORT_WEEKS && strcmp(effort, sb_effort_name(order)))
		order++;
	return order;
}

static int by_effort_and_gain(const void *a, const void *b)
{
	const struct sb_strategy *x = a, *y = b;
	int order = effort_order(x->effort) - effort_order(y->effort);
	double gx = isnan(x->gain_s) ? 0 : x->gain_s, gy = isnan(y->gain_s) ? 0 : y->gain_s;

	if (order)
		return order;
	if (gx != gy)
		return gx > gy ? -1 : 1;
	return x->stage < y->stage ? -1 : x->stage > y->stage;
}

static bool worth_it(const struct sb_stage *s)
{
	return s->state == SB_STAGE_NORMAL && s->wall_ratio * sb_weigh_own_ratio(s) >= WORTH_IT &&
	       !s->setup && !s->other_thread && s->role != STROBE_ROLE_GENERATION &&
	       s->role != STROBE_ROLE_LAYER;
}

void sb_strategies_find(struct sb_model *m)
{
	struct sb_strategies_panel *found = &m->strategies;

	found->all = sb_model_alloc(m, STRATEGIES_MAX * sizeof *found->all);
	if (!found->all)
		return;
	add_resolution(m);
	add_thresholds(m);
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];

		for (size_t k = 0;
			worth_it(s) && !is_told_with_others(m, s) && k < sizeof rows / sizeof *rows; k++)
			if (found->count < STRATEGIES_MAX && is_kind(s, &rows[k]) &&
				needs_met(m, s, &rows[k]) && !said_around(m, i, rows[k].trade_off) &&
				!said_before(m, rows[k].what))
				add(m, i, &rows[k]);
	}
	qsort(found->all, found->count, sizeof *found->all, by_effort_and_gain);
}

/* ---- in the findings ------------------------------------------------------- */

static bool inside(const struct sb_model *m, int64_t stage, const char *name)
{
	for (; stage >= 0; stage = m->stages.stages[stage].parent)
		if (!strcmp(m->stages.stages[stage].name, name))
			return true;
	return false;
}

static const struct sb_strategy *best_at(const struct sb_model *m, const char *stage)
{
	const struct sb_strategy *best = NULL;

	for (size_t i = 0; i < m->strategies.count; i++) {
		const struct sb_strategy *s = &m->strategies.all[i];

		if (inside(m, s->stage, stage) && s->gain_s > (best ? best->gain_s : 0))
			best = s;
	}
	return best;
}

void sb_strategies_name(struct sb_advisor *a)
{
	struct sb_advice *all = a->found.items;

	for (size_t i = 0; i < a->found.count; i++) {
		const struct sb_strategy *best;

		if (strcmp(all[i].id, "stage_dominates") || !all[i].stage)
			continue;
		best = best_at(a->model, all[i].stage);
		if (!best)
			continue;
		all[i].suggestion = sb_say(a, "%s%s%s%s%s. Trade-off: %s.", best->code ? "[" : "",
			best->code ? best->code : "", best->code ? "] " : "",
			best->code ? sb_say(a, "%s: ", best->stage_name)
				   : sb_say(a, "'%s': ", best->stage_name),
			best->what, best->trade_off);
		all[i].effort = best->effort; /* its gain is a trade, not one of the findings' gains */
	}
}
