/* Columns of samples that had another name in older recordings. */
#ifndef SB_FORMAT_COLUMN_NAME_H
#define SB_FORMAT_COLUMN_NAME_H

#include <string.h>

/* What the column is called today. */
static inline const char *sb_column_name(const char *recorded)
{
	return strcmp(recorded, "sm_occupancy_percent") ? recorded : "occupancy_percent";
}

#endif
