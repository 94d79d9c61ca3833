/* Padding, key by key. */
#include "analyze/model_padding.h"

static const char *const kinds[] = { "padding", "guidance", SB_NAMES_END };

static const struct sb_field sb_padding_fields_rows[] = {
	SB_FIELD(sb_padding, stage, "stage", SB_ALWAYS, "the stage or generation that computes it"),
	SB_FIELD(sb_padding, code, "code", SB_KNOWN, "its code"),
	SB_FIELD_NAMED(sb_padding, kind, "kind", SB_ALWAYS, kinds,
		"padding: it is thrown away; guidance: it is mixed into the result"),
	SB_FIELD(sb_padding, words, "words", SB_ALWAYS, "the same in words, for people"),
	SB_FIELD(sb_padding, frames, "frames_count", SB_KNOWN, "frames that are wanted, over all calls"),
	SB_FIELD(sb_padding, padded_frames, "padded_frames_count", SB_KNOWN, "frames that are computed"),
	SB_FIELD(sb_padding, pixels, "frame_px", SB_KNOWN, "pixels of a frame that are wanted"),
	SB_FIELD(sb_padding, padded_pixels, "padded_frame_px", SB_KNOWN,
		"pixels of a frame that are computed"),
	SB_FIELD(sb_padding, mask_ratio, "mask_ratio", SB_KNOWN, "share of the pixels that is kept",
		.range = SB_SHARE),
	SB_FIELD(sb_padding, passes, "passes_count", SB_KNOWN, "model calls in one step"),
	SB_FIELD(sb_padding, unseen_ratio, "unseen_ratio", SB_ALWAYS,
		"share of what is computed that is never seen", .range = SB_SHARE),
	SB_FIELD(sb_padding, total_s, "total_s", SB_ALWAYS, "time of the stage"),
	SB_FIELD(sb_padding, unseen_s, "unseen_s", SB_ALWAYS, "unseen_ratio x total_s"),
};
SB_FIELDS(sb_padding_fields, sb_padding, "Padding", "Something that is computed and never seen.");
