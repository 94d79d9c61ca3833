/* libFuzzer: any bytes as a message to `strobe mcp`, over a folder with two recordings. An answer is one
 * line of JSON; a message gets one or none. */
#include "base/jsondom.h"
#include "format/builder.h"
#include "serve/mcp/mcp.h"
#include "strobe.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/strobe-mcp-fuzz-XXXXXX";
static const char *const names[] = { "a", "b" };
static struct sb_mcp *mcp;

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void path_of(const char *name, const char *file, char *out, size_t size)
{
	snprintf(out, size, "%s/%s%s", root, name, file);
}

static void make_run(const char *name)
{
	struct sb_builder_options options = { .name = name, .rank = -1, .local_rank = -1 };
	struct sb_stream_writer *w;
	struct sb_builder *b;
	char path[256];

	path_of(name, "", path, sizeof path);
	must(!mkdir(path, 0700));
	path_of(name, "/run.strobe", path, sizeof path);
	must(!sb_builder_open(path, &options, &b));
	w = sb_builder_thread(b, 0, "main");
	for (uint64_t t = 0; t < 4000000; t += 1000000) {
		sb_builder_begin(w, t, sb_builder_name(b, "step", "4c"));
		sb_builder_end(w, t + 900000, 0);
	}
	must(!sb_builder_close(b, 4000000));
}

static void clean(void)
{
	char path[256];

	sb_mcp_close(mcp);
	for (size_t i = 0; i < 2; i++) {
		path_of(names[i], "/run.strobe", path, sizeof path);
		unlink(path);
		path_of(names[i], "", path, sizeof path);
		rmdir(path);
	}
	rmdir(root);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	must(mkdtemp(root));
	make_run(names[0]);
	make_run(names[1]);
	must(!sb_mcp_open(root, &mcp));
	atexit(clean);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf out = { 0 };

	sb_mcp_answer(mcp, (const char *)data, size, &out);
	if (out.size) {
		must(out.data[out.size - 1] == '\n' &&
			memchr(out.data, '\n', out.size) == out.data + out.size - 1);
		must(!sb_jsondom_parse("answer", out.data, out.size - 1, &doc));
		must(!strcmp(sb_jsondom_string(sb_jsondom_get(sb_jsondom_root(doc), "jsonrpc"), ""), "2.0"));
		must(!strstr(out.data, root) ||
			memmem(data, size, root, strlen(root))); /* what it was told, it may repeat */
	}
	sb_jsondom_free(doc);
	sb_buf_done(&out);
	return 0;
}
