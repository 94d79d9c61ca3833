/* Streaming: batches as they left, frames dropped, encode and network time. */
#ifndef SB_ANALYZE_STREAMING_H
#define SB_ANALYZE_STREAMING_H

#include "analyze/model.h"

extern const struct sb_analysis sb_analysis_streaming;

#endif
