/* Tables of memory: "MEMORY USAGE SUMMARY", one row per snapshot. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_title(const char *line)
{
	return strstr(line, "MEMORY USAGE SUMMARY");
}

static bool is_heading(const char *line)
{
	return strstr(line, "Label") && strstr(line, "Allocated") && strstr(line, "Reserved");
}

/* "MEMORY USAGE SUMMARY (process memory: no CUDA device in use)" is no table of a GPU. */
static bool opens(struct sb_textlog *log, const char *line)
{
	if (!is_title(line) && !is_heading(line))
		return false;
	log->process_memory = strstr(line, "process memory");
	log->form_node = 0; /* rows so far */
	return true;
}

/* Where the first of the amounts begins: after a space, and amounts to the end. */
static const char *find_amounts(const char *line, double mb[3])
{
	for (const char *at = strchr(line, ' '); at; at = strchr(at + 1, ' ')) {
		const char *rest = at + strspn(at, " ");
		int count = 0;

		while (count < 3 && isdigit((unsigned char)*rest) &&
			sb_textlog_megabytes(rest, &mb[count], &rest)) {
			count++;
			rest += strspn(rest, " ");
		}
		if (count && !*rest)
			return at;
	}
	return NULL;
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	double mb[3] = { NAN, NAN, NAN };
	struct sb_textlog_memory *taken;
	const char *amounts;
	size_t size;

	if (sb_textlog_take_rule(log, line) || (is_heading(line) && !log->form_node) || opens(log, line))
		return true;
	line += strspn(line, " ");
	amounts = find_amounts(line, mb);
	if (!amounts)
		return false;
	taken = sb_vec_push(&log->memory, sizeof *taken);
	if (!taken) {
		*out_err = sb_fail(STROBE_ENOMEM, "no memory to import");
		return false;
	}
	size = (size_t)(amounts - line);
	snprintf(taken->label, sizeof taken->label, "%.*s", (int)(size < 120 ? size : 120), line);
	taken->allocated_mb = mb[0];
	taken->reserved_mb = mb[1];
	taken->peak_mb = mb[2];
	taken->time_s = NAN;
	taken->device = log->process_memory ? -1 : 0;
	taken->place.after = log->count;
	log->form_node++;
	return true;
}

const struct sb_textform sb_memory_form = { "memory", opens, row };
