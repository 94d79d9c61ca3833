/* The program's side of a watch for slow moments. */
#include "gpu/watch.h"

#include "base/map.h"
#include "format/wire.h"
#include "gpu/ring.h"
#include "record/clock.h"
#include "record/watcher.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUE 1024u
#define NESTED_MOST 16u /* more are ends that never came */
#define ASKED_MOST 16u /* so many who ask at a time leave room for steps and generations */

struct open_zone {
	bool open;
	bool first;
	uint16_t nested; /* of the same role inside it: part of it */
	uint32_t index; /* among those of its generation, or of its thread */
	uint64_t begin_ticks, key;
	union {
		uint64_t size; /* of a generation: its steps have peers in those of this size alone */
		uint64_t
			end_ticks; /* of a step: the pause after it lasts; 0: it runs, or something else came */
	};
};

struct open_zones {
	struct open_zone step, generation;
	uint32_t tid, step_count; /* steps of the generation, or of the thread */
	uint32_t generation_count; /* of the thread */
	uint32_t watch; /* which watch these belong to */
};
static _Thread_local struct open_zones here;

static struct sb_ring news; /* made once, kept: a thread may be about to push */
static bool made;
static _Atomic uint32_t watches;
static _Atomic uint32_t asked; /* that wait in the queue */

static struct open_zones *zones_here(void)
{
	uint32_t watch = atomic_load_explicit(&watches, memory_order_relaxed);

	if (here.watch != watch)
		here = (struct open_zones){ .tid = (uint32_t)syscall(SYS_gettid), .watch = watch };
	return &here;
}

static uint64_t mixed(uint64_t key, uint32_t name, int64_t value)
{
	return sb_hash64(key ^ (uint64_t)name << 56 ^ (uint64_t)value) + key;
}

static uint64_t step_key(const struct open_zones *h)
{
	return mixed(h->generation.open ? h->generation.size : 0, SB_NAME_ROLE, STROBE_ROLE_STEP);
}

static uint64_t generation_ticks(const struct open_zones *h)
{
	return h->generation.open ? h->generation.begin_ticks : 0;
}

/* A step begins in the same generation, and nothing that has a role ran since the last one. */
static void end_pause(struct open_zones *h)
{
	struct sb_watch_news n = { .kind = SB_WATCH_PAUSED,
		.role = STROBE_ROLE_STEP,
		.tid = h->tid,
		.first = h->step.first,
		.index = h->step.index,
		.begin_ticks = h->step.begin_ticks,
		.end_ticks = sb_clock_ticks(),
		.pause_ticks = h->step.end_ticks,
		.generation_ticks = generation_ticks(h),
		.key = h->step.key };

	sb_ring_push(&news, &n);
}

static void begin(struct open_zones *h, struct open_zone *z, enum strobe_role role)
{
	struct sb_watch_news n = { .kind = SB_WATCH_BEGUN, .role = role, .tid = h->tid };

	if (z->open && z->nested < NESTED_MOST) {
		z->nested++;
		return;
	}
	if (role == STROBE_ROLE_GENERATION)
		h->step_count = 0;
	if (role == STROBE_ROLE_STEP && z->end_ticks)
		end_pause(h);
	*z = (struct open_zone){ .open = true,
		.first = role == STROBE_ROLE_STEP && !h->step_count,
		.index = role == STROBE_ROLE_STEP ? h->step_count++ : h->generation_count++,
		.begin_ticks = sb_clock_ticks(),
		.key = role == STROBE_ROLE_STEP ? step_key(h) : mixed(0, SB_NAME_ROLE, role) };
	n.begin_ticks = z->begin_ticks;
	sb_ring_push(&news, &n);
}

static bool is_of_size(uint32_t name)
{
	return name == SB_NAME_FRAMES || name == SB_NAME_WIDTH || name == SB_NAME_HEIGHT;
}

static bool is_of_generation(uint32_t name)
{
	return is_of_size(name) || name == SB_NAME_STEPS || name == SB_NAME_BATCH || name == SB_NAME_CACHED;
}

/* What makes two of them comparable: the size, and whether a cache served it. */
static void fact(uint32_t name, int64_t value)
{
	struct open_zones *h = zones_here();

	if (name == SB_NAME_ROLE && value == STROBE_ROLE_STEP) {
		begin(h, &h->step, STROBE_ROLE_STEP);
	} else if (name == SB_NAME_ROLE && value == STROBE_ROLE_GENERATION) {
		begin(h, &h->generation, STROBE_ROLE_GENERATION);
	} else if (name == SB_NAME_ROLE && !h->step.open) {
		h->step.end_ticks = 0;
	} else if (h->step.open && (name == SB_NAME_BLOCK_SIZE || name == SB_NAME_CACHED) && value) {
		h->step.key = mixed(h->step.key, name, value);
	} else if (!h->step.open && h->generation.open && is_of_generation(name)) {
		h->generation.key = mixed(h->generation.key, name, value);
		if (!h->step_count && is_of_size(name)) /* what comes later is counted, not asked for */
			h->generation.size = mixed(h->generation.size, name, value);
	}
}

static void end(enum strobe_role role)
{
	struct open_zones *h = zones_here();
	struct open_zone *z = role == STROBE_ROLE_STEP         ? &h->step
			      : role == STROBE_ROLE_GENERATION ? &h->generation
							       : NULL;
	struct sb_watch_news n = { .kind = SB_WATCH_ENDED, .role = role, .tid = h->tid };

	if (!z || !z->open)
		return;
	if (z->nested) {
		z->nested--;
		return;
	}
	z->open = false;
	if (role == STROBE_ROLE_GENERATION)
		h->step = (struct open_zone){ 0 };
	n.first = z->first;
	n.index = z->index;
	n.generation_ticks = role == STROBE_ROLE_STEP ? generation_ticks(h) : 0;
	n.begin_ticks = z->begin_ticks;
	n.end_ticks = sb_clock_ticks();
	if (role == STROBE_ROLE_STEP && h->generation.open)
		z->end_ticks = n.end_ticks;
	n.key = z->key;
	sb_ring_push(&news, &n);
}

static void step_over(uint64_t duration_ns, int64_t block_size)
{
	struct open_zones *h = zones_here();
	struct sb_watch_news n = { .kind = SB_WATCH_ENDED, .role = STROBE_ROLE_STEP, .tid = h->tid };
	uint64_t took = (uint64_t)((double)duration_ns * (double)sb_clock_hz() / 1e9);

	n.first = !h->step_count;
	n.index = h->step_count++;
	n.generation_ticks = generation_ticks(h);
	n.end_ticks = sb_clock_ticks();
	n.begin_ticks = took < n.end_ticks ? n.end_ticks - took : 0;
	n.key = mixed(step_key(h), SB_NAME_BLOCK_SIZE, block_size);
	sb_ring_push(&news, &n);
}

void sb_watch_ask(const char *why)
{
	struct sb_watch_news n = { .kind = SB_WATCH_ASKED, .end_ticks = sb_clock_ticks() };

	if (!made)
		return;
	snprintf(n.why, sizeof n.why, "%s", why ? why : "");
	if (atomic_fetch_add(&asked, 1) >= ASKED_MOST || !sb_ring_push(&news, &n))
		atomic_fetch_sub(&asked, 1);
}

bool sb_watch_hear(struct sb_watch_news *out_news)
{
	if (!made || !sb_ring_pop(&news, out_news))
		return false;
	if (out_news->kind == SB_WATCH_ASKED)
		atomic_fetch_sub(&asked, 1);
	return true;
}

bool sb_watch_start(void)
{
	static const struct sb_watcher watcher = { fact, end, step_over };
	struct sb_watch_news old;

	if (!made)
		made = sb_ring_init(&news, QUEUE, sizeof(struct sb_watch_news));
	if (!made)
		return false;
	while (sb_watch_hear(&old))
		;
	atomic_fetch_add(&watches, 1);
	sb_watcher_set(&watcher);
	return true;
}

void sb_watch_stop(void)
{
	sb_watcher_set(NULL);
}
