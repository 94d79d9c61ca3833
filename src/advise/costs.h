/* What a problem of kernels costs where no trace shows it: by the operations that were counted, the bytes that are moved, and
 * the rates of this GPU. Seconds of the generations that count (the warm ones); NAN: something of it is not known. */
#ifndef SB_ADVISE_COSTS_H
#define SB_ADVISE_COSTS_H

#include "analyze/model.h"

double sb_costs_rate(const struct sb_model *model, const char *precision); /* TFLOP/s; 0: not known */
/* What float32 costs where 16 bits would do. */
double sb_costs_single(const struct sb_model *model, const struct sb_stage *s);
/* How long the GPU takes to move them, at the bandwidth that element-wise kernels reach. */
double sb_costs_bytes_s(const struct sb_model *model, double bytes);
/* Bytes that each call moves for nothing. */
double sb_costs_bytes(const struct sb_model *model, const struct sb_stage *s, double bytes);
/* Attention in 16 bits by the math backend, beside a fused kernel: scores that it writes, and its FLOPs. */
double sb_costs_math(const struct sb_model *model, const struct sb_stage *s, double scores, double flops);
/* At most: all that its products do not need at this GPU's rate. */
double sb_costs_above_floor(const struct sb_model *model, const struct sb_stage *s);

#endif
