/* Writes the seeds of the recording fuzzer: small files that hold every record
 * type. usage: make_corpus FOLDER, or make_corpus FOLDER job: what the pages of jobs hold, instead */
#include "base/buf.h"
#include "exchange/share.h"
#include "format/builder.h"
#include "format/packed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sb_builder *open_in(const char *folder, const char *name)
{
	struct sb_builder_options o = { .rank = -1, .local_rank = -1, .chunk_bytes = 4096 };
	struct sb_builder *b = NULL;
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return sb_builder_open(path, &o, &b) ? NULL : b;
}

static int zones(const char *folder)
{
	struct sb_builder *b = open_in(folder, "zones.strobe");
	struct sb_stream_writer *w, *other;
	uint32_t outer, inner, task;

	if (!b)
		return 1;
	w = sb_builder_thread(b, 0, "main");
	other = sb_builder_thread(b, 77, "worker");
	outer = sb_builder_name(b, "outer", NULL);
	inner = sb_builder_name(b, "VAE encode", "4c");
	task = sb_builder_track(b, "request");
	sb_builder_begin(w, 100, outer);
	sb_builder_role(w, STROBE_ROLE_GENERATION);
	sb_builder_attr(w, SB_NAME_FRAMES, 16);
	sb_builder_attr(w, SB_NAME_BYTES, INT64_C(1) << 50);
	sb_builder_attr_float(w, SB_NAME_TIMESTEP, 0.5);
	sb_builder_attr_string(w, SB_NAME_STATE, "warm");
	sb_builder_begin(w, 200, inner);
	sb_builder_end(w, 300, inner);
	sb_builder_span(w, outer, 0, 310, 40, 0, NULL, 0);
	sb_builder_span_open(w, inner, 5, 320, task);
	sb_builder_count(w, SB_NAME_FRAMES, 3);
	sb_builder_mark(w, 330, inner);
	sb_builder_switch(other, 150, task);
	sb_builder_begin(other, 160, inner);
	sb_builder_end(w, UINT64_C(1) << 42, 0); /* needs a REBASE */
	sb_builder_begin(w, (UINT64_C(1) << 42) + 5, inner);
	return sb_builder_abandon(b);
}

static int records(const char *folder)
{
	struct sb_builder *b = open_in(folder, "records.strobe");
	const char *columns[] = { "memory_used_bytes", "utilization_percent" };
	struct strobe_attr attr = { .key = "path", .type = STROBE_TYPE_STRING, .value.s = "x" };
	struct strobe_cache_event cache = { .cache = "teacache",
		.kind = STROBE_CACHE_HIT,
		.score = 0.1,
		.threshold = NAN,
		.frame = 3,
		.chunk = -1,
		.size_bytes = -1 };
	struct strobe_batch batch = { 4, 1.5, 2.5, 0.5 };
	double values[] = { 1e9, 50 };
	uint32_t schema, frames[2], lines[2] = { 10, 20 };

	if (!b)
		return 1;
	schema = sb_builder_schema(b, "gpu", 0, columns, 2);
	sb_builder_sample(b, schema, 10, values, 2);
	sb_builder_snapshot(b, 20, "loaded", 0, 100, 200, 300);
	sb_builder_event(b, 30, "ckpt", 0, &attr, 1);
	sb_builder_skip(b, 40, "Pre-inference", "4e", "disabled");
	sb_builder_cache(b, 50, &cache);
	sb_builder_stream(b, 60, &batch);
	sb_builder_model(b, 70, "dit", 1300000000, "bf16", 2600000000);
	sb_builder_alloc(b, 80, "cuda", 1000, "latents");
	sb_builder_alloc(b, 81, "cuda", -1000, NULL);
	sb_builder_gauge(b, 90, "queue", 3);
	sb_builder_meta(b, SB_META_TAG, &attr);
	sb_builder_meta_string(b, SB_META_MISSING, "kernels", "no trace|--gpu-trace");
	sb_builder_lost(b, SB_LOST_DISK_FULL, 5, 1, 2);
	sb_builder_anchor(b, 1000000100, 1000000100, 2000000100, 5);
	sb_builder_process(b, 100, 50, 1, 1, -1, "python x.py");
	frames[0] = sb_builder_name(b, "f", NULL);
	frames[1] = sb_builder_name(b, "main", NULL);
	sb_builder_stack(b, 110, 1000, 0, frames, lines, 2);
	sb_builder_code_file(b, frames[0], "x.py");
	for (int kind = SB_GPU_ZONE; kind <= SB_GPU_SYNC; kind++)
		sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = frames[0],
					  .kind = (enum sb_gpu_kind)kind,
					  .start_ns = 100,
					  .duration_ns = 50,
					  .launch_ns = 90,
					  .launch_tid = 1000,
					  .stream = 7,
					  .bytes = 4096 });
	return sb_builder_close(b, 1000);
}

#define MS 1000000ull

static void zone(struct sb_stream_writer *w, uint32_t name, uint64_t begin_ns, uint64_t end_ns, int role)
{
	sb_builder_begin(w, begin_ns, name);
	if (role)
		sb_builder_role(w, (enum strobe_role)role);
	sb_builder_end(w, end_ns, name);
}

/* What monitors see of a small machine. */
static void monitor(struct sb_builder *b)
{
	const char *gpu[] = { "utilization_percent", "memory_used_bytes", "power_w", "temperature_c",
		"sm_clock_mhz" };
	const char *disk[] = { "read_bytes", "write_bytes", "io_percent" };
	const char *memory[] = { "used_bytes", "total_bytes", "swap_used_bytes", "page_cache_bytes" };
	const char *cpu[] = { "cpu_percent", "frequency_mhz" };
	uint32_t schemas[] = { sb_builder_schema(b, "gpu", 0, gpu, 5),
		sb_builder_schema(b, "disk", -1, disk, 3), sb_builder_schema(b, "memory", -1, memory, 4),
		sb_builder_schema(b, "cpu", -1, cpu, 2) };

	for (uint64_t i = 0; i < 6; i++) {
		double values[4][5] = { { 10.0 * (double)i, 1e9 * (double)i, 300, 60 + (double)i, 1500 },
			{ 1e8 * (double)i, 1e6, 50 }, { 4e9, 16e9, 0, 1e9 }, { 90, 3000 } };
		const uint32_t counts[] = { 5, 3, 4, 2 };

		for (int k = 0; k < 4; k++)
			sb_builder_sample(b, schemas[k], i * 20 * MS, values[k], counts[k]);
	}
}

/* Two videos of four steps, a block each, with kernels, copies, offload and a collective. */
static int pipeline(const char *folder)
{
	static const char *const texts[] = { "text_encode", "step", "forward", "vae_decode", "offload",
		"all_reduce", "generation", "block", "flash_fwd_kernel", "Memcpy HtoD",
		"cudaStreamSynchronize" };
	struct sb_builder *b = open_in(folder, "pipeline.strobe");
	struct sb_builder_gpu work = {
		.kind = SB_GPU_KERNEL, .launch_tid = 1000, .stream = 7, .bytes = 1 << 20
	};
	struct sb_stream_writer *w;
	uint32_t n[11];

	if (!b)
		return 1;
	w = sb_builder_thread(b, 1000, "main");
	for (int i = 0; i < 11; i++)
		n[i] = sb_builder_name(b, texts[i], i == 3 ? "4c" : NULL);
	for (uint64_t video = 0; video < 2; video++) {
		uint64_t t = video * 50 * MS;

		sb_builder_begin(w, t, n[6]);
		sb_builder_role(w, STROBE_ROLE_GENERATION);
		sb_builder_attr(w, SB_NAME_FRAMES, 16);
		zone(w, n[0], t + 1 * MS, t + 5 * MS, 0);
		sb_builder_begin(w, t + 6 * MS, n[7]);
		sb_builder_role(w, STROBE_ROLE_BLOCK);
		for (uint64_t step = 0; step < 4; step++) {
			uint64_t at = t + (7 + step * 7) * MS;

			sb_builder_begin(w, at, n[1]);
			sb_builder_role(w, STROBE_ROLE_STEP);
			sb_builder_attr(w, SB_NAME_STEP, (int64_t)step);
			zone(w, n[2], at + MS, at + 3 * MS, STROBE_ROLE_FORWARD);
			zone(w, n[5], at + 3 * MS, at + 4 * MS, STROBE_ROLE_COLLECTIVE);
			zone(w, n[10], at + 4 * MS, at + 5 * MS, 0);
			sb_builder_end(w, at + 6 * MS, n[1]);
			work.name = step % 2 ? n[9] : n[8];
			work.kind = step % 2 ? SB_GPU_COPY_H2D : SB_GPU_KERNEL;
			work.start_ns = at + 2 * MS;
			work.launch_ns = at + MS;
			work.duration_ns = 2 * MS;
			sb_builder_gpu(b, &work);
		}
		sb_builder_end(w, t + 36 * MS, n[7]);
		sb_builder_begin(w, t + 37 * MS, n[4]);
		sb_builder_role(w, STROBE_ROLE_OFFLOAD);
		sb_builder_attr(w, SB_NAME_BYTES, 1 << 30);
		sb_builder_end(w, t + 39 * MS, n[4]);
		zone(w, n[3], t + 40 * MS, t + 45 * MS, 0);
		sb_builder_end(w, t + 48 * MS, n[6]);
		sb_builder_snapshot(b, t + 39 * MS, "after_offload", 0, 1 << 20, 1 << 21, 1 << 22);
	}
	monitor(b);
	sb_builder_meta_string(b, SB_META_RUN, "command", "python wan.py");
	sb_builder_meta_string(b, SB_META_SETTING, "save_raw_data", "true");
	sb_builder_skip(b, 30 * MS, "upscale", "5", "not asked for");
	return sb_builder_close(b, 110 * MS);
}

static int digest(const char *folder)
{
	struct sb_builder *b = open_in(folder, "digest.strobe");
	struct {
		struct sb_digest_root root;
		struct sb_digest_node node;
		struct sb_digest_hist hist;
		struct sb_digest_sum sum;
		struct sb_digest_open open;
		struct sb_digest_open_zone zones[2][1];
	} heap = { .root = { .folded_seq = 1 } };
	struct sb_chunk_header at = { .epoch = 2,
		.writer = 9,
		.tid = 1000,
		.stream = SB_STREAM_DIGEST,
		.seq = 1,
		.base_ticks = 1000000000 };

	if (!b)
		return 1;
	heap.node.head = (struct sb_digest_head){ SB_DIGEST_NODE, sizeof heap.node / 8 };
	heap.node.node = 1;
	heap.node.name = sb_builder_name(b, "folded", NULL);
	heap.node.slot[0] = (struct sb_digest_node_slot){ 1, 5, 50, 50, 8, 12, 1000000010, 1000000090 };
	heap.hist.head = (struct sb_digest_head){ SB_DIGEST_HIST, sizeof heap.hist / 8 };
	heap.hist.node = 1;
	heap.hist.count[9] = 5;
	heap.sum.head = (struct sb_digest_head){ SB_DIGEST_SUM, sizeof heap.sum / 8 };
	heap.sum.key = SB_NAME_FRAMES;
	heap.sum.slot[0] = (struct sb_digest_sum_slot){ 1, 5, 40, 40, 8 };
	heap.open.head = (struct sb_digest_head){ SB_DIGEST_OPEN,
		(sizeof heap.open + sizeof heap.zones) / 8 };
	heap.open.capacity = 1;
	heap.open.slot[0].stamp = 1;
	heap.open.slot[0].depth = 1;
	heap.zones[0][0] = (struct sb_digest_open_zone){ 0, 1, 1000000095, 0 };
	sb_builder_chunk(b, &at, &heap, sizeof heap);
	return sb_builder_close(b, 1000);
}

static int packed(const char *folder)
{
	char from[512], to[512];
	struct sb_reader *r;
	int err;

	snprintf(from, sizeof from, "%s/zones.strobe", folder);
	snprintf(to, sizeof to, "%s/packed.strobe", folder);
	if (sb_reader_open(from, &r))
		return 1;
	err = sb_packed_write(r, to);
	sb_reader_close(r);
	return err && err != STROBE_ENOTSUP;
}

/* ---- jobs ---- */

#define RANKS 3

/* A folder of ranks below the folder, for a while. */
static int make_ranks(const char *folder, char job[512])
{
	static const char *const from[RANKS] = { "zones", "records", "pipeline" };
	int err = zones(folder) || records(folder) || pipeline(folder);

	snprintf(job, 512, "%.400s/job", folder);
	err = err || mkdir(job, 0700);
	for (int rank = 0; rank < RANKS && !err; rank++) {
		char old[600], made[600];

		snprintf(made, sizeof made, "%s/rank_%d", job, rank);
		err = mkdir(made, 0700);
		snprintf(old, sizeof old, "%s/%s.strobe", folder, from[rank]);
		snprintf(made, sizeof made, "%s/rank_%d/run.strobe", job, rank);
		err = err || rename(old, made);
	}
	return err;
}

static void remove_ranks(const char *job)
{
	for (int rank = 0; rank < RANKS; rank++) {
		char made[600];

		snprintf(made, sizeof made, "%s/rank_%d/run.strobe", job, rank);
		unlink(made);
		snprintf(made, sizeof made, "%s/rank_%d", job, rank);
		rmdir(made);
	}
	rmdir(job);
}

/* What a page of the ranks holds, once as it is and once to be put into a page: the first byte says which. */
static int jobs(const char *folder)
{
	char job[512], packed[600];
	struct sb_buf bytes = { 0 };
	int err = make_ranks(folder, job);

	snprintf(packed, sizeof packed, "%s.packed", job);
	err = err || sb_share_job_pack(job, packed, UINT64_MAX) || sb_buf_read_file(&bytes, packed, 1u << 24);
	unlink(packed);
	remove_ranks(job);
	for (int way = 0; way < 2 && !err; way++) {
		struct sb_buf seed = { 0 };
		char path[600];

		sb_buf_putc(&seed, (char)way);
		sb_buf_add(&seed, sb_buf_text(&bytes), bytes.size);
		snprintf(path, sizeof path, "%s.%d", job, way);
		err = sb_buf_write_file(&seed, path, 0600);
		sb_buf_done(&seed);
	}
	sb_buf_done(&bytes);
	return err;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "job"))
		return jobs(argv[1]) != 0;
	if (argc != 2)
		return 2;
	return zones(argv[1]) || records(argv[1]) || pipeline(argv[1]) || digest(argv[1]) || packed(argv[1]);
}
