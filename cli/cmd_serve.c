/* strobe serve: the page, live, and /metrics. */
#include "command.h"
#include "output.h"

#include "run/run.h"
#include "base/buf.h"
#include "base/extsort.h"
#include "base/filename.h"
#include "exchange/import.h"
#include "exchange/share.h"
#include "run/catalogue.h"
#include "serve/tasks.h"
#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_PORT 8077

static const struct command_option options[] = {
	{ "port", 'p', "N", "listen on this port (8077; 0: any free one)", false, false },
	{ "address", 'a', "ADDRESS", "listen here (127.0.0.1); anything beyond loopback needs a token", false,
		false },
	{ "token-file", 't', "FILE", "file with the token that requests need; or STROBE_SERVE_TOKEN", false,
		false },
	{ "allow-host", 0, "NAME", "accept this host name in the address, besides localhost", false, true },
	{ 0 },
};

/* The first line of the file, or the environment's; NULL in *out: none. */
static int read_token(const struct args *args, struct sb_buf *buf, const char **out)
{
	const char *file = args_value(args, "token-file");
	const char *given = getenv("STROBE_SERVE_TOKEN");

	*out = NULL;
	if (file) {
		if (sb_buf_read_file(buf, file, 4096))
			return complain_last();
		given = sb_buf_text(buf);
		buf->data[strcspn(buf->data, "\r\n")] = '\0';
	}
	if (!given || (!file && !*given))
		return 0;
	if (strlen(given) < 16 || strlen(given) > 200 ||
		strspn(given, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~") !=
			strlen(given))
		return complain("a token has 16 to 200 letters, digits or -_.~ (try: head -c 24 /dev/urandom "
				"| base64 | tr '+/' '-_')");
	*out = given;
	return 0;
}

/* A trace, a stage log or a shared page, as a recording for as long as it is served. */
struct imported {
	char folder[512], path[1024]; /* "": nothing was imported */
};

static int import_target(const char *target, struct imported *out)
{
	int err;

	if (sb_catalogue_kind(target, NULL) != SB_CATALOGUE_FILE || !sb_import_is_candidate(target))
		return 0;
	if (sb_share_is_job(target)) /* unpacked for the life of the program */
		return sb_run_resolve(target, out->path, sizeof out->path) ? complain_last() : 0;
	snprintf(out->folder, sizeof out->folder, "%s/strobe-serve-XXXXXX", sb_extsort_folder());
	if (!mkdtemp(out->folder)) {
		*out->folder = 0;
		return complain("cannot make a folder in '%s'", sb_extsort_folder());
	}
	snprintf(out->path, sizeof out->path, "%s/%.200s.strobe", out->folder, sb_filename_of(target));
	err = sb_import_file(target, out->path, NULL, NULL);
	return err ? complain_last() : 0;
}

static void imported_done(const struct imported *i)
{
	if (!*i->folder)
		return;
	unlink(i->path);
	rmdir(i->folder);
}

static void say(const char *line)
{
	output_words(stderr, "strobe: %s\n", line);
}

/* Runs may come later, but a folder of folders of runs is easily taken for one. */
static void say_where_runs_are(const char *target)
{
	struct sb_catalogue all = { 0 };
	const char *deeper = NULL;
	size_t runs = 0;

	if (sb_catalogue_kind(target, NULL) != SB_CATALOGUE_RUNS || sb_catalogue_list(target, &all))
		return;
	for (size_t i = 0; i < all.count; i++) {
		runs += all.entries[i].kind != SB_CATALOGUE_RUNS;
		deeper = all.entries[i].kind == SB_CATALOGUE_RUNS ? all.entries[i].path : deeper;
	}
	if (!runs && deeper)
		output_words(
			stderr, "strobe: no run in '%s', only folders: strobe serve '%s'?\n", target, deeper);
	else if (!runs)
		output_words(stderr, "strobe: no run in '%s' yet\n", target);
	sb_catalogue_done(&all);
}

static int run(struct args *args)
{
	struct sb_server_options o = { .address = args_value(args, "address"), .log = say };
	struct sb_server *server = NULL;
	struct imported imported = { 0 };
	struct sb_buf token = { 0 };
	char target[4096], host[256];
	const char *name;
	size_t port = DEFAULT_PORT;
	int code;

	if (getenv(SB_WORKER_FD))
		return sb_tasks_serve() ? complain_last() : EXIT_OK;
	if (args->count > 1)
		return complain("one RUN or folder at a time");
	if (!args_count(args, "port", 0, 65535, &port))
		return EXIT_USAGE;
	if (args->count && access(args->values[0], F_OK) &&
		sb_run_resolve(args->values[0], target, sizeof target))
		return complain_last();
	if (!args->count)
		snprintf(target, sizeof target, "%s", sb_run_root());
	else if (!access(args->values[0], F_OK))
		snprintf(target, sizeof target, "%s", args->values[0]);
	if (args->count && access(target, F_OK))
		return complain("there is no run or folder '%s'", target);
	code = read_token(args, &token, &o.guard.token);
	if (code)
		goto out;
	code = import_target(target, &imported);
	if (code)
		goto out;
	o.target = *imported.path ? imported.path : target;
	o.port = (uint16_t)port;
	while (o.guard.host_count < SB_GUARD_HOSTS_MAX - 2 &&
		(name = args_nth(args, "allow-host", o.guard.host_count)))
		o.guard.hosts[o.guard.host_count++] = name;
	if (o.address && *o.address)
		o.guard.hosts[o.guard.host_count++] = o.address;
	if (o.guard.token && !gethostname(host, sizeof host))
		o.guard.hosts[o.guard.host_count++] = host;
	if (sb_server_open(&o, &server)) {
		code = complain_last();
		goto out;
	}
	printf("strobe: %s at http://%s:%u/ (metrics at /metrics; Ctrl-C ends)\n", target,
		o.address ? o.address : "127.0.0.1", sb_server_port(server));
	fflush(stdout);
	say_where_runs_are(target);
	code = sb_server_run(server) ? complain_last() : EXIT_OK;
out:
	sb_server_close(server);
	imported_done(&imported);
	sb_buf_done(&token);
	return code;
}

const struct command cmd_serve = {
	.name = "serve",
	.usage = "[OPTIONS] [RUN|DIR]",
	.summary = "live web page, run list and /metrics for Prometheus",
	.description =
		"Serves the report pages of a run, or of every run in a folder (default: ./strobe-runs),\n"
		"also while they are being recorded: pages update by themselves. /metrics gives every\n"
		"live recording to Prometheus, /healthz says that the server is up.\n\n"
		"Only your own user on this machine has access. Other users, and other machines "
		"(--address),\n"
		"need a token: once as ?token=..., or as 'Authorization: Bearer ...'.",
	.examples = "  strobe serve\n"
		    "  strobe serve strobe-runs/wan_t2v-20261114-180211-4242 --port 0\n"
		    "  strobe serve --address 0.0.0.0 --token-file ~/.strobe-token --allow-host gpu7",
	.options = options,
	.run = run,
};
