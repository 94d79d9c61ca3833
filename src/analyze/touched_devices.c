/* touched_devices: which of the machine's GPUs the run used, and what their numbers are. */
#include "analyze/touched_devices.h"

#include "analyze/analysis.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static const char *uuid_of(const struct sb_run *run, uint32_t process, int device)
{
	char key[48];

	snprintf(key, sizeof key, "cuda_device_%d_uuid", device);
	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *meta = &run->metas[i];

		if (meta->process == process && meta->scope == SB_META_SYSTEM &&
			meta->attr.type == STROBE_TYPE_STRING && !strcmp(meta->attr.key, key))
			return meta->attr.s;
	}
	return NULL;
}

static int monitored_as(const struct sb_run *run, const char *uuid, int otherwise)
{
	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *meta = &run->metas[i];
		char rest[8] = "";
		int number;

		if (meta->scope == SB_META_SYSTEM && meta->attr.type == STROBE_TYPE_STRING &&
			sscanf(meta->attr.key, "gpu%d.%7s", &number, rest) == 2 && !strcmp(rest, "uuid") &&
			number >= 0 && number < (int)SB_DEVICES_MAX && !strcmp(meta->attr.s, uuid))
			return number;
	}
	return otherwise;
}

int sb_device_number(struct sb_device_numbers *n, uint32_t process, int device)
{
	if (device < 0 || device >= (int)SB_DEVICES_MAX)
		return device;
	if (!n->begun || n->process != process)
		memset(n->of, -1, sizeof n->of);
	n->begun = true;
	n->process = process;
	if (n->of[device] < 0) {
		const char *uuid = uuid_of(n->run, process, device);

		n->of[device] = (int8_t)(uuid ? monitored_as(n->run, uuid, device) : device);
	}
	return n->of[device];
}

uint64_t sb_device_number_bits(struct sb_device_numbers *n, uint32_t process, uint64_t bits)
{
	uint64_t out = 0;

	for (; bits; bits &= bits - 1)
		out |= 1ull << sb_device_number(n, process, __builtin_ctzll(bits));
	return out;
}

/* ---- which the run used ---- */

struct touched {
	struct sb_device_numbers numbers;
	struct sb_touched_devices *to; /* the model's: others read it while the zones pass */
};

static uint64_t bit_of(int number)
{
	return number >= 0 && number < (int)SB_DEVICES_MAX ? 1ull << number : 0;
}

static void take_sample(struct touched *t, const struct sb_event *e)
{
	const struct sb_run_schema *schema = e->sample.schema;

	for (uint32_t i = 0; !strcmp(schema->source, "gpu") && i < schema->column_count; i++)
		if (e->sample.values[i] > 0 && !strcmp(schema->columns[i], "process_memory_mb"))
			t->to->memory |= bit_of(schema->device);
}

static void take(void *self, const struct sb_event *e)
{
	struct touched *t = self;

	if (e->kind == SB_EVENT_SAMPLE)
		take_sample(t, e);
	else if (e->kind == SB_EVENT_SNAPSHOT &&
		 (e->snapshot.allocated_bytes > 0 || e->snapshot.peak_bytes > 0))
		t->to->work |= bit_of(sb_device_number(&t->numbers, e->process, e->snapshot.device));
	else if (e->kind == SB_EVENT_GPU && e->gpu.duration_ns > 0)
		*(e->gpu.kind == SB_GPU_ZONE ? &t->to->zones : &t->to->work) |= bit_of(
			sb_device_number(&t->numbers, e->process, (int)e->gpu.device));
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct touched *t = calloc(1, sizeof *t);

	if (!t)
		return sb_fail(STROBE_ENOMEM, "no memory for the run's GPUs");
	t->numbers.run = run;
	t->to = &model->devices.touched;
	*v = (struct sb_visitor){ .self = t,
		.kinds = 1u << SB_EVENT_SAMPLE | 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_GPU,
		.event = take };
	return 0;
}

const struct sb_analysis sb_analysis_touched_devices = {
	.name = "touched_devices", .begin = begin, .done = free
};
