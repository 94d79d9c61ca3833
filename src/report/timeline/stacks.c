/* Samples past SAMPLES_MAX are counted, not kept: the page stays small. */
#include "report/timeline/stacks.h"

#include "base/python_file.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX 20000u
#define STACKS_MAX 8000u

struct sb_timeline_sample {
	int64_t t_ns, weight_ns, cpu_ns; /* of a thread without Python weight_ns is 0 */
	uint32_t stack, track;
};

struct sb_timeline_stack {
	size_t first; /* of its frames */
	uint32_t count;
};

void sb_timeline_stacks_done(struct sb_timeline_stacks *s)
{
	free(s->samples.items);
	free(s->stacks.items);
	free(s->frames.items);
	sb_map_done(&s->number_of);
	sb_map_done(&s->waits);
	memset(s, 0, sizeof *s);
}

void sb_timeline_stacks_file(struct sb_timeline_stacks *s, const struct sb_run *run, const struct sb_event *e)
{
	sb_map_put(&s->waits, e->name,
		sb_python_waits(run->names[e->name].text, e->text)); /* else its name decides */
}

static bool only_waits(const struct sb_timeline_stacks *s, const struct sb_run *run, const struct sb_event *e)
{
	uint32_t leaf = e->stack.names[0], waits;

	if (e->stack.native || e->stack.tid == run->processes[e->process].reader->head.main_tid)
		return false;
	return sb_map_get(&s->waits, leaf, &waits) ? waits : sb_python_waits(run->names[leaf].text, NULL);
}

static uint64_t hash_of(const uint32_t *names, uint32_t count)
{
	uint64_t hash = 1469598103934665603ull;

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ names[i]) * 1099511628211ull;
	return hash;
}

static bool same(const struct sb_timeline_stacks *s, uint32_t number, const uint32_t *names, uint32_t count)
{
	const struct sb_timeline_stack *k = (const struct sb_timeline_stack *)s->stacks.items + number;

	return k->count == count &&
	       !memcmp((const uint32_t *)s->frames.items + k->first, names, count * sizeof *names);
}

/* The stack of the last frames, which go again if it is there already. UINT32_MAX: there is no room for another one. */
static uint32_t number_of(struct sb_timeline_stacks *s, size_t first)
{
	const uint32_t *names = (const uint32_t *)s->frames.items + first;
	uint32_t count = (uint32_t)(s->frames.count - first), number;
	uint64_t key = hash_of(names, count);
	struct sb_timeline_stack *stack;

	if (sb_map_get(&s->number_of, key, &number)) {
		s->frames.count = first;
		return same(s, number, names, count) ? number : UINT32_MAX;
	}
	number = (uint32_t)s->stacks.count;
	stack = number == STACKS_MAX ? NULL : sb_vec_push(&s->stacks, sizeof *stack);
	if (!stack || !sb_map_put(&s->number_of, key, number)) {
		s->frames.count = first;
		return UINT32_MAX;
	}
	*stack = (struct sb_timeline_stack){ first, count };
	return number;
}

static bool push_frame(struct sb_timeline_stacks *s, uint32_t name)
{
	uint32_t *frame = sb_vec_push(&s->frames, sizeof *frame);

	if (frame)
		*frame = name;
	return frame;
}

static uint32_t take_frames(struct sb_timeline_stacks *s, const struct sb_run *run, const struct sb_event *e)
{
	size_t first = s->frames.count;
	bool room = true;

	for (uint32_t i = 0; i < e->stack.frame_count && room; i++)
		room = push_frame(s, e->stack.names[i]);
	if (room && only_waits(s, run, e))
		room = push_frame(s, run->name_count);
	if (room)
		return number_of(s, first);
	s->frames.count = first;
	return UINT32_MAX;
}

void sb_timeline_stacks_add(struct sb_timeline_stacks *s, const struct sb_run *run, const struct sb_event *e)
{
	struct sb_timeline_sample *sample;
	uint32_t number;

	if (!e->stack.frame_count)
		return;
	number = s->samples.count < SAMPLES_MAX ? take_frames(s, run, e) : UINT32_MAX;
	sample = number == UINT32_MAX ? NULL : sb_vec_push(&s->samples, sizeof *sample);
	if (sample)
		*sample = (struct sb_timeline_sample){ e->t_ns, e->stack.native ? 0 : e->stack.weight_ns,
			e->stack.cpu_ns, number, e->track };
	else
		s->left_out++;
}

void sb_timeline_stacks_names(const struct sb_timeline_stacks *s, uint32_t *name_numbers)
{
	for (size_t i = 0; i < s->frames.count; i++)
		name_numbers[((const uint32_t *)s->frames.items)[i]] = 0;
}

static void write_stack(
	const uint32_t *frames, uint32_t count, const uint32_t *name_numbers, struct sb_json *j)
{
	sb_json_array_begin(j, NULL);
	while (count-- > 0)
		sb_json_uint(j, NULL, name_numbers[frames[count]]);
	sb_json_array_end(j);
}

static void write_sample(
	const struct sb_timeline_sample *s, const uint32_t *lane_of, uint32_t track_count, struct sb_json *j)
{
	uint32_t lane = lane_of && s->track < track_count ? lane_of[s->track] : UINT32_MAX;

	sb_json_array_begin(j, NULL);
	sb_json_int(j, NULL, s->t_ns);
	sb_json_uint(j, NULL, s->stack);
	sb_json_int(j, NULL, s->weight_ns);
	if (s->cpu_ns >= 0) {
		sb_json_int(j, NULL, s->cpu_ns);
		sb_json_int(j, NULL, lane == UINT32_MAX ? -1 : (int64_t)lane);
	}
	sb_json_array_end(j);
}

void sb_timeline_stacks_write(const struct sb_timeline_stacks *s, const uint32_t *name_numbers,
	const uint32_t *lane_of, uint32_t track_count, struct sb_json *j)
{
	const struct sb_timeline_stack *stacks = s->stacks.items;
	const struct sb_timeline_sample *samples = s->samples.items;

	if (!s->samples.count)
		return;
	sb_json_array_begin(j, "stacks");
	for (size_t i = 0; i < s->stacks.count; i++)
		write_stack((const uint32_t *)s->frames.items + stacks[i].first, stacks[i].count,
			name_numbers, j);
	sb_json_array_end(j);
	sb_json_array_begin(j, "samples");
	for (size_t i = 0; i < s->samples.count; i++)
		write_sample(&samples[i], lane_of, track_count, j);
	sb_json_array_end(j);
	if (s->left_out)
		sb_json_uint(j, "samples_left_out", s->left_out);
}
