/* The GPU trace: kernels by name, busy and idle, copies, attention, collectives,
 * and which zones launched it all. Fills model.gpu. */
#include "analyze/gpu/launches.h"
#include "analyze/gpu/families.h"
#include "analyze/gpu/kernel_names.h"
#include "analyze/gpu/kernels.h"
#include "analyze/gpu/paths.h"
#include "analyze/gpu/timeline.h"
#include "analyze/gpu/waits.h"
#include "format/run_keys.h"
#include "run/gpu_traces.h"
#include "analyze/analysis.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_NS 10000
#define COPY_PEER \
	(SB_GPU_COPY_OTHER - SB_GPU_COPY_H2D + 1) /* told by its name: recordings have no kind for it */
#define COPY_KINDS (COPY_PEER + 1)
#define MEMORY_KINDS 3

struct timed_device { /* a device as one process used it */
	struct sb_gpu_device_times times;
	uint32_t process;
};

struct gpu {
	struct sb_run *run;
	struct sb_gpu_tally *kernels; /* by run name */
	uint32_t kernel_room;
	struct sb_gpu_tally copies[COPY_KINDS][MEMORY_KINDS];
	struct sb_gpu_tally sets;
	struct sb_gpu_waits waits;
	uint64_t kernel_count, small_count, ahead_count;
	int64_t kernel_ns, ahead_ns;
	struct sb_vec traces; /* struct sb_gpu_trace */
	/* the process at hand */
	uint32_t process; /* UINT32_MAX: none */
	bool settled;
	struct sb_gpu_timeline timeline;
	struct sb_gpu_families *families;
	struct sb_gpu_launches *launches;
	/* sums over processes */
	struct sb_gpu_times times;
	struct timed_device *devices; /* of every process */
	size_t device_count, process_count;
	struct sb_gpu_idle largest[SB_GPU_ROWS];
	size_t largest_count;
	int err;
};

/* ---- collecting ---- */

static struct sb_gpu_tally *kernel_at(struct gpu *g, uint32_t name)
{
	if (name >= g->kernel_room) {
		uint32_t room = g->kernel_room ? g->kernel_room : 256;
		struct sb_gpu_tally *more;

		while (room <= name)
			room *= 2;
		more = realloc(g->kernels, room * sizeof *more);
		if (!more) {
			g->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
			return NULL;
		}
		memset(more + g->kernel_room, 0, (room - g->kernel_room) * sizeof *more);
		g->kernels = more;
		g->kernel_room = room;
	}
	return &g->kernels[name];
}

static void take_kernel(struct gpu *g, const struct sb_event *e)
{
	struct sb_gpu_tally *t = kernel_at(g, e->name);

	if (!t)
		return;
	sb_gpu_tally_count(t, e->gpu.duration_ns, 0);
	g->kernel_count++;
	g->kernel_ns += e->gpu.duration_ns;
	g->small_count += e->gpu.duration_ns < SMALL_NS;
	if (e->gpu.launch_ns != INT64_MIN && e->t_ns >= e->gpu.launch_ns) {
		g->ahead_count++;
		g->ahead_ns += e->t_ns - e->gpu.launch_ns;
	}
}

static void end_process(struct gpu *g);

static void begin_process(struct gpu *g, uint32_t process)
{
	if (g->process != UINT32_MAX)
		end_process(g);
	g->process = process;
	g->settled = false;
	if (!g->err)
		g->err = sb_gpu_timeline_init(&g->timeline, &g->traces, process);
}

/* CUPTI's and Kineto's name: "Memcpy PtoP (Device -> Device)". */
static int copy_kind(const struct gpu *g, const struct sb_event *e)
{
	bool between_devices = e->gpu.kind == SB_GPU_COPY_D2D || e->gpu.kind == SB_GPU_COPY_OTHER;

	if (between_devices && strstr(g->run->names[e->name].text, "PtoP"))
		return COPY_PEER;
	return (int)e->gpu.kind - SB_GPU_COPY_H2D;
}

static void take_event(void *self, const struct sb_event *e)
{
	struct gpu *g = self;
	int memory = e->gpu.flags & SB_GPU_PAGEABLE ? 1 : e->gpu.flags & SB_GPU_PINNED ? 2 : 0;

	if (g->err || e->gpu.duration_ns < 0)
		return;
	switch (e->gpu.kind) {
	case SB_GPU_KERNEL: take_kernel(g, e); break;
	case SB_GPU_COPY_H2D:
	case SB_GPU_COPY_D2H:
	case SB_GPU_COPY_D2D:
	case SB_GPU_COPY_OTHER:
		sb_gpu_tally_count(&g->copies[copy_kind(g, e)][memory], e->gpu.duration_ns, e->gpu.bytes);
		break;
	case SB_GPU_MEMSET: sb_gpu_tally_count(&g->sets, e->gpu.duration_ns, e->gpu.bytes); break;
	case SB_GPU_SYNC: sb_gpu_waits_add(&g->waits, e); return;
	default: return; /* ranges are not work */
	}
	if (e->process != g->process)
		begin_process(g, e->process);
	if (!g->err)
		g->err = sb_gpu_timeline_add(&g->timeline, e);
}

/* ---- a process's zones follow its GPU records ---- */

static int hand_over(void *self, const struct sb_gpu_work *work)
{
	return sb_gpu_launches_add(self, work);
}

static void settle(struct gpu *g)
{
	if (g->settled || g->process == UINT32_MAX || g->err)
		return;
	g->settled = true;
	g->err = sb_gpu_timeline_sweep(&g->timeline, g->run, hand_over, g->launches);
	if (!g->err)
		g->err = sb_gpu_launches_settle(g->launches, &g->timeline);
}

static void take_begin(void *self, const struct sb_zone *z)
{
	struct gpu *g = self;

	if (z->process != g->process || g->err)
		return;
	settle(g);
	if (!g->err)
		sb_gpu_launches_begin(g->launches, z);
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct gpu *g = self;

	if (z->process != g->process || g->err)
		return;
	settle(g);
	if (!g->err)
		sb_gpu_launches_end(g->launches, z);
}

static int64_t length(const struct sb_gpu_idle *gap)
{
	return gap->end_ns - gap->begin_ns;
}

static void keep_largest(struct gpu *g, const struct sb_gpu_idle *gap)
{
	size_t i = g->largest_count;

	if (i == SB_GPU_ROWS && length(gap) <= length(&g->largest[i - 1]))
		return;
	if (i < SB_GPU_ROWS)
		g->largest_count++;
	else
		i--;
	for (; i && length(&g->largest[i - 1]) < length(gap); i--)
		g->largest[i] = g->largest[i - 1];
	g->largest[i] = *gap;
}

static void keep_devices(struct gpu *g)
{
	const struct sb_gpu_timeline *t = &g->timeline;
	struct timed_device *more;

	if (g->err || !t->device_count)
		return;
	more = realloc(g->devices, (g->device_count + t->device_count) * sizeof *more);
	if (!more) {
		g->err = sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
		return;
	}
	g->devices = more;
	g->process_count++;
	for (size_t i = 0; i < t->device_count; i++)
		g->devices[g->device_count++] = (struct timed_device){ t->devices[i], g->process };
}

static void end_process(struct gpu *g)
{
	const struct sb_gpu_times *t = &g->timeline.times;

	settle(g);
	if (!g->err)
		g->err = sb_gpu_launches_rest(g->launches);
	g->times.busy_ns += t->busy_ns;
	g->times.kernel_busy_ns += t->kernel_busy_ns;
	g->times.compute_busy_ns += t->compute_busy_ns;
	g->times.communication_ns += t->communication_ns;
	g->times.window_ns += t->window_ns;
	g->times.gap_count += t->gap_count;
	g->times.long_gaps_ns += t->long_gaps_ns;
	keep_devices(g);
	for (size_t i = 0; i < g->timeline.gap_count; i++)
		keep_largest(g, &g->timeline.gaps[i]);
	sb_gpu_timeline_done(&g->timeline);
	g->process = UINT32_MAX;
}

/* ---- rows ---- */

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static void fill_copies(struct gpu *g, struct sb_model *model)
{
	static const char *const directions[COPY_KINDS] = { "H2D", "D2H", "D2D", "other", "P2P" };
	static const char *const memories[MEMORY_KINDS] = { NULL, "pageable", "pinned" };
	struct sb_gpu_copy *rows = sb_model_alloc(model, COPY_KINDS * MEMORY_KINDS * sizeof *rows);
	int64_t copies_ns = 0;

	for (int d = 0; rows && d < COPY_KINDS; d++) {
		for (int m = 0; m < MEMORY_KINDS; m++) {
			const struct sb_gpu_tally *t = &g->copies[d][m];

			if (!t->count)
				continue;
			copies_ns += t->total_ns;
			rows[model->gpu.copy_count++] = (struct sb_gpu_copy){ directions[d], memories[m],
				(int64_t)t->count, (double)t->bytes, seconds(t->total_ns),
				t->total_ns ? (double)t->bytes / (double)t->total_ns : NAN };
		}
	}
	model->gpu.copies = rows;
	model->gpu.memset_count = (int64_t)g->sets.count;
	model->gpu.memset_bytes = (double)g->sets.bytes;
	model->gpu.memset_total_s = seconds(g->sets.total_ns);
	model->gpu.copy_ratio = g->times.window_ns ? (double)copies_ns / (double)g->times.window_ns : NAN;
}

static void fill_gaps(struct gpu *g, struct sb_model *model)
{
	struct sb_gpu_gap *rows = sb_model_alloc(model, g->largest_count * sizeof *rows);

	for (size_t i = 0; rows && i < g->largest_count; i++) {
		const struct sb_gpu_idle *gap = &g->largest[i];

		rows[i] = (struct sb_gpu_gap){ seconds(gap->begin_ns), seconds(length(gap)),
			sb_gpu_path_name(g->run, model, gap->path), (int)gap->device };
	}
	model->gpu.gaps = rows;
	model->gpu.gap_count = rows ? g->largest_count : 0;
	model->gpu.gap_total = g->times.gap_count;
	model->gpu.long_gaps_s = seconds(g->times.long_gaps_ns);
}

static void fill_devices(struct gpu *g, struct sb_model *model)
{
	struct sb_gpu_device *rows = sb_model_alloc(model, g->device_count * sizeof *rows);

	for (size_t i = 0; rows && i < g->device_count; i++) {
		const struct sb_gpu_device_times *t = &g->devices[i].times;

		rows[i] = (struct sb_gpu_device){ (int)t->device,
			g->run->processes[g->devices[i].process].pid, seconds(t->first_ns),
			seconds(t->window_ns), seconds(t->busy_ns), seconds(t->window_ns - t->busy_ns) };
	}
	model->gpu.devices = rows;
	model->gpu.device_count = rows ? g->device_count : 0;
	model->gpu.process_count = g->process_count;
}

static void fill_traced(struct gpu *g, struct sb_model *model)
{
	int64_t sum_ns = 0;
	size_t processes = 0, kept = 0;
	struct sb_gpu_traced *rows = sb_model_alloc(model, (g->traces.count + 1) * sizeof *rows);

	for (size_t i = 0; rows && i < g->traces.count; i++) {
		const struct sb_gpu_trace *t = (const struct sb_gpu_trace *)g->traces.items + i;

		processes += !i || t->process != t[-1].process;
		kept += t->kept;
		sum_ns += t->end_ns > t->begin_ns ? t->end_ns - t->begin_ns : 0;
		rows[i] = (struct sb_gpu_traced){ g->run->processes[t->process].pid, seconds(t->begin_ns),
			seconds(t->end_ns > t->begin_ns ? t->end_ns - t->begin_ns : 0) };
	}
	model->gpu.traces = rows;
	model->gpu.trace_count = rows ? g->traces.count : 0;
	model->gpu.slow_only = kept && kept == g->traces.count;
	model->gpu.traced_s = sum_ns ? seconds(sum_ns) / (double)processes : NAN;
	sb_gpu_traces_number(g->run, SB_RUN_GPU_TRACE_BUFFERS, &model->gpu.buffers_most, &(int64_t){ 0 });
	sb_gpu_traces_number(
		g->run, SB_RUN_GPU_TRACE_UNFINISHED, &(int64_t){ 0 }, &model->gpu.unfinished_count);
}

/* ---- the analysis ---- */

static void free_gpu(void *self)
{
	struct gpu *g = self;

	if (!g)
		return;
	sb_gpu_timeline_done(&g->timeline);
	sb_gpu_launches_free(g->launches);
	sb_gpu_families_free(g->families);
	free(g->kernels);
	free(g->devices);
	sb_vec_done(&g->traces);
	free(g);
}

static bool has_gpu_records(const struct sb_run *run)
{
	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_chunk_range range = sb_reader_range(run->processes[i].reader, SB_STREAM_DEVICE, 0);

		if (range.first < range.end)
			return true;
	}
	return false;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct gpu *g;
	int err;

	if (!has_gpu_records(run))
		return 0;
	g = calloc(1, sizeof *g);
	if (!g)
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
	g->run = run;
	g->process = UINT32_MAX;
	err = sb_gpu_families_new(run, &g->families);
	if (!err)
		err = sb_gpu_launches_new(run, model, g->families, &g->launches);
	if (!err)
		err = sb_gpu_traces_find(run, &g->traces);
	if (err) {
		free_gpu(g);
		return err;
	}
	*v = (struct sb_visitor){ .self = g,
		.kinds = 1u << SB_EVENT_GPU,
		.roles = SB_EVERY_ZONE,
		.gpu_spans = true,
		.zone = take_zone,
		.zone_begin = take_begin,
		.event = take_event };
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct gpu *g = self;
	struct sb_gpu_panel *s = &model->gpu;
	struct sb_gpu_kernels kernels;
	int64_t waited_ns;

	if (!g)
		return 0;
	if (g->process != UINT32_MAX)
		end_process(g);
	if (g->err)
		return g->err;
	if (!g->times.window_ns && !g->kernel_count)
		return 0; /* stream-timed zones only */
	kernels = (struct sb_gpu_kernels){ run, g->kernels, g->kernel_room, g->kernel_ns };
	s->present = true;
	s->kernel_count = (int64_t)g->kernel_count;
	s->kernel_total_s = seconds(g->kernel_ns);
	s->busy_s = seconds(g->times.busy_ns);
	s->busy_ratio = g->times.window_ns > 0 ? (double)g->times.busy_ns / (double)g->times.window_ns : NAN;
	s->kernel_busy_s = seconds(g->times.kernel_busy_ns);
	s->window_s = seconds(g->times.window_ns);
	s->idle_s = seconds(g->times.window_ns - g->times.busy_ns);
	s->launch_interval_s = sb_gpu_launches_interval_s(g->launches);
	s->small_kernel_ratio = g->kernel_count ? (double)g->small_count / (double)g->kernel_count : NAN;
	s->launch_ahead_s = g->ahead_count ? seconds(g->ahead_ns) / (double)g->ahead_count : NAN;
	s->launch_queue_count = g->ahead_count && g->times.window_ns
					? (double)g->ahead_ns / (double)g->times.window_ns
					: NAN;
	waited_ns = sb_gpu_launches_waited_ns(g->launches);
	s->overlap_ratio = waited_ns < 0 || !g->times.busy_ns
				   ? NAN
				   : 1 - (double)waited_ns / (double)g->times.busy_ns;
	if (s->overlap_ratio < 0)
		s->overlap_ratio = 0;
	s->communication_s = seconds(g->times.communication_ns);
	s->exposed_communication_s = seconds(g->times.kernel_busy_ns - g->times.compute_busy_ns);
	fill_copies(g, model);
	sb_gpu_waits_fill(&g->waits, run, model);
	s->attention = sb_gpu_kernels_by_kind(&kernels, model, sb_gpu_attention_kind, &s->attention_count);
	s->collectives = sb_gpu_kernels_by_kind(&kernels, model, sb_gpu_collective, &s->collective_count);
	sb_gpu_paths_fill(g->run, g->launches, &g->times, model);
	fill_devices(g, model);
	fill_gaps(g, model);
	fill_traced(g, model);
	if (sb_gpu_families_fill(g->families, model))
		return STROBE_ENOMEM;
	return sb_gpu_kernels_fill(&kernels, model);
}

const struct sb_analysis sb_analysis_gpu = { "gpu", begin, finish, free_gpu };
