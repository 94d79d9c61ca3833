/* Where the time of a slow moment went, in a sentence. */
#ifndef SB_ANALYZE_GPU_SLOW_WORDS_H
#define SB_ANALYZE_GPU_SLOW_WORDS_H

#include "analyze/model.h"

/* The model's; NULL: there is no normal one beside it, or nothing took longer. */
const char *sb_slow_words(struct sb_model *model, const struct sb_slow_moment *s);

/* "steps 3-5 (3 in a row; slowest 2.1 x)"; where the pipeline does not number them "3 steps in a row (slowest 2.1 x)". */
const char *sb_slow_row_words(struct sb_model *model, const char *what, const struct sb_slow_row *row);

#endif
