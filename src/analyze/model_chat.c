/* Models that write tokens, key by key. */
#include "analyze/model_chat.h"

static const struct sb_field sb_chat_fields_rows[] = {
	SB_FIELD(sb_chat, stage, "stage", SB_ALWAYS, "the stage that writes them"),
	SB_FIELD(sb_chat, count, "call_count", SB_ALWAYS, "its calls"),
	SB_FIELD(sb_chat, new_tokens, "new_token_count", SB_ALWAYS,
		"tokens it wrote, all sequences of all calls"),
	SB_FIELD(sb_chat, first_token_s, "first_token_mean_s", SB_KNOWN,
		"from the begin of a call to its first token; on a GPU, to when the loop goes on with it"),
	SB_FIELD(sb_chat, first_token_max_s, "first_token_max_s", SB_KNOWN, "the longest of them"),
	SB_FIELD(sb_chat, tokens_per_s, "tokens_per_s", SB_KNOWN,
		"tokens a second after the first token, over all sequences of a batch; calls that fail "
		"before it are left out"),
	SB_FIELD(sb_chat, prompt_tokens, "prompt_token_count", SB_KNOWN,
		"tokens of the prompts, frames included"),
	SB_FIELD(sb_chat, prefill_s, "prefill_s", SB_KNOWN, "time of the forwards that read the prompt"),
	SB_FIELD(sb_chat, prefill_tokens_per_s, "prefill_tokens_per_s", SB_KNOWN,
		"prompt tokens a second in these forwards"),
	SB_FIELD(sb_chat, decode_s, "decode_s", SB_KNOWN, "time of the forwards after the first token"),
	SB_FIELD(sb_chat, vision_s, "vision_s", SB_KNOWN, "time of the vision encoder"),
	SB_FIELD(sb_chat, input_frames, "input_frame_count", SB_KNOWN, "frames it was given"),
	SB_FIELD(sb_chat, input_frames_per_s, "input_frames_per_s", SB_KNOWN,
		"input frames a second, over the time of the calls that came to a first token"),
};
SB_FIELDS(sb_chat_fields, sb_chat, "Chat", "A model that writes tokens.");
