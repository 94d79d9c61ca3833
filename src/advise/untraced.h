/* What rules about kernels can say without a GPU trace: from torch's switches and what the program asked
 * of its models. */
#ifndef SB_ADVISE_UNTRACED_H
#define SB_ADVISE_UNTRACED_H

#include "advise/rule.h"

/* Each adds its findings if there is no trace. A saving is stated where advise/costs.h knows one. */
void sb_untraced_attention(struct sb_advisor *a);
void sb_untraced_convolutions(struct sb_advisor *a);
void sb_untraced_precision(struct sb_advisor *a);
void sb_untraced_unpacked(struct sb_advisor *a);
void sb_untraced_layout(struct sb_advisor *a);

#endif
