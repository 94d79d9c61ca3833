/* What other rules ask those about kernels. */
#ifndef SB_ADVISE_KERNELS_H
#define SB_ADVISE_KERNELS_H

#include "advise/shares.h"

/* True if one of them names these kernels, and what to do about them first. */
bool sb_kernels_explained(const struct sb_model *model, const struct sb_shares *k);

#endif
