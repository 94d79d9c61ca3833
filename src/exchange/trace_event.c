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

static bool is_number(const struct sb_jsonin *p, enum sb_jsonin_token token)
{
	struct sb_jsonin_number number;

	return token == SB_JSONIN_NUMBER ||
	       (token == SB_JSONIN_STRING && sb_jsonin_parse_number(p->text, p->size, &number));
}

/* Microseconds, any precision, as nanoseconds. */
static int read_time(struct sb_jsonin *p, enum sb_jsonin_token token, const char *what, int64_t *out_ns)
{
	if (sb_trace_scaled(p, token, 3, out_ns) && *out_ns<TIME_LIMIT_NS && * out_ns> - TIME_LIMIT_NS)
		return 0;
	return sb_jsonin_fail(p, "\"%s\" is %s", what, is_number(p, token) ? "out of range" : "not a number");
}

static int read_key(struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token, uint64_t *out_key)
{
	int64_t value = 0;

	if (sb_trace_scaled(p, token, 0, &value))
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

/* ---- the event ---- */

enum field {
	FIELD_OTHER = 1,
	FIELD_PH,
	FIELD_CAT,
	FIELD_PID,
	FIELD_TID,
	FIELD_NAME,
	FIELD_TS,
	FIELD_DUR,
	FIELD_ARGS,
	FIELD_ID,
	FIELD_SCOPE,
	FIELD_NONE /* before the first */
};
_Static_assert(FIELD_NONE < SB_TRACE_FIELDS, "a field without a habit");

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

/* field: the one before it. */
static enum sb_jsonin_token next_field(struct sb_jsonin *p, struct sb_trace_event *e, enum field *field)
{
	struct sb_jsonin_habit *habit = &e->field_habits[e->phase == 'X'][*field];
	enum sb_jsonin_token token = sb_jsonin_next_usual(p, habit);

	if (!habit->meaning && token == SB_JSONIN_KEY)
		habit->meaning = field_of(p->text, p->size);
	*field = (enum field)habit->meaning;
	return token;
}

/* Phase, category and thread are mostly those of the event before. False: the field must be read. */
static bool take_same(struct sb_jsonin *p, enum field field, struct sb_trace_event *e)
{
	const struct sb_jsonin_same *same = &e->same[e->category][field];

	if (!sb_jsonin_pass_same(p, same))
		return false;
	if (field == FIELD_PH)
		e->phase = (char)same->meaning;
	else if (field == FIELD_CAT)
		e->category = (enum sb_trace_category)same->meaning;
	else if (field == FIELD_PID)
		e->pid_key = same->meaning;
	else
		e->tid_key = same->meaning;
	return true;
}

static int read_category(struct sb_jsonin *p, enum sb_jsonin_token token, struct sb_trace_event *e)
{
	if (token != SB_JSONIN_STRING)
		return sb_jsonin_skip(p, token);
	e->category = (enum sb_trace_category)find_word(
		categories, sizeof categories / sizeof categories[0], p->text, p->size);
	if (!e->category)
		e->category_hash = hash_bytes(p->text, p->size);
	return 0;
}

static int read_same(struct sb_jsonin *p, struct sb_trace *t, enum field field, struct sb_trace_event *e)
{
	struct sb_jsonin_same *same = &e->same[e->category][field];
	enum sb_jsonin_token token;
	int err;

	if (take_same(p, field, e))
		return 0;
	token = sb_jsonin_learn_value(p, same);
	if (token == SB_JSONIN_ERROR)
		return p->err;
	switch (field) {
	case FIELD_PH:
		if (token != SB_JSONIN_STRING || p->size != 1)
			return sb_jsonin_fail(p, "\"ph\" is not a string of one letter");
		same->meaning = (unsigned char)(e->phase = *p->text);
		return 0;
	case FIELD_CAT:
		err = read_category(p, token, e);
		same->meaning = e->category;
		if (!e->category) /* its hash counts */
			same->compared = 0;
		return err;
	case FIELD_PID:
		err = read_key(p, t, token, &e->pid_key);
		same->meaning = e->pid_key;
		return err;
	default:
		err = read_key(p, t, token, &e->tid_key);
		same->meaning = e->tid_key;
		return err;
	}
}

static int read_field(struct sb_jsonin *p, struct sb_trace *t, enum field field, struct sb_trace_event *e)
{
	enum sb_jsonin_token token;

	if (field >= FIELD_PH && field <= FIELD_TID)
		return read_same(p, t, field, e);
	token = sb_jsonin_next_value(p);
	if (token == SB_JSONIN_ERROR)
		return p->err;
	switch (field) {
	case FIELD_NAME:
		if (token == SB_JSONIN_STRING)
			read_name(p, t, e);
		else if (token == SB_JSONIN_NUMBER)
			e->name = sb_trace_name(t, p->text, p->size);
		else if (token != SB_JSONIN_NULL)
			return sb_jsonin_fail(p, "\"name\" is not a string");
		return 0;
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
	case FIELD_ARGS: return sb_trace_args_read(p, t, token, e);
	case FIELD_ID:
	case FIELD_SCOPE: return read_id(p, token, e);
	default: return sb_jsonin_skip(p, token);
	}
}

static void clear(struct sb_trace_event *e)
{
	memset(e, 0, offsetof(struct sb_trace_event, correlation));
	e->id_number = e->step = e->correlation = e->stream = e->device = e->bytes = -1;
	e->allocated_bytes = e->reserved_bytes = e->device_type = e->shared_bytes = e->registers = -1;
	memset(e->grid, 0, sizeof e->grid);
	memset(e->block, 0, sizeof e->block);
	e->copy_kind = 0;
	e->copy_flags = 0;
	e->attr_count = e->text_used = 0;
}

int sb_trace_event_read(struct sb_jsonin *p, struct sb_trace *t, struct sb_trace_event *out_event)
{
	enum sb_jsonin_token token;
	enum field field = FIELD_NONE;

	clear(out_event);
	out_event->offset = p->token_offset;
	while ((token = next_field(p, out_event, &field)) == SB_JSONIN_KEY) {
		int err = read_field(p, t, field, out_event);

		if (err)
			return err;
	}
	if (token != SB_JSONIN_OBJECT_END)
		return p->err;
	t->fractional |= (out_event->ts_ns | out_event->dur_ns) & 7 &&
			 (out_event->ts_ns % 1000 || out_event->dur_ns % 1000);
	return 0;
}
