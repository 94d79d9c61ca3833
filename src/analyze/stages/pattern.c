/* What names of stages that differ in a number only have in common. */
#include "analyze/stages/stages.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Whether a digit is of "fp8", "bf16", "Float32": types of numbers are words, not places in a row. */
static bool is_number_type(const char *name, const char *digit)
{
	static const char *const types[] = { "fp", "bf", "tf", "nf", "mxfp", "nvfp", "int", "uint", "float",
		"bfloat" };
	const char *word, *end = digit;

	while (end > name && isdigit((unsigned char)end[-1]))
		end--;
	for (word = end; word > name && isalpha((unsigned char)word[-1]); word--)
		;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i]) == (size_t)(end - word) &&
			!strncasecmp(word, types[i], (size_t)(end - word)))
			return true;
	return false;
}

bool sb_stage_pattern(const char *name, char *out_pattern, size_t size)
{
	const char *begin = name;
	bool indexed = false;
	size_t n = 0;

	/* names that were lost are not one stage: sb_run_name_of numbers them */
	if (!strncmp(name, SB_LOST_NAME, sizeof SB_LOST_NAME - 1))
		return false;
	while (*name && n + 2 < size) {
		if (!isdigit((unsigned char)*name) || is_number_type(begin, name)) {
			out_pattern[n++] = *name++;
			continue;
		}
		indexed = true;
		out_pattern[n++] = '*';
		while (isdigit((unsigned char)*name))
			name++;
	}
	out_pattern[n] = 0;
	return indexed;
}
