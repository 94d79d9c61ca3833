/* NVTX ranges and marks of the watched program become zones, spans and events.
 * Runs once per shared object that uses NVTX; all instances share what is here. */
#include "gpu/nvtx_label.h"

#include "record/cancel.h"
#include "record/clock.h"
#include "record/fork.h"
#include "record/put.h"
#include "strobe.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 128u
#define RANGES_MAX 4096u
#define DOMAINS_MAX 256u

/* A domain's handle is the address of its entry; NULL is the default domain. */
struct domain {
	char name[64];
	_Atomic bool used;
	_Atomic bool crosses;
};
static struct domain domains[DOMAINS_MAX];
static atomic_flag domains_held = ATOMIC_FLAG_INIT;
static _Atomic bool default_crosses;

static const char *name_of(const struct domain *d)
{
	return d ? d->name : NULL;
}

/* Open push/pop ranges of a thread. Domains have stacks of their own in NVTX:
 * a pop takes the innermost range of its domain. Zones nest, ranges of two domains
 * need not. Once a range has outlived one of another domain around it, its domain
 * "crosses": its ranges inside others are measured and reported at their pop. */
struct range {
	const struct domain *domain;
	uint64_t start_ticks; /* 0: a zone */
	uint32_t name;
	uint32_t epoch; /* of the session */
	bool has_payload;
	struct strobe_attr payload;
};
struct ranges {
	uint32_t depth;
	struct range open[DEPTH_MAX];
};
static __thread struct ranges *ranges; /* made at the thread's first push */
static pthread_key_t ranges_key;
static pthread_once_t ranges_once = PTHREAD_ONCE_INIT;

/* Open start/end ranges: an id is the slot and how often it was used. */
static struct {
	_Atomic uint32_t use; /* odd: open */
	struct strobe_span span;
} spans[RANGES_MAX];
static _Atomic uint32_t next_span;

/* ---- push and pop ------------------------------------------------------ */

static void ranges_key_make(void)
{
	pthread_key_create(&ranges_key, free);
}

static struct ranges *ranges_get(void)
{
	if (ranges)
		return ranges;
	pthread_once(&ranges_once, ranges_key_make);
	ranges = calloc(1, sizeof *ranges);
	pthread_setspecific(ranges_key, ranges);
	return ranges;
}

static int depth_of(const struct ranges *r, const struct domain *domain)
{
	int n = 0;

	for (uint32_t i = 0; i < r->depth; i++)
		n += r->open[i].domain == domain;
	return n;
}

static _Atomic bool *crosses(const struct domain *domain)
{
	return domain ? &domains[domain - domains].crosses : &default_crosses;
}

static bool inside_another(const struct ranges *r, const struct domain *domain)
{
	for (uint32_t i = 0; i < r->depth; i++)
		if (r->open[i].domain != domain && !r->open[i].start_ticks)
			return true;
	return false;
}

static void zone_begin(const struct range *range)
{
	strobe_zone_begin_id(range->name);
	if (range->has_payload && range->payload.type == STROBE_TYPE_INT)
		strobe_attr_int(range->payload.key, range->payload.value.i);
	else if (range->has_payload)
		strobe_attr_float(range->payload.key, range->payload.value.f);
}

static int push(const struct domain *domain, uint32_t name, const struct nvtx_attributes *a)
{
	struct ranges *r = ranges_get();
	int level = r ? depth_of(r, domain) : 0;
	struct range *range;

	if (!r || r->depth == DEPTH_MAX)
		return level;
	range = &r->open[r->depth];
	*range = (struct range){ .domain = domain, .name = name, .epoch = sb_session_epoch() };
	range->has_payload = sb_nvtx_payload_of(a, &range->payload);
	if (atomic_load(crosses(domain)) && inside_another(r, domain))
		range->start_ticks = sb_clock_ticks();
	else
		zone_begin(range);
	r->depth++;
	return level;
}

/* The end of a zone ends those inside it too: the ranges of other domains among them
 * go on in a second zone, this once. */
static void zone_end(uint32_t name, const struct range *inside, uint32_t count)
{
	strobe_zone_end_id(name);
	for (uint32_t i = 0; i < count; i++) {
		if (inside[i].start_ticks)
			continue;
		atomic_store(crosses(inside[i].domain), true);
		zone_begin(&inside[i]);
	}
}

static int pop(const struct domain *domain)
{
	struct ranges *r = ranges_get();
	uint32_t i = r ? r->depth : 0;
	struct range range;

	while (i && r->open[i - 1].domain != domain)
		i--;
	if (!i--)
		return -2; /* what NVTX returns for a pop without a push */
	range = r->open[i];
	r->depth--;
	memmove(&r->open[i], &r->open[i + 1], (r->depth - i) * sizeof r->open[0]);
	if (!range.start_ticks)
		zone_end(range.name, &r->open[i], r->depth - i);
	else if (range.epoch == sb_session_epoch())
		sb_put_duration(range.name, range.start_ticks, &range.payload, range.has_payload);
	return depth_of(r, domain);
}

/* ---- start and end ----------------------------------------------------- */

static uint64_t start(struct sb_nvtx_label label)
{
	for (uint32_t tries = 0; tries < 64; tries++) {
		uint32_t slot = atomic_fetch_add(&next_span, 1) % RANGES_MAX;
		uint32_t use = atomic_load(&spans[slot].use);

		if (use & 1 || !atomic_compare_exchange_strong(&spans[slot].use, &use, use | 1))
			continue;
		spans[slot].span = strobe_span_begin(label.text);
		return (uint64_t)(use | 1) << 32 | (slot + 1);
	}
	return 0;
}

static void end(uint64_t id)
{
	uint32_t slot = (uint32_t)id - 1, use = (uint32_t)(id >> 32);
	struct strobe_span span;

	if (slot >= RANGES_MAX || !(use & 1))
		return;
	span = spans[slot].span;
	if (atomic_compare_exchange_strong(&spans[slot].use, &use, use + 1))
		strobe_span_end(&span, NULL, 0);
}

static void mark(struct sb_nvtx_label label, const struct nvtx_attributes *a)
{
	struct strobe_attr payload;
	bool has_payload = sb_nvtx_payload_of(a, &payload);

	strobe_event(label.text, has_payload ? &payload : NULL, has_payload);
}

/* ---- CORE -------------------------------------------------------------- */

static void mark_ex(const struct nvtx_attributes *a)
{
	if (STROBE_ON_())
		mark(sb_nvtx_label_of_attributes(NULL, a), a);
}

static void mark_a(const char *text)
{
	if (STROBE_ON_())
		mark(sb_nvtx_label_of(NULL, text), NULL);
}

static void mark_w(const wchar_t *text)
{
	if (STROBE_ON_())
		mark(sb_nvtx_label_of_wide(NULL, text), NULL);
}

static uint64_t range_start_ex(const struct nvtx_attributes *a)
{
	return STROBE_ON_() ? start(sb_nvtx_label_of_attributes(NULL, a)) : 0;
}

static uint64_t range_start_a(const char *text)
{
	return STROBE_ON_() ? start(sb_nvtx_label_of(NULL, text)) : 0;
}

static uint64_t range_start_w(const wchar_t *text)
{
	return STROBE_ON_() ? start(sb_nvtx_label_of_wide(NULL, text)) : 0;
}

static int range_push_ex(const struct nvtx_attributes *a)
{
	return push(NULL, sb_nvtx_name_of_attributes(NULL, a), a);
}

static int range_push_a(const char *text)
{
	return push(NULL, strobe_name(sb_nvtx_label_of(NULL, text).text, NULL), NULL);
}

static int range_push_w(const wchar_t *text)
{
	return push(NULL, strobe_name(sb_nvtx_label_of_wide(NULL, text).text, NULL), NULL);
}

static int range_pop(void)
{
	return pop(NULL);
}

static void name_thread_a(uint32_t tid, const char *text)
{
	if (STROBE_ON_() && text)
		sb_put_text(SB_STREAM_KEEP, SB_THREAD, tid, NULL, 0, text, strlen(text));
}

static void name_thread_w(uint32_t tid, const wchar_t *wide)
{
	char text[SB_NVTX_NAME_BYTES];

	sb_nvtx_utf8(wide, text, sizeof text);
	name_thread_a(tid, text);
}

/* ---- CORE2 ------------------------------------------------------------- */

static void domain_mark_ex(const struct domain *d, const struct nvtx_attributes *a)
{
	if (STROBE_ON_())
		mark(sb_nvtx_label_of_attributes(name_of(d), a), a);
}

static uint64_t domain_range_start_ex(const struct domain *d, const struct nvtx_attributes *a)
{
	return STROBE_ON_() ? start(sb_nvtx_label_of_attributes(name_of(d), a)) : 0;
}

static void domain_range_end(const struct domain *d, uint64_t id)
{
	(void)d;
	end(id);
}

static int domain_range_push_ex(const struct domain *d, const struct nvtx_attributes *a)
{
	return push(d, sb_nvtx_name_of_attributes(name_of(d), a), a);
}

static int domain_range_pop(const struct domain *d)
{
	return pop(d);
}

static const void *domain_register_string_a(const struct domain *d, const char *text)
{
	return sb_nvtx_register_label(sb_nvtx_label_of(name_of(d), text));
}

static const void *domain_register_string_w(const struct domain *d, const wchar_t *text)
{
	return sb_nvtx_register_label(sb_nvtx_label_of_wide(name_of(d), text));
}

/* A domain that several libraries create by one name is one domain. Past the
 * last entry ranges go to the default domain, without a prefix. Call with the table held. */
static const struct domain *find_or_add(const char *text)
{
	struct domain *d = NULL;

	for (uint32_t i = 0; i < DOMAINS_MAX && !d; i++) {
		if (!domains[i].used) {
			snprintf(domains[i].name, sizeof domains[i].name, "%s", text ? text : "nvtx");
			domains[i].used = true;
			d = &domains[i];
		} else if (text && !strncmp(domains[i].name, text, sizeof domains[i].name - 1)) {
			d = &domains[i];
		}
	}
	return d;
}

/* Short, and the holder cannot be cancelled; a forked child may find it held. */
static const struct domain *domain_create_a(const char *text)
{
	const struct domain *d;
	int cancel = sb_cancel_off();

	sb_fork_settle();
	while (atomic_flag_test_and_set(&domains_held))
		sched_yield();
	d = find_or_add(text);
	atomic_flag_clear(&domains_held);
	sb_cancel_restore(cancel);
	return d;
}

void sb_nvtx_forget(void)
{
	atomic_flag_clear(&domains_held);
}

static const struct domain *domain_create_w(const wchar_t *wide)
{
	char text[SB_NVTX_NAME_BYTES];

	sb_nvtx_utf8(wide, text, sizeof text);
	return domain_create_a(text);
}

static void domain_destroy(const struct domain *d)
{
	(void)d; /* names that begin with it live on */
}

/* ---- attaching --------------------------------------------------------- */

struct hook {
	unsigned id;
	nvtx_function function;
};

static const struct hook core[] = {
	{ NVTX_MARK_EX, (nvtx_function)mark_ex },
	{ NVTX_MARK_A, (nvtx_function)mark_a },
	{ NVTX_MARK_W, (nvtx_function)mark_w },
	{ NVTX_RANGE_START_EX, (nvtx_function)range_start_ex },
	{ NVTX_RANGE_START_A, (nvtx_function)range_start_a },
	{ NVTX_RANGE_START_W, (nvtx_function)range_start_w },
	{ NVTX_RANGE_END, (nvtx_function)end },
	{ NVTX_RANGE_PUSH_EX, (nvtx_function)range_push_ex },
	{ NVTX_RANGE_PUSH_A, (nvtx_function)range_push_a },
	{ NVTX_RANGE_PUSH_W, (nvtx_function)range_push_w },
	{ NVTX_RANGE_POP, (nvtx_function)range_pop },
	{ NVTX_NAME_THREAD_A, (nvtx_function)name_thread_a },
	{ NVTX_NAME_THREAD_W, (nvtx_function)name_thread_w },
};

static const struct hook core2[] = {
	{ NVTX_DOMAIN_MARK_EX, (nvtx_function)domain_mark_ex },
	{ NVTX_DOMAIN_RANGE_START_EX, (nvtx_function)domain_range_start_ex },
	{ NVTX_DOMAIN_RANGE_END, (nvtx_function)domain_range_end },
	{ NVTX_DOMAIN_RANGE_PUSH_EX, (nvtx_function)domain_range_push_ex },
	{ NVTX_DOMAIN_RANGE_POP, (nvtx_function)domain_range_pop },
	{ NVTX_DOMAIN_REGISTER_STRING_A, (nvtx_function)domain_register_string_a },
	{ NVTX_DOMAIN_REGISTER_STRING_W, (nvtx_function)domain_register_string_w },
	{ NVTX_DOMAIN_CREATE_A, (nvtx_function)domain_create_a },
	{ NVTX_DOMAIN_CREATE_W, (nvtx_function)domain_create_w },
	{ NVTX_DOMAIN_DESTROY, (nvtx_function)domain_destroy },
};

static void fill(const struct nvtx_callbacks *callbacks, int module, const struct hook *hooks, size_t count)
{
	nvtx_function **table;
	unsigned size;

	if (callbacks->module_table(module, &table, &size) != 1 || !table)
		return;
	for (size_t i = 0; i < count; i++)
		if (hooks[i].id < size && table[hooks[i].id])
			*table[hooks[i].id] = hooks[i].function;
}

int sb_nvtx_attach(nvtx_export_table export_table)
{
	const struct nvtx_callbacks *callbacks = export_table ? export_table(NVTX_TABLE_CALLBACKS) : NULL;

	if (!callbacks || callbacks->size < sizeof *callbacks || !callbacks->module_table)
		return 0;
	fill(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]);
	fill(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
	return 1;
}
