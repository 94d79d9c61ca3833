/* Readings: what the numbers of a report mean, also where nothing is wrong. */
#ifndef SB_ADVISE_READINGS_H
#define SB_ADVISE_READINGS_H

#include "analyze/model.h"

void sb_readings_find(struct sb_model *model); /* fills model->readings; after the advice */

#endif
