/* The unit at the end of a key. */
#ifndef SB_TOOLS_UNIT_H
#define SB_TOOLS_UNIT_H

const char *unit_of(const char *key); /* in words; "" where the key is its own unit; NULL: it has none */

#endif
