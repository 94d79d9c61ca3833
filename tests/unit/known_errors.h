/* A model as text, for the errors that earlier tools make. */
#ifndef SB_TESTS_KNOWN_ERRORS_H
#define SB_TESTS_KNOWN_ERRORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/summary.h"
#include "base/error.h"
#include "report/json.h"
#include "report/summary.h"
#include "report/text.h"
#include "synthetic.h"
#include "report/build.h"

#include <dirent.h>
#include <sys/stat.h>

static inline char *text_of(const struct sb_model *m)
{
	struct sb_text_options options = { .columns = 80 };
	struct sb_buf out = { 0 };

	assert_int_equal(sb_report_text(m, &options, &out), 0);
	return out.data;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%.4000s", part, text);
}

#endif
