/* What a tool of the MCP server is: one const entry per tool, from which the list, the schemas and
 * the checks of arguments are derived. */
#ifndef SB_SERVE_MCP_TOOL_H
#define SB_SERVE_MCP_TOOL_H

#include "analyze/model.h"
#include "base/json.h"
#include "base/jsondom.h"
#include "run/run.h"
#include "serve/mcp/mcp.h"

#define SB_MCP_ARGUMENTS_MAX 8

enum sb_mcp_type { SB_MCP_TEXT, SB_MCP_NUMBER, SB_MCP_WHOLE };

struct sb_mcp_argument {
	const char *name; /* NULL: the last */
	enum sb_mcp_type type;
	const char *help;
	bool required;
	double lowest, highest; /* of numbers */
};

/* A call with its arguments checked: those not given are NULL and NAN. */
struct sb_mcp_call {
	const struct sb_mcp_tool *tool;
	const char *texts[SB_MCP_ARGUMENTS_MAX];
	double numbers[SB_MCP_ARGUMENTS_MAX];
	size_t limit; /* rows of a list: as asked for, then less until the answer fits */
};

struct sb_mcp_tool {
	const char *name, *title, *description;
	struct sb_mcp_argument arguments[SB_MCP_ARGUMENTS_MAX];
	size_t limit_default, limit_most; /* 0: it has no "limit" */
	/* Writes the members of an object. Returns 0, or a negative STROBE_E with the message set;
	 * STROBE_EINVAL: the arguments are wrong. */
	int (*answer)(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *json);
};

/* Every tool by its name: sb_mcp_tool_<name>. */
/* clang-format off */
#define SB_MCP_TOOLS(tool) \
	tool(runs) tool(report) tool(findings) tool(stage) tool(steps) tool(kernels) tool(memory) tool(diff) \
	tool(timeline) tool(series) tool(ranks)
/* clang-format on */
extern const struct sb_mcp_tool *const sb_mcp_tools[]; /* NULL-terminated */

/* ---- arguments.c ---- */
/* Writes the JSON schema of the tool's arguments. */
void sb_mcp_tool_schema(const struct sb_mcp_tool *tool, struct sb_json *json);
/* STROBE_EINVAL with the message set: which argument is wrong, and what it takes. */
int sb_mcp_call_read(
	const struct sb_mcp_tool *tool, const struct sb_jsondom *arguments, struct sb_mcp_call *out_call);
const char *sb_mcp_text(const struct sb_mcp_call *call, const char *name); /* NULL: not given */
double sb_mcp_number(const struct sb_mcp_call *call, const char *name); /* NAN: not given */

/* ---- runs.c: what ids stand for ---- */
/* The model of the run whose id the argument has, with what is private masked; borrowed until the
 * next call. */
int sb_mcp_model(struct sb_mcp *m, const char *id, const struct sb_model **out_model);
/* The run itself, a part of it; the caller closes it. */
int sb_mcp_run(struct sb_mcp *m, const char *id, const struct sb_cut *cut, struct sb_run **out_run);
/* The same model as a new one, which the caller frees. */
int sb_mcp_model_new(struct sb_mcp *m, const char *id, struct sb_model **out_model);

struct sb_aggregate;
/* ---- ranks.c ---- */
/* The job whose id the argument has, with what is private masked; the caller frees it. NULL: that is one run. */
int sb_mcp_job(struct sb_mcp *m, const char *id, struct sb_aggregate **out_job);
/* What the tool report says of it. */
int sb_mcp_job_report(const struct sb_aggregate *job, struct sb_json *json);

/* ---- mask.c ---- */
/* Masks command lines, tag values, strings that the program attached, host names and paths of the run. */
void sb_mcp_mask(struct sb_model *model);
/* Repeats the last failure, with id in place of path in its message. STROBE_EINVAL becomes STROBE_EIO. */
int sb_mcp_fail_as(int err, const char *path, const char *id);

/* ---- answers.c ---- */
/* The table of the rows of a list, by its key; NULL: none. */
const struct sb_fields *sb_mcp_table(const struct sb_fields *fields, const char *key);
/* Every field of a struct by its table, except the keys of `without` (NULL-terminated). */
void sb_mcp_write_but(
	const struct sb_fields *fields, const void *object, const char *const *without, struct sb_json *json);

/* The arguments most tools have. */
#define SB_MCP_RUN                                                                                      \
	{                                                                                               \
		"run", SB_MCP_TEXT, "id of a run as the tool runs lists it, or last, last~1... (last)", \
			false, 0, 0                                                                     \
	}

#endif
