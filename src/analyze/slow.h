/* What "slower than its peers" means, everywhere: longer than the peers' median by the factor of the
 * threshold `slow_step_ratio`, and by more than noise. The caller chooses the peers: the warm iterations of
 * a loop, steps of one block size. */
#ifndef SB_ANALYZE_SLOW_H
#define SB_ANALYZE_SLOW_H

#include "run/run.h"

#define SB_SLOW_PEERS_LEAST 4 /* fewer make no median to compare with */

/* The factor: the recording's threshold, else 1.5. */
double sb_slow_ratio(const struct sb_run *run);
bool sb_is_slow(double seconds, double median_s, double ratio);

#endif
