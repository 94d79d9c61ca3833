/* Which moments are slow, and what is kept of each: itself, the one before it, and a normal one. */
#include "gpu/slow.h"

#include "format/run_keys.h"
#include "gpu/counters.h"
#include "gpu/held.h"
#include "gpu/kept_moments.h"
#include "gpu/peers.h"
#include "gpu/setup.h"
#include "gpu/watch.h"
#include "record/clock.h"
#include "record/put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECENT 128u
#define PATIENCE_S 2u /* for GPU records of a step */
#define ON_GPU 0x9e3779b97f4a7c15u /* a key's peers by the GPU's work are others than by the clock */
#define IN_PAUSE 0xc2b2ae3d27d4eb4fu /* and those of the pauses after steps others than of the steps */
#define HOW "see docs/gpu.md, 'The slow moment'"

struct recent {
	struct sb_watch_news it;
	uint64_t median; /* of its peers by the clock; of a pause: with the step before it */
	uint64_t usual; /* of a pause: the longest but one of its peers */
	bool slow, judged;
	bool suspect; /* slow by the clock: its GPU records have the last word */
};

static struct sb_trace_spec spec;
static struct sb_peers peers;
static struct recent recent[RECENT]; /* steps, pauses after them and generations that ended */
static uint64_t recent_total;
static struct sb_watch_news running; /* the step that began last; its end says whether it runs */
static struct sb_kept_moments kept; /* launches whose records are written, also those that come late */
static uint32_t kept_count;
static uint64_t kernels, unwritten;
static struct {
	uint64_t seen, judged;
} steps, generations;

bool sb_slow_start(const struct sb_trace_spec *wanted)
{
	spec = *wanted;
	memset(&peers, 0, sizeof peers);
	memset(&running, 0, sizeof running);
	recent_total = kernels = unwritten = 0;
	kept.count = kept_count = 0;
	memset(&steps, 0, sizeof steps);
	memset(&generations, 0, sizeof generations);
	if (!sb_held_init() || !sb_watch_start())
		return false;
	sb_keep_meta_float(SB_META_RUN, SB_RUN_SLOW_WATCH, spec.slow_ratio);
	return true;
}

bool sb_slow_enough(void)
{
	return kept_count >= spec.moments;
}

uint64_t sb_slow_kernels(void)
{
	return kernels;
}

uint64_t sb_slow_unwritten(void)
{
	return unwritten;
}

/* ---- what is kept -------------------------------------------------------- */

static void write_kept(void)
{
	for (uint32_t i = 0; i < kept.count; i++)
		unwritten += sb_held_write(kept.all[i].begin_ticks, kept.all[i].end_ticks, &kernels);
}

/* The GPU may be behind: records of these launches are written for a second more. */
static void keep_moment(uint64_t begin_ticks, uint64_t end_ticks, bool tracing)
{
	sb_gpu_counters_keep(begin_ticks, end_ticks);
	if (!tracing)
		return;
	sb_kept_moments_add(
		&kept, (struct sb_kept_moment){ begin_ticks, end_ticks, sb_clock_ticks() + sb_clock_hz() });
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_BEGIN, (int64_t)begin_ticks);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_END, (int64_t)end_ticks);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_KEPT, 1);
}

static const struct recent *recent_at(uint64_t back)
{
	return &recent[(recent_total - 1 - back) % RECENT];
}

static uint64_t recent_count(void)
{
	return recent_total < RECENT ? recent_total : RECENT;
}

/* The last normal one of the same kind before it; NULL: none is remembered. */
static const struct recent *normal_before(const struct sb_watch_news *n)
{
	for (uint64_t i = 0; i < recent_count(); i++) {
		const struct recent *r = recent_at(i);

		if (!r->slow && !r->it.first && r->it.kind == n->kind && r->it.role == n->role &&
			r->it.tid == n->tid && (r->it.key == n->key || !n->key) &&
			r->it.end_ticks <= n->begin_ticks)
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

static void say_overwritten(uint64_t from_ticks)
{
	uint64_t count = sb_held_overwritten(from_ticks);
	char why[120];

	if (!count)
		return;
	snprintf(why, sizeof why,
		"%" PRIu64 " records had made room before it was known to be slow (%u are held)", count,
		SB_HELD_RECORDS);
	sb_keep_missing("some kernels of a slow moment", why, HOW);
	sb_lost(SB_LOST_GPU_HELD, count);
}

/* The record of it: what, judged by, begin, end, normal begin, normal end, peers' median, why. */
static void keep(
	const struct sb_watch_news *n, const char *what, const char *by, uint64_t median, bool tracing)
{
	const struct recent *normal = normal_before(n);
	uint64_t from = begin_before(n), normal_begin = normal ? normal->it.begin_ticks : 0;
	uint64_t normal_end = normal ? normal->it.end_ticks : 0;
	char text[256];

	if (sb_slow_enough())
		return;
	kept_count++;
	snprintf(text, sizeof text, "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
		what, by, n->begin_ticks, n->end_ticks, normal_begin, normal_end, median, n->why);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_SLOW_MOMENT, text);
	if (normal && normal_end < from)
		keep_moment(normal_begin, normal_end, tracing);
	keep_moment(normal && normal_begin < from && normal_end >= from ? normal_begin : from, n->end_ticks,
		tracing);
	if (!tracing)
		return;
	say_overwritten(from);
	write_kept();
}

/* ---- what is slow -------------------------------------------------------- */

static const char *word_of(enum strobe_role role)
{
	return role == STROBE_ROLE_STEP ? "step" : "generation";
}

static void count_judged(enum strobe_role role)
{
	if (role == STROBE_ROLE_STEP)
		steps.judged++;
	else
		generations.judged++;
}

/* Without GPU records the clock decides. With them a step may only have waited for the GPU to do what was launched
 * before it: it is judged when they have come. */
static void take_end(const struct sb_watch_news *n, bool tracing)
{
	uint64_t took = n->end_ticks - n->begin_ticks,
		 median = n->first ? 0 : sb_peers_add(&peers, n->key, took);
	bool slow = sb_peers_slow(took, median, spec.slow_ratio, sb_clock_hz());
	bool later = tracing && !n->first && n->role == STROBE_ROLE_STEP;

	if (n->role == STROBE_ROLE_STEP && running.tid == n->tid)
		running.end_ticks = n->end_ticks;
	if (n->role == STROBE_ROLE_STEP)
		steps.seen++;
	else
		generations.seen++;
	if (!later && median)
		count_judged(n->role);
	if (slow && !later)
		keep(n, word_of(n->role), "clock", median, tracing);
	recent[recent_total++ % RECENT] = (struct recent){ *n, median, 0, slow, !later, slow && later };
}

/* Longer than all pauses but one, by so much that the step with it is slow: what a program does after every tenth
 * step is no news. usual UINT64_MAX: not known. */
static bool is_rare(uint64_t pause, uint64_t usual, uint64_t step_median)
{
	double more = usual < pause ? (double)(pause - usual) : 0;

	return step_median && (double)pause > (double)usual * spec.slow_ratio &&
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

static void take_pause(const struct sb_watch_news *n, bool tracing)
{
	uint64_t key = n->key ^ IN_PAUSE, pause = n->end_ticks - n->pause_ticks, of_step = step_median(n);
	struct recent r = { .it = *n, .usual = sb_peers_second(&peers, key), .judged = !tracing };
	bool slow;

	r.median = of_step + sb_peers_add(&peers, key, pause);
	slow = !n->first && is_rare(pause, r.usual, of_step);
	r.slow = slow;
	r.suspect = slow && tracing;
	if (slow && !tracing)
		keep(n, "step", "pause", r.median, false);
	recent[recent_total++ % RECENT] = r;
}

/* At an error, or because the user asked: the step that runs, else the last one. */
static void take_asked(struct sb_watch_news n, bool tracing)
{
	bool memory = !strcmp(n.why, "out of memory");

	n.role = STROBE_ROLE_STEP;
	n.tid = running.tid;
	n.begin_ticks = running.begin_ticks ? running.begin_ticks : 0;
	keep(&n, memory ? "out_of_memory" : "asked", "-", 0, tracing);
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

/* Half of what it took longer is not the backlog of the steps before. */
static bool is_its_own(const struct recent *r)
{
	uint64_t took = r->it.end_ticks - r->it.begin_ticks;

	return took - sb_held_backlog_ticks(r->it.begin_ticks, r->it.end_ticks) >= (took - r->median) / 2;
}

/* A program that does not wait for its GPU is not slow where its kernels are: their own time is judged, too. */
static void judge(struct recent *r)
{
	uint64_t work = sb_held_work_ticks(r->it.begin_ticks, r->it.end_ticks);
	uint64_t median = work ? sb_peers_add(&peers, r->it.key ^ ON_GPU, work) : 0;
	bool by_clock = r->suspect && is_its_own(r);

	r->judged = true;
	if (r->median || median)
		count_judged(r->it.role);
	r->slow = by_clock || sb_peers_slow(work, median, spec.slow_ratio, sb_clock_hz());
	if (r->slow)
		keep(&r->it, "step", by_clock ? "clock" : "gpu", by_clock ? r->median : median, true);
}

/* What the program launched in a pause may run long after it, and a pause may only wait for the steps before. */
static void judge_pause(struct recent *r)
{
	uint64_t from = r->it.pause_ticks, to = r->it.end_ticks, key = r->it.key ^ IN_PAUSE ^ ON_GPU;
	uint64_t work = sb_held_work_ticks(from, to), usual = sb_peers_second(&peers, key);
	bool own = r->suspect && to - from - sb_held_backlog_ticks(from, to) >= (to - from - r->usual) / 2;

	sb_peers_add(&peers, key, work);
	r->judged = true;
	r->slow = own || (!r->it.first && is_rare(work, usual, r->median));
	if (r->slow)
		keep(&r->it, "step", "pause", r->median, true);
}

/* Those of which the records have come: what a step after it launched is back, or nothing comes at all. */
static void judge_recent(bool last)
{
	uint64_t now = sb_clock_ticks();

	for (uint64_t i = recent_count(); i-- > 0;) {
		struct recent *r = &recent[(recent_total - 1 - i) % RECENT];
		uint64_t latest = recent_at(0)->it.begin_ticks;
		bool come = latest >= r->it.end_ticks && sb_held_newest() > latest;

		if (!r->judged && (last || come || now > r->it.end_ticks + PATIENCE_S * sb_clock_hz()))
			r->it.kind == SB_WATCH_PAUSED ? judge_pause(r) : judge(r);
	}
}

void sb_slow_look(bool tracing)
{
	take_news(tracing);
	if (!tracing)
		return;
	judge_recent(false);
	write_kept();
	sb_kept_moments_forget(&kept, sb_clock_ticks());
}

/* A run in which nothing was slow has to say so: else it looks like one that was not watched. */
static void say_judged(void)
{
	char text[96];

	snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, steps.seen, steps.judged,
		generations.seen, generations.judged);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_SLOW_JUDGED, text);
}

void sb_slow_stop(bool tracing)
{
	sb_watch_stop();
	take_news(tracing);
	if (tracing) {
		judge_recent(true);
		write_kept();
	}
	say_judged();
	sb_held_done();
}
