/* Gathers a foreign trace's events into external sorts. */
#include "exchange/trace_store.h"

#include "base/error.h"
#include "base/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65000u
#define NAME_BYTES_MAX (8u << 20)
#define NAME_CUT 1900u /* as the builder does */

/* Together well under the 64 MiB an import may use. */
#define ZONES_MEMORY (12u << 20)
#define OTHERS_MEMORY (6u << 20)

int sb_trace_new(const char *folder, struct sb_trace **out_trace)
{
	struct sb_trace *t = calloc(1, sizeof *t);
	int err;

	if (!t)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	snprintf(t->folder, sizeof t->folder, "%s", folder ? folder : sb_extsort_folder());
	t->first_ns = INT64_MAX;
	t->last_ns = INT64_MIN;
	t->rank = -1;
	err = sb_extsort_new(sizeof(struct sb_trace_zone_record), ZONES_MEMORY, t->folder, &t->zones);
	if (!err)
		err = sb_extsort_new(
			sizeof(struct sb_trace_pair_record), OTHERS_MEMORY, t->folder, &t->pairs);
	if (!err)
		err = sb_extsort_new(sizeof(struct sb_trace_gpu_record), OTHERS_MEMORY, t->folder, &t->joins);
	if (!err)
		err = sb_extsort_new(sizeof(struct sb_trace_gpu_record), OTHERS_MEMORY, t->folder, &t->gpu);
	if (!err)
		err = sb_extsort_new(
			sizeof(struct sb_trace_moment_record), OTHERS_MEMORY, t->folder, &t->moments);
	if (!err)
		err = sb_blobs_new(t->folder, &t->blobs);
	if (!err && !sb_trace_name(t, "(other)", 7))
		err = sb_fail(STROBE_ENOMEM, "no memory to import");
	if (err) {
		sb_trace_free(t);
		return err;
	}
	*out_trace = t;
	return 0;
}

void sb_trace_free(struct sb_trace *t)
{
	if (!t)
		return;
	sb_extsort_free(t->zones);
	sb_extsort_free(t->pairs);
	sb_extsort_free(t->joins);
	sb_extsort_free(t->gpu);
	sb_extsort_free(t->moments);
	sb_blobs_free(t->blobs);
	sb_strings_done(&t->names);
	sb_map_done(&t->thread_numbers);
	sb_map_done(&t->process_names);
	free(t->threads);
	free(t);
}

/* Templates make kernel names of many kilobytes that differ at their ends: a name
 * that is cut says how long it was and keeps a mark of the whole. */
static size_t shorten(const char *text, size_t size, char *out)
{
	size_t kept = NAME_CUT - 64;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	while (kept && (text[kept] & 0xc0) == 0x80)
		kept--;
	memcpy(out, text, kept);
	return kept +
	       (size_t)sprintf(out + kept, "... (%zu bytes, %08x)", size, (unsigned)(hash ^ hash >> 32));
}

uint32_t sb_trace_name(struct sb_trace *t, const char *text, size_t size)
{
	uint32_t before = t->names.count, number;
	char cut[NAME_CUT];

	if (size > NAME_CUT) {
		size = shorten(text, size, cut);
		text = cut;
	}
	if (before >= NAMES_MAX || t->name_bytes >= NAME_BYTES_MAX) {
		number = sb_strings_find(&t->names, text, size);
		return number ? number : 1;
	}
	number = sb_strings_add(&t->names, text, size);
	if (t->names.count != before)
		t->name_bytes += size;
	return number ? number : 1;
}

uint64_t sb_trace_text_key(struct sb_trace *t, const char *text, size_t size)
{
	return (uint64_t)sb_trace_name(t, text, size) << 1 | 1;
}

/* ---- threads ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	return sb_hash64(a + 0x9e3779b97f4a7c15u) ^ b * 0xff51afd7ed558ccdu;
}

uint32_t sb_trace_thread(struct sb_trace *t, uint64_t pid_key, uint64_t tid_key)
{
	uint64_t key = mix(pid_key, tid_key);
	uint32_t number;

	if (sb_map_get(&t->thread_numbers, key, &number))
		return number;
	if (t->thread_count == SB_TRACE_THREADS_MAX) {
		sb_fail(STROBE_EFORMAT, "more than %u threads", SB_TRACE_THREADS_MAX);
		return UINT32_MAX;
	}
	if (!SB_MAKE_ROOM(t->threads, t->thread_count, t->thread_capacity)) {
		sb_fail(STROBE_ENOMEM, "no memory to import");
		return UINT32_MAX;
	}
	number = t->thread_count;
	if (!sb_map_put(&t->thread_numbers, key, number)) {
		sb_fail(STROBE_ENOMEM, "no memory to import");
		return UINT32_MAX;
	}
	t->threads[t->thread_count++] = (struct sb_trace_thread){ .pid_key = pid_key, .tid_key = tid_key };
	return number;
}

int sb_trace_name_process(struct sb_trace *t, uint64_t pid_key, uint32_t name)
{
	if (t->process_names.count >= SB_TRACE_THREADS_MAX || sb_map_put(&t->process_names, pid_key, name))
		return 0;
	return sb_fail(STROBE_ENOMEM, "no memory to import");
}

/* ---- attributes ---- */

struct packed_attr {
	uint32_t key;
	uint16_t type;
	uint16_t size; /* of the string that follows */
	uint64_t value;
};

static int pack_attrs(struct sb_trace *t, const struct sb_trace_facts *facts, uint64_t *out_blob)
{
	char bytes[SB_BLOB_MAX];
	size_t used = 0;
	uint64_t offset;
	int err;

	*out_blob = 0;
	if (!facts->attr_count)
		return 0;
	for (size_t i = 0; i < facts->attr_count && i < SB_TRACE_ATTRS_MAX; i++) {
		const struct sb_trace_attr *a = &facts->attrs[i];
		struct packed_attr p = { .key = a->key, .type = (uint16_t)a->type, .value = (uint64_t)a->i };

		if (a->type == STROBE_TYPE_FLOAT)
			memcpy(&p.value, &a->f, sizeof p.value);
		if (a->type == STROBE_TYPE_STRING)
			p.size = (uint16_t)(a->size < 1000 ? a->size : 1000);
		if (used + sizeof p + p.size > sizeof bytes)
			break;
		memcpy(bytes + used, &p, sizeof p);
		if (p.size)
			memcpy(bytes + used + sizeof p, a->s, p.size);
		used += sizeof p + p.size;
	}
	err = sb_blobs_add(t->blobs, bytes, used, &offset);
	*out_blob = offset << 16 | used;
	return err;
}

size_t sb_trace_unpack_attrs(const void *blob, size_t size, struct sb_trace_attr *out_attrs)
{
	const char *at = blob, *end = at + size;
	size_t count = 0;

	while (at < end && count < SB_TRACE_ATTRS_MAX) {
		struct sb_trace_attr *a = &out_attrs[count++];
		struct packed_attr p;

		memcpy(&p, at, sizeof p);
		at += sizeof p;
		*a = (struct sb_trace_attr){ p.key, (enum strobe_type)p.type, (int64_t)p.value, 0, at,
			p.size };
		memcpy(&a->f, &p.value, sizeof a->f);
		at += p.size;
	}
	return count;
}

/* ---- events ---- */

static void see(struct sb_trace *t, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < t->first_ns)
		t->first_ns = from_ns;
	if (to_ns > t->last_ns)
		t->last_ns = to_ns;
}

int sb_trace_add_zone_record(struct sb_trace *t, uint32_t thread, int64_t start_ns, int64_t duration_ns,
	const struct sb_trace_zone_record *rest)
{
	struct sb_trace_zone_record r = *rest;

	r.key[0] = thread;
	r.key[1] = sb_trace_time_key(start_ns);
	r.key[2] = ~(uint64_t)duration_ns;
	see(t, start_ns, start_ns + duration_ns);
	t->threads[thread].zone_count++;
	return sb_extsort_add(t->zones, &r);
}

int sb_trace_zone(struct sb_trace *t, uint32_t thread, int64_t start_ns, int64_t duration_ns,
	const struct sb_trace_facts *facts)
{
	struct sb_trace_zone_record r = {
		.name = facts->name, .role = (uint16_t)facts->role, .kind = SB_TRACE_ZONE
	};
	int err = pack_attrs(t, facts, &r.blob);

	t->counts.zones++;
	return err ? err : sb_trace_add_zone_record(t, thread, start_ns, duration_ns, &r);
}

static int add_pair(struct sb_trace *t, struct sb_trace_pair_record *r, uint64_t group, uint32_t thread,
	int64_t at_ns, const struct sb_trace_facts *facts)
{
	int err = 0;

	if (facts) {
		r->name = facts->name;
		r->role = (uint16_t)facts->role;
		err = pack_attrs(t, facts, &r->blob);
	}
	r->key[0] = group;
	r->key[1] = sb_trace_time_key(at_ns);
	r->key[2] = t->sequence++;
	r->thread = thread;
	see(t, at_ns, at_ns);
	return err ? err : sb_extsort_add(t->pairs, r);
}

int sb_trace_begin(struct sb_trace *t, uint32_t thread, int64_t at_ns, const struct sb_trace_facts *facts)
{
	struct sb_trace_pair_record r = { .kind = SB_TRACE_BEGIN };

	t->counts.zones++;
	return add_pair(t, &r, thread, thread, at_ns, facts);
}

int sb_trace_end(struct sb_trace *t, uint32_t thread, int64_t at_ns)
{
	struct sb_trace_pair_record r = { .kind = SB_TRACE_END };

	return add_pair(t, &r, thread, thread, at_ns, NULL);
}

int sb_trace_async(struct sb_trace *t, uint32_t thread, uint64_t id, bool begin, int64_t at_ns,
	const struct sb_trace_facts *facts)
{
	struct sb_trace_pair_record r = { .kind = begin ? SB_TRACE_BEGIN : SB_TRACE_END, .async = 1 };

	t->counts.spans += begin;
	return add_pair(t, &r, id | 1ull << 63, thread, at_ns, begin ? facts : NULL);
}

int sb_trace_gpu(struct sb_trace *t, const struct sb_trace_gpu *g)
{
	struct sb_trace_gpu_record r = { .start_ns = g->start_ns,
		.duration_ns = g->duration_ns,
		.launch_ns = INT64_MIN,
		.bytes = g->bytes,
		.name = g->name,
		.stream = g->stream,
		.launch_thread = UINT32_MAX,
		.kind = (uint8_t)g->kind,
		.device = (uint8_t)g->device,
		.flags = (uint8_t)g->flags };

	sb_gpu_shape_pack(&g->shape, r.shape);
	r.key[0] = g->correlation;
	r.key[1] = 1;
	r.key[2] = t->sequence++;
	see(t, g->start_ns, g->start_ns + g->duration_ns);
	t->counts.gpu++;
	return sb_extsort_add(t->joins, &r);
}

int sb_trace_launch(struct sb_trace *t, uint32_t thread, uint64_t correlation, int64_t at_ns, bool graph)
{
	struct sb_trace_gpu_record r = {
		.launch_ns = at_ns, .launch_thread = thread, .is_launch = 1, .flags = graph ? SB_GPU_GRAPH : 0
	};

	if (!correlation)
		return 0;
	r.key[0] = correlation;
	r.key[1] = 0;
	r.key[2] = sb_trace_time_key(at_ns);
	see(t, at_ns, at_ns);
	t->counts.launches++;
	return sb_extsort_add(t->joins, &r);
}

static int add_moment(
	struct sb_trace *t, struct sb_trace_moment_record *r, enum sb_trace_moment_kind kind, int64_t at_ns)
{
	r->key[0] = sb_trace_time_key(at_ns);
	r->key[1] = t->sequence++;
	r->key[2] = kind;
	see(t, at_ns, at_ns);
	return sb_extsort_add(t->moments, r);
}

int sb_trace_counter(struct sb_trace *t, int64_t at_ns, uint32_t name, double value)
{
	struct sb_trace_moment_record r = { .name = name };

	memcpy(r.value, &value, sizeof value);
	t->counts.counters++;
	return add_moment(t, &r, SB_TRACE_COUNTER, at_ns);
}

int sb_trace_mark(struct sb_trace *t, int64_t at_ns, const struct sb_trace_facts *facts)
{
	struct sb_trace_moment_record r = { .name = facts->name };
	int err = pack_attrs(t, facts, &r.blob);

	t->counts.marks++;
	return err ? err : add_moment(t, &r, SB_TRACE_MARK, at_ns);
}

int sb_trace_memory(struct sb_trace *t, int64_t at_ns, int device, int64_t allocated, int64_t reserved)
{
	struct sb_trace_moment_record r = { .device = device,
		.value = { (uint64_t)allocated, (uint64_t)reserved } };

	t->counts.memory++;
	return add_moment(t, &r, SB_TRACE_MEMORY, at_ns);
}
