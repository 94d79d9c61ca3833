/* Checks of this build: what it was made with. */
#include "doctor.h"

#include "exchange/https.h"
#include "record/yaml.h"
#include "store/history.h"

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
	char path[PATH_MAX], what[240];

	if (!sb_history_path(path, sizeof path))
		snprintf(what, sizeof what,
			"strobe history, switched off by STROBE_HISTORY or without a HOME");
	else
		snprintf(what, sizeof what, "strobe history, in %.200s", path);
	say_feature(f, STROBE_HAVE_SQLITE, STROBE_HAVE_SQLITE ? what : "strobe history",
		"SQLite (Debian: libsqlite3-dev)");
}

static void look_compression(struct doctor_finding *f)
{
	say_feature(f, STROBE_HAVE_ZSTD && STROBE_HAVE_ZLIB, "packed recordings, .json.gz",
		"zlib and zstd (Debian: zlib1g-dev, libzstd-dev)");
}

static void look_https(struct doctor_finding *f)
{
	const char *version = sb_https_find();

	if (version)
		doctor_say(f, DOCTOR_OK, "", "%.200s", version);
	else
		doctor_say(f, DOCTOR_MISSING, "install libcurl (Debian: libcurl4), if you need one",
			"no libcurl: a warehouse is reached over plain HTTP only");
}

const struct doctor_check doctor_build_checks[] = {
	{ "this build", "YAML", look_yaml },
	{ "this build", "terminal view", look_top },
	{ "this build", "web page", look_serve },
	{ "this build", "history", look_history },
	{ "this build", "compression", look_compression },
	{ "this build", "https warehouses", look_https },
	{ 0 },
};
