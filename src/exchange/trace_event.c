/* Reads the fields of one trace event. Every key may come in any order. */
#include "exchange/trace_event.h"
#include "exchange/trace_collective.h"

#include "base/error.h"

#include <string.h>

#define TIME_LIMIT_NS (1ll << 61)

struct word {
	const char *text;
	unsigned size;
	int value;
};
#define WORD(text, value)                    \
	{                                    \
		text, sizeof text - 1, value \
	}

/* Few words share size and first letter: most are passed over without a look at the rest. */
static int find_word(const struct word *words, size_t count, const char *text, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].size == size && words[i].text[0] == text[0] &&
			!memcmp(words[i].text, text, size))
			return words[i].value;
	return 0;
}

/* ---- category and name ---- */

static const struct word categories[] = {
	WORD("cpu_op", SB_CATEGORY_OPERATOR),
	WORD("kernel", SB_CATEGORY_KERNEL),
	WORD("cuda_runtime", SB_CATEGORY_RUNTIME),
	WORD("cuda_driver", SB_CATEGORY_RUNTIME),
	WORD("python_function", SB_CATEGORY_OPERATOR),
	WORD("user_annotation", SB_CATEGORY_ANNOTATION),
	WORD("gpu_user_annotation", SB_CATEGORY_GPU_RANGE),
	WORD("gpu_memcpy", SB_CATEGORY_MEMCPY),
	WORD("gpu_memset", SB_CATEGORY_MEMSET),
	WORD("cuda_sync", SB_CATEGORY_GPU_SYNC),
	WORD("ac2g", SB_CATEGORY_LAUNCH_FLOW),
	WORD("strobe.finding", SB_CATEGORY_FINDING),
	WORD("overhead", SB_CATEGORY_OVERHEAD),
	WORD("Trace", SB_CATEGORY_PROFILER),
	WORD("privateuse1_runtime", SB_CATEGORY_RUNTIME),
	WORD("concurrent_kernel", SB_CATEGORY_KERNEL),
	WORD("Kernel", SB_CATEGORY_KERNEL),
	WORD("Memcpy", SB_CATEGORY_MEMCPY),
	WORD("Memset", SB_CATEGORY_MEMSET),
	WORD("Runtime", SB_CATEGORY_RUNTIME),
	WORD("Operator", SB_CATEGORY_OPERATOR),
};

static uint64_t hash_bytes(const char *text, size_t size)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

/* "Memcpy HtoD (Pageable -> Device)" */
static void read_copy_name(struct sb_trace_event *e, const char *text, size_t size)
{
	static const struct word directions[] = { WORD("HtoD", SB_GPU_COPY_H2D),
		WORD("DtoH", SB_GPU_COPY_D2H), WORD("DtoD", SB_GPU_COPY_D2D), WORD("PtoP", SB_GPU_COPY_D2D) };

	e->copy_kind = SB_GPU_COPY_OTHER;
	e->copy_flags = 0;
	if (size >= 11 && find_word(directions, 4, text + 7, 4))
		e->copy_kind = (enum sb_gpu_kind)find_word(directions, 4, text + 7, 4);
	if (memmem(text, size, "Pageable", 8))
		e->copy_flags = SB_GPU_PAGEABLE;
	else if (memmem(text, size, "Pinned", 6))
		e->copy_flags = SB_GPU_PINNED;
}

static void read_name(struct sb_jsonin *p, struct sb_trace *t, struct sb_trace_event *e)
{
	static const char step[] = "ProfilerStep#";
	struct sb_jsonin_number number;
	size_t size = p->size, prefix = sizeof step - 1;

	if (size > prefix && *p->text == 'P' && !memcmp(p->text, step, prefix) &&
		sb_jsonin_parse_number(p->text + prefix, size - prefix, &number) &&
		sb_jsonin_int(&number, &e->step))
		size = prefix - 1;
	else
		e->step = -1;
	if (*p->text == 'M' && size > 7 && !memcmp(p->text, "Memcpy ", 7))
		read_copy_name(e, p->text, size);
	e->graph_launch = size >= 13 &&
			  (!memcmp(p->text, "cudaGraphLaunch", 13) || !memcmp(p->text, "cuGraphLaunch", 13));
	e->name = sb_trace_name(t, p->text, size);
	e->communication = size == strlen(SB_TRACE_COLLECTIVE) && !memcmp(p->text, SB_TRACE_COLLECTIVE, size);
}

/* ---- values ---- */

/* A number, or a string that holds one. */
static bool number_of(struct sb_jsonin *p, enum sb_jsonin_token token, struct sb_jsonin_number *out_number)
{
	if (token == SB_JSONIN_NUMBER) {
		*out_number = p->number;
		return true;
	}
	return token == SB_JSONIN_STRING && sb_jsonin_parse_number(p->text, p->size, out_number);
}

/* Microseconds, any precision, as nanoseconds. */
static int read_time(struct sb_jsonin *p, enum sb_jsonin_token token, const char *what, int64_t *out_ns)
{
	struct sb_jsonin_number number;

	if (!number_of(p, token, &number))
		return sb_jsonin_fail(p, "\"%s\" is not a number", what);
	if (!sb_jsonin_scaled(&number, 3, out_ns) || *out_ns >= TIME_LIMIT_NS || *out_ns <= -TIME_LIMIT_NS)
		return sb_jsonin_fail(p, "\"%s\" is out of range", what);
	return 0;
}

static int read_key(struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token, uint64_t *out_key)
{
	struct sb_jsonin_number number;
	int64_t value = 0;

	if (number_of(p, token, &number) && sb_jsonin_scaled(&number, 0, &value))
		*out_key = sb_trace_number_key(value);
	else if (token == SB_JSONIN_STRING)
		*out_key = sb_trace_text_key(t, p->text, p->size);
	else if (token == SB_JSONIN_NUMBER || token == SB_JSONIN_NULL)
		*out_key = 0;
	else
		return sb_jsonin_fail(p, "\"pid\" and \"tid\" are numbers or strings");
	return 0;
}

/* "id": 7, "id": "0x7", or "id2": {"local": "0x7"} */
static int read_id(struct sb_jsonin *p, enum sb_jsonin_token token, struct sb_trace_event *e)
{
	e->has_id = true;
	if (token == SB_JSONIN_OBJECT) {
		while ((token = sb_jsonin_next(p)) == SB_JSONIN_KEY) {
			token = sb_jsonin_next(p);
			if (token == SB_JSONIN_STRING || token == SB_JSONIN_NUMBER)
				e->id_hash ^= hash_bytes(p->text, p->size);
			else if (sb_jsonin_skip(p, token))
				return p->err;
		}
		return token == SB_JSONIN_OBJECT_END ? 0 : p->err;
	}
	if (token == SB_JSONIN_STRING || token == SB_JSONIN_NUMBER)
		e->id_hash ^= hash_bytes(p->text, p->size);
	if (token == SB_JSONIN_NUMBER && !sb_jsonin_int(&p->number, &e->id_number))
		e->id_number = -1;
	return sb_jsonin_skip(p, token);
}

/* ---- args ---- */

enum arg {
	ARG_OTHER,
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
	struct sb_jsonin_number number;
	int64_t value;

	return number_of(p, token, &number) && sb_jsonin_scaled(&number, 0, &value) ? value : -1;
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

static int read_args(
	struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token, struct sb_trace_event *e)
{
	if (token != SB_JSONIN_OBJECT)
		return sb_jsonin_skip(p, token);
	while ((token = sb_jsonin_next_member(p)) == SB_JSONIN_KEY) {
		enum arg arg = arg_of(p->text, p->size);
		uint32_t key = 0;

		if (e->communication && sb_trace_collective_wants(p->text, p->size))
			key = sb_trace_name(t, p->text, p->size);
		else if ((arg == ARG_OTHER || arg == ARG_BYTES || arg == ARG_DEVICE || arg == ARG_GRID ||
				 arg == ARG_BLOCK || arg == ARG_REGISTERS) &&
			 keeps_args(e))
			key = sb_trace_name(t, p->text, p->size);
		token = sb_jsonin_next_value(p);
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

/* ---- the event ---- */

enum field {
	FIELD_OTHER,
	FIELD_PH,
	FIELD_CAT,
	FIELD_NAME,
	FIELD_PID,
	FIELD_TID,
	FIELD_TS,
	FIELD_DUR,
	FIELD_ARGS,
	FIELD_ID,
	FIELD_SCOPE
};

static enum field field_of(const char *text, size_t size)
{
	switch (size) {
	case 2:
		return text[0] == 'p' && text[1] == 'h'   ? FIELD_PH
		       : text[0] == 't' && text[1] == 's' ? FIELD_TS
		       : text[0] == 'i' && text[1] == 'd' ? FIELD_ID
							  : FIELD_OTHER;
	case 3:
		return !memcmp(text, "cat", 3)   ? FIELD_CAT
		       : !memcmp(text, "pid", 3) ? FIELD_PID
		       : !memcmp(text, "tid", 3) ? FIELD_TID
		       : !memcmp(text, "dur", 3) ? FIELD_DUR
		       : !memcmp(text, "id2", 3) ? FIELD_ID
						 : FIELD_OTHER;
	case 4:
		return !memcmp(text, "name", 4)   ? FIELD_NAME
		       : !memcmp(text, "args", 4) ? FIELD_ARGS
						  : FIELD_OTHER;
	case 5: return !memcmp(text, "scope", 5) ? FIELD_SCOPE : FIELD_OTHER;
	default: return FIELD_OTHER;
	}
}

static int read_field(struct sb_jsonin *p, struct sb_trace *t, enum field field, struct sb_trace_event *e)
{
	enum sb_jsonin_token token = sb_jsonin_next_value(p);

	if (token == SB_JSONIN_ERROR)
		return p->err;
	switch (field) {
	case FIELD_PH:
		if (token != SB_JSONIN_STRING || p->size != 1)
			return sb_jsonin_fail(p, "\"ph\" is not a string of one letter");
		e->phase = *p->text;
		return 0;
	case FIELD_NAME:
		if (token == SB_JSONIN_STRING)
			read_name(p, t, e);
		else if (token == SB_JSONIN_NUMBER)
			e->name = sb_trace_name(t, p->text, p->size);
		else if (token != SB_JSONIN_NULL)
			return sb_jsonin_fail(p, "\"name\" is not a string");
		return 0;
	case FIELD_CAT:
		if (token != SB_JSONIN_STRING)
			return sb_jsonin_skip(p, token);
		e->category = (enum sb_trace_category)find_word(
			categories, sizeof categories / sizeof categories[0], p->text, p->size);
		if (!e->category)
			e->category_hash = hash_bytes(p->text, p->size);
		return 0;
	case FIELD_PID: return read_key(p, t, token, &e->pid_key);
	case FIELD_TID: return read_key(p, t, token, &e->tid_key);
	case FIELD_TS: e->has_ts = true; return read_time(p, token, "ts", &e->ts_ns);
	case FIELD_DUR:
		e->has_dur = true;
		if (read_time(p, token, "dur", &e->dur_ns))
			return p->err;
		if (e->dur_ns <
			0) { /* clocks that were set back: a moment, not a reason to refuse the rest */
			e->dur_ns = 0;
			t->counts.backward++;
		}
		return 0;
	case FIELD_ARGS: return read_args(p, t, token, e);
	case FIELD_ID:
	case FIELD_SCOPE: return read_id(p, token, e);
	default: return sb_jsonin_skip(p, token);
	}
}

static void clear(struct sb_trace_event *e)
{
	memset(e, 0, offsetof(struct sb_trace_event, attrs));
	e->text_used = 0;
	e->id_number = e->step = e->correlation = e->stream = e->device = e->bytes = -1;
	e->allocated_bytes = e->reserved_bytes = e->device_type = e->shared_bytes = e->registers = -1;
	memset(e->grid, 0, sizeof e->grid);
	memset(e->block, 0, sizeof e->block);
}

int sb_trace_event_read(struct sb_jsonin *p, struct sb_trace *t, struct sb_trace_event *out_event)
{
	enum sb_jsonin_token token;

	clear(out_event);
	out_event->offset = p->token_offset;
	while ((token = sb_jsonin_next_member(p)) == SB_JSONIN_KEY) {
		int err = read_field(p, t, field_of(p->text, p->size), out_event);

		if (err)
			return err;
	}
	if (token != SB_JSONIN_OBJECT_END)
		return p->err;
	t->fractional |= (out_event->ts_ns | out_event->dur_ns) & 7 &&
			 (out_event->ts_ns % 1000 || out_event->dur_ns % 1000);
	return 0;
}
