/* The table of knobs, and the names pipelines have for them. */
#include "base/knob.h"

#include <stddef.h>
#include <strings.h>

static const struct sb_knob knobs[] = {
	{ "iters", "iteration", "iterations", SB_KNOB_EACH, false },
	{ "steps", "step", "steps", SB_KNOB_EACH, false },
	{ "frames", "frame", "frames", SB_KNOB_EACH, true },
	{ "latent_frames", "latent frame", "latent frames", SB_KNOB_EACH, true },
	{ "tokens", "token", "tokens", SB_KNOB_EACH, true },
	{ "samples", "sample", "samples", SB_KNOB_EACH, false },
	{ "forwards", "forward", "forwards", SB_KNOB_EACH, false },
	{ "blocks", "block", "blocks", SB_KNOB_EACH, false },
	{ "videos", "video", "videos", SB_KNOB_EACH, false },
	{ "width", "pixel", "pixels", SB_KNOB_AREA, true },
	{ "height", "pixel", "pixels", SB_KNOB_AREA, true },
	{ "batch", "item", "items", SB_KNOB_BATCH, false },
	{ "tiles", "tile", "tiles", SB_KNOB_OTHER, false },
	{ "block_size", "frame", "frames", SB_KNOB_OTHER, false },
	{ "threshold", "threshold", "threshold", SB_KNOB_OTHER, false },
	{ "precision", "precision", "precision", SB_KNOB_OTHER, false },
};

static const struct {
	const char *name, *key;
} aliases[] = {
	{ "iterations", "iters" },
	{ "iteration", "iters" },
	{ "step", "steps" },
	{ "num_steps", "steps" },
	{ "num_inference_steps", "steps" },
	{ "inference_steps", "steps" },
	{ "num_frames", "frames" },
	{ "frame", "frames" },
	{ "batch_size", "batch" },
	{ "dtype", "precision" },
	{ "generations", "videos" },
};

const struct sb_knob *sb_knob_find(const char *name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcasecmp(aliases[i].name, name))
			name = aliases[i].key;
	for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
		if (!strcasecmp(knobs[i].key, name))
			return &knobs[i];
	return NULL;
}
