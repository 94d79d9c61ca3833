/* What the program says of a model's weights: how many bits they lie in, and what unpacking them moves. */
#ifndef SB_ADVISE_NARROW_H
#define SB_ADVISE_NARROW_H

#include "analyze/model.h"

/* True if the weights lie in fewer than 16 bits of the model that the stage is, is in, or hands most of its work to. */
bool sb_narrow_weights(const struct sb_model *model, const struct sb_stage *s);
/* True if these weights are known to lie in 16 bits, whatever they are cast from or to. */
bool sb_narrow_half(const struct sb_model *model, const struct sb_stage *s);
/* The model's stage, and seconds of the GPU that unpacking its weights takes in a call, by their bytes; NULL: not known. */
const struct sb_stage *sb_narrow_unpacking(
	const struct sb_model *model, const struct sb_stage *s, double *out_call_s);

#endif
