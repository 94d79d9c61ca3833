/* What a bug report needs, as one text that may be shown to strangers. */
#ifndef CLI_DOCTOR_BUNDLE_H
#define CLI_DOCTOR_BUNDLE_H

#include "doctor.h"

#include "base/buf.h"

/* Markdown: version, system, settings from the environment, every check. Without host and user names;
 * the home folder is written "~", what looks like a credential is masked. */
void doctor_bundle(const struct doctor_report *report, struct sb_buf *out);

#endif
