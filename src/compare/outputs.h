/* Whether two runs made the same output: first by content, then by pixels. */
#ifndef SB_COMPARE_OUTPUTS_H
#define SB_COMPARE_OUTPUTS_H

#include "analyze/model_outputs.h"
#include "base/strings.h"
#include "picture/quality.h"

struct sb_output_change {
	const char *name; /* of the file */
	const char *base_path, *now_path; /* NULL: that side wrote none such */
	const char *base_sha256, *now_sha256; /* NULL: not known */
	double base_bytes, now_bytes; /* NAN: not known */
	const char *verdict; /* "identical", "same_pixels", "changed", "only_base", "only_new", "unknown" */
	const char *words; /* for people: "changed: PSNR 31.2 dB, …" */
	const char *not_measured; /* why there is no PSNR; NULL: there is, or the files are identical */
	double psnr_db, ssim_ratio; /* NAN: not measured, or nothing differs */
	struct sb_worst_frame *worst_frames; /* of quality */
	struct sb_quality quality; /* compared_frames 0: not measured */
};

/* Either side may be NULL. Texts are the outputs' own or go into strings. */
int sb_output_compare(const struct sb_output *base, const struct sb_output *now, bool pictures,
	struct sb_strings *strings, struct sb_output_change *out_change);
void sb_output_change_done(struct sb_output_change *change);
/* True if the output visibly differs from the other run's. */
bool sb_output_changed(const struct sb_output_change *change);

extern const struct sb_fields sb_output_change_fields;

#endif
