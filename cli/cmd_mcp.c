/* strobe mcp: answers an agent's questions about runs, on standard input and output. */
#include "command.h"

#include "run/run.h"
#include "serve/mcp/mcp.h"
#include "serve/mcp/tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (64u << 10)

static const struct command_option options[] = {
	{ 0 },
};

struct session {
	struct sb_mcp *mcp;
	struct sb_buf line; /* the message so far */
	bool too_long; /* what follows up to the line's end is dropped */
};

static int say(struct sb_buf *out)
{
	int code = EXIT_OK;

	if (out->failed)
		code = complain("no memory");
	else if (out->size && (fwrite(out->data, 1, out->size, stdout) != out->size || fflush(stdout)))
		code = complain("cannot write to standard output: %s", strerror(errno));
	sb_buf_done(out);
	return code;
}

static int end_message(struct session *s)
{
	struct sb_buf out = { 0 };
	const char *text = sb_buf_text(&s->line);
	bool blank = text[strspn(text, " \t\r")] == '\0' && strlen(text) == s->line.size;

	if (s->too_long)
		sb_mcp_answer_too_long(&out);
	else if (!blank)
		sb_mcp_answer(s->mcp, text, s->line.size, &out);
	s->too_long = false;
	sb_buf_clear(&s->line);
	return say(&out);
}

static void add(struct session *s, const char *bytes, size_t size)
{
	s->too_long |= s->line.size + size > SB_MCP_MESSAGE_MAX;
	if (!s->too_long)
		sb_buf_add(&s->line, bytes, size);
}

static int take(struct session *s, const char *bytes, size_t size)
{
	int code = EXIT_OK;

	while (size && !code) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) : size;

		add(s, bytes, part);
		if (end)
			code = end_message(s);
		bytes += part + !!end;
		size -= part + !!end;
	}
	return code;
}

static int serve(struct session *s)
{
	static char bytes[READ_BYTES];
	int code = EXIT_OK;

	while (!code) {
		ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return complain("cannot read standard input: %s", strerror(errno));
		if (!n)
			return s->line.size || s->too_long ? end_message(s) : EXIT_OK;
		code = take(s, bytes, (size_t)n);
	}
	return code;
}

/* A file would be a folder without runs, and the client would learn nothing. */
static int check_folder(const char *path)
{
	struct stat st;

	if (access(path, R_OK) || stat(path, &st))
		return complain("cannot read '%s': %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return complain("'%s' is not a folder: name the folder that holds the runs", path);
	return EXIT_OK;
}

static int run(struct args *args)
{
	const char *root = args->count ? args->values[0] : sb_run_root();
	struct session s = { 0 };
	int code;

	if (args->count > 1)
		return complain("one folder of runs at a time, not '%s' too", args->values[1]);
	code = args->count ? check_folder(root) : EXIT_OK;
	if (code)
		return code;
	if (sb_mcp_open(root, &s.mcp))
		return complain_last();
	if (isatty(STDIN_FILENO))
		fprintf(stderr, "strobe mcp: waiting for messages of an MCP client on standard input (Ctrl-D "
				"ends); see docs/mcp.md\n");
	code = serve(&s);
	sb_mcp_close(s.mcp);
	sb_buf_done(&s.line);
	return code;
}

static void list_tools(struct sb_buf *out)
{
	sb_buf_puts(out, "Tools that an agent can call:\n");
	for (const struct sb_mcp_tool *const *t = sb_mcp_tools; *t; t++)
		sb_buf_printf(out, "  %-12s%s\n", (*t)->name, (*t)->title);
}

const struct command cmd_mcp = {
	.name = "mcp",
	.usage = "[DIR]",
	.summary = "answer an agent's questions about runs (Model Context Protocol)",
	.list_choices = list_tools,
	.description =
		"\n"
		"A Model Context Protocol server over the runs of a folder (default: ./strobe-runs). It "
		"reads\n"
		"requests from standard input and writes answers to standard output, one a line. It never\n"
		"writes a file or opens a port, and it takes ids of runs, never paths. Command lines, tag\n"
		"values and other texts of the program are masked; the size of an answer is limited.",
	.examples = "  strobe mcp\n"
		    "  strobe mcp strobe-runs < requests.jsonl",
	.options = options,
	.run = run,
};
