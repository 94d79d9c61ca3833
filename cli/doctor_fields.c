/* What the doctor found key by key: the tables of doctor.h. */
#include "doctor.h"

const char *const doctor_state_words[] = { [DOCTOR_OK] = "ok",
	[DOCTOR_LIMITED] = "limited",
	[DOCTOR_MISSING] = "missing",
	[DOCTOR_BROKEN] = "broken",
	SB_NAMES_END };

static const struct sb_field result_rows[] = {
	SB_FIELD(doctor_result, area, "area", SB_ALWAYS, "the heading it stands under"),
	SB_FIELD(doctor_result, name, "name", SB_ALWAYS, "what was looked at"),
	SB_FIELD_NAMED(doctor_result, finding.state, "state", SB_ALWAYS, doctor_state_words,
		"limited: works, with less; broken: nothing can be recorded without it"),
	SB_FIELD_AS(TEXT, doctor_result, finding.detail, "detail", SB_ALWAYS, "what was found"),
	SB_FIELD_AS(TEXT, doctor_result, finding.fix, "fix", SB_SET, "what to do about it"),
};
static SB_FIELDS(result, doctor_result, "DoctorCheck", "One thing that was looked at.");

static const struct sb_field doctor_fields_rows[] = {
	SB_FIELD(doctor_report, version, "version", SB_ALWAYS, "of strobe"),
	SB_FIELD_LIST(doctor_report, results, count, "checks", SB_ALWAYS, result, "in the order of the text"),
	SB_FIELD(doctor_report, can_record, "can_record", SB_ALWAYS, "no check is broken"),
};
SB_FIELDS(doctor_fields, doctor_report, "Doctor", "What works on this machine.");
