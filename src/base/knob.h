/* Settings that a stage carries as attributes and that decide how long it takes: iterations, steps,
 * frames, batch. One table, read by the strategies and by what-if predictions. */
#ifndef SB_BASE_KNOB_H
#define SB_BASE_KNOB_H

#include <stdbool.h>

enum sb_knob_law {
	SB_KNOB_EACH, /* time grows with the value: iterations, steps, frames */
	SB_KNOB_AREA, /* time grows with the pixels: width and height multiply */
	SB_KNOB_BATCH, /* items in one call: a larger value makes fewer calls */
	SB_KNOB_OTHER /* it matters, but one run cannot tell how much */
};

struct sb_knob {
	const char *key; /* of the attribute */
	const char *one, *many; /* "iteration", "iterations" */
	enum sb_knob_law law;
	bool curved; /* attention over it makes the time grow with its square, too */
};

/* By its attribute's key or another usual name ("iterations", "num_inference_steps"); NULL: no knob. */
const struct sb_knob *sb_knob_find(const char *name);

#endif
