/* The table of rules with their checks; for advise.c. */
#ifndef SB_ADVISE_TABLE_H
#define SB_ADVISE_TABLE_H

#include "advise/advise.h"

struct sb_advisor;

struct sb_rule {
	struct sb_rule_info info;
	void (*check)(struct sb_advisor *a);
};

const struct sb_rule *sb_rule_at(size_t i); /* NULL past the end */

#endif
