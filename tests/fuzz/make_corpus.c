/* Writes the seeds of the recording fuzzer: small files that hold every record
 * type. usage: make_corpus FOLDER */
#include "format/builder.h"
#include "format/packed.h"

#include <math.h>
#include <stdio.h>

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
	struct sb_lane_writer *w, *other;
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
	struct sb_chunk_header at = { .generation = 2,
		.writer = 9,
		.tid = 1000,
		.lane = SB_LANE_DIGEST,
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

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	return zones(argv[1]) || records(argv[1]) || digest(argv[1]) || packed(argv[1]);
}
