/* Which steps, pauses after them and generations are slow. What is kept of them is slow_record.c's business. */
#include "gpu/slow.h"

#include "format/run_keys.h"
#include "gpu/held.h"
#include "gpu/peers.h"
#include "gpu/same_step.h"
#include "gpu/setup.h"
#include "gpu/slow_record.h"
#include "gpu/watch.h"
#include "record/clock.h"
#include "record/put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECENT 128u
#define PATIENCE_S 2u /* with a GPU that gives no records */
#define ON_GPU 0x9e3779b97f4a7c15u /* a key's peers by the GPU's work are others than by the clock */
#define IN_PAUSE 0xc2b2ae3d27d4eb4fu /* and those of the pauses after steps others than of the steps */
#define OF_ITS_OWN 0x165667b19e3779f9u /* of the time without the backlog of earlier steps */
#define STARVED 0x27d4eb2f165667c5u /* of the time in which the GPU had nothing to do */

struct recent {
	struct sb_watch_news it;
	uint64_t median; /* of its peers by the clock; of a pause: with the step before it */
	uint64_t usual; /* of a pause: the longest but one of its peers */
	bool slow, judged;
	bool suspect; /* slow by the clock: its GPU records have the last word */
};

static struct sb_trace_spec spec;
static struct sb_peers peers;
static struct sb_same_steps same_steps;
static struct recent recent[RECENT]; /* steps, pauses after them and generations that ended */
static uint64_t recent_total;
static uint64_t start_ticks; /* of the watch */
static struct {
	uint64_t total, ticks;
} come; /* how many GPU records, and when the last of them came */
static struct sb_watch_news running; /* the step that began last; its end says whether it runs */
static struct {
	uint64_t seen, judged;
} steps, generations;

bool sb_slow_start(const struct sb_trace_spec *wanted)
{
	spec = *wanted;
	memset(&peers, 0, sizeof peers);
	memset(&same_steps, 0, sizeof same_steps);
	memset(&running, 0, sizeof running);
	recent_total = 0;
	start_ticks = sb_clock_ticks();
	memset(&come, 0, sizeof come);
	sb_slow_record_start(spec.moments);
	memset(&steps, 0, sizeof steps);
	memset(&generations, 0, sizeof generations);
	if (!sb_held_init() || !sb_watch_start())
		return false;
	sb_keep_meta_float(SB_META_RUN, SB_RUN_SLOW_WATCH, spec.slow_ratio);
	return true;
}

/* ---- what is kept -------------------------------------------------------- */

static const struct recent *recent_at(uint64_t back)
{
	return &recent[(recent_total - 1 - back) % RECENT];
}

static uint64_t recent_count(void)
{
	return recent_total < RECENT ? recent_total : RECENT;
}

/* The first ones of a kind were not judged: with what is known now they may be slow. */
static bool is_normal(const struct recent *r)
{
	uint64_t took = r->it.end_ticks - r->it.begin_ticks;

	if (r->slow || r->it.first)
		return false;
	return r->it.kind != SB_WATCH_ENDED ||
	       !sb_peers_slow(took, sb_peers_median(&peers, r->it.key), spec.slow_ratio, sb_clock_hz());
}

/* The last normal one of the same kind before it; NULL: none is remembered. */
static const struct recent *normal_before(const struct sb_watch_news *n)
{
	for (uint64_t i = 0; i < recent_count(); i++) {
		const struct recent *r = recent_at(i);

		if (is_normal(r) && r->it.kind == n->kind && r->it.role == n->role && r->it.tid == n->tid &&
			(r->it.key == n->key || !n->key) && r->it.end_ticks <= n->begin_ticks)
			return r;
	}
	return NULL;
}

/* Where the step before it began. */
static uint64_t begin_before(const struct sb_watch_news *n)
{
	for (uint64_t i = 0; n->role == STROBE_ROLE_STEP && i < recent_count(); i++) {
		const struct recent *r = recent_at(i);

		if (r->it.role == STROBE_ROLE_STEP && r->it.kind == SB_WATCH_ENDED && r->it.tid == n->tid &&
			r->it.end_ticks <= n->begin_ticks)
			return r->it.begin_ticks;
	}
	return n->begin_ticks;
}

static void keep(const struct sb_watch_news *n, const struct sb_slow_one *one, bool tracing)
{
	const struct recent *normal = normal_before(n);
	const struct sb_slow_beside beside = { .from_ticks = begin_before(n),
		.normal_begin_ticks = normal ? normal->it.begin_ticks : 0,
		.normal_end_ticks = normal ? normal->it.end_ticks : 0,
		.why = n->why };

	sb_slow_record_take(one, &beside, tracing);
}

/* ---- what is slow -------------------------------------------------------- */

static void judge_one(struct recent *r);

/* One that still waits to be judged is judged before it makes room. */
static void remember(const struct recent *r)
{
	struct recent *place = &recent[recent_total % RECENT];

	if (recent_total >= RECENT && !place->judged)
		judge_one(place);
	recent[recent_total++ % RECENT] = *r;
}

/* over: how much longer than its peers, by the measure it was judged by. */
static struct sb_slow_one one_of(
	const struct sb_watch_news *n, const char *by, uint64_t median, uint64_t over)
{
	return (struct sb_slow_one){ .what = n->role == STROBE_ROLE_STEP ? "step" : "generation",
		.by = by,
		.tid = n->tid,
		.index = n->index,
		.generation_ticks = n->generation_ticks,
		.begin_ticks = n->begin_ticks,
		.end_ticks = n->end_ticks,
		.median_ticks = median,
		.over_ticks = over };
}

static void keep_judged(
	const struct sb_watch_news *n, const char *by, uint64_t median, uint64_t over, bool tracing)
{
	struct sb_slow_one one = one_of(n, by, median, over);

	keep(n, &one, tracing);
}

static void count_judged(enum strobe_role role)
{
	if (role == STROBE_ROLE_STEP)
		steps.judged++;
	else
		generations.judged++;
}

/* What a step of most earlier generations took at the same place; 0: not known. measure: of the key's. */
static uint64_t usual_here(const struct sb_watch_news *n, uint64_t measure, uint64_t ticks)
{
	return n->role == STROBE_ROLE_STEP && n->generation_ticks
		       ? sb_same_step_add(&same_steps, n->key ^ measure, n->index, ticks)
		       : 0;
}

/* Slower than its peers, and than the same step of earlier generations: one that moves a model in every generation is not
 * slow, nor are those in which the clocks come up. */
static bool is_slow(uint64_t ticks, uint64_t median, uint64_t usual)
{
	return sb_peers_slow(ticks, median, spec.slow_ratio, sb_clock_hz()) &&
	       (double)ticks > (double)usual * spec.slow_ratio;
}

/* A generation is slow for its slow steps, where these explain half of it: they are the moment. Nor is it slow where half of it is
 * the backlog of earlier ones. */
static void keep_generation(const struct recent *r, bool tracing)
{
	uint64_t took = r->it.end_ticks - r->it.begin_ticks, over = took - r->median;
	uint64_t backlog = tracing ? sb_held_use(r->it.begin_ticks, r->it.end_ticks).backlog_ticks : 0;

	if (took - backlog >= over / 2 && sb_slow_record_cost_ticks(r->it.tid, r->it.begin_ticks) < over / 2)
		keep_judged(&r->it, "clock", r->median, over, tracing);
}

/* Without GPU records the clock decides. With them a step may only have waited for the GPU to do what was launched
 * before it: it is judged when they have come, and its generation after it. */
static void take_end(const struct sb_watch_news *n, bool tracing)
{
	uint64_t took = n->end_ticks - n->begin_ticks,
		 median = n->first ? 0 : sb_peers_add(&peers, n->key, took);
	bool slow = is_slow(took, median, n->first ? 0 : usual_here(n, 0, took));
	bool step = n->role == STROBE_ROLE_STEP, later = tracing && !n->first && (step || slow);
	struct recent r = { *n, median, 0, slow, !later, slow && later };

	if (step && running.tid == n->tid)
		running.end_ticks = n->end_ticks;
	if (step)
		sb_slow_record_end(n->tid, n->begin_ticks, n->end_ticks);
	if (step)
		steps.seen++;
	else
		generations.seen++;
	if ((!later || !step) && median)
		count_judged(n->role);
	if (slow && !later && step)
		keep_judged(n, "clock", median, took - median, tracing);
	else if (slow && !later)
		keep_generation(&r, tracing);
	remember(&r);
}

/* Longer than all pauses but one, and than that after the same step of earlier generations, by so much that the step with it is
 * slow: what a program does after every tenth step is no news. usual UINT64_MAX: not known. */
static bool is_rare(uint64_t pause, uint64_t usual, uint64_t here, uint64_t step_median)
{
	double more = usual < pause ? (double)(pause - usual) : 0;

	return step_median && (double)pause > (double)usual * spec.slow_ratio &&
	       (double)pause > (double)here * spec.slow_ratio &&
	       more > (double)step_median * (spec.slow_ratio - 1) && more > (double)sb_clock_hz() / 1000;
}

/* The step before it has been heard of: its median is that of its peers. */
static uint64_t step_median(const struct sb_watch_news *n)
{
	for (uint64_t i = 0; i < recent_count(); i++) {
		const struct recent *r = recent_at(i);

		if (r->it.kind == SB_WATCH_ENDED && r->it.tid == n->tid &&
			r->it.begin_ticks == n->begin_ticks)
			return r->median;
	}
	return 0;
}

/* By the clock. */
static uint64_t over_of_pause(const struct recent *r)
{
	uint64_t took = r->it.end_ticks - r->it.begin_ticks;

	return took > r->median ? took - r->median : 0;
}

static void take_pause(const struct sb_watch_news *n, bool tracing)
{
	uint64_t key = n->key ^ IN_PAUSE, pause = n->end_ticks - n->pause_ticks, of_step = step_median(n);
	struct recent r = { .it = *n, .usual = sb_peers_second(&peers, key), .judged = !tracing };
	uint64_t here = usual_here(n, IN_PAUSE, pause);
	bool slow;

	r.median = of_step + sb_peers_add(&peers, key, pause);
	slow = !n->first && is_rare(pause, r.usual, here, of_step);
	r.slow = slow;
	r.suspect = slow && tracing;
	if (slow && !tracing)
		keep_judged(n, "pause", r.median, over_of_pause(&r), false);
	remember(&r);
}

/* At an error, or because the user asked: the step that runs, else the last one, else the last second. */
static void take_asked(struct sb_watch_news n, bool tracing)
{
	struct sb_slow_one one;

	n.kind = SB_WATCH_ENDED; /* as what it is held against */
	n.role = STROBE_ROLE_STEP;
	n.tid = running.tid;
	n.begin_ticks = running.begin_ticks;
	if (!n.begin_ticks)
		n.begin_ticks = n.end_ticks - start_ticks < sb_clock_hz() ? start_ticks
									  : n.end_ticks - sb_clock_hz();
	one = one_of(&n, "-", 0, 0);
	one.what = !strcmp(n.why, "out of memory") ? "out_of_memory" : "asked";
	one.asked = true;
	keep(&n, &one, tracing);
}

static void take_news(bool tracing)
{
	struct sb_watch_news n;

	while (sb_watch_hear(&n)) {
		n.first |= (n.kind == SB_WATCH_ENDED || n.kind == SB_WATCH_PAUSED) &&
			   sb_setup_meets(n.begin_ticks, n.end_ticks);
		if (n.kind == SB_WATCH_ASKED) {
			take_asked(n, tracing);
		} else if (n.kind == SB_WATCH_ENDED) {
			take_end(&n, tracing);
		} else if (n.kind == SB_WATCH_PAUSED) {
			take_pause(&n, tracing);
		} else if (n.role == STROBE_ROLE_STEP) {
			running = n;
			sb_held_mark(n.begin_ticks);
		}
	}
}

/* A step's share of the time in which the program keeps its GPU busy: that of the slower one. */
static uint64_t pace(uint64_t key, uint64_t median)
{
	uint64_t on_gpu = sb_peers_median(&peers, key ^ ON_GPU);

	return median > on_gpu ? median : on_gpu;
}

/* By how much a step that is slow by the clock is slow; 0: it only waited for the backlog of the steps before, or the GPU worked
 * that off meanwhile. Else half of what it took longer is more than it usually takes without the backlog, or the GPU had nothing
 * to do for so long that the step after it comes late. */
static uint64_t over_by_clock(const struct recent *r)
{
	uint64_t took = r->it.end_ticks - r->it.begin_ticks, over = took - r->median;
	struct sb_held_use use = sb_held_use(r->it.begin_ticks, r->it.end_ticks);
	uint64_t own = took - use.backlog_ticks,
		 usual_own = sb_peers_add(&peers, r->it.key ^ OF_ITS_OWN, own);
	uint64_t usual_starved = sb_peers_add(
		&peers, r->it.key ^ STARVED, use.starved_ticks + 1); /* 0: not known */
	uint64_t pace_ticks = pace(r->it.key, r->median);

	if (!r->suspect)
		return 0;
	if (own >= usual_own + over / 2)
		return over;
	return usual_starved && sb_peers_slow(pace_ticks + use.starved_ticks, pace_ticks + usual_starved,
					spec.slow_ratio, sb_clock_hz())
		       ? use.starved_ticks - usual_starved
		       : 0;
}

/* A program that does not wait for its GPU is not slow where its kernels are: their own time is judged, too. */
static void judge(struct recent *r)
{
	uint64_t work = sb_held_work_ticks(r->it.begin_ticks, r->it.end_ticks);
	uint64_t median = work ? sb_peers_add(&peers, r->it.key ^ ON_GPU, work) : 0;
	uint64_t usual = work ? usual_here(&r->it, ON_GPU, work) : 0;
	uint64_t over = over_by_clock(r);

	if (r->median || median)
		count_judged(r->it.role);
	r->slow = over || is_slow(work, median, usual);
	if (over)
		keep_judged(&r->it, "clock", r->median, over, true);
	else if (r->slow)
		keep_judged(&r->it, "gpu", median, work - median, true);
}

/* What the program launched in a pause may run long after it, and a pause may only wait for the steps before, or pass while the
 * GPU works that off. */
static void judge_pause(struct recent *r)
{
	uint64_t from = r->it.pause_ticks, to = r->it.end_ticks, key = r->it.key ^ IN_PAUSE ^ ON_GPU;
	uint64_t work = sb_held_work_ticks(from, to), usual = sb_peers_second(&peers, key);
	uint64_t here = usual_here(&r->it, IN_PAUSE ^ ON_GPU, work);
	struct sb_held_use use = sb_held_use(from, to);
	uint64_t usual_starved = sb_peers_second(&peers, r->it.key ^ IN_PAUSE ^ STARVED);
	bool own = r->suspect && to - from - use.backlog_ticks >= (to - from - r->usual) / 2;
	bool starved = r->suspect && is_rare(use.starved_ticks, usual_starved, 0, pace(r->it.key, r->median));

	sb_peers_add(&peers, key, work);
	sb_peers_add(&peers, r->it.key ^ IN_PAUSE ^ STARVED, use.starved_ticks);
	r->slow = own || starved || (!r->it.first && is_rare(work, usual, here, r->median));
	if (r->slow)
		keep_judged(&r->it, "pause", r->median,
			own       ? over_of_pause(r)
			: starved ? use.starved_ticks - usual_starved
				  : work - usual,
			true);
}

static void judge_one(struct recent *r)
{
	r->judged = true;
	if (r->it.kind == SB_WATCH_PAUSED)
		judge_pause(r);
	else if (r->it.role == STROBE_ROLE_GENERATION)
		keep_generation(r, true);
	else
		judge(r);
}

/* When its thread's next step began, as far as that has ended; UINT64_MAX: none has. */
static uint64_t next_begin(const struct recent *r)
{
	uint64_t ticks = UINT64_MAX;

	for (uint64_t i = 0; i < recent_count(); i++) {
		const struct sb_watch_news *n = &recent_at(i)->it;

		if (n->tid == r->it.tid && n->begin_ticks >= r->it.end_ticks && n->begin_ticks < ticks)
			ticks = n->begin_ticks;
	}
	return ticks;
}

/* All that it launched is back: so is what was launched in the next step or some time later, or nothing comes at all. A GPU may be
 * many seconds behind. */
static bool has_come(const struct recent *r)
{
	uint64_t patience = PATIENCE_S * sb_clock_hz(), newest = sb_held_newest();
	uint64_t quiet = come.ticks > r->it.end_ticks ? come.ticks : r->it.end_ticks;

	return newest > next_begin(r) || newest > r->it.end_ticks + patience ||
	       sb_clock_ticks() > quiet + patience;
}

static void judge_recent(bool last)
{
	if (sb_held_total() != come.total) {
		come.total = sb_held_total();
		come.ticks = sb_clock_ticks();
	}
	for (uint64_t i = recent_count(); i-- > 0;) {
		struct recent *r = &recent[(recent_total - 1 - i) % RECENT];

		if (!r->judged && (last || has_come(r)))
			judge_one(r);
	}
}

/* A run that goes on unwatched has to say so. */
static void say_full(void)
{
	char why[96];

	snprintf(why, sizeof why, "what was asked for, or ran out of memory, took all %" PRIu32 " places",
		spec.moments);
	sb_keep_missing("slow moments from then on", why, "keep more of them: --gpu-trace=slow:1.5,10");
}

/* The rest of its step belongs to what was asked for. */
static bool asked_runs(void)
{
	return running.begin_ticks && !running.end_ticks &&
	       sb_slow_record_asked(running.tid, running.begin_ticks);
}

bool sb_slow_look(bool tracing)
{
	take_news(tracing);
	if (tracing)
		judge_recent(false);
	sb_slow_record_look(tracing, false);
	if (!sb_slow_record_full() || asked_runs())
		return true;
	say_full();
	return false;
}

/* A run in which nothing was slow has to say so: else it looks like one that was not watched. */
static void say_judged(void)
{
	char text[96];

	snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, steps.seen, steps.judged,
		generations.seen, generations.judged);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_SLOW_JUDGED, text);
}

void sb_slow_untrace(void)
{
	take_news(true);
	judge_recent(true);
	sb_slow_record_look(true, true);
}

void sb_slow_stop(bool tracing)
{
	sb_watch_stop();
	take_news(tracing);
	if (tracing)
		judge_recent(true);
	sb_slow_record_stop(tracing);
	say_judged();
	sb_held_done();
}
