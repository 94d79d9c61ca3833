/* Random recordings: threads, tasks, nested, overlapping, open and killed zones. The same seed
 * makes the same recording. For tests; synthetic.h comes first. */
#ifndef TESTS_RANDOM_RECORDING_H
#define TESTS_RANDOM_RECORDING_H

#include "synthetic.h"

#define THREADS_MOST 5
#define DEPTH_MOST 4

static uint64_t state_of_chance;

static uint64_t chance(uint64_t below)
{
	state_of_chance = state_of_chance * 6364136223846793005ull + 1442695040888963407ull;
	return (state_of_chance >> 33) % below;
}

static void begin_one(struct synthetic *s, struct sb_stream_writer *w, uint64_t t, int depth)
{
	static const char *const names[] = { "denoise", "vae_decode", "text_encode", "load", "offload",
		"step", "read_shards", "export" };
	bool generation = depth == 0 && chance(3) == 0;
	const char *name = generation ? "generation" : names[chance(8)];

	sb_builder_begin(w, t, sb_builder_name(s->b, name, NULL));
	if (generation)
		sb_builder_role(w, STROBE_ROLE_GENERATION);
	else if (!strcmp(name, "step") || (!strcmp(name, "denoise") && depth > 1))
		sb_builder_role(w, STROBE_ROLE_STEP); /* also inside a section of the same name */
	if (generation && chance(2))
		sb_builder_attr(w, sb_builder_name(s->b, "frames", NULL), (int64_t)chance(90) + 1);
}

static void one_span(struct synthetic *s, struct sb_stream_writer *w, uint64_t t)
{
	uint64_t start = chance(t + 1);

	sb_builder_span(w, sb_builder_name(s->b, "copy", NULL), 1 + chance(1u << 20), start,
		chance(t - start + 1), 0, NULL, 0);
}

/* Zones of one thread, now and then switching between its tasks; some stay open. */
static void one_thread(struct synthetic *s, struct sb_stream_writer *w, uint64_t end_ns)
{
	uint32_t tracks[3] = { 0 };
	int depth[3] = { 0 }, at = 0, tasks = chance(3) == 0 ? 3 : 1;
	uint64_t t = chance(end_ns / 4), steps = 5 + chance(60);

	for (int i = 1; i < tasks; i++)
		tracks[i] = sb_builder_track(s->b, "task");
	for (uint64_t i = 0; i < steps && t < end_ns; i++) {
		if (tasks > 1 && chance(3) == 0) {
			at = (int)chance(3);
			sb_builder_switch(w, t, tracks[at]);
		}
		if (chance(12) == 0)
			one_span(s, w, t);
		if (depth[at] && (depth[at] == DEPTH_MOST || chance(2))) {
			sb_builder_end(w, t, 0);
			depth[at]--;
		} else {
			begin_one(s, w, t, depth[at]++);
		}
		t += chance(4) ? chance(end_ns / steps * 2 + 1) : 0;
	}
	for (; at == 0 && depth[0] && chance(4) && t < end_ns; depth[0]--)
		sb_builder_end(w, t, 0);
}

/* Kernels and copies of a traced part, on two streams of up to two devices; launched by the main thread, or by nobody known. */
static void gpu_records(struct synthetic *s, uint64_t end_ns)
{
	static const char *const names[] = { "gemm", "attention", "memcpy HtoD", "denoise" };
	uint64_t begin_ns = chance(end_ns / 2), count = 20 + chance(200), length_ns = end_ns / 200 + 1;

	synthetic_gpu_trace(s, begin_ns, end_ns);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t which = (uint32_t)chance(4);
		uint64_t start_ns = begin_ns + chance(end_ns - begin_ns + 1);

		sb_builder_gpu(s->b,
			&(struct sb_builder_gpu){ .name = sb_builder_name(s->b, names[which], NULL),
				.kind = which == 2   ? SB_GPU_COPY_H2D
					: which == 3 ? SB_GPU_ZONE
						     : SB_GPU_KERNEL,
				.device = (uint32_t)chance(2),
				.stream = (uint32_t)chance(2),
				.start_ns = start_ns,
				.duration_ns = chance(length_ns * 2),
				.launch_ns = chance(3) ? start_ns - chance(start_ns + 1) / 100 : UINT64_MAX,
				.bytes = which == 2 ? chance(1u << 30) : 0 });
	}
}

/* Stacks of the main thread, some of one function inside itself. */
static void stacks(struct synthetic *s, uint64_t end_ns)
{
	uint32_t inner = sb_builder_name(s->b, "pipe.decode", NULL),
		 outer = sb_builder_name(s->b, "pipe.main", NULL);
	const uint32_t names[] = { inner, inner, outer }, lines[] = { 12, 20, 99 };
	uint64_t every_ns = end_ns / (10 + chance(200)) + 1;

	sb_builder_code_file(s->b, inner, "/srv/pipe.py");
	for (uint64_t t = every_ns; t <= end_ns; t += every_ns) {
		uint32_t skip = (uint32_t)chance(3);

		sb_builder_stack(s->b, t, 0, 0, names + skip, lines + skip, 3 - skip);
	}
}

static void processes(struct synthetic *s, uint64_t end_ns)
{
	for (uint32_t i = 0; i < chance(6); i++) {
		uint64_t begin_ns = chance(end_ns);

		sb_builder_process(s->b, begin_ns, 3000 + i, 1000, 1, 0, "worker");
		if (chance(2))
			sb_builder_process(s->b, begin_ns + chance(end_ns - begin_ns), 3000 + i, 1000, 0,
				(int64_t)chance(3), "worker");
	}
}

/* Returns when it ends. */
static uint64_t random_recording(struct synthetic *s, uint64_t seed)
{
	uint64_t end_ns;
	uint32_t gpu;
	int threads;

	state_of_chance = seed * 7919;
	end_ns = (1 + chance(20)) * SECOND;
	threads = (int)chance(THREADS_MOST);
	gpu = chance(2) ? synthetic_gpu(s, 0) : 0;

	if (chance(5))
		one_thread(s, s->main, end_ns);
	for (int i = 0; i < threads; i++)
		one_thread(s, sb_builder_thread(s->b, 2001 + (uint32_t)i, "worker"), end_ns);
	for (uint64_t t = 0; gpu && t <= end_ns; t += end_ns / 40 + 1)
		synthetic_gpu_sample(s, gpu, t, 14000, (double)chance(101), 100 + (double)chance(600));
	/* after what was there before, so that a seed keeps its zones */
	if (seed % 3 == 1)
		gpu_records(s, end_ns);
	if (seed % 3 != 0)
		stacks(s, end_ns);
	if (seed % 4 == 0)
		processes(s, end_ns);
	return end_ns;
}

#endif
