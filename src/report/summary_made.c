/* The head of the one-screen summary: what was made, what bounds it, what failed, how quickly. */
#include "report/panels/panel.h"
#include "report/summary_screen.h"
#include "stats/energy.h"

#include <stdio.h>
#include <string.h>

#define FAILURE_MOST 240 /* columns */
#define CHATS_MOST 3 /* models that write tokens */

/* What bounds the run: beside what was made where there is room, else below it. */
static void verdict(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	bool mixed = sum->bound && strcmp(sum->bound, "mixed") == 0;
	char words[300];

	if (!sum->bound_reason)
		return;
	snprintf(words, sizeof words, "%s%s (%s)",
		mixed         ? "bound: mixed"
		: !sum->bound ? "bound: not known"
			      : sum->bound,
		mixed || !sum->bound ? "" : "-bound", sum->bound_reason);
	if (s->line.size && !sb_screen_fits(s, 6 + sb_screen_columns(words)))
		sb_screen_end(s, NULL);
	sb_screen_say(s, "%s%s", s->line.size ? "      " : "", words);
}

static void count_of(struct sb_screen *s, int64_t count, const char *what)
{
	sb_screen_say(
		s, "%s%lld %s%s", s->line.size ? ", " : "", (long long)count, what, count == 1 ? "" : "s");
}

/* What was made: frames make a video; latents or an answer in words are none, and a batch is several. */
static const char *noun_of(const struct sb_model *model)
{
	const struct sb_summary_panel *sum = &model->summary;

	if (sum->video_count)
		return "generation";
	if (sum->image_count && sum->image_count == sum->generation_count)
		return "image";
	return sum->frames > 0 ? "video" : "generation";
}

/* ", 5 videos", ", 1 video, 4 images": where one each would not say it. */
static void made_by_these(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	bool images = sum->image_count > 0 && strcmp(noun_of(s->model), "image") != 0;

	if (sum->video_count > 0)
		count_of(s, sum->video_count, "video");
	if (images)
		count_of(s, sum->image_count, "image");
}

/* "1 of 3 videos failed: RuntimeError: no room (make.py:12) in transformer" */
static void failures(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;

	if (!sum->failed_count || !sum->failure)
		return;
	sb_screen_say(s, "%lld of %lld %ss failed%s: ", (long long)sum->failed_count,
		(long long)s->model->generations.total, noun_of(s->model),
		sum->failed_count > 1 ? ", the first" : "");
	sb_text_name(&s->line, sum->failure, FAILURE_MOST);
	sb_screen_end(s, "31");
}

void sb_screen_made(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	const struct sb_generations_panel *g = &s->model->generations;
	bool together = !g->whole_run && g->total > 1 && g->union_s < g->total_s * 0.999;
	char took[32], startup[32];

	if (sum->generation_count > 0)
		count_of(s, sum->generation_count, noun_of(s->model));
	made_by_these(s);
	if (sum->unfinished_count > 0)
		sb_screen_say(
			s, "%s%lld unfinished", s->line.size ? ", " : "", (long long)sum->unfinished_count);
	if (sum->failed_count > 0)
		sb_screen_say(
			s, s->line.size ? " (and %lld failed)" : "%lld failed", (long long)sum->failed_count);
	if (sum->frames >= 0)
		count_of(s, sum->frames, "frame");
	if (sum->width > 0 && sum->height > 0)
		sb_screen_say(s, "%s%lldx%lld", s->line.size ? " " : "", (long long)sum->width,
			(long long)sum->height);
	if (sum->steps >= 0)
		count_of(s, sum->steps, "step");
	if (sum->blocks >= 0)
		count_of(s, sum->blocks, "block");
	sb_text_seconds(took, sizeof took, sum->generation_s);
	if (s->line.size)
		sb_screen_say(s, " in %s%s", took, together ? ", partly at the same time" : "");
	sb_text_seconds(startup, sizeof startup, sum->startup_end_s);
	if (s->line.size && g->whole_run && !isnan(sum->startup_end_s))
		sb_screen_say(s, " (%s of it start-up)", startup);
	verdict(s);
	if (s->line.size)
		sb_screen_end(s, NULL);
	failures(s);
}

/* Two digits of a small number at least: "12.34", "0.0031". */
static const char *digits(char *out, size_t size, double value)
{
	int decimals = 2;

	for (double left = value; left > 0 && left < 0.0995 && decimals < 12; left *= 10)
		decimals++;
	snprintf(out, size, "%.*f", decimals, value);
	return out;
}

static void frame_rates(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	char fps[32], target[32];

	digits(fps, sizeof fps, sum->fps_wall);
	if (!isnan(sum->fps_wall) && sum->target_fps > 0)
		sb_screen_remark(s, "%s frames/s end to end (target %s: %s)", fps,
			digits(target, sizeof target, sum->target_fps),
			sum->fps_wall >= sum->target_fps ? "reached" : "MISSED");
	else if (!isnan(sum->fps_wall))
		sb_screen_remark(s, "%s frames/s end to end", fps);
	if (!isnan(s->model->diffusion.fps))
		sb_screen_remark(s, "%s frames/s in %s", digits(fps, sizeof fps, s->model->diffusion.fps),
			sum->steps > 0    ? "steps"
			: sum->blocks > 0 ? "blocks"
					  : "denoise");
	if (!isnan(s->model->diffusion.bps) && s->model->blocks.blocks > 0)
		sb_screen_remark(s, "%s blocks/s", digits(fps, sizeof fps, s->model->diffusion.bps));
}

static void price(struct sb_screen *s)
{
	const struct sb_summary_panel *sum = &s->model->summary;
	bool energy_each = !isnan(sum->energy_wh_per_video), cost_each = !isnan(sum->cost_per_video);
	double energy = energy_each ? sum->energy_wh_per_video : sum->run_energy_wh;
	double cost = cost_each ? sum->cost_per_video : sum->run_cost;
	char text[32], each[32];

	snprintf(each, sizeof each, " per %s", noun_of(s->model));

	sb_text_energy(text, sizeof text, energy);
	if (!isnan(energy))
		sb_screen_remark(
			s, "%s%s%s", energy_each ? "" : "GPU energy ", text, energy_each ? each : "");
	if (!isnan(cost))
		sb_screen_remark(s, "cost %s%s", digits(text, sizeof text, cost), cost_each ? each : "");
}

/* "96 new tokens; first token after 120 ms, then 34.20 tokens/s; 32 input frames (16.00 frames/s)" */
static void tokens(struct sb_screen *s, const struct sb_chat *c, bool alone)
{
	char first[32], rate[32];

	if (!alone) {
		sb_text_name(&s->line, c->stage, 40);
		sb_screen_say(s, ": ");
	}
	sb_screen_say(s, "%.0f new token%s", c->new_tokens, c->new_tokens == 1 ? "" : "s");
	sb_text_seconds(first, sizeof first, c->first_token_s);
	if (!isnan(c->first_token_s))
		sb_screen_remark(s, "first token after %s", first);
	if (!isnan(c->tokens_per_s))
		sb_screen_say(s, ", %s%s tokens/s", isnan(c->first_token_s) ? "" : "then ",
			digits(rate, sizeof rate, c->tokens_per_s));
	if (c->input_frames > 0)
		sb_screen_remark(s, "%.0f input frame%s", c->input_frames, c->input_frames == 1 ? "" : "s");
	if (c->input_frames > 0 && !isnan(c->input_frames_per_s))
		sb_screen_say(s, " (%s frames/s)", digits(rate, sizeof rate, c->input_frames_per_s));
	sb_screen_end(s, NULL);
}

void sb_screen_speed(struct sb_screen *s)
{
	const struct sb_generations_panel *g = &s->model->generations;
	char p50[32], p95[32];

	frame_rates(s);
	sb_text_seconds(p50, sizeof p50, g->time.p50);
	sb_text_seconds(p95, sizeof p95, g->time.p95);
	if (g->time.count > 1)
		sb_screen_remark(s, "p50 %s, p95 %s per %s", p50, p95, noun_of(s->model));
	sb_text_seconds(p50, sizeof p50, s->model->summary.first_block_s);
	if (!isnan(s->model->summary.first_block_s))
		sb_screen_remark(s, "first block after %s", p50);
	price(s);
	if (s->line.size)
		sb_screen_end(s, NULL);
	for (size_t i = 0; i < s->model->chat.count && i < CHATS_MOST; i++)
		tokens(s, &s->model->chat.all[i], s->model->chat.count == 1);
}
