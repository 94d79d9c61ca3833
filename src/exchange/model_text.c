/* What a benchmark prints of the model: device, parameters and size before its times, and the memory
 * of one call. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void copy_word(char *out, size_t size, const char *text, size_t length)
{
	while (length && text[length - 1] == ' ')
		length--;
	snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

/* ---- lines ---- */

/* "Total parameters: 304,714,240" */
static bool take_parameters(struct sb_textlog *log, const char *line)
{
	const char *digits = sb_textlog_after(line, "Total parameters");
	int64_t value = 0;

	if (!digits || !isdigit((unsigned char)*digits))
		return false;
	for (; isdigit((unsigned char)*digits) || *digits == ','; digits++)
		if (*digits != ',' && value < INT64_MAX / 20)
			value = value * 10 + (*digits - '0');
	log->model.parameters = value;
	log->form_count++;
	return true;
}

/* "Loading large model..." */
static bool take_name(struct sb_textlog *log, const char *line)
{
	const char *end = strstr(line, " model");

	if (strncmp(line, "Loading ", 8) || !end || end - line <= 8 || strlen(line) > 60)
		return false;
	copy_word(log->model.name, sizeof log->model.name, line + 8, (size_t)(end - line - 8));
	return true;
}

/* "Model size: ~1161.1 MB (FP32)" */
static bool take_size(struct sb_textlog *log, const char *line)
{
	const char *text = sb_textlog_after(line, "Model size"), *rest, *close;

	if (!text || !sb_textlog_megabytes(text + (*text == '~'), &log->model.size_mb, &rest))
		return false;
	rest += strspn(rest, " ");
	close = *rest == '(' ? strchr(rest, ')') : NULL;
	if (close)
		copy_word(log->model.dtypes, sizeof log->model.dtypes, rest + 1, (size_t)(close - rest - 1));
	return true;
}

static bool take_device(struct sb_textlog *log, const char *line)
{
	const char *device = sb_textlog_after(line, "Using device"), *gpu = sb_textlog_after(line, "GPU");
	const char *type = sb_textlog_after(line, "Model");

	if (device && *device) {
		copy_word(log->model.device, sizeof log->model.device, device, strlen(device));
		return true;
	}
	if (!*log->model.device) /* the first line of such a text; "GPU:" alone says many things */
		return false;
	if (gpu && isalpha((unsigned char)*gpu) && !strstr(gpu, "Memory") && strlen(gpu) < 90) {
		copy_word(log->model.gpu, sizeof log->model.gpu, gpu, strlen(gpu));
		return true;
	}
	if (!type || !isalpha((unsigned char)*type) || strchr(type, ' '))
		return false;
	copy_word(log->model.type, sizeof log->model.type, type, strlen(type));
	return true;
}

static bool opens(struct sb_textlog *log, const char *line)
{
	return take_parameters(log, line) || take_name(log, line) || take_size(log, line) ||
	       take_device(log, line);
}

const struct sb_textform sb_model_form = { "model", opens, NULL };

/* ---- "Memory of one call (cuda:0):" ---- */

static bool opens_memory(struct sb_textlog *log, const char *line)
{
	if (!strstr(line, "Memory of one call"))
		return false;
	log->process_memory = strstr(line, "(process");
	log->form_node = 0; /* snapshots so far */
	return true;
}

static struct sb_textlog_memory *add_snapshot(struct sb_textlog *log, const char *when)
{
	struct sb_textlog_memory *m = sb_vec_push(&log->memory, sizeof *m);

	if (!m)
		return NULL;
	*m = (struct sb_textlog_memory){ .allocated_mb = NAN,
		.reserved_mb = NAN,
		.peak_mb = NAN,
		.time_s = NAN,
		.device = log->process_memory ? -1 : 0,
		.place.after = log->count };
	snprintf(m->label, sizeof m->label, "%s %s", when, *log->model.type ? log->model.type : "forward");
	log->form_node++;
	return m;
}

static struct sb_textlog_memory *last_snapshot(struct sb_textlog *log)
{
	struct sb_textlog_memory *all = log->memory.items;

	return log->form_node ? &all[log->memory.count - 1] : add_snapshot(log, "after");
}

enum amount { BEFORE, AFTER, PEAK, RESERVED, PARAMETERS, INPUT, OUTPUT, SAID };

static bool take_amount(struct sb_textlog *log, enum amount what, double mb)
{
	struct sb_textlog_memory *m = what == BEFORE                     ? add_snapshot(log, "before")
				      : what == AFTER                    ? add_snapshot(log, "after")
				      : what == PEAK || what == RESERVED ? last_snapshot(log)
									 : NULL;

	if (what <= RESERVED && !m)
		return false;
	switch (what) {
	case BEFORE:
	case AFTER: m->allocated_mb = mb; break;
	case PEAK: m->peak_mb = mb; break;
	case RESERVED: m->reserved_mb = mb; break;
	case PARAMETERS:
		if (!(log->model.size_mb > 0))
			log->model.size_mb = mb;
		break;
	case INPUT: log->model.input_mb = mb; break;
	case OUTPUT: log->model.output_mb = mb; break;
	case SAID: break;
	}
	return true;
}

static bool memory_row(struct sb_textlog *log, char *line, int *out_err)
{
	static const char *const labels[] = { "Memory before", "Memory after", "Peak memory", "Reserved",
		"Parameters", "Input", "Output", "Overhead", NULL };
	const char *rest;
	double mb;

	for (int i = 0; labels[i]; i++) {
		const char *value = sb_textlog_after(line, labels[i]);

		if (!value || !sb_textlog_megabytes(value, &mb, &rest))
			continue;
		if (!take_amount(log, (enum amount)i, mb))
			*out_err = sb_fail(STROBE_ENOMEM, "no memory to import");
		return true;
	}
	return sb_textlog_after(line, "Fragmentation") != NULL;
}

const struct sb_textform sb_call_memory_form = { "memory of a call", opens_memory, memory_row };
