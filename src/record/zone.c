/* The fast path: two words per zone, no lock, no call, no allocation. Everything else is one cold call away. */
#include "strobe.h"

#include "base/hot.h"
#include "record/clock.h"
#include "record/kinds.h"
#include "record/own_stage.h"
#include "record/put.h"
#include "record/recorder.h"
#include "record/stage_log.h"
#include "record/step.h"
#include "record/watcher.h"

#include <string.h>

SB_HOT_DATA uint32_t strobe_mode_;

static inline uint64_t *poisonable_end(struct sb_writer *w)
{
	return atomic_load_explicit(&w->hot.end, memory_order_relaxed);
}

static inline void publish(struct sb_writer *w, uint64_t *at, uint64_t word)
{
	__atomic_store_n(at, word, __ATOMIC_RELEASE);
	w->hot.cur = at + 1;
}

/* A word that carries a time. */
static __attribute__((noinline, cold)) uint64_t put_slow(enum sb_kind kind, uint32_t id, uint64_t ticks)
{
	struct sb_writer *w;

	if (!STROBE_ON_())
		return ticks;
	if (sb_clock_kind == SB_CLOCK_MONOTONIC) /* then writers never have an end: see writer.c */
		ticks = sb_clock_slow_ticks();
	w = sb_writer_enter();
	if (!w)
		return ticks;
	if (sb_writer_room(w, 1, ticks))
		publish(w, w->hot.cur,
			sb_word(kind, id, (ticks - w->hot.base) & ((1ull << SB_TICK_BITS) - 1)));
	sb_writer_leave(w);
	if (sb_stage_log_on())
		sb_stage_log_event(&w->stage_log, kind, id, ticks);
	return ticks;
}

/* `low`: the word's lower part, kind and name. Returns the word's time. */
static inline uint64_t put_low(uint32_t low)
{
	struct sb_writer *w = sb_here;
	uint64_t ticks, since, *at;

	/* The writer's address is on its way while the counter is read: a tenth of a zone on
	 * x86_64. Its contents are not: a signal handler's zones may change them. */
	__asm__ volatile("" : "+r"(w));
	ticks = sb_clock_counter();
	since = ticks - w->hot.base;
	at = w->hot.cur;
	if (__builtin_expect(at >= poisonable_end(w) || since >> SB_TICK_BITS, 0))
		return put_slow(sb_word_kind(low), sb_word_id(low), ticks);
	publish(w, at, (since << SB_VALUE_SHIFT) + low);
	return ticks;
}

static inline uint64_t put(enum sb_kind kind, uint32_t id)
{
	return put_low((uint32_t)sb_word(kind, id, 0));
}

static bool id_is_off(uint32_t id)
{
	return id & SB_SITE_KIND_BIT && sb_kind_is_off((enum strobe_kind)(id >> SB_SITE_KIND_SHIFT & 15));
}

/* The site's first time, or one whose name is of a kind that may be switched off. */
static __attribute__((noinline, cold)) void begin_with_care(struct strobe_site *site, uint32_t id)
{
	if (!id) {
		enum strobe_kind kind = site->always ? STROBE_KIND_OTHER : strobe_kind_of(site->name);

		id = (uint32_t)sb_word(0, sb_name_intern(site->name, site->code), 0);
		if (kind)
			id |= SB_SITE_KIND_BIT | (uint32_t)kind << SB_SITE_KIND_SHIFT;
		__atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
	}
	if (!id_is_off(id))
		put_low((id & SB_SITE_NAME) + SB_BEGIN);
}

void strobe_site_begin_(struct strobe_site *site)
{
	uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);

	if (__builtin_expect((int32_t)id <= 0, 0))
		begin_with_care(site, id);
	else
		put_low(id + SB_BEGIN);
}

static __attribute__((noinline, cold)) void end_with_care(uint32_t id)
{
	if (!id_is_off(id))
		put_low((id & SB_SITE_NAME) + SB_END);
}

void strobe_site_end_(struct strobe_site *site)
{
	uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);

	if (__builtin_expect((int32_t)id < 0, 0))
		end_with_care(id);
	else
		put_low(id + SB_END);
}

void strobe_innermost_end_(void)
{
	put(SB_END, 0);
}

void strobe_zone_end(void)
{
	if (STROBE_ON_())
		put(SB_END, 0);
}

SB_HOT_CODE void strobe_zone_begin_id(uint32_t name)
{
	if (STROBE_ON_())
		put(SB_BEGIN, name & SB_ID_MAX);
}

SB_HOT_CODE void strobe_zone_end_id(uint32_t name)
{
	if (STROBE_ON_())
		put(SB_END, name & SB_ID_MAX);
}

SB_HOT_CODE uint64_t sb_zone_begin(uint32_t name)
{
	return put(SB_BEGIN, name & SB_ID_MAX);
}

SB_HOT_CODE uint64_t sb_zone_end(uint32_t name)
{
	return put(SB_END, name & SB_ID_MAX);
}

void strobe_zone_begin_code(const char *dynamic_name, const char *code)
{
	if (STROBE_ON_())
		put(SB_BEGIN, sb_name_intern(dynamic_name, code));
}

void strobe_zone_begin(const char *dynamic_name)
{
	strobe_zone_begin_code(dynamic_name, NULL);
}

/* ---- words without a time ------------------------------------------------ */

static __attribute__((noinline, cold)) void put_value_slow(uint64_t word)
{
	struct sb_writer *w = sb_writer_enter();

	if (!w)
		return;
	if (sb_writer_room(w, 1, sb_clock_ticks()))
		publish(w, w->hot.cur, word);
	sb_writer_leave(w);
	if (sb_stage_log_on() && sb_word_kind(word) == SB_ATTR)
		sb_stage_log_attr(w->stage_log, sb_word_id(word), (int64_t)word >> SB_VALUE_SHIFT);
}

static inline void put_value(uint64_t word)
{
	struct sb_writer *w = sb_here;
	uint64_t *at = w->hot.cur;

	if (__builtin_expect(at >= poisonable_end(w), 0))
		put_value_slow(word);
	else
		publish(w, at, word);
}

static bool fits_40_bits(int64_t value)
{
	return value >= -(INT64_C(1) << 39) && value < INT64_C(1) << 39;
}

void sb_step_hook_set(void (*hook)(void))
{
	atomic_store(&REC->step_hook, hook);
}

void sb_step_counting_hook_set(void (*hook)(void))
{
	atomic_store(&REC->step_counting_hook, hook);
}

static void call_step_hooks(void)
{
	void (*counting)(void) = atomic_load_explicit(&REC->step_counting_hook, memory_order_relaxed);
	void (*hook)(void) = atomic_load_explicit(&REC->step_hook, memory_order_relaxed);

	if (counting)
		counting();
	if (hook)
		hook();
}

uint32_t strobe_steps_marked(void)
{
	return sb_session_active()
		       ? (uint32_t)__atomic_load_n(&sb_header()->made[SB_MADE_STEPS], __ATOMIC_RELAXED)
		       : 0;
}

void sb_step_passes(void)
{
	sb_made(SB_MADE_STEPS, 1);
	call_step_hooks();
}

void strobe_step_passes(void)
{
	if (STROBE_ON_())
		call_step_hooks();
}

void sb_watcher_set(const struct sb_watcher *watcher)
{
	atomic_store(&REC->watcher, watcher);
}

static const struct sb_watcher *watcher(void)
{
	return atomic_load_explicit(&REC->watcher, memory_order_acquire);
}

void sb_watcher_fact(uint32_t name, int64_t value)
{
	const struct sb_watcher *w = watcher();

	if (w)
		w->fact(name, value);
}

void sb_watcher_end(enum strobe_role role)
{
	const struct sb_watcher *w = watcher();

	if (w)
		w->end(role);
}

void sb_watcher_step_over(uint64_t duration_ns, int64_t block_size)
{
	const struct sb_watcher *w = watcher();

	if (w)
		w->step_over(duration_ns, block_size);
}

int strobe_roles_watched(void)
{
	return STROBE_ON_() && watcher();
}

void strobe_role_end(enum strobe_role role)
{
	if (STROBE_ON_())
		sb_watcher_end(role);
}

/* For live displays. A block's size follows its role. */
static void count_role(enum strobe_role role)
{
	struct sb_writer *w = sb_here;

	if (role == STROBE_ROLE_STEP)
		sb_step_passes();
	else if (role == STROBE_ROLE_BLOCK)
		sb_made(SB_MADE_BLOCKS, 1);
	if (w->session)
		w->in_block = role == STROBE_ROLE_BLOCK;
}

static void count_block_frames(int64_t frames)
{
	struct sb_writer *w = sb_here;

	if (!w->session || !w->in_block)
		return;
	sb_made(SB_MADE_BLOCK_FRAMES, frames);
	w->in_block = false;
}

static void note_fact(uint32_t name, int64_t value)
{
	if (name == SB_NAME_ROLE)
		count_role((enum strobe_role)value);
	else if (name == SB_NAME_BLOCK_SIZE)
		count_block_frames(value);
	sb_watcher_fact(name, value);
}

/* The only place where roles are set: every way to set "strobe.role" ends here. */
void strobe_attr_int_id(uint32_t key, int64_t value)
{
	uint64_t bits = (uint64_t)value;

	if (!STROBE_ON_())
		return;
	if (__builtin_expect((key & SB_ID_MAX) < SB_NAME_FIXED_END, 0))
		note_fact(key & SB_ID_MAX, value);
	if (fits_40_bits(value))
		put_value(sb_word(SB_ATTR, key & SB_ID_MAX, bits));
	else
		sb_put(SB_STREAM_HOT, SB_ATTR64, (key & SB_ID_MAX) | STROBE_TYPE_INT << 20, &bits, 1);
}

void strobe_attr_float_id(uint32_t key, double value)
{
	uint64_t bits;

	if (!STROBE_ON_())
		return;
	memcpy(&bits, &value, sizeof bits);
	sb_put(SB_STREAM_HOT, SB_ATTR64, (key & SB_ID_MAX) | STROBE_TYPE_FLOAT << 20, &bits, 1);
}

void strobe_attr_string_id(uint32_t key, const char *value)
{
	size_t size;

	if (!STROBE_ON_() || !value)
		return;
	size = strlen(value);
	sb_put_text(SB_STREAM_HOT, SB_ATTR_STR, (key & SB_ID_MAX) | (uint64_t)(size > SB_STRING_MAX) << 20,
		NULL, 0, value, size);
}

void strobe_attr_int(const char *key, int64_t value)
{
	if (STROBE_ON_())
		strobe_attr_int_id(sb_name_intern(key, NULL), value);
}

void strobe_attr_float(const char *key, double value)
{
	if (STROBE_ON_())
		strobe_attr_float_id(sb_name_intern(key, NULL), value);
}

void strobe_attr_string(const char *key, const char *value)
{
	if (STROBE_ON_())
		strobe_attr_string_id(sb_name_intern(key, NULL), value);
}

void strobe_role(enum strobe_role role)
{
	strobe_attr_int_id(SB_NAME_ROLE, role);
}

static void count(uint32_t id, int64_t delta)
{
	if (fits_40_bits(delta))
		put_value(sb_word(SB_COUNT, id, (uint64_t)delta));
	else
		sb_put(SB_STREAM_HOT, SB_COUNT64, id, (uint64_t[]){ (uint64_t)delta }, 1);
}

void strobe_counter_add(const char *name, int64_t delta)
{
	if (STROBE_ON_())
		count(sb_name_intern(name, NULL), delta);
}

void strobe_frames(int64_t frames)
{
	if (!STROBE_ON_())
		return;
	count(SB_NAME_FRAMES, frames);
	sb_made(SB_MADE_FRAMES, frames);
}

void strobe_frames_dropped(int64_t frames)
{
	if (STROBE_ON_())
		count(SB_NAME_DROPPED, frames);
}

void strobe_track_switch(uint32_t track)
{
	struct sb_writer *w;

	if (!STROBE_ON_())
		return;
	put(SB_SWITCH, track & SB_ID_MAX);
	w = sb_here;
	if (w->session)
		w->track = track & SB_ID_MAX;
}

uint32_t sb_own_stage_begin(const char *name)
{
	uint32_t id = STROBE_ON_() && sb_here->session ? sb_name_intern(name, NULL) : 0;

	if (id) {
		strobe_zone_begin_id(id);
		strobe_role(STROBE_ROLE_PROFILER);
	}
	return id;
}

void sb_own_stage_end(uint32_t stage)
{
	if (stage)
		strobe_zone_end_id(stage);
}
