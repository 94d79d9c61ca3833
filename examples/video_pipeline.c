/*
 * A small but real video pipeline on the CPU: text encode, blocks x denoise
 * steps with matrix work on latents, a VAE-like decode, a playable .y4m file.
 * Weights are random, the structure is that of a causal video diffusion model.
 *
 * usage: video_pipeline [OUTPUT.y4m] [BLOCKS] [STEPS]
 */
#include <strobe.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TOKENS = 64,
	WIDTH = 320,
	HEIGHT = 192,
	LATENT_SCALE = 8,
	LATENT_WIDTH = WIDTH / LATENT_SCALE,
	LATENT_HEIGHT = HEIGHT / LATENT_SCALE,
	CHANNELS = 64,
	POSITIONS = LATENT_WIDTH * LATENT_HEIGHT,
	FRAMES_PER_BLOCK = 4,
	LAYERS = 4
};

struct model {
	float weights[LAYERS][CHANNELS][CHANNELS];
	float decoder[3][CHANNELS];
};

struct latents {
	float at[FRAMES_PER_BLOCK][POSITIONS][CHANNELS];
};

static float random_unit(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(*state >> 8) / (float)(1u << 23) - 1.0f;
}

static void load_model(struct model *m)
{
	unsigned state = 7;

	STROBE_ZONE("load_model");
	strobe_role(STROBE_ROLE_LOAD);
	for (size_t i = 0; i < sizeof m->weights / sizeof(float); i++)
		(&m->weights[0][0][0])[i] = random_unit(&state) / sqrtf(CHANNELS);
	for (size_t i = 0; i < sizeof m->decoder / sizeof(float); i++)
		(&m->decoder[0][0])[i] = random_unit(&state);
	strobe_attr_int("bytes", sizeof *m);
	strobe_model("tiny-dit", (int64_t)(sizeof *m / sizeof(float)), "diffusion", sizeof *m);
}

static void multiply(const float weights[CHANNELS][CHANNELS], const float *in, float *out)
{
	for (int o = 0; o < CHANNELS; o++) {
		float sum = 0;

		for (int i = 0; i < CHANNELS; i++)
			sum += weights[o][i] * in[i];
		out[o] = sum;
	}
}

static void encode_text(const struct model *m, const char *prompt, float condition[CHANNELS])
{
	float token[CHANNELS], next[CHANNELS];

	STROBE_STAGE("1", "text encode");
	strobe_attr_int("tokens", TOKENS);
	memset(condition, 0, CHANNELS * sizeof *condition);
	for (int t = 0; t < TOKENS; t++) {
		unsigned state = (unsigned)prompt[(size_t)t % strlen(prompt)] + (unsigned)t * 131u;

		for (int c = 0; c < CHANNELS; c++)
			token[c] = random_unit(&state);
		for (int layer = 0; layer < LAYERS * 20; layer++) {
			multiply(m->weights[layer % LAYERS], token, next);
			for (int c = 0; c < CHANNELS; c++)
				token[c] = tanhf(next[c]);
		}
		for (int c = 0; c < CHANNELS; c++)
			condition[c] += token[c] / TOKENS;
	}
}

/* One model call: mixes channels at every position of every frame. */
static void transformer(
	const struct model *m, struct latents *l, const float condition[CHANNELS], float strength)
{
	float next[CHANNELS];

	STROBE_ZONE("transformer");
	strobe_role(STROBE_ROLE_FORWARD);
	for (int f = 0; f < FRAMES_PER_BLOCK; f++)
		for (int p = 0; p < POSITIONS; p++)
			for (int layer = 0; layer < LAYERS; layer++) {
				float *x = l->at[f][p];

				multiply(m->weights[layer], x, next);
				for (int c = 0; c < CHANNELS; c++)
					x[c] += strength * (next[c] / (1 + fabsf(next[c])) + condition[c]);
			}
}

/* Neighbours pull on each other, so that the picture has structure. */
static void scheduler_step(struct latents *l, float strength)
{
	STROBE_ZONE("scheduler_step");
	for (int f = 0; f < FRAMES_PER_BLOCK; f++)
		for (int p = 1; p < POSITIONS; p++)
			for (int c = 0; c < CHANNELS; c++)
				l->at[f][p][c] += strength * 0.5f * (l->at[f][p - 1][c] - l->at[f][p][c]);
}

static void denoise_block(
	const struct model *m, struct latents *l, const float condition[CHANNELS], int steps)
{
	STROBE_STAGE("2", "denoise");
	strobe_attr_int("steps", steps);
	for (int s = 0; s < steps; s++) {
		float sigma = 1.0f - (float)s / (float)steps;
		struct strobe_step step = { .step = s,
			.timestep = 1000.0 * sigma,
			.block_size = FRAMES_PER_BLOCK,
			.guidance_scale = NAN };

		strobe_step_begin("denoise_step", &step);
		transformer(m, l, condition, 0.1f * sigma);
		scheduler_step(l, sigma);
		strobe_step_end();
	}
}

static unsigned char to_byte(float v)
{
	float scaled = 128.0f + 60.0f * v;

	return (unsigned char)(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
}

static void decode_frame(const struct model *m, const float latent[POSITIONS][CHANNELS], unsigned char *yuv)
{
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			const float *from = latent[y / LATENT_SCALE * LATENT_WIDTH + x / LATENT_SCALE];
			float sum[3] = { 0 };

			for (int plane = 0; plane < 3; plane++)
				for (int c = 0; c < CHANNELS; c++)
					sum[plane] += m->decoder[plane][c] * from[c];
			for (int plane = 0; plane < 3; plane++)
				yuv[plane * WIDTH * HEIGHT + y * WIDTH + x] = to_byte(
					sum[plane] / sqrtf(CHANNELS) + 0.02f * (float)((x + y) % 7));
		}
}

static void decode_block(const struct model *m, const struct latents *l, unsigned char *frames)
{
	STROBE_STAGE("3", "VAE decode");
	strobe_attr_int("frames", FRAMES_PER_BLOCK);
	for (int f = 0; f < FRAMES_PER_BLOCK; f++)
		decode_frame(m, l->at[f], frames + (size_t)f * 3 * WIDTH * HEIGHT);
}

static int write_frames(FILE *out, const unsigned char *frames)
{
	STROBE_STAGE("4", "video write");
	strobe_attr_int("frames", FRAMES_PER_BLOCK);
	for (int f = 0; f < FRAMES_PER_BLOCK; f++) {
		if (fputs("FRAME\n", out) < 0 ||
			fwrite(frames + (size_t)f * 3 * WIDTH * HEIGHT, 3 * WIDTH * HEIGHT, 1, out) != 1)
			return -1;
		strobe_frames(1);
	}
	return 0;
}

static int generate(const struct model *m, const char *prompt, FILE *out, int blocks, int steps)
{
	struct latents *l = malloc(sizeof *l);
	unsigned char *frames = malloc((size_t)FRAMES_PER_BLOCK * 3 * WIDTH * HEIGHT);
	float condition[CHANNELS];
	unsigned state = 42;
	int failed = !l || !frames;

	if (!failed)
		encode_text(m, prompt, condition);
	for (int b = 0; b < blocks && !failed; b++) {
		strobe_block_begin("block", b, FRAMES_PER_BLOCK);
		for (size_t i = 0; i < sizeof l->at / sizeof(float); i++)
			(&l->at[0][0][0])[i] = random_unit(&state);
		denoise_block(m, l, condition, steps);
		decode_block(m, l, frames);
		failed = write_frames(out, frames);
		strobe_block_end((int64_t)sizeof *l);
	}
	free(frames);
	free(l);
	return failed;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "video.y4m";
	int blocks = argc > 2 ? atoi(argv[2]) : 5, steps = argc > 3 ? atoi(argv[3]) : 8;
	const struct strobe_attr tags[] = { { "model", STROBE_TYPE_STRING, { .s = "tiny-dit" } },
		{ "steps", STROBE_TYPE_INT, { .i = steps } } };
	const struct strobe_options options = { .size = sizeof options, .tags = tags, .tag_count = 2 };
	const struct strobe_generation video = { blocks * FRAMES_PER_BLOCK, WIDTH, HEIGHT };
	struct model *model;
	FILE *out;
	int failed;

	if (*path == '-' || blocks < 1 || steps < 1) {
		fprintf(stderr, "usage: video_pipeline [OUT.y4m [BLOCKS [STEPS]]]\n");
		return 2;
	}
	model = malloc(sizeof *model);
	out = fopen(path, "wb");
	if (!model || !out) {
		perror(path);
		return 1;
	}
	strobe_start(&options); /* a failure says so itself; the pipeline runs on */
	load_model(model);
	fprintf(out, "YUV4MPEG2 W%d H%d F24:1 Ip A1:1 C444\n", WIDTH, HEIGHT);
	strobe_generation_begin("text_to_video", &video);
	failed = generate(model, "a lighthouse at dusk, waves, slow pan", out, blocks, steps);
	strobe_generation_end();
	if (fclose(out))
		failed = 1;
	strobe_skip("upscale", "5", "not asked for");
	strobe_stop();
	free(model);
	if (failed)
		perror(path);
	return failed;
}
