/* Outputs of two runs beside each other. */
#include "compare/outputs.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/filename.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- key by key ------------------------------------------------------------ */

static const struct sb_field worst_rows[] = {
	SB_FIELD(sb_worst_frame, index, "frame_index", SB_ALWAYS, "from 0"),
	SB_FIELD(sb_worst_frame, psnr_db, "psnr_db", SB_KNOWN, "of this frame", .range = SB_SIGNED),
	SB_FIELD(sb_worst_frame, ssim_ratio, "ssim_ratio", SB_KNOWN, "of this frame's luma",
		.range = SB_SIGNED),
	SB_FIELD(sb_worst_frame, base_picture, "base_picture", SB_KNOWN,
		"a small PNG as data: URI, pages alone"),
	SB_FIELD(sb_worst_frame, now_picture, "new_picture", SB_KNOWN, "the same of the new run"),
	SB_FIELD(sb_worst_frame, difference_picture, "difference_picture", SB_KNOWN,
		"where they differ, four times as strong as it is"),
};
static SB_FIELDS(worst, sb_worst_frame, "WorstFrame", "A frame that differs much from the other run's.");

static const char *const verdicts[] = { "identical", "same_pixels", "changed", "only_base", "only_new",
	"unknown", SB_NAMES_END };

SB_FIELD_WHEN(measured, sb_output_change, it->quality.compared_frames > 0)

static const struct sb_field sb_output_change_fields_rows[] = {
	SB_FIELD(sb_output_change, name, "name", SB_ALWAYS, "of the file"),
	SB_FIELD_NAMED(sb_output_change, verdict, "verdict", SB_ALWAYS, verdicts,
		"same_pixels: the files differ, what they show does not"),
	SB_FIELD(sb_output_change, words, "words", SB_ALWAYS, "the same in words, for people"),
	SB_FIELD(sb_output_change, base_path, "base_path", SB_KNOWN, "absent: the base wrote none such"),
	SB_FIELD(sb_output_change, now_path, "new_path", SB_KNOWN, "absent: the new run wrote none such"),
	SB_FIELD_AS(WHOLE, sb_output_change, base_bytes, "base_bytes", SB_KNOWN, "its size before"),
	SB_FIELD_AS(WHOLE, sb_output_change, now_bytes, "new_bytes", SB_KNOWN, "its size now"),
	SB_FIELD(sb_output_change, base_sha256, "base_sha256", SB_KNOWN, "of the file before"),
	SB_FIELD(sb_output_change, now_sha256, "new_sha256", SB_KNOWN, "of the file now"),
	SB_FIELD(sb_output_change, not_measured, "not_measured", SB_KNOWN, "why there is no PSNR"),
	SB_FIELD(sb_output_change, psnr_db, "psnr_db", SB_KNOWN,
		"over all samples of all compared frames; absent also where nothing differs",
		.range = SB_SIGNED),
	SB_FIELD(sb_output_change, ssim_ratio, "ssim_ratio", SB_KNOWN, "of the luma, mean over frames",
		.range = SB_SIGNED),
	SB_FIELD(sb_output_change, quality.base_frames, "base_frame_count", SB_ALWAYS, "frames before",
		.when = measured),
	SB_FIELD(sb_output_change, quality.now_frames, "new_frame_count", SB_ALWAYS, "frames now",
		.when = measured),
	SB_FIELD(sb_output_change, quality.compared_frames, "compared_frame_count", SB_ALWAYS,
		"frames that were compared: the first ones of both", .when = measured),
	SB_FIELD(sb_output_change, quality.different_frames, "different_frame_count", SB_ALWAYS,
		"compared frames that differ", .when = measured),
	SB_FIELD_LIST(sb_output_change, worst_frames, quality.worst_count, "worst_frames", SB_KNOWN, worst,
		"those that differ most, at least 8 frames apart"),
};
SB_FIELDS(sb_output_change_fields, sb_output_change, "OutputChange",
	"What both runs wrote, beside each other.");

/* ---- which file still holds it ----------------------------------------------- */

/* The copy that the run kept, or the file itself where it was not written since. */
static const char *file_of(const struct sb_output *o)
{
	struct stat st;

	if (o->kept && !access(o->kept, R_OK))
		return o->kept;
	if (stat(o->path, &st) || !o->sha256)
		return NULL;
	if (S_ISDIR(st.st_mode)) /* the SHA-256 of now would tell; files change one by one */
		return o->path;
	return (double)st.st_size == o->bytes &&
			       (uint64_t)st.st_mtim.tv_sec * 1000000000u +
					       (uint64_t)st.st_mtim.tv_nsec / 1000000u * 1000000u ==
				       o->modified_real_ns / 1000000u * 1000000u
		       ? o->path
		       : NULL;
}

static const char *say(struct sb_strings *strings, struct sb_buf *text)
{
	const char *kept = sb_strings_text(strings, sb_strings_add(strings, sb_buf_text(text), text->size));

	sb_buf_done(text);
	return kept;
}

static const char *why_gone(const struct sb_output *o, const char *side, struct sb_strings *strings)
{
	struct sb_buf text = { 0 };

	if (!strcmp(o->state, "missing"))
		sb_buf_printf(&text, "%s did not leave '%s'", side, o->path);
	else if (!strcmp(o->state, "not read") && o->why)
		sb_buf_printf(&text, "'%s' of %s was not read: %s", o->path, side, o->why);
	else
		sb_buf_printf(&text, "'%s' of %s was overwritten, and the run kept no copy", o->path, side);
	return say(strings, &text);
}

/* ---- words ------------------------------------------------------------------- */

static void put_measured(const struct sb_quality *q, struct sb_buf *text)
{
	sb_buf_printf(text, "PSNR %.1f dB", q->psnr_db);
	if (!isnan(q->ssim_ratio))
		sb_buf_printf(text, ", SSIM %.4f", q->ssim_ratio);
	sb_buf_printf(text, ", %" PRId64 " of %" PRId64 " frame%s differ%s", q->different_frames,
		q->compared_frames, q->compared_frames == 1 ? "" : "s", q->different_frames == 1 ? "s" : "");
	if (q->compared_frames > 1 && q->worst_count)
		sb_buf_printf(text, "; the most: frame %" PRId64 " (%.1f dB)", q->worst[0].index,
			q->worst[0].psnr_db);
}

static const char *words_of(const struct sb_output_change *c, struct sb_strings *strings)
{
	const struct sb_quality *q = &c->quality;
	struct sb_buf text = { 0 };

	if (!strcmp(c->verdict, "identical"))
		sb_buf_puts(&text, "identical");
	else if (!strcmp(c->verdict, "same_pixels"))
		sb_buf_puts(&text, "the same pixels in another file");
	else if (!strcmp(c->verdict, "only_base") || !strcmp(c->verdict, "only_new"))
		sb_buf_printf(&text, "only in %s", c->now_path ? "NEW" : "BASE");
	else if (!strcmp(c->verdict, "unknown"))
		sb_buf_puts(&text, "not known");
	else
		sb_buf_puts(&text, "changed");
	if (!strcmp(c->verdict, "changed") && q->compared_frames && q->different_frames) {
		sb_buf_puts(&text, ": ");
		put_measured(q, &text);
	}
	if (q->compared_frames && q->base_frames != q->now_frames)
		sb_buf_printf(&text, "%s %" PRId64 " frames became %" PRId64, q->different_frames ? ";" : ":",
			q->base_frames, q->now_frames);
	if (c->not_measured)
		sb_buf_printf(&text, " (%s%s)",
			strcmp(c->verdict, "changed") ? "" : "by how much is not known: ", c->not_measured);
	return say(strings, &text);
}

/* ---- one output ---------------------------------------------------------------- */

static struct sb_picture_source source_of(const struct sb_output *o, const char *file)
{
	return (struct sb_picture_source){ file, o->width, o->height, o->pixel_format };
}

static int measure(const struct sb_output *base, const struct sb_output *now, bool pictures,
	struct sb_strings *strings, struct sb_output_change *c)
{
	const char *base_file = file_of(base), *now_file = file_of(now);
	struct sb_picture_source a = source_of(base, base_file), b = source_of(now, now_file);
	struct sb_buf text = { 0 };

	if (!base_file || !now_file) {
		c->not_measured = why_gone(base_file ? now : base, base_file ? "NEW" : "BASE", strings);
		return 0;
	}
	if (sb_quality_measure(&a, &b, pictures, &c->quality)) {
		sb_buf_puts(&text, sb_error_message());
		c->not_measured = say(strings, &text);
		return 0;
	}
	if (c->quality.different_frames) {
		c->psnr_db = c->quality.psnr_db;
		c->ssim_ratio = c->quality.ssim_ratio;
	}
	return 0;
}

static const char *verdict_of(const struct sb_output_change *c)
{
	const struct sb_quality *q = &c->quality;

	if (c->base_sha256 && c->now_sha256 && !strcmp(c->base_sha256, c->now_sha256))
		return "identical";
	if (q->compared_frames)
		return q->different_frames || q->base_frames != q->now_frames ? "changed" : "same_pixels";
	return c->base_sha256 && c->now_sha256 ? "changed" : "unknown";
}

int sb_output_compare(const struct sb_output *base, const struct sb_output *now, bool pictures,
	struct sb_strings *strings, struct sb_output_change *out_change)
{
	struct sb_output_change c = { .name = sb_filename_of((now ? now : base)->path),
		.base_path = base ? base->path : NULL,
		.now_path = now ? now->path : NULL,
		.base_sha256 = base ? base->sha256 : NULL,
		.now_sha256 = now ? now->sha256 : NULL,
		.base_bytes = base ? base->bytes : NAN,
		.now_bytes = now ? now->bytes : NAN,
		.psnr_db = NAN,
		.ssim_ratio = NAN };
	int err = 0;

	if (!base || !now)
		c.verdict = now ? "only_new" : "only_base";
	else if (strcmp(verdict_of(&c), "identical"))
		err = measure(base, now, pictures, strings, &c);
	if (!c.verdict)
		c.verdict = verdict_of(&c);
	c.words = words_of(&c, strings);
	if (err || !c.words) {
		sb_output_change_done(&c);
		return err ? err : sb_fail(STROBE_ENOMEM, "no memory to compare the outputs");
	}
	*out_change = c;
	out_change->worst_frames = out_change->quality.worst;
	return 0;
}

void sb_output_change_done(struct sb_output_change *c)
{
	sb_quality_done(&c->quality);
}

bool sb_output_changed(const struct sb_output_change *c)
{
	return !strcmp(c->verdict, "changed");
}
