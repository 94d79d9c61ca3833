/* What memory held at the moments of a stage: the parts add up to the device's own number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

static void weights(struct synthetic *s, uint64_t t_ns, const char *component, int64_t mb, int64_t device)
{
	struct strobe_attr attrs[] = { TEXT("at", "generation"), INT("set", 1), TEXT("component", component),
		INT("bytes", mb * MIB), TEXT("dtype", "bfloat16"), INT("device", device) };

	sb_builder_event(s->b, t_ns, SB_EVENT_RESIDENT, 0, attrs, device < 0 ? 5 : 6);
}

static void cache(struct synthetic *s, uint64_t t_ns, int64_t mb)
{
	struct strobe_attr attrs[] = { TEXT("at", "cache"), TEXT("component", "KV cache of text_encoder"),
		INT("bytes", mb * MIB), INT("device", 0) };

	sb_builder_event(s->b, t_ns, SB_EVENT_RESIDENT, 0, attrs, 4);
}

static const struct sb_residency *moment(
	const struct sb_model *m, const char *stage, const char *at, int64_t device)
{
	for (size_t i = 0; i < m->residency.count; i++) {
		const struct sb_residency *r = &m->residency.all[i];

		if (!strcmp(r->stage, stage) && !strcmp(r->at, at) && r->device == device)
			return r;
	}
	return NULL;
}

static double part(const struct sb_residency *r, const char *component)
{
	for (size_t i = 0; i < r->part_count; i++)
		if (!strcmp(r->parts[i].component, component))
			return r->parts[i].bytes / (double)MIB;
	return 0;
}

/* A generation of two stages on a GPU that another process uses as well. fetched: the transformer is brought for it. */
static struct sb_model *made(struct synthetic *s, bool fetched)
{
	static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };
	static const char *const process[] = { "rss_mb", "anon_mb", "file_mb", "shared_mb", "pinned_mb" };
	uint32_t of_gpu, of_process;

	synthetic_open(s);
	of_gpu = sb_builder_schema(s->b, "gpu", 0, gpu, 2);
	of_process = sb_builder_schema(s->b, "process", -1, process, 5);
	synthetic_begin(s, SECOND, "video", STROBE_ROLE_GENERATION);
	if (fetched)
		synthetic_stage(s, 1200 * MS, 1800 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_stage(s, 2 * SECOND, 5 * SECOND, "denoise", 0);
	synthetic_stage(s, 6 * SECOND, 9 * SECOND, "vae_decode", 0);
	synthetic_end(s, 10 * SECOND);
	for (uint64_t i = 1; i <= 10; i++) { /* decoding holds more and more */
		double more = i > 6 ? 1000 * (double)(i - 6) : 0;

		sb_builder_sample(s->b, of_gpu, i * SECOND, (double[]){ 42000 + more, 40000 + more }, 2);
		sb_builder_sample(s->b, of_process, i * SECOND, (double[]){ 9000, 6000, 2500, 400, 300 }, 5);
		sb_builder_snapshot(s->b, i * SECOND, SB_MEMORY_READING_DEVICE, 0,
			(38000 + (int64_t)more) * MIB, (39500 + (int64_t)more) * MIB, 45000 * MIB);
	}
	cache(s, 2500 * MS, 3000); /* it grows, and is freed before the frames are decoded */
	cache(s, 4500 * MS, 5000);
	cache(s, 5500 * MS, 0);
	weights(s, 10 * SECOND + 1, "weights of transformer", 28000, 0);
	weights(s, 10 * SECOND + 2, "weights of vae", 500, 0);
	weights(s, 10 * SECOND + 3, "weights of text_encoder", 4000, -1);
	return synthetic_model(s, 11 * SECOND);
}

static struct sb_model *video(struct synthetic *s)
{
	return made(s, false);
}

/* They are listed once, on the side where they lie then. */
static void weights_that_move_are_of_no_side(void **state)
{
	struct synthetic s;
	struct sb_model *m = made(&s, true);
	const struct sb_residency *r = moment(m, "vae_decode", "peak", 0);

	assert_non_null(r);
	assert_near(part(r, "weights of transformer"), 0, 1);
	assert_near(part(r, "weights of vae"), 500, 1);
	assert_near(part(r, "weights, activations and other tensors"), 41000 - 500, 1);
	assert_near(r->rest_bytes / MIB, 0, 1);
	synthetic_done(&s);
}

static void the_parts_add_up_to_the_devices_number(void **state)
{
	struct synthetic s;
	struct sb_model *m = video(&s);
	const struct sb_residency *r = moment(m, "vae_decode", "peak", 0);

	assert_non_null(r);
	assert_int_equal(m->residency.generation, 1);
	assert_near(r->t_s, 9, 1e-6);
	assert_near(r->total_bytes / MIB, 45000, 1);
	assert_near(part(r, "weights of transformer"), 28000, 1);
	assert_near(part(r, "activations and other tensors"), 41000 - 28500, 1);
	assert_near(part(r, "allocator slack"), 1500, 1);
	assert_near(part(r, "CUDA context and libraries"), 500, 1);
	assert_near(part(r, "other processes and the driver"), 2000, 1);
	assert_near(r->rest_bytes / MIB, 0, 1);
	assert_string_equal(r->parts[0].component, "weights of transformer");
	assert_near(moment(m, "denoise", "begin", 0)->total_bytes / MIB, 42000, 1);
	assert_near(moment(m, "denoise", "end", 0)->total_bytes / MIB, 42000, 1);
	synthetic_done(&s);
}

/* Without a generation the outermost stages of the run, where the program has listed its models. */
static struct sb_model *script(struct synthetic *s, bool lists)
{
	static const char *const process[] = { "rss_mb", "anon_mb", "file_mb", "shared_mb", "pinned_mb" };
	uint32_t of_process;

	synthetic_open(s);
	of_process = sb_builder_schema(s->b, "process", -1, process, 5);
	synthetic_stage(s, 2 * SECOND, 5 * SECOND, "encoder", 0);
	synthetic_stage(s, 6 * SECOND, 9 * SECOND, "decoder", 0);
	for (uint64_t i = 1; i <= 10; i++)
		sb_builder_sample(s->b, of_process, i * SECOND,
			(double[]){ 8000 + 100 * (double)i, 6000 + 100 * (double)i, 2000, 0, 0 }, 5);
	if (lists)
		weights(s, 5 * SECOND + 1, "weights of encoder", 4000, -1);
	return synthetic_model(s, 11 * SECOND);
}

static void a_program_without_generations_has_its_outermost_stages(void **state)
{
	struct synthetic s;
	struct sb_model *m = script(&s, true);
	const struct sb_residency *r = moment(m, "decoder", "peak", -1);

	assert_non_null(r);
	assert_int_equal(m->residency.generation, 0);
	assert_near(r->t_s, 9, 1e-6);
	assert_near(r->total_bytes / MIB, 8900, 1);
	assert_near(part(r, "weights of encoder"), 4000, 1);
	assert_near(part(r, "other anonymous memory"), 2900, 1);
	assert_near(part(r, "mapped files"), 2000, 1);
	assert_non_null(moment(m, "encoder", "begin", -1));
	assert_non_null(moment(m, "encoder", "end", -1));
	synthetic_done(&s);
	m = script(&s, false); /* no program with models */
	assert_int_equal(m->residency.count, 0);
	synthetic_done(&s);
}

/* Chunk by chunk: denoising, decoding, denoising. The highest moment lies in the decoding. */
static void a_peak_between_two_calls_is_not_theirs(void **state)
{
	static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t of_gpu;

	synthetic_open(&s);
	of_gpu = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_begin(&s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 2 * SECOND, 4 * SECOND, "denoise", 0);
	synthetic_stage(&s, 4500 * MS, 6500 * MS, "vae_decode", 0);
	synthetic_stage(&s, 7 * SECOND, 9 * SECOND, "denoise", 0);
	synthetic_end(&s, 10 * SECOND);
	for (uint64_t i = 1; i <= 10; i++) {
		double used = i == 5 ? 60000 : i == 8 ? 44000 : 42000;

		sb_builder_sample(s.b, of_gpu, i * SECOND, (double[]){ used, used }, 2);
	}
	m = synthetic_model(&s, 11 * SECOND);
	assert_near(moment(m, "denoise", "peak", 0)->t_s, 8, 1e-6);
	assert_near(moment(m, "denoise", "peak", 0)->total_bytes / MIB, 44000, 1);
	assert_near(moment(m, "vae_decode", "peak", 0)->total_bytes / MIB, 60000, 1);
	synthetic_done(&s);
}

static void a_cache_is_a_part_as_long_as_it_is_there(void **state)
{
	struct synthetic s;
	struct sb_model *m = video(&s);

	assert_near(part(moment(m, "denoise", "begin", 0), "KV cache of text_encoder"), 0, 0);
	assert_near(part(moment(m, "denoise", "end", 0), "KV cache of text_encoder"), 5000, 1);
	assert_near(part(moment(m, "denoise", "end", 0), "activations and other tensors"),
		38000 - 28500 - 5000, 1);
	assert_near(moment(m, "denoise", "end", 0)->rest_bytes / MIB, 0, 1);
	assert_near(part(moment(m, "vae_decode", "peak", 0), "KV cache of text_encoder"), 0, 0);
	synthetic_done(&s);
}

static void the_host_has_its_own_parts(void **state)
{
	struct synthetic s;
	const struct sb_residency *r = moment(video(&s), "denoise", "peak", -1);

	assert_non_null(r);
	assert_near(r->total_bytes / MIB, 9000, 1);
	assert_near(part(r, "weights of text_encoder"), 4000, 1);
	assert_near(part(r, "weights of transformer"), 0, 0); /* it is on the GPU */
	assert_near(part(r, "other anonymous memory"), 2000, 1);
	assert_near(part(r, "mapped files"), 2500, 1);
	assert_near(part(r, "shared memory"), 400, 1);
	assert_near(r->rest_bytes / MIB, 100, 1);
	assert_near(r->pinned_bytes / MIB, 300, 1);
	synthetic_done(&s);
}

static void without_a_generation_nothing_is_listed(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 2 * SECOND, "denoise", 0);
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(m->residency.count, 0);
	synthetic_done(&s);
}

static double held(const struct sb_memory_picture *p, const char *component, size_t at)
{
	for (size_t i = 0; i < p->layer_count; i++)
		if (!strcmp(p->layers[i].component, component))
			return p->layers[i].mb[at];
	return 0;
}

static void layers_over_time_add_up_and_the_highest_moment_is_known(void **state)
{
	struct synthetic s;
	struct sb_model *m = video(&s);
	const struct sb_memory_picture *p = &m->memory_pictures.all[0];

	assert_int_equal(m->memory_pictures.count, 3); /* the GPU, by component and by stage; the host */
	assert_int_equal(p->device, 0);
	assert_int_equal(p->count, 10);
	for (size_t i = 0; i < p->count; i++) {
		double sum = 0, more = i > 5 ? 1000 * (double)(i - 5) : 0;

		for (size_t k = 0; k < p->layer_count; k++)
			sum += p->layers[k].mb[i];
		assert_near(sum, 42000 + more, 1); /* the device's own number */
		assert_near(held(p, "weights of transformer", i), 28000, 1);
		assert_near(
			held(p, "activations and other tensors", i) + held(p, "KV cache of text_encoder", i),
			9500 + more, 1);
	}
	assert_near(held(p, "KV cache of text_encoder", 2), 3000, 1);
	assert_near(held(p, "KV cache of text_encoder", 4), 5000, 1);
	assert_near(held(p, "KV cache of text_encoder", 5), 0, 0);
	assert_int_equal(p->peak, 9);
	assert_string_equal(p->layers[0].component, "other processes and the driver");
	assert_string_equal(p->layers[p->layer_count - 1].component, "allocator slack");
	assert_string_equal(p->stages[2], "denoise");
	p = &m->memory_pictures.all[2];
	assert_int_equal(p->device, -1);
	assert_near(held(p, "weights of text_encoder", 0), 4000, 1);
	assert_near(held(p, "other anonymous memory", 0), 2000, 1);
	synthetic_done(&s);
}

/* Of a stage between two samples: what was read where it began and ended, and the most that the kernel saw meanwhile. */
static void a_stage_between_two_samples_has_its_own_host_memory(void **state)
{
	static const char *const process[] = { "rss_mb", "anon_mb", "file_mb", "shared_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, process, 4);
	sb_builder_sample(s.b, schema, SECOND, (double[]){ 110, 80, 20, 10 }, 4);
	sb_builder_sample(s.b, schema, 2 * SECOND, (double[]){ 110, 80, 20, 10 }, 4);
	synthetic_begin(&s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, SECOND + SECOND / 10, SECOND + SECOND / 10 * 3, "decode", 0);
	synthetic_stage(&s, SECOND + SECOND / 10 * 4, SECOND + SECOND / 10 * 6, "export", 0);
	synthetic_end(&s, 2 * SECOND);
	sb_builder_snapshot(
		s.b, SECOND + SECOND / 10 + 1000, SB_MEMORY_READING_HOST, -1, 80 * MIB, 30 * MIB, 500 * MIB);
	sb_builder_snapshot(s.b, SECOND + SECOND / 10 * 3 - 1000, SB_MEMORY_READING_HOST, -1, 180 * MIB,
		30 * MIB, 900 * MIB);
	sb_builder_snapshot(s.b, SECOND + SECOND / 10 * 6 - 1000, SB_MEMORY_READING_HOST, -1, 120 * MIB,
		30 * MIB, 900 * MIB);
	m = synthetic_model(&s, 3 * SECOND);
	assert_near(part(moment(m, "decode", "begin", -1), "other anonymous memory"), 80, 0.01);
	assert_near(part(moment(m, "decode", "end", -1), "other anonymous memory"), 180, 0.01);
	assert_near(moment(m, "decode", "peak", -1)->total_bytes / (double)MIB, 900, 0.01);
	assert_near(part(moment(m, "decode", "peak", -1), "other anonymous memory"), 870, 0.01);
	assert_near(part(moment(m, "decode", "peak", -1), "shared memory"), 10, 0.01);
	assert_near(part(moment(m, "decode", "peak", -1), "mapped files"), 20, 0.01);
	assert_near(moment(m, "decode", "peak", -1)->rest_bytes, 0, 1);
	assert_near(moment(m, "export", "peak", -1)->total_bytes / (double)MIB, 150,
		0.01); /* nothing rose in it */
	synthetic_done(&s);
}

/* A few megabytes are nothing to a video model and all that a small program has. */
static void the_peak_of_a_small_program_is_its_highest_moment(void **state)
{
	static const char *const process[] = { "rss_mb", "anon_mb", "file_mb", "shared_mb" };
	const struct sb_memory_picture *p;
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, process, 4);
	synthetic_stage(&s, 2 * SECOND, 10 * SECOND, "transformer", 0);
	for (uint64_t i = 1; i <= 10; i++) {
		double anonymous = i < 5 ? 0.3 : 2.3;

		sb_builder_sample(s.b, schema, i * SECOND, (double[]){ anonymous + 2, anonymous, 2, 0 }, 4);
	}
	p = &synthetic_model(&s, 11 * SECOND)->memory_pictures.all[0];
	assert_int_equal(p->device, -1);
	assert_near(held(p, "other anonymous memory", (size_t)p->peak), 2.3, 0.01);
	assert_string_equal(p->stages[p->peak], "transformer");
	synthetic_done(&s);
}

/* Memory belongs to the stage in which it came; what is given back came last. */
static void layers_by_stage_are_what_came_in_it_and_is_still_there(void **state)
{
	static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };
	static const int64_t mb[] = { 100, 100, 600, 2600, 2600, 1100, 9100, 1600, 1600, 300 };
	const struct sb_memory_picture *p;
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_stage(&s, 2200 * MS, 4800 * MS, "load", 0);
	synthetic_stage(&s, 6 * SECOND, 8 * SECOND, "vae_decode", 0);
	for (uint64_t i = 0; i < 10; i++) {
		sb_builder_sample(s.b, schema, (i + 1) * SECOND,
			(double[]){ (double)mb[i] + 500, (double)mb[i] + 500 }, 2);
		sb_builder_snapshot(s.b, (i + 1) * SECOND, SB_MEMORY_READING_DEVICE, 0, mb[i] * MIB,
			mb[i] * MIB, mb[i] * MIB);
	}
	p = &synthetic_model(&s, 11 * SECOND)->memory_pictures.all[1];
	assert_true(p->by_stage);
	assert_int_equal(p->count, 10);
	for (size_t i = 0; i < p->count; i++) {
		double sum = 0;

		for (size_t k = 0; k < p->layer_count; k++)
			sum += p->layers[k].mb[i];
		assert_near(sum, (double)mb[i], 0.2);
	}
	assert_string_equal(p->layers[0].component, "there at first");
	assert_near(held(p, "there at first", 9), 100, 0.1);
	assert_near(held(p, "load", 2), 500, 0.1);
	assert_near(held(p, "load", 4), 2500, 0.1);
	assert_near(held(p, "load", 6), 1000, 0.1); /* 1 500 were given back before the decode */
	assert_near(held(p, "vae_decode", 6), 8000, 0.1);
	assert_near(held(p, "vae_decode", 8), 500, 0.1); /* its own go first */
	assert_near(held(p, "vae_decode", 9), 0, 0);
	assert_near(held(p, "load", 9), 200, 0.1);
	assert_int_equal(p->peak, 6);
	assert_string_equal(p->stages[6], "vae_decode");
	synthetic_done(&s);
}

/* Before they are loaded there are no weights, though the list that is made later has them. */
static void weights_are_not_named_before_they_can_be_there(void **state)
{
	static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };
	const struct sb_memory_picture *p;
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	for (uint64_t i = 1; i <= 10; i++) {
		double mb = i < 5 ? 100 : 3000;

		sb_builder_sample(s.b, schema, i * SECOND, (double[]){ mb + 500, mb + 500 }, 2);
		sb_builder_snapshot(s.b, i * SECOND, SB_MEMORY_READING_DEVICE, 0, (int64_t)mb * MIB,
			(int64_t)mb * MIB, (int64_t)mb * MIB);
	}
	weights(&s, 9 * SECOND, "weights of transformer", 2000, 0);
	p = &synthetic_model(&s, 11 * SECOND)->memory_pictures.all[0];
	assert_near(held(p, "weights of transformer", 0), 0, 0);
	assert_near(held(p, "activations and other tensors", 0), 100, 1);
	assert_near(held(p, "weights of transformer", 5), 2000, 1);
	assert_near(held(p, "activations and other tensors", 5), 1000, 1);
	assert_near(held(p, "CUDA context and libraries", 5), 500, 1);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_over_time_add_up_and_the_highest_moment_is_known),
		cmocka_unit_test(a_stage_between_two_samples_has_its_own_host_memory),
		cmocka_unit_test(the_peak_of_a_small_program_is_its_highest_moment),
		cmocka_unit_test(layers_by_stage_are_what_came_in_it_and_is_still_there),
		cmocka_unit_test(weights_are_not_named_before_they_can_be_there),
		cmocka_unit_test(the_parts_add_up_to_the_devices_number),
		cmocka_unit_test(a_program_without_generations_has_its_outermost_stages),
		cmocka_unit_test(a_peak_between_two_calls_is_not_theirs),
		cmocka_unit_test(weights_that_move_are_of_no_side),
		cmocka_unit_test(a_cache_is_a_part_as_long_as_it_is_there),
		cmocka_unit_test(the_host_has_its_own_parts),
		cmocka_unit_test(without_a_generation_nothing_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
