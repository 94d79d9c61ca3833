/* An energy for people. */
#ifndef SB_STATS_ENERGY_H
#define SB_STATS_ENERGY_H

#include <stddef.h>

void sb_text_energy(char *out, size_t size, double wh); /* "1.24 kWh", "12.3 Wh", "8.6 J", "4.1 mJ" */

#endif
