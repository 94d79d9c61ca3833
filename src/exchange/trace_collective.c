/* What torch says about a collective, in the words of torch.distributed. */
#include "exchange/trace_collective.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum wanted { NAME, DTYPE, IN_ELEMENTS, OUT_ELEMENTS, SIZE, GROUP, RANKS, SEQ, SOURCE, WANTED_COUNT };

static const char *const wanted[WANTED_COUNT] = { "Collective name", "dtype", "In msg nelems",
	"Out msg nelems", "Group size", "Process Group Name", "Process Group Ranks", "Seq", "Src Rank" };

bool sb_trace_collective_wants(const char *argument, size_t size)
{
	for (size_t i = 0; i < WANTED_COUNT; i++)
		if (strlen(wanted[i]) == size && !memcmp(wanted[i], argument, size))
			return true;
	return false;
}

/* torch's words here and in torch.distributed. */
static const struct {
	const char *kineto, *name;
} operations[] = {
	{ "allreduce", "all_reduce" },
	{ "allreduce_coalesced", "all_reduce" },
	{ "allgather", "all_gather" },
	{ "all_gather", "all_gather" },
	{ "_allgather_base", "all_gather_into_tensor" },
	{ "allgather_into_tensor_coalesced", "all_gather_into_tensor" },
	{ "reduce_scatter", "reduce_scatter" },
	{ "_reduce_scatter_base", "reduce_scatter_tensor" },
	{ "reduce_scatter_tensor_coalesced", "reduce_scatter_tensor" },
	{ "all_to_all", "all_to_all" },
	{ "all_to_allv", "all_to_all_single" },
	{ "broadcast", "broadcast" },
	{ "_broadcast_oop", "broadcast" },
	{ "reduce", "reduce" },
	{ "_reduce_oop", "reduce" },
	{ "gather", "gather" },
	{ "scatter", "scatter" },
	{ "barrier", "barrier" },
};

static const struct sb_trace_attr *find(
	const struct sb_trace *t, const struct sb_trace_event *e, enum wanted which)
{
	for (size_t i = 0; i < e->attr_count; i++)
		if (!strcmp(sb_strings_text(&t->names, e->attrs[i].key), wanted[which]))
			return &e->attrs[i];
	return NULL;
}

static int64_t number(const struct sb_trace *t, const struct sb_trace_event *e, enum wanted which)
{
	const struct sb_trace_attr *a = find(t, e, which);
	char text[24];

	if (!a || a->type == STROBE_TYPE_FLOAT)
		return -1;
	if (a->type != STROBE_TYPE_STRING)
		return a->i;
	snprintf(text, sizeof text, "%.*s", (int)(a->size < 20 ? a->size : 20), a->s);
	return isdigit((unsigned char)*text) ? strtoll(text, NULL, 10) : -1;
}

static void copy(const struct sb_trace_attr *a, char *out, size_t size)
{
	snprintf(out, size, "%.*s", a && a->type == STROBE_TYPE_STRING ? (int)a->size : 0, a ? a->s : "");
}

static int element_bytes(const char *dtype)
{
	static const struct {
		const char *name;
		int bytes;
	} sizes[] = { { "Float", 4 }, { "BFloat16", 2 }, { "Half", 2 }, { "Double", 8 }, { "Long", 8 },
		{ "Int", 4 }, { "Short", 2 }, { "Byte", 1 }, { "Char", 1 }, { "Bool", 1 },
		{ "Float8_e4m3fn", 1 }, { "Float8_e5m2", 1 }, { "ComplexFloat", 8 } };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		if (!strcmp(sizes[i].name, dtype))
			return sizes[i].bytes;
	return 0;
}

/* "[0, 1, 2, 3]" as "0-3"; a list that torch cut short is kept as it is, without blanks. */
static void put_members(const char *list, char *out, size_t size)
{
	long from = -1, to = -1;
	size_t used = 0;

	*out = '\0';
	while (*list && used + 32 < size) {
		char *end;
		long rank;

		if (!isdigit((unsigned char)*list)) {
			if (*list++ == '.' && used + 34 < size)
				used += (size_t)snprintf(out + used, size - used, ".");
			continue;
		}
		rank = strtol(list, &end, 10);
		list = end;
		if (from >= 0 && rank == to + 1) {
			to = rank;
			continue;
		}
		if (from >= 0)
			used += (size_t)snprintf(
				out + used, size - used, to > from ? "%ld-%ld," : "%ld,", from, to);
		from = to = rank;
	}
	if (from >= 0 && used + 32 < size)
		snprintf(out + used, size - used, to > from ? "%ld-%ld" : "%ld", from, to);
}

static uint32_t operation_name(struct sb_trace *t, const struct sb_trace_event *e)
{
	char kineto[64], name[80];

	copy(find(t, e, NAME), kineto, sizeof kineto);
	for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
		if (!strcmp(kineto, operations[i].kineto)) {
			snprintf(name, sizeof name, "collective:%s", operations[i].name);
			return sb_trace_name(t, name, strlen(name));
		}
	return 0;
}

static struct sb_trace_attr int_attr(struct sb_trace *t, const char *key, int64_t value)
{
	return (struct sb_trace_attr){
		.key = sb_trace_name(t, key, strlen(key)), .type = STROBE_TYPE_INT, .i = value
	};
}

/* Attributes as a call of torch.distributed has them; e's own storage holds them. */
static size_t put_attrs(struct sb_trace *t, struct sb_trace_event *e)
{
	char dtype[32], group[64], ranks[1024], members[512];
	int64_t seq = number(t, e, SEQ), root = number(t, e, SOURCE);
	int64_t elements = number(t, e, OUT_ELEMENTS), bytes;
	size_t count = 0;

	if (elements <= 0)
		elements = number(t, e, IN_ELEMENTS);
	copy(find(t, e, DTYPE), dtype, sizeof dtype);
	copy(find(t, e, GROUP), group, sizeof group);
	copy(find(t, e, RANKS), ranks, sizeof ranks);
	put_members(ranks, members, sizeof members);
	bytes = elements > 0 && elements < INT64_MAX / 16 ? elements * element_bytes(dtype) : 0;
	if (bytes)
		e->attrs[count++] = int_attr(t, "bytes", bytes);
	if (root >= 0)
		e->attrs[count++] = int_attr(t, "root", root);
	if (seq < 0 || (!*group && !*members))
		return count;
	e->attrs[count++] = int_attr(t, "seq", seq);
	e->attrs[count] = (struct sb_trace_attr){
		.key = sb_trace_name(t, "group", 5), .type = STROBE_TYPE_STRING, .s = e->text
	};
	e->attrs[count++].size = (size_t)snprintf(e->text, sizeof e->text, "nccl:%s:%s", members, group);
	return count;
}

void sb_trace_collective_facts(struct sb_trace *t, struct sb_trace_event *e, struct sb_trace_facts *facts)
{
	uint32_t name = operation_name(t, e);

	if (!name)
		return;
	facts->name = name;
	facts->role = STROBE_ROLE_COLLECTIVE;
	facts->attr_count = put_attrs(t, e);
	facts->attrs = e->attrs;
}
