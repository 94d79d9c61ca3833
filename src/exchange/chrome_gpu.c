/* GPU work in Chrome JSON: kernels, copies and ranges as Kineto names them, with their
 * launches. */
#include "exchange/chrome.h"
#include "base/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waits overlap the work that they wait for: they stand on lines of their own, one for each thread that waits. */
static uint64_t line_of(const struct sb_event *ev)
{
	return ev->gpu.kind == SB_GPU_SYNC ? SB_CHROME_WAITS | ev->gpu.launch_tid : ev->gpu.stream;
}

static void note_stream(struct sb_chrome *c, const struct sb_event *ev, uint32_t pid)
{
	for (uint32_t i = c->stream_count; i-- > 0;)
		if (c->streams[i].pid == pid && c->streams[i].line == line_of(ev))
			return;
	if (!SB_MAKE_ROOM(c->streams, c->stream_count, c->stream_room)) {
		c->failed = true;
		return;
	}
	c->streams[c->stream_count++] = (struct sb_chrome_stream){ pid, ev->process, ev->gpu.device,
		line_of(ev) };
}

static const char *gpu_category(enum sb_gpu_kind kind)
{
	switch (kind) {
	case SB_GPU_ZONE: return "gpu_user_annotation";
	case SB_GPU_MEMSET: return "gpu_memset";
	case SB_GPU_SYNC: return "cuda_sync";
	case SB_GPU_KERNEL: return "kernel";
	default: return "gpu_memcpy";
	}
}

static const char *launch_call(const struct sb_event *ev)
{
	switch (ev->gpu.kind) {
	case SB_GPU_KERNEL: return ev->gpu.flags & SB_GPU_GRAPH ? "cudaGraphLaunch" : "cudaLaunchKernel";
	case SB_GPU_MEMSET: return "cudaMemsetAsync";
	default: return "cudaMemcpyAsync";
	}
}

static char *put_gpu_name(struct sb_chrome *c, char *at, const struct sb_event *ev)
{
	static const char *const directions[] = { "HtoD", "DtoH", "DtoD", "Other" };
	const char *name = c->run->names[ev->name].text;
	const char *host = ev->gpu.flags & SB_GPU_PINNED ? "Pinned" : "Pageable";
	char made[64];

	if (ev->gpu.kind >= SB_GPU_COPY_H2D && ev->gpu.kind <= SB_GPU_COPY_OTHER &&
		strncmp(name, "Memcpy ", 7) != 0) {
		const char *from = ev->gpu.kind == SB_GPU_COPY_H2D ? host : "Device";
		const char *to = ev->gpu.kind == SB_GPU_COPY_D2H ? host : "Device";

		snprintf(made, sizeof made, "Memcpy %s (%s -> %s)",
			directions[ev->gpu.kind - SB_GPU_COPY_H2D], from, to);
		name = made;
	}
	return sb_put_json_string(at, name, NAME_LIMIT);
}

/* From the thread that launched or that waits to the GPU. */
static char *put_arrow(
	struct sb_chrome *c, char *at, const struct sb_event *ev, uint32_t gpu_pid, uint64_t correlation)
{
	const struct sb_run_track *thread = &c->run->tracks[ev->gpu.launch_track];
	int64_t from_ns = ev->gpu.launch_ns != INT64_MIN ? ev->gpu.launch_ns : ev->t_ns;

	at = SB_PUT(at, "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":");
	at = sb_put_u64(at, correlation);
	at = sb_chrome_place(at, sb_export_pid(c->run, thread->process), sb_export_tid(thread), from_ns);
	at = SB_PUT(at, "},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":");
	at = sb_put_u64(at, correlation);
	at = sb_chrome_place(at, gpu_pid, line_of(ev), ev->t_ns);
	return SB_PUT(at, "},\n");
}

/* The launch on its thread, where it is no zone already. */
static char *put_launch(struct sb_chrome *c, char *at, const struct sb_event *ev, uint64_t correlation)
{
	const struct sb_run_track *thread = &c->run->tracks[ev->gpu.launch_track];

	at = SB_PUT(at, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	at = sb_out_put(at, launch_call(ev), strlen(launch_call(ev)));
	*at++ = '"';
	at = sb_chrome_place(
		at, sb_export_pid(c->run, thread->process), sb_export_tid(thread), ev->gpu.launch_ns);
	at = SB_PUT(at, ",\"dur\":0.000,\"args\":{\"correlation\":");
	at = sb_put_u64(at, correlation);
	return SB_PUT(at, "}},\n");
}

/* A wait has its arrow, too: it says which thread stood still. */
static char *put_from(
	struct sb_chrome *c, char *at, const struct sb_event *ev, uint32_t gpu_pid, uint64_t correlation)
{
	bool wait = ev->gpu.kind == SB_GPU_SYNC;

	if (ev->gpu.kind == SB_GPU_ZONE || ev->gpu.launch_track == UINT32_MAX)
		return at;
	if (!wait && ev->gpu.launch_ns == INT64_MIN)
		return at;
	if (!wait && !c->runtime_zones)
		at = put_launch(c, at, ev, correlation);
	return put_arrow(c, at, ev, gpu_pid, correlation);
}

static char *put_triple(char *at, const uint32_t v[3])
{
	for (unsigned i = 0; i < 3; i++) {
		*at++ = i ? ',' : '[';
		at = sb_put_u64(at, v[i]);
	}
	*at++ = ']';
	return at;
}

/* As torch.profiler names it. */
static char *put_shape(char *at, const struct sb_gpu_shape *s)
{
	if (!s->grid[0])
		return at;
	at = SB_PUT(at, ",\"registers per thread\":");
	at = sb_put_u64(at, s->registers);
	at = SB_PUT(at, ",\"shared memory\":");
	at = sb_put_u64(at, s->shared_bytes);
	at = SB_PUT(at, ",\"grid\":");
	at = put_triple(at, s->grid);
	at = SB_PUT(at, ",\"block\":");
	return put_triple(at, s->block);
}

void sb_chrome_gpu(struct sb_chrome *c, const struct sb_event *ev)
{
	const char *category = gpu_category(ev->gpu.kind);
	uint32_t pid = sb_export_gpu_pid(c->run, ev->process, ev->gpu.device);
	bool launched = ev->gpu.launch_ns != INT64_MIN && ev->gpu.launch_track != UINT32_MAX;
	uint64_t correlation = ++c->correlation;
	char *at = sb_out_room(c->out, NAME_LIMIT * 6 + 4096);

	note_stream(c, ev, pid);
	c->summary->gpu++;
	if (launched && c->runtime_zones)
		correlation = sb_chrome_correlation(ev->gpu.launch_track, ev->gpu.launch_ns);
	at = SB_PUT(at, "{\"ph\":\"X\",\"cat\":\"");
	at = sb_out_put(at, category, strlen(category));
	at = SB_PUT(at, "\",\"name\":");
	at = put_gpu_name(c, at, ev);
	at = sb_chrome_place(at, pid, line_of(ev), ev->t_ns);
	at = SB_PUT(at, ",\"dur\":");
	at = sb_put_us(at, ev->gpu.duration_ns);
	at = SB_PUT(at, ",\"args\":{\"device\":");
	at = sb_put_u64(at, ev->gpu.device);
	at = SB_PUT(at, ",\"stream\":");
	at = sb_put_u64(at, ev->gpu.stream);
	if (ev->gpu.kind != SB_GPU_ZONE) {
		at = SB_PUT(at, ",\"correlation\":");
		at = sb_put_u64(at, correlation);
	}
	if (ev->gpu.bytes >= 0) {
		at = SB_PUT(at, ",\"bytes\":");
		at = sb_put_i64(at, ev->gpu.bytes);
		if (ev->gpu.duration_ns > 0) {
			at = SB_PUT(at, ",\"memory bandwidth (GB/s)\":");
			at = sb_put_double(at, (double)ev->gpu.bytes / (double)ev->gpu.duration_ns);
		}
	}
	at = put_shape(at, &ev->gpu.shape);
	at = SB_PUT(at, "}},\n");
	c->out->at = put_from(c, at, ev, pid, correlation);
}
