/* Writes recordings of every shape into a folder, for the checks of the report:
 * make_recordings FOLDER */
#include "format/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define SECOND 1000000000ull
#define MIB (1024ll * 1024)

static struct sb_builder *open_recording(const char *folder, const char *name)
{
	struct sb_builder_options options = SB_BUILDER_DEFAULTS;
	struct sb_builder *b;
	char path[4096];

	options.name = name;
	options.chunk_bytes = 4096;
	snprintf(path, sizeof path, "%s/%s.strobe", folder, name);
	if (sb_builder_open(path, &options, &b) != 0) {
		fprintf(stderr, "make_recordings: %s: %s\n", path, strobe_error());
		exit(2);
	}
	return b;
}

static void close_recording(struct sb_builder *b, uint64_t end_ns)
{
	if (sb_builder_close(b, end_ns) != 0) {
		fprintf(stderr, "make_recordings: %s\n", strobe_error());
		exit(2);
	}
}

static void begin(struct sb_builder *b, struct sb_stream_writer *w, uint64_t t, const char *name, int role)
{
	sb_builder_begin(w, t, sb_builder_name(b, name, NULL));
	if (role)
		sb_builder_role(w, (enum strobe_role)role);
}

static void attr(struct sb_builder *b, struct sb_stream_writer *w, const char *key, int64_t value)
{
	sb_builder_attr(w, sb_builder_name(b, key, NULL), value);
}

static void end(struct sb_stream_writer *w, uint64_t t)
{
	sb_builder_end(w, t, 0);
}

/* ---- samples ---- */

static void gpu_samples(struct sb_builder *b, uint64_t end_ns)
{
	static const char *const columns[] = { "memory_used_mb", "memory_total_mb", "utilization_percent",
		"memory_utilization_percent", "temperature_c", "power_w", "energy_j", "sm_clock_mhz",
		"memory_clock_mhz", "throttle_bits_count", "encoder_percent", "decoder_percent",
		"process_memory_mb", "other_process_count" };
	uint32_t schema = sb_builder_schema(b, "gpu", 0, columns, 14);
	double energy_j = 0;

	for (uint64_t t = 0; t <= end_ns; t += 500 * MS, energy_j += 350) {
		double busy = t > 30 * SECOND && t < 126 * SECOND ? 97 : 2;
		double used = busy > 50 ? 14200 + 100 * sin((double)t / 1e10) : 900;
		double values[] = { used, 143771, busy, busy / 2, 71, 700 * busy / 100, energy_j, 1980, 3201,
			4, 0, NAN, used - 500, 1 };

		sb_builder_sample(b, schema, t, values, 14);
	}
}

static void host_samples(struct sb_builder *b, uint64_t end_ns)
{
	static const char *const cpu[] = { "usage_percent", "process_percent", "frequency_mhz", "load1_count",
		"load5_count", "load15_count" };
	static const char *const cores[] = { "core0_percent", "core1_percent" };
	static const char *const memory[] = { "total_mb", "used_mb", "available_mb", "swap_used_mb",
		"page_cache_mb", "limit_mb", "group_used_mb" };
	static const char *const process[] = { "rss_mb", "pss_mb", "process_count", "thread_count" };
	static const char *const disk[] = { "read_bytes", "write_bytes", "machine_read_bytes",
		"machine_write_bytes" };
	static const char *const psi[] = { "cpu_percent", "memory_percent", "io_percent" };
	static const char *const other[] = { "fan_percent" };
	uint32_t schemas[] = { sb_builder_schema(b, "cpu", -1, cpu, 6),
		sb_builder_schema(b, "cpu_core", -1, cores, 2), sb_builder_schema(b, "memory", -1, memory, 7),
		sb_builder_schema(b, "process", -1, process, 4), sb_builder_schema(b, "disk", -1, disk, 4),
		sb_builder_schema(b, "psi", -1, psi, 3), sb_builder_schema(b, "fan", -1, other, 1) };

	for (uint64_t t = 0; t <= end_ns; t += SECOND) {
		double s = (double)t / 1e9, read = s < 30 ? s * 8e8 : 24e9;
		double rows[7][7] = { { 35, 104, 3200, 4.2, 4, 3 }, { 80, 12 },
			{ 65536, 31000, 34000, 12, 20000, 1e9, 31000 }, { 29000, 28500, 3, 40 },
			{ read, s * 1e6, read, s * 1e6 }, { 2, 0, 1 }, { 40 } };
		static const uint32_t counts[] = { 6, 2, 7, 4, 4, 3, 1 };

		for (int i = 0; i < 7; i++)
			sb_builder_sample(b, schemas[i], t, rows[i], counts[i]);
	}
}

/* ---- a whole video pipeline ---- */

static uint64_t one_step(struct sb_builder *b, struct sb_stream_writer *w, uint64_t t, int i)
{
	uint64_t took = i == 0 ? 2450 * MS : i % 10 == 9 ? 200 * MS : i == 23 ? 3200 * MS : 1590 * MS;
	struct sb_builder_gpu g = { .name = sb_builder_name(b, "step", NULL),
		.kind = SB_GPU_ZONE,
		.start_ns = t + MS,
		.duration_ns = took - 2 * MS,
		.launch_ns = t,
		.launch_tid = 1000 };

	begin(b, w, t, "step", STROBE_ROLE_STEP);
	attr(b, w, "step", i);
	if (i % 10 == 9)
		attr(b, w, "cached", 1);
	begin(b, w, t, "transformer", STROBE_ROLE_FORWARD);
	end(w, t + took / 2);
	begin(b, w, t + took / 2, "transformer", STROBE_ROLE_FORWARD);
	end(w, t + took);
	end(w, t + took);
	sb_builder_gpu(b, &g);
	return t + took;
}

static uint64_t generate(struct sb_builder *b, struct sb_stream_writer *w, uint64_t t)
{
	begin(b, w, t, "WanPipeline", STROBE_ROLE_GENERATION);
	attr(b, w, "frames", 81);
	attr(b, w, "width", 832);
	attr(b, w, "height", 480);
	begin(b, w, t, "text_encode", 0);
	end(w, t += 900 * MS);
	begin(b, w, t, "offload:text_encoder", STROBE_ROLE_OFFLOAD);
	attr(b, w, "bytes", 11200000000ll);
	end(w, t += 4850 * MS);
	begin(b, w, t, "denoise", 0);
	attr(b, w, "latent_frames", 21);
	for (int i = 0; i < 50; i++)
		t = one_step(b, w, t, i);
	end(w, t);
	begin(b, w, t, "vae_decode", 0);
	attr(b, w, "frames", 81);
	attr(b, w, "tiles", 12);
	sb_builder_snapshot(b, t + 3 * SECOND, "during_vae", 0, 14000 * MIB, 18000 * MIB, 14200 * MIB);
	end(w, t += 7200 * MS);
	t += 1780 * MS;
	sb_builder_count(w, SB_NAME_FRAMES, 81);
	end(w, t);
	return t;
}

static void caches(struct sb_builder *b)
{
	for (int i = 0; i < 40; i++) {
		struct strobe_cache_event e = { .cache = "teacache",
			.kind = i % 4 ? STROBE_CACHE_MISS : STROBE_CACHE_HIT,
			.count = 1,
			.size_bytes = 64 * MIB,
			.score = i % 4 ? 0.16 : 0.1,
			.threshold = 0.15,
			.frame = i * 2.0,
			.chunk = i / 10 };

		sb_builder_cache(b, 40 * SECOND + (uint64_t)i * SECOND, &e);
	}
	sb_builder_cache(b, 100 * SECOND,
		&(struct strobe_cache_event){ .cache = "kv",
			.kind = STROBE_CACHE_EVICT,
			.count = 3,
			.size_bytes = -1,
			.score = NAN,
			.threshold = NAN,
			.frame = NAN,
			.chunk = -1 });
}

static void models_and_layers(struct sb_builder *b, struct sb_stream_writer *w, uint64_t t)
{
	static const char *const variants[] = { "fp32", "bf16" };

	sb_builder_model(b, t, "wan-1.3b", 1300000000, "bf16", 2600000000);
	sb_builder_model(b, t, "umt5-xxl", 5681000000, "bf16", 11362000000);
	for (int pass = 0; pass < 3; pass++) {
		begin(b, w, t, "patch_embed", STROBE_ROLE_LAYER);
		end(w, t += 3 * MS);
		for (int i = 0; i < 24; i++) {
			begin(b, w, t, "blocks", STROBE_ROLE_LAYER);
			attr(b, w, "index", i);
			begin(b, w, t, "attn", STROBE_ROLE_LAYER);
			end(w, t + MS);
			end(w, t += (uint64_t)(1500 + 20 * i) * 1000);
		}
		begin(b, w, t, "norm", STROBE_ROLE_LAYER);
		end(w, t += MS / 10);
	}
	for (int v = 0; v < 2; v++) {
		for (int i = 0; i < 6; i++) {
			begin(b, w, t, "forward", i ? STROBE_ROLE_ITERATION : STROBE_ROLE_WARMUP);
			sb_builder_attr_string(w, sb_builder_name(b, "variant", NULL), variants[v]);
			end(w, t += v ? 28 * MS : 45 * MS + (uint64_t)i * 1000);
		}
	}
}

static void streaming(struct sb_builder *b, struct sb_stream_writer *w)
{
	for (int i = 0; i < 20; i++) {
		struct strobe_batch batch = { 4, 3.5 + i * 0.1, 12, i < 10 ? 0.8 : 0.05 };

		sb_builder_stream(b, 110 * SECOND + (uint64_t)i * 400 * MS, &batch);
	}
	sb_builder_count(w, SB_NAME_DROPPED, 9);
}

static void rich(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "rich");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, "main"),
				*loader = sb_builder_thread(b, 2000, "loader");
	struct strobe_attr tag = { "prompt", STROBE_TYPE_STRING, { .s = "a cat </script> in 4\" rain" } };
	struct strobe_attr count = { "seed", STROBE_TYPE_INT, { .i = 42 } };
	struct strobe_attr path = { "path", STROBE_TYPE_STRING, { .s = "/models/wan" } };
	uint64_t t;

	sb_builder_meta(b, SB_META_TAG, &tag);
	sb_builder_meta(b, SB_META_TAG, &count);
	sb_builder_meta_string(b, SB_META_SYSTEM, "gpu0.name", "NVIDIA H200");
	sb_builder_meta_string(b, SB_META_SETTING, "gpu_cost_per_hour", "3.5");
	sb_builder_meta_string(
		b, SB_META_MISSING, "kernels", "no GPU trace was asked for|--gpu-trace=steps:3");
	sb_builder_meta_string(
		b, SB_META_MISSING, "attention kind", "no GPU trace was asked for|--gpu-trace=steps:3");
	begin(b, w, 0, "imports", STROBE_ROLE_IMPORT);
	end(w, 8900 * MS);
	sb_builder_snapshot(b, 8950 * MS, "start", 0, 0, 0, 0);
	begin(b, w, 9000 * MS, "load", STROBE_ROLE_LOAD);
	attr(b, w, "bytes", 17000000000ll);
	end(w, 30300 * MS);
	sb_builder_snapshot(b, 30350 * MS, "after_load", 0, 3000 * MIB, 3200 * MIB, 3000 * MIB);
	begin(b, loader, 9000 * MS, "read_shards", 0);
	end(loader, 25000 * MS);
	t = generate(b, w, 31000 * MS);
	sb_builder_snapshot(b, t + MS, "after_vae", 0, 6000 * MIB, 18200 * MIB, 14900 * MIB);
	sb_builder_alloc(b, t + MS, "cuda", 512 * MIB, "latents");
	sb_builder_alloc(b, t + 2 * MS, "cuda", -512 * MIB, "latents");
	sb_builder_event(b, t + MS, "ckpt", 0, &path, 1);
	sb_builder_skip(b, t + MS, "upscale", "5", "not asked for");
	begin(b, w, t + 10 * MS, "export", 0);
	end(w, t + 3110 * MS);
	models_and_layers(b, w, t + 3200 * MS);
	caches(b);
	streaming(b, w);
	sb_builder_gauge(b, t, "queue", 3);
	gpu_samples(b, 131400 * MS);
	host_samples(b, 131400 * MS);
	close_recording(b, 131400 * MS);
}

/* ---- four steps with every kind of GPU record, sampled functions, a second thread ---- */

static void gpu_record(struct sb_builder *b, enum sb_gpu_kind kind, const char *name, uint64_t launch,
	uint64_t start, uint64_t took, uint32_t stream, uint64_t bytes)
{
	struct sb_builder_gpu g = { .name = sb_builder_name(b, name, NULL),
		.kind = kind,
		.flags = kind == SB_GPU_COPY_H2D   ? SB_GPU_PAGEABLE
			 : kind == SB_GPU_COPY_D2H ? SB_GPU_PINNED
						   : 0,
		.start_ns = start,
		.duration_ns = took,
		.launch_ns = launch,
		.launch_tid = 1000,
		.stream = stream,
		.bytes = bytes };

	sb_builder_gpu(b, &g);
}

static uint64_t traced_step(struct sb_builder *b, struct sb_stream_writer *w, uint64_t t, int i)
{
	begin(b, w, t, "step", STROBE_ROLE_STEP);
	attr(b, w, "step", i);
	begin(b, w, t + MS, "transformer", STROBE_ROLE_FORWARD);
	for (uint64_t k = 0; k < 3; k++) {
		uint64_t at = t + MS + k * 20 * MS;

		gpu_record(b, SB_GPU_KERNEL, "flash_fwd_kernel<bf16, 128>", at, at + MS, 9 * MS, 7, 0);
		gpu_record(b, SB_GPU_KERNEL, "sm90_xmma_gemm_bf16bf16_bf16f32", at + MS, at + 10 * MS, 6 * MS,
			7, 0);
		gpu_record(b, SB_GPU_KERNEL, "vectorized_elementwise_kernel", at + 2 * MS, at + 17 * MS,
			MS / 2, 7, 0);
	}
	end(w, t + 62 * MS);
	begin(b, w, t + 62 * MS, "all_reduce", STROBE_ROLE_COLLECTIVE);
	gpu_record(b, SB_GPU_KERNEL, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", t + 62 * MS, t + 63 * MS,
		5 * MS, 13, 0);
	end(w, t + 69 * MS);
	gpu_record(b, SB_GPU_SYNC, "cudaStreamSynchronize", t + 69 * MS, t + 69 * MS, 4 * MS, 7, 0);
	end(w, t += 75 * MS);
	return t;
}

static void traced_functions(struct sb_builder *b)
{
	uint32_t names[] = { sb_builder_name(b, "scaled_dot_product_attention", NULL),
		sb_builder_name(b, "forward", NULL), sb_builder_name(b, "generate", NULL) };
	uint32_t lines[] = { 512, 88, 23 };

	sb_builder_code_file(b, names[0], "torch/nn/functional.py");
	sb_builder_code_file(b, names[1], "wan/model.py");
	sb_builder_code_file(b, names[2], "wan_t2v.py");
	for (uint64_t i = 0; i < 40; i++)
		sb_builder_stack(b, 60 * MS + i * 10 * MS, 1000, 0, i % 4 ? names : names + 1,
			i % 4 ? lines : lines + 1, i % 4 ? 3 : 2);
}

static void traced(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "traced");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, "main"),
				*writer = sb_builder_thread(b, 2000, "writer");
	uint64_t t = 50 * MS;

	sb_builder_meta_string(b, SB_META_SYSTEM, "gpu0.name", "NVIDIA H200");
	begin(b, w, t, "generate", STROBE_ROLE_GENERATION);
	attr(b, w, "frames", 16);
	gpu_record(b, SB_GPU_COPY_H2D, "copy", t, t + MS, 30 * MS, 7, 256 * MIB);
	gpu_record(b, SB_GPU_MEMSET, "set", t + MS, t + 31 * MS, MS, 7, 64 * MIB);
	t += 40 * MS;
	begin(b, w, t, "denoise", 0);
	for (int i = 0; i < 4; i++)
		t = traced_step(b, w, t, i);
	end(w, t);
	begin(b, w, t, "vae_decode", 0);
	gpu_record(b, SB_GPU_KERNEL, "cudnn_conv3d_fprop", t, t + 2 * MS, 30 * MS, 7, 0);
	gpu_record(b, SB_GPU_COPY_D2H, "copy", t + MS, t + 33 * MS, 12 * MS, 7, 96 * MIB);
	end(w, t += 50 * MS);
	sb_builder_count(w, SB_NAME_FRAMES, 16);
	end(w, t);
	begin(b, writer, t, "write_video", 0);
	end(writer, t + 30 * MS);
	sb_builder_snapshot(b, t, "after", 0, 6000 * MIB, 9000 * MIB, 8000 * MIB);
	sb_builder_lost(b, SB_LOST_CUPTI, 3, 100 * MS, 200 * MS);
	traced_functions(b);
	close_recording(b, t + 40 * MS);
}

static void empty(const char *folder)
{
	close_recording(open_recording(folder, "empty"), 0);
}

static void only_zones(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "only_zones");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, NULL);
	char name[32];

	for (uint64_t i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "sampling_chunk_%u", (unsigned)i);
		begin(b, w, i * 10 * MS, name, 0);
		end(w, i * 10 * MS + 8 * MS);
	}
	begin(b, w, 500 * MS, "left open\x01\xff", 0);
	close_recording(b, 600 * MS);
}

static void only_samples(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "only_samples");

	gpu_samples(b, 20 * SECOND);
	host_samples(b, 20 * SECOND);
	close_recording(b, 20 * SECOND);
}

static void blocks(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "blocks");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, NULL);
	uint64_t t = 0;

	for (int block = 0; block < 10; block++) {
		begin(b, w, t, "block", STROBE_ROLE_BLOCK);
		attr(b, w, "index", block);
		attr(b, w, "frames", 3);
		for (int step = 0; step < 4; step++) {
			begin(b, w, t, "denoise_step", STROBE_ROLE_STEP);
			attr(b, w, "step", step);
			attr(b, w, "block_size", 3);
			end(w, t += 62500000);
		}
		end(w, t);
	}
	close_recording(b, t);
}

static void killed(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "killed");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, NULL);

	begin(b, w, 0, "generate", STROBE_ROLE_GENERATION);
	attr(b, w, "frames", 16);
	begin(b, w, 100 * MS, "denoise", 0);
	begin(b, w, 200 * MS, "step", STROBE_ROLE_STEP);
	if (sb_builder_abandon(b) != 0)
		exit(2);
}

/* ---- a program that imports a lot: inside each other, in a stage, around one ---- */

static uint64_t import(
	struct sb_builder *b, struct sb_stream_writer *w, uint64_t t, const char *name, uint64_t took)
{
	begin(b, w, t, name, STROBE_ROLE_IMPORT);
	end(w, t + took);
	return t + took;
}

static void imports(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "imports");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, "main");
	uint64_t t;

	begin(b, w, 0, "import diffusers", STROBE_ROLE_IMPORT);
	begin(b, w, 100 * MS, "import torch", STROBE_ROLE_IMPORT);
	t = import(b, w, 1500 * MS, "import numpy", 300 * MS);
	end(w, t + 1200 * MS);
	t = import(b, w, 3000 * MS, "import PIL", 20 * MS);
	end(w, t);
	t = import(b, w, t, "import tqdm", 10 * MS);
	for (uint64_t i = 0; i < 7; i++)
		sb_builder_event(b, (i + 1) * 100 * MS, "many of one name", 0, NULL, 0);
	sb_builder_event(b, 350 * MS, "once", 0, NULL, 0);
	begin(b, w, t, "import mine", STROBE_ROLE_IMPORT);
	begin(b, w, t, "warm the cache", 0);
	end(w, t += 400 * MS);
	end(w, t);
	begin(b, w, t, "generate", STROBE_ROLE_GENERATION);
	t = import(b, w, t, "import lazily", 50 * MS);
	end(w, t += 500 * MS);
	close_recording(b, t);
}

/* ---- three videos whose steps the CPU only launches: the GPU is at them while it decodes and exports ---- */

static void ahead(const char *folder)
{
	struct sb_builder *b = open_recording(folder, "ahead");
	struct sb_stream_writer *w = sb_builder_thread(b, 0, "main");
	uint64_t t = 0;

	for (uint64_t video = 0; video < 3; video++) {
		begin(b, w, t, "pipeline", STROBE_ROLE_GENERATION);
		attr(b, w, "frames", 17);
		for (uint64_t i = 0; i < 2; i++) {
			begin(b, w, t + i * 10 * MS, "denoise", STROBE_ROLE_STEP);
			end(w, t + (i + 1) * 10 * MS);
			gpu_record(
				b, SB_GPU_ZONE, "denoise", t + i * 10 * MS, t + i * 40 * MS, 40 * MS, 7, 0);
		}
		begin(b, w, t + 20 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
		end(w, t + 25 * MS);
		gpu_record(b, SB_GPU_ZONE, "vae_decode", t + 20 * MS, t + 80 * MS, 60 * MS, 7, 0);
		begin(b, w, t + 25 * MS, "export", STROBE_ROLE_EXPORT);
		end(w, t += (170 + video) * MS);
		end(w, t);
	}
	close_recording(b, t);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_recordings FOLDER\n");
		return 2;
	}
	rich(argv[1]);
	traced(argv[1]);
	empty(argv[1]);
	only_zones(argv[1]);
	only_samples(argv[1]);
	blocks(argv[1]);
	killed(argv[1]);
	imports(argv[1]);
	ahead(argv[1]);
	return 0;
}
