/* The options of a gate, read. */
#include "gate_arg.h"

#include <stdlib.h>
#include <string.h>

int gate_arg_read(const struct args *args, struct sb_gate **out_gates, size_t *out_count)
{
	struct sb_gate *more, *grown;
	size_t count;
	const char *text;

	for (size_t i = 0; (text = args_nth(args, "fail-above", i)); i++) {
		if (sb_gates_parse(text, &more, &count))
			return complain_last();
		grown = realloc(*out_gates, (*out_count + count) * sizeof *grown);
		if (!grown) {
			sb_gates_free(more, count);
			return complain("no memory");
		}
		memcpy(grown + *out_count, more, count * sizeof *more);
		*out_gates = grown;
		*out_count += count;
		free(more);
	}
	return 0;
}

int gate_arg_tolerance(const struct args *args, struct sb_tolerance *out_tolerance)
{
	const char *text = args_value(args, "tolerance");
	char *end;
	double value;

	*out_tolerance = sb_tolerance_default;
	if (!text)
		return 0;
	value = strtod(text, &end);
	if (end == text || !(value >= 0) || (*end && strcmp(end, "%")))
		return complain("--tolerance takes 2%% or 0.02, not '%s'", text);
	if (!*end && value >= 1)
		return complain("--tolerance %s would allow %g %%: write %g%%", text, 100 * value, value);
	out_tolerance->ratio = *end ? value / 100 : value;
	return 0;
}
