/* Arguments of tools: their schema, and the check of what came. */
#include "serve/mcp/tool.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

static const char *const type_names[] = { "string", "number", "integer" };
static const char *const type_words[] = { "a text", "a number", "a whole number" };

static const struct sb_mcp_argument limit_argument = { "limit", SB_MCP_WHOLE,
	"rows of a list at most; fewer where the answer would be too long", false, 1, 0 };

/* ---- schema ---- */

static void put_argument(const struct sb_mcp_argument *a, double highest, struct sb_json *j)
{
	sb_json_object_begin(j, a->name);
	sb_json_string(j, "type", type_names[a->type]);
	sb_json_string(j, "description", a->help);
	if (a->type != SB_MCP_TEXT && highest > a->lowest) {
		sb_json_double(j, "minimum", a->lowest);
		sb_json_double(j, "maximum", highest);
	}
	sb_json_object_end(j);
}

void sb_mcp_tool_schema(const struct sb_mcp_tool *tool, struct sb_json *j)
{
	sb_json_object_begin(j, "inputSchema");
	sb_json_string(j, "type", "object");
	sb_json_object_begin(j, "properties");
	for (const struct sb_mcp_argument *a = tool->arguments; a->name; a++)
		put_argument(a, a->highest, j);
	if (tool->limit_most)
		put_argument(&limit_argument, (double)tool->limit_most, j);
	sb_json_object_end(j);
	sb_json_array_begin(j, "required");
	for (const struct sb_mcp_argument *a = tool->arguments; a->name; a++)
		if (a->required)
			sb_json_string(j, NULL, a->name);
	sb_json_array_end(j);
	sb_json_bool(j, "additionalProperties", false);
	sb_json_object_end(j);
}

/* ---- check ---- */

static int wrong_type(const struct sb_mcp_argument *a)
{
	return sb_fail(STROBE_EINVAL, "'%s' takes %s: %s", a->name, type_words[a->type], a->help);
}

static int read_number(
	const struct sb_mcp_argument *a, double highest, const struct sb_jsondom *given, double *out_number)
{
	double value = given->number;

	if (given->type != SB_JSONDOM_NUMBER || !isfinite(value) ||
		(a->type == SB_MCP_WHOLE && value != floor(value)))
		return wrong_type(a);
	if (highest > a->lowest && (value < a->lowest || value > highest))
		return sb_fail(STROBE_EINVAL, "'%s' takes a number from %g to %g, not %g", a->name, a->lowest,
			highest, value);
	*out_number = value;
	return 0;
}

static int read_one(const struct sb_mcp_tool *tool, const struct sb_jsondom *given, struct sb_mcp_call *call)
{
	double limit;

	for (size_t i = 0; tool->arguments[i].name; i++) {
		const struct sb_mcp_argument *a = &tool->arguments[i];

		if (strcmp(a->name, given->key))
			continue;
		if (a->type != SB_MCP_TEXT)
			return read_number(a, a->highest, given, &call->numbers[i]);
		if (given->type != SB_JSONDOM_STRING || strlen(given->text) != given->size)
			return wrong_type(a);
		call->texts[i] = given->text;
		return 0;
	}
	if (tool->limit_most && !strcmp(given->key, limit_argument.name)) {
		if (read_number(&limit_argument, (double)tool->limit_most, given, &limit))
			return STROBE_EINVAL;
		call->limit = (size_t)limit;
		return 0;
	}
	return sb_fail(STROBE_EINVAL, "the tool '%s' takes no '%.100s'", tool->name, given->key);
}

int sb_mcp_call_read(
	const struct sb_mcp_tool *tool, const struct sb_jsondom *arguments, struct sb_mcp_call *out_call)
{
	struct sb_mcp_call call = { .tool = tool, .limit = tool->limit_default };
	int err = 0;

	for (size_t i = 0; i < SB_MCP_ARGUMENTS_MAX; i++)
		call.numbers[i] = NAN;
	if (arguments && arguments->type != SB_JSONDOM_OBJECT)
		return sb_fail(STROBE_EINVAL, "\"arguments\" is not an object");
	for (sb_jsondom_each(given, arguments)) {
		err = given->type == SB_JSONDOM_NULL ? 0 : read_one(tool, given, &call);
		if (err)
			return err;
	}
	for (size_t i = 0; tool->arguments[i].name; i++)
		if (tool->arguments[i].required && !call.texts[i] && isnan(call.numbers[i]))
			return sb_fail(STROBE_EINVAL, "'%s' is missing: %s", tool->arguments[i].name,
				tool->arguments[i].help);
	*out_call = call;
	return 0;
}

static size_t index_of(const struct sb_mcp_tool *tool, const char *name)
{
	size_t i = 0;

	while (tool->arguments[i].name && strcmp(tool->arguments[i].name, name))
		i++;
	return i;
}

const char *sb_mcp_text(const struct sb_mcp_call *call, const char *name)
{
	return call->texts[index_of(call->tool, name)];
}

double sb_mcp_number(const struct sb_mcp_call *call, const char *name)
{
	return call->numbers[index_of(call->tool, name)];
}
