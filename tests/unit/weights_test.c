/* Weights that move between the host and a GPU: at each moment they are named where they lie then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "report/text.h"
#include "synthetic.h"

#define FREE_MB 500 /* reserved, in no use */
#define CONTEXT_MB 600
#define OTHERS_MB 2000
#define PROGRAM_MB 3000 /* anonymous memory of the host beside weights */
#define MAPPED_MB 2500
#define ENCODER_MB 4000
#define TRANSFORMER_MB 28000
#define VAE_MB 500
#define HOST (-1)

struct recorded {
	struct synthetic s;
	uint32_t of_gpu, of_process;
	int64_t most_mb;
};

static void open_recorded(struct recorded *r)
{
	static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };
	static const char *const process[] = { "rss_mb", "anon_mb", "file_mb", "shared_mb" };

	synthetic_open(&r->s);
	r->of_gpu = sb_builder_schema(r->s.b, "gpu", 0, gpu, 2);
	r->of_process = sb_builder_schema(r->s.b, "process", -1, process, 4);
	r->most_mb = 0;
}

/* A reading of the allocator, a sample of the driver and one of the host. */
static void reading(struct recorded *r, uint64_t ms, int64_t allocated_mb, int64_t host_mb)
{
	double process = (double)(allocated_mb + FREE_MB + CONTEXT_MB);

	r->most_mb = allocated_mb > r->most_mb ? allocated_mb : r->most_mb;
	sb_builder_snapshot(r->s.b, ms * MS, SB_MEMORY_READING_DEVICE, 0, allocated_mb * MIB,
		(allocated_mb + FREE_MB) * MIB, r->most_mb * MIB);
	sb_builder_sample(r->s.b, r->of_gpu, ms * MS, (double[]){ process + OTHERS_MB, process }, 2);
	sb_builder_sample(r->s.b, r->of_process, ms * MS,
		(double[]){ (double)(host_mb + PROGRAM_MB + MAPPED_MB), (double)(host_mb + PROGRAM_MB),
			MAPPED_MB, 0 },
		4);
}

static void lies(struct recorded *r, uint64_t ns, const char *component, int64_t mb, int64_t device)
{
	struct strobe_attr attrs[] = { TEXT("at", "move"), TEXT("component", component),
		INT("bytes", mb * MIB), TEXT("dtype", "bfloat16"), INT("device", device) };

	sb_builder_event(r->s.b, ns, SB_EVENT_RESIDENT, 0, attrs, 5);
}

static void becomes(struct recorded *r, uint64_t ns, const char *component, int64_t before_mb, int64_t mb,
	int64_t device, int64_t took_ms)
{
	struct strobe_attr attrs[] = { TEXT("at", "move"), TEXT("component", component),
		INT("bytes", mb * MIB), TEXT("dtype", "bfloat16"), INT("device", device),
		INT("before_bytes", before_mb * MIB), INT("took_ns", took_ms * (int64_t)MS) };

	sb_builder_event(r->s.b, ns, SB_EVENT_RESIDENT, 0, attrs, took_ms ? 7 : 6);
}

/* From one side to the other until ms; both are said in a row. */
static void move(struct recorded *r, uint64_t ms, const char *component, int64_t mb, int64_t from, int64_t to,
	int64_t took_ms)
{
	becomes(r, ms * MS, component, mb, 0, from, took_ms);
	becomes(r, ms * MS + 1000, component, 0, mb, to, took_ms);
}

static void listed(struct recorded *r, uint64_t ns, const char *component, int64_t mb, int64_t device)
{
	struct strobe_attr attrs[] = { TEXT("at", "generation"), INT("set", 1), TEXT("component", component),
		INT("bytes", mb * MIB), TEXT("dtype", "bfloat16"), INT("device", device) };

	sb_builder_event(r->s.b, ns, SB_EVENT_RESIDENT, 0, attrs, device < 0 ? 5 : 6);
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

/* Three models that take turns on the GPU, as diffusers' enable_model_cpu_offload() has it. */
static struct sb_model *taking_turns(struct recorded *r, bool says_where)
{
	const int64_t all = ENCODER_MB + TRANSFORMER_MB + VAE_MB;

	open_recorded(r);
	synthetic_begin(&r->s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_begin(&r->s, 1500 * MS, "text_encode", 0);
	synthetic_stage(&r->s, 1600 * MS, 2000 * MS, "offload:text_encoder", STROBE_ROLE_OFFLOAD);
	synthetic_end(&r->s, 3000 * MS);
	synthetic_begin(&r->s, 3500 * MS, "denoise", 0);
	synthetic_stage(&r->s, 3800 * MS, 4800 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_end(&r->s, 6000 * MS);
	synthetic_begin(&r->s, 6500 * MS, "vae_decode", 0);
	synthetic_stage(&r->s, 7000 * MS, 7100 * MS, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_end(&r->s, 9000 * MS);
	synthetic_end(&r->s, 10 * SECOND);
	reading(r, 1000, 10, all);
	reading(r, 1500, 10, all);
	reading(r, 2000, 10 + ENCODER_MB, all - ENCODER_MB);
	reading(r, 2500, 500 + ENCODER_MB, all - ENCODER_MB);
	reading(r, 3000, 10 + ENCODER_MB, all - ENCODER_MB);
	reading(r, 3500, 10 + ENCODER_MB, all - ENCODER_MB);
	reading(r, 3800, 10, all);
	reading(r, 4300, 10 + TRANSFORMER_MB / 2, all - TRANSFORMER_MB / 2);
	reading(r, 4800, 10 + TRANSFORMER_MB, all - TRANSFORMER_MB);
	reading(r, 5500, 8000 + TRANSFORMER_MB, all - TRANSFORMER_MB);
	reading(r, 6000, 10 + TRANSFORMER_MB, all - TRANSFORMER_MB);
	reading(r, 6500, 10 + TRANSFORMER_MB, all - TRANSFORMER_MB);
	reading(r, 7000, 10, all);
	reading(r, 7100, 10 + VAE_MB, all - VAE_MB);
	reading(r, 8000, 40000 + VAE_MB, all - VAE_MB);
	reading(r, 9000, 10 + VAE_MB, all - VAE_MB);
	reading(r, 10000, 10 + VAE_MB, all - VAE_MB);
	if (says_where) {
		lies(r, 1600 * MS, "weights of text_encoder", ENCODER_MB, HOST);
		move(r, 2000, "weights of text_encoder", ENCODER_MB, HOST, 0, 400);
		move(r, 3800, "weights of text_encoder", ENCODER_MB, 0, HOST, 200);
		lies(r, 3800 * MS + 5000, "weights of transformer", TRANSFORMER_MB, HOST);
		move(r, 4800, "weights of transformer", TRANSFORMER_MB, HOST, 0, 1000);
		move(r, 7000, "weights of transformer", TRANSFORMER_MB, 0, HOST, 400);
		lies(r, 7000 * MS + 5000, "weights of vae", VAE_MB, HOST);
		move(r, 7100, "weights of vae", VAE_MB, HOST, 0, 100);
	}
	listed(r, 10 * SECOND + 1, "weights of text_encoder", ENCODER_MB, HOST);
	listed(r, 10 * SECOND + 2, "weights of transformer", TRANSFORMER_MB, HOST);
	listed(r, 10 * SECOND + 3, "weights of vae", VAE_MB, 0);
	return synthetic_model(&r->s, 11 * SECOND);
}

static const struct turn {
	const char *stage, *at;
	double encoder_mb, transformer_mb, vae_mb, other_mb; /* on the GPU */
} turns[] = {
	{ "text_encode", "begin", 0, 0, 0, 10 },
	{ "text_encode", "peak", ENCODER_MB, 0, 0, 500 },
	{ "text_encode", "end", ENCODER_MB, 0, 0, 10 },
	{ "denoise", "begin", ENCODER_MB, 0, 0, 10 },
	{ "denoise", "peak", 0, TRANSFORMER_MB, 0, 8000 },
	{ "denoise", "end", 0, TRANSFORMER_MB, 0, 10 },
	{ "vae_decode", "begin", 0, TRANSFORMER_MB, 0, 10 },
	{ "vae_decode", "peak", 0, 0, VAE_MB, 40000 },
	{ "vae_decode", "end", 0, 0, VAE_MB, 10 },
};

static void models_that_take_turns_are_named_where_they_lie(void **state)
{
	struct recorded r;
	struct sb_model *m = taking_turns(&r, true);

	for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
		const struct turn *t = &turns[i];
		const struct sb_residency *gpu = moment(m, t->stage, t->at, 0),
					  *host = moment(m, t->stage, t->at, HOST);

		assert_non_null(gpu);
		assert_near(part(gpu, "weights of text_encoder"), t->encoder_mb, 1);
		assert_near(part(gpu, "weights of transformer"), t->transformer_mb, 1);
		assert_near(part(gpu, "weights of vae"), t->vae_mb, 1);
		assert_near(part(gpu, "activations and other tensors"), t->other_mb, 1);
		assert_near(gpu->total_bytes / (double)MIB,
			t->encoder_mb + t->transformer_mb + t->vae_mb + t->other_mb + FREE_MB + CONTEXT_MB +
				OTHERS_MB,
			1);
		assert_near(gpu->rest_bytes / (double)MIB, 0, 1);
		assert_non_null(host);
		if (strcmp(t->at, "peak") == 0)
			continue; /* the host has another one */
		assert_near(part(host, "weights of text_encoder"), ENCODER_MB - t->encoder_mb, 1);
		assert_near(part(host, "weights of transformer"), TRANSFORMER_MB - t->transformer_mb, 1);
		assert_near(part(host, "weights of vae"), VAE_MB - t->vae_mb, 1);
		assert_near(part(host, "other anonymous memory"), PROGRAM_MB, 1);
		assert_near(host->rest_bytes / (double)MIB, 0, 1);
	}
	assert_int_equal(m->residency.unplaced_count, 0);
	synthetic_done(&r.s);
}

static double layer(const struct sb_memory_picture *p, const char *component, double t_s)
{
	for (size_t i = 0; i < p->count; i++)
		for (size_t k = 0; fabs(p->t_s[i] - t_s) < 0.001 && k < p->layer_count; k++)
			if (!strcmp(p->layers[k].component, component))
				return p->layers[k].mb[i];
	return 0;
}

static const struct sb_memory_picture *picture(const struct sb_model *m, int64_t device)
{
	for (size_t i = 0; i < m->memory_pictures.count; i++)
		if (m->memory_pictures.all[i].device == device && !m->memory_pictures.all[i].by_stage)
			return &m->memory_pictures.all[i];
	return NULL;
}

static void over_time_they_go_from_one_side_to_the_other(void **state)
{
	struct recorded r;
	struct sb_model *m = taking_turns(&r, true);
	const struct sb_memory_picture *gpu = picture(m, 0), *host = picture(m, HOST);

	assert_near(layer(gpu, "weights of transformer", 3.8), 0, 1);
	assert_near(layer(gpu, "weights of transformer", 4.3), TRANSFORMER_MB / 2, 1); /* half way */
	assert_near(layer(gpu, "weights of transformer", 4.8), TRANSFORMER_MB, 1);
	assert_near(layer(gpu, "activations and other tensors", 4.3), 10, 1);
	assert_near(layer(host, "weights of transformer", 3.8), TRANSFORMER_MB, 1);
	assert_near(layer(host, "weights of transformer", 4.3), TRANSFORMER_MB / 2, 1);
	assert_near(layer(host, "weights of transformer", 5.5), 0, 1);
	assert_near(layer(host, "other anonymous memory", 4.3), PROGRAM_MB, 1);
	synthetic_done(&r.s);
}

static void an_older_recording_says_why_they_have_no_row(void **state)
{
	struct recorded r;
	struct sb_model *m = taking_turns(&r, false);
	struct sb_text_options options = { 0 };
	struct sb_buf text = { 0 };

	assert_int_equal(m->residency.unplaced_count, 3);
	assert_string_equal(m->residency.unplaced[1], "weights of transformer");
	assert_near(part(moment(m, "denoise", "peak", 0), "weights of transformer"), 0, 0);
	assert_near(part(moment(m, "denoise", "peak", 0), "weights, activations and other tensors"),
		TRANSFORMER_MB + 8000, 1);
	assert_int_equal(sb_report_text(m, &options, &text), 0);
	assert_non_null(
		strstr(text.data, "no row: weights of text_encoder, weights of transformer, weights of vae, "
				  "which moved between host and GPU: this recording does not say where to"));
	sb_buf_done(&text);
	synthetic_done(&r.s);
}

/* As enable_sequential_cpu_offload() has it: the host keeps all, the GPU has what computes. */
static void weights_that_come_part_by_part_are_on_both_sides(void **state)
{
	const struct sb_residency *gpu, *host;
	struct recorded r;
	struct sb_model *m;

	open_recorded(&r);
	synthetic_begin(&r.s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&r.s, 2 * SECOND, 6 * SECOND, "denoise", 0);
	synthetic_end(&r.s, 10 * SECOND);
	lies(&r, 2100 * MS, "weights of transformer", TRANSFORMER_MB, HOST);
	for (uint64_t ms = 1000; ms <= 10000; ms += 1000)
		reading(&r, ms, ms == 4000 ? 1000 : ms == 3000 || ms == 5000 ? 700 : 10, TRANSFORMER_MB);
	becomes(&r, 3000 * MS - 1000, "weights of transformer", 0, 300, 0, 0);
	becomes(&r, 4000 * MS - 1000, "weights of transformer", 300, 700, 0, 0);
	becomes(&r, 5000 * MS - 1000, "weights of transformer", 700, 300, 0, 0);
	becomes(&r, 5500 * MS, "weights of transformer", 300, 0, 0, 0);
	listed(&r, 10 * SECOND + 1, "weights of transformer", TRANSFORMER_MB, HOST);
	m = synthetic_model(&r.s, 11 * SECOND);
	gpu = moment(m, "denoise", "peak", 0);
	host = moment(m, "denoise", "peak", HOST);
	assert_near(part(gpu, "weights of transformer"), 700, 1);
	assert_near(part(gpu, "activations and other tensors"), 300, 1);
	assert_near(part(host, "weights of transformer"), TRANSFORMER_MB, 1);
	assert_near(part(moment(m, "denoise", "begin", 0), "weights of transformer"), 0, 0);
	assert_near(part(moment(m, "denoise", "end", 0), "weights of transformer"), 0, 0);
	assert_near(gpu->rest_bytes / (double)MIB, 0, 1);
	assert_near(host->rest_bytes / (double)MIB, 0, 1);
	synthetic_done(&r.s);
}

/* As safetensors gives them: before their first move they are pages of the file. */
static void weights_of_a_mapped_file_are_no_anonymous_memory(void **state)
{
	const struct sb_residency *host;
	struct recorded r;
	struct sb_model *m;

	open_recorded(&r);
	synthetic_begin(&r.s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&r.s, 2 * SECOND, 6 * SECOND, "vae_decode", 0);
	synthetic_end(&r.s, 10 * SECOND);
	for (uint64_t ms = 1000; ms <= 10000; ms += 1000)
		reading(&r, ms, 10, 0);
	lies(&r, 1500 * MS, "weights of text_encoder", ENCODER_MB, HOST);
	m = synthetic_model(&r.s, 11 * SECOND);
	host = moment(m, "vae_decode", "begin", HOST);
	assert_near(part(host, "weights of text_encoder"), ENCODER_MB, 1);
	assert_near(part(host, "other anonymous memory"), 0, 0);
	assert_near(part(host, "mapped files"), PROGRAM_MB + MAPPED_MB - ENCODER_MB, 1);
	assert_near(host->rest_bytes / (double)MIB, 0, 1);
	assert_near(layer(picture(m, HOST), "mapped files", 2), PROGRAM_MB + MAPPED_MB - ENCODER_MB, 1);
	synthetic_done(&r.s);
}

/* Pages that were not read are not there. */
static void weights_that_are_more_than_the_host_holds_have_no_row(void **state)
{
	const struct sb_residency *host;
	struct recorded r;
	struct sb_model *m;

	open_recorded(&r);
	synthetic_begin(&r.s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&r.s, 2 * SECOND, 6 * SECOND, "vae_decode", 0);
	synthetic_end(&r.s, 10 * SECOND);
	for (uint64_t ms = 1000; ms <= 10000; ms += 1000)
		reading(&r, ms, 10, 0);
	lies(&r, 1500 * MS, "weights of transformer", TRANSFORMER_MB, HOST);
	m = synthetic_model(&r.s, 11 * SECOND);
	host = moment(m, "vae_decode", "begin", HOST);
	assert_near(part(host, "weights of transformer"), 0, 0);
	assert_near(part(host, "other anonymous memory"), PROGRAM_MB, 1);
	assert_near(host->rest_bytes / (double)MIB, 0, 1);
	synthetic_done(&r.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_that_take_turns_are_named_where_they_lie),
		cmocka_unit_test(over_time_they_go_from_one_side_to_the_other),
		cmocka_unit_test(an_older_recording_says_why_they_have_no_row),
		cmocka_unit_test(weights_that_come_part_by_part_are_on_both_sides),
		cmocka_unit_test(weights_of_a_mapped_file_are_no_anonymous_memory),
		cmocka_unit_test(weights_that_are_more_than_the_host_holds_have_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
