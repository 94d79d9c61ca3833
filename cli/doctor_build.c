/* Checks of this build: what it was made with, and the Python side. */
#include "doctor.h"
#include "run_attach.h"

#include "record/yaml.h"

#include <limits.h>
#include <stdio.h>

static void say_feature(struct doctor_finding *f, bool have, const char *what, const char *package)
{
	char fix[160];

	snprintf(fix, sizeof fix, "build with %s", package);
	if (have)
		doctor_say(f, DOCTOR_OK, "", "%s", what);
	else
		doctor_say(f, DOCTOR_MISSING, fix, "%s: switched off in this build", what);
}

#ifndef STROBE_HAVE_NCURSES
#define STROBE_HAVE_NCURSES 0
#endif
#ifndef STROBE_HAVE_EVENT
#define STROBE_HAVE_EVENT 0
#endif
#ifndef STROBE_HAVE_SQLITE
#define STROBE_HAVE_SQLITE 0
#endif
#ifndef STROBE_HAVE_ZSTD
#define STROBE_HAVE_ZSTD 0
#endif
#ifndef STROBE_HAVE_ZLIB
#define STROBE_HAVE_ZLIB 0
#endif

static void look_yaml(struct doctor_finding *f)
{
	say_feature(f, sb_yaml_find() != NULL, "configuration files", "libfyaml (Debian: libfyaml-dev)");
}

static void look_top(struct doctor_finding *f)
{
	say_feature(f, STROBE_HAVE_NCURSES, "strobe top", "ncursesw (Debian: libncurses-dev)");
}

static void look_serve(struct doctor_finding *f)
{
	say_feature(f, STROBE_HAVE_EVENT, "strobe serve", "libevent (Debian: libevent-dev)");
}

static void look_history(struct doctor_finding *f)
{
	say_feature(f, STROBE_HAVE_SQLITE, "strobe history", "SQLite (Debian: libsqlite3-dev)");
}

static void look_compression(struct doctor_finding *f)
{
	say_feature(f, STROBE_HAVE_ZSTD && STROBE_HAVE_ZLIB, "packed recordings, .json.gz",
		"zlib and zstd (Debian: zlib1g-dev, libzstd-dev)");
}

static void look_hook(struct doctor_finding *f)
{
	char path[PATH_MAX];

	if (run_attach_find_hook(path, sizeof path))
		doctor_say(f, DOCTOR_OK, "", "%.200s", path);
	else
		doctor_say(f, DOCTOR_MISSING, "build or install the Python package",
			"the start-up hook is not beside the strobe command");
}

const struct doctor_check doctor_build_checks[] = {
	{ "this build", "Python hook", look_hook },
	{ "this build", "YAML", look_yaml },
	{ "this build", "terminal view", look_top },
	{ "this build", "web page", look_serve },
	{ "this build", "history", look_history },
	{ "this build", "compression", look_compression },
	{ 0 },
};
