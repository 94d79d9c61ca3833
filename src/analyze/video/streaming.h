/* Streaming: batches as they left, frames dropped, encode and network time. */
#ifndef SB_ANALYZE_VIDEO_STREAMING_H
#define SB_ANALYZE_VIDEO_STREAMING_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_streaming;

#endif
