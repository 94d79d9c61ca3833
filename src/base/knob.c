/* The table of knobs, and the names pipelines have for them. */
#include "base/knob.h"

#include <stddef.h>
#include <strings.h>

static const struct sb_knob knobs[] = {
	{ "iters", "iteration", "iterations", SB_KNOB_EACH },
	{ "steps", "step", "steps", SB_KNOB_EACH },
	{ "frames", "frame", "frames", SB_KNOB_EACH },
	{ "latent_frames", "latent frame", "latent frames", SB_KNOB_EACH },
	{ "tokens", "token", "tokens", SB_KNOB_EACH },
	{ "samples", "sample", "samples", SB_KNOB_EACH },
	{ "forwards", "forward", "forwards", SB_KNOB_EACH },
	{ "blocks", "block", "blocks", SB_KNOB_EACH },
	{ "videos", "video", "videos", SB_KNOB_EACH },
	{ "width", "pixel", "pixels", SB_KNOB_AREA },
	{ "height", "pixel", "pixels", SB_KNOB_AREA },
	{ "batch", "item", "items", SB_KNOB_BATCH },
	{ "tiles", "tile", "tiles", SB_KNOB_OTHER },
	{ "block_size", "frame", "frames", SB_KNOB_OTHER },
	{ "threshold", "threshold", "threshold", SB_KNOB_OTHER },
	{ "precision", "precision", "precision", SB_KNOB_OTHER },
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
