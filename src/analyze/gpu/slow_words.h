/* Where the time of a slow moment went, in a sentence. */
#ifndef SB_ANALYZE_GPU_SLOW_WORDS_H
#define SB_ANALYZE_GPU_SLOW_WORDS_H

#include "analyze/model.h"

/* The model's; NULL: there is no normal one beside it, or nothing took longer. */
const char *sb_slow_words(struct sb_model *model, const struct sb_slow_moment *s);

#endif
