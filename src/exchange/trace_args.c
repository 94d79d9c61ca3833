/* Reads the arguments of one trace event. */
#include "exchange/trace_event.h"
#include "exchange/trace_collective.h"

#include <string.h>

enum arg {
	ARG_OTHER = 1,
	ARG_CORRELATION,
	ARG_STREAM,
	ARG_DEVICE,
	ARG_BYTES,
	ARG_ALLOCATED,
	ARG_RESERVED,
	ARG_DEVICE_TYPE,
	ARG_SHARED,
	ARG_REGISTERS,
	ARG_GRID,
	ARG_BLOCK,
	ARG_MARKER,
	ARG_NOISE
};

/* By its length: few words share one, and most arguments are not wanted. */
static enum arg arg_of(const char *text, size_t size)
{
#define IS(word, value)                            \
	if (!memcmp(text, word, sizeof(word) - 1)) \
		return value;
	switch (size) {
	case 5:
		IS("bytes", ARG_BYTES)
		IS("Bytes", ARG_BYTES)
		IS("block", ARG_BLOCK)
		break;
	case 4: IS("grid", ARG_GRID) break;
	case 6:
		IS("stream", ARG_STREAM)
		IS("device", ARG_DEVICE)
		IS("Ev Idx", ARG_NOISE)
		break;
	case 9: IS("Device Id", ARG_DEVICE) break;
	case 10: IS("sort_index", ARG_NOISE) break;
	case 11:
		IS("External id", ARG_NOISE)
		IS("correlation", ARG_CORRELATION)
		IS("Device Type", ARG_DEVICE_TYPE)
		break;
	case 13:
		IS("Fwd thread id", ARG_NOISE)
		IS("shared memory", ARG_SHARED)
		IS("strobe.marker", ARG_MARKER)
		break;
	case 14: IS("Total Reserved", ARG_RESERVED) break;
	case 15:
		IS("Sequence number", ARG_NOISE)
		IS("Total Allocated", ARG_ALLOCATED)
		break;
	case 18: IS("Record function id", ARG_NOISE) break;
	case 20: IS("registers per thread", ARG_REGISTERS) break;
	default: break;
	}
#undef IS
	return ARG_OTHER;
}

static void keep_arg(struct sb_jsonin *p, struct sb_trace_event *e, enum sb_jsonin_token token, uint32_t key)
{
	struct sb_trace_attr *a = &e->attrs[e->attr_count];

	if (e->attr_count == SB_TRACE_ATTRS_MAX)
		return;
	*a = (struct sb_trace_attr){ .key = key };
	switch (token) {
	case SB_JSONIN_NUMBER:
		a->type = STROBE_TYPE_INT;
		if (!sb_jsonin_int(&p->number, &a->i)) {
			a->type = STROBE_TYPE_FLOAT;
			a->f = sb_jsonin_double(p);
		}
		break;
	case SB_JSONIN_STRING:
		if (p->size > sizeof e->text - e->text_used)
			return;
		a->type = STROBE_TYPE_STRING;
		a->s = memcpy(e->text + e->text_used, p->text, p->size);
		a->size = p->size;
		e->text_used += p->size;
		break;
	case SB_JSONIN_TRUE:
	case SB_JSONIN_FALSE:
		a->type = STROBE_TYPE_BOOL;
		a->i = token == SB_JSONIN_TRUE;
		break;
	default: return;
	}
	e->attr_count++;
}

static int64_t whole_number(struct sb_jsonin *p, enum sb_jsonin_token token)
{
	int64_t value;

	return sb_trace_scaled(p, token, 0, &value) ? value : -1;
}

/* [64, 1, 1]; the array's end is read. */
static int read_triple(struct sb_jsonin *p, enum sb_jsonin_token *token, int64_t out[3])
{
	if (*token != SB_JSONIN_ARRAY)
		return 0;
	for (unsigned i = 0; (*token = sb_jsonin_next_element(p)) != SB_JSONIN_ARRAY_END; i++) {
		int64_t value = whole_number(p, *token);

		if (sb_jsonin_skip(p, *token))
			return p->err;
		if (i < 3)
			out[i] = value;
	}
	return 0;
}

static bool keeps_args(const struct sb_trace_event *e)
{
	return e->category == SB_CATEGORY_NONE || e->category == SB_CATEGORY_ANNOTATION;
}

static enum sb_jsonin_token next_arg(
	struct sb_jsonin *p, struct sb_trace_event *e, unsigned place, enum arg *out_arg)
{
	struct sb_jsonin_habit *habit =
		&e->arg_habits[e->category][place < SB_TRACE_ARG_HABITS ? place : SB_TRACE_ARG_HABITS - 1];
	enum sb_jsonin_token token = sb_jsonin_next_usual(p, habit);

	if (!habit->meaning && token == SB_JSONIN_KEY)
		habit->meaning = arg_of(p->text, p->size);
	*out_arg = (enum arg)habit->meaning;
	return token;
}

int sb_trace_args_read(
	struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token, struct sb_trace_event *e)
{
	enum arg arg;

	if (token != SB_JSONIN_OBJECT)
		return sb_jsonin_skip(p, token);
	for (unsigned i = 0; (token = next_arg(p, e, i, &arg)) == SB_JSONIN_KEY; i++) {
		uint32_t key = 0;

		if (e->communication && sb_trace_collective_wants(p->text, p->size))
			key = sb_trace_name(t, p->text, p->size);
		else if ((arg == ARG_OTHER || arg == ARG_BYTES || arg == ARG_DEVICE || arg == ARG_GRID ||
				 arg == ARG_BLOCK || arg == ARG_REGISTERS) &&
			 keeps_args(e))
			key = sb_trace_name(t, p->text, p->size);
		token = !key && (arg == ARG_OTHER || arg == ARG_NOISE) ? sb_jsonin_pass_value(p)
								       : sb_jsonin_next_value(p);
		switch (arg) {
		case ARG_CORRELATION: e->correlation = whole_number(p, token); break;
		case ARG_STREAM: e->stream = whole_number(p, token); break;
		case ARG_DEVICE: e->device = whole_number(p, token); break;
		case ARG_BYTES: e->bytes = whole_number(p, token); break;
		case ARG_ALLOCATED: e->allocated_bytes = whole_number(p, token); break;
		case ARG_RESERVED: e->reserved_bytes = whole_number(p, token); break;
		case ARG_DEVICE_TYPE: e->device_type = whole_number(p, token); break;
		case ARG_SHARED: e->shared_bytes = whole_number(p, token); break;
		case ARG_REGISTERS: e->registers = whole_number(p, token); break;
		case ARG_MARKER: e->marker = token == SB_JSONIN_TRUE; break;
		case ARG_GRID:
		case ARG_BLOCK:
			if (!key && read_triple(p, &token, arg == ARG_GRID ? e->grid : e->block))
				return p->err;
			break;
		default: break;
		}
		if (key)
			keep_arg(p, e, token, key);
		if (sb_jsonin_skip(p, token))
			return p->err;
	}
	return token == SB_JSONIN_OBJECT_END ? 0 : p->err;
}
