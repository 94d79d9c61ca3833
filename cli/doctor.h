/* What `strobe doctor` finds out: one entry per capability. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "stats/fields.h"

#include <stdbool.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* works, with less */
	DOCTOR_MISSING,
	DOCTOR_BROKEN /* nothing can be recorded without it */
};

struct doctor_finding {
	enum doctor_state state;
	char detail[240];
	char fix[240]; /* "" only where it is ok */
};

struct doctor_check {
	const char *area; /* a heading */
	const char *name;
	void (*look)(struct doctor_finding *out);
};

struct doctor_result {
	const char *area, *name;
	struct doctor_finding finding;
};

struct doctor_report {
	const char *version;
	struct doctor_result *results;
	size_t count;
	bool can_record;
};
extern const struct sb_fields doctor_fields;
extern const char *const doctor_state_words[]; /* by enum doctor_state */

extern const struct doctor_check doctor_gpu_checks[]; /* end with a NULL name */
extern const struct doctor_check doctor_machine_checks[];
extern const struct doctor_check doctor_python_checks[];
extern const struct doctor_check doctor_build_checks[];

void doctor_say(struct doctor_finding *out, enum doctor_state state, const char *fix, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
