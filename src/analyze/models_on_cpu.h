/* Whether the run's models said that they are on the CPU: then what a GPU did meanwhile is of other programs. */
#ifndef SB_ANALYZE_MODELS_ON_CPU_H
#define SB_ANALYZE_MODELS_ON_CPU_H

#include "analyze/model.h"

/* True if models were called, all of them said so (torch.asked), and nothing of the run's is on a GPU's clock. */
bool sb_models_on_cpu(const struct sb_model *model);

#endif
