/* chat: how soon the first token is there, how fast the others follow. */
#include "report/panels/panel.h"

static void put_rate(struct sb_buf *out, double per_s, const char *unit)
{
	if (!isnan(per_s))
		sb_buf_printf(out, per_s < 100 ? ", %.2f %s/s" : ", %.0f %s/s", per_s, unit);
}

static void put_part(struct sb_buf *out, const char *name, double seconds, bool *any)
{
	char words[32];

	if (isnan(seconds))
		return;
	sb_text_seconds(words, sizeof words, seconds);
	sb_buf_printf(out, "%s%s %s", *any ? "; " : "    ", name, words);
	*any = true;
}

static void put_row(const struct sb_chat *c, struct sb_buf *out)
{
	char first[32], longest[32];
	bool any = false;

	sb_buf_puts(out, "  ");
	sb_text_name(out, c->stage, 60);
	sb_buf_printf(out, ": %lld call%s, %.0f new tokens", (long long)c->count, c->count == 1 ? "" : "s",
		c->new_tokens);
	put_rate(out, c->tokens_per_s, "tokens");
	if (!isnan(c->first_token_s)) {
		sb_text_seconds(first, sizeof first, c->first_token_s);
		sb_text_seconds(longest, sizeof longest, c->first_token_max_s);
		sb_buf_printf(out, "; the first after %s (longest %s)", first, longest);
	}
	sb_buf_puts(out, "\n");
	put_part(out, "vision encoder", c->vision_s, &any);
	put_part(out, "prefill", c->prefill_s, &any);
	put_rate(out, c->prefill_tokens_per_s, "tokens");
	put_part(out, "decode", c->decode_s, &any);
	if (c->input_frames > 0) {
		sb_buf_printf(out, "%s%.0f input frames", any ? "; " : "    ", c->input_frames);
		put_rate(out, c->input_frames_per_s, "frames");
		any = true;
	}
	sb_buf_puts(out, any ? "\n" : "");
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->chat.count)
		return;
	sb_text_heading(out, options, "Tokens");
	for (size_t i = 0; i < model->chat.count && i < 10; i++)
		put_row(&model->chat.all[i], out);
}

const struct sb_panel sb_panel_chat = { "chat", text };
