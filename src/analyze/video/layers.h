/* A model layer by layer: components whose times add up to the whole, and the
 * blocks among them compared with each other. */
#ifndef SB_ANALYZE_VIDEO_LAYERS_H
#define SB_ANALYZE_VIDEO_LAYERS_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_layers;

/* "patch_embed", "position_embed", "blocks", "norm", "head", "other". */
const char *sb_layer_component(const char *layer);
bool sb_layer_is_attention(const char *layer); /* by the last part of its name */

#endif
