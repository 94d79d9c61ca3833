/* What every zone touches lies together: between two zones of a program that launches GPU work the caches are full of
 * other things, and each line and each page of ours is fetched anew. */
#ifndef SB_BASE_HOT_H
#define SB_BASE_HOT_H

#define SB_HOT_DATA __attribute__((section("strobe_hot")))
#define SB_HOT_LINES __attribute__((section("strobe_hot_lines"))) /* what has cache lines of its own */
#define SB_HOT_CODE __attribute__((hot))
#define SB_HOT_INLINE inline __attribute__((always_inline)) /* also where rare code calls it too */

#endif
