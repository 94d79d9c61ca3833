/* strobe fit: will this size fit, and how long will it take? */
#include "command.h"
#include "facts_arg.h"
#include "output.h"

#include "analyze/gpu/peak_rates.h"
#include "report/fit.h"
#include "store/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REMEMBERED 1000 /* runs of the history that are looked at */
#define ASKED_MOST 16
#define GB 1073741824.0
#define USABLE 0.98 /* of what a data sheet says: the driver keeps some */

static const char *const sizes[] = { "frames", "width", "height", "steps", "batch" };

static const struct command_option options[] = {
	{ "frames", 'f', "N", "frames of one video", false, false },
	{ "width", 0, "N", "pixels", false, false },
	{ "height", 0, "N", "pixels", false, false },
	{ "steps", 0, "N", "denoising steps", false, false },
	{ "batch", 0, "N", "videos at once", false, false },
	{ "gpu", 0, "NAME", "for another GPU (RTX 4090, H100, L4...); predicts memory only", false, false },
	{ "memory", 0, "GB", "assume this much memory, not the GPU's own", false, false },
	{ "with", 'w', "RUN,RUN...", "use these runs too", false, true },
	{ "no-history", 0, NULL, "do not use the history", false, false },
	{ "db", 0, "FILE", "use this history, not $STROBE_HISTORY or the default", false, false },
	{ "format", 0, "FORMAT", "text or json (text)", false, false },
	{ "output", 'o', "FILE", "write there instead of standard output; its ending chooses the format",
		false, false },
	{ 0 },
};

struct fit_question {
	struct sb_facts *run;
	struct sb_facts **others;
	size_t other_count;
	const char *keys[ASKED_MOST];
	char names[ASKED_MOST][64];
	double values[ASKED_MOST];
	struct sb_fit_request request;
};

/* ---- what is asked for ---- */

static int ask(struct fit_question *question, const char *key, size_t key_size, const char *text)
{
	size_t at = question->request.count;
	char *end;

	if (at == ASKED_MOST || key_size >= sizeof question->names[0])
		return complain("too many sizes, or a name too long");
	memcpy(question->names[at], key, key_size);
	question->names[at][key_size] = 0;
	question->keys[at] = question->names[at];
	question->values[at] = strtod(text, &end);
	if (end == text || *end || !(question->values[at] > 0) || !isfinite(question->values[at]))
		return complain("'%s' needs a number above 0, not '%s'", question->names[at], text);
	question->request.count++;
	return 0;
}

static int ask_all(const struct args *args, struct fit_question *question, int first)
{
	int code = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !code; i++)
		if (args_has(args, sizes[i]))
			code = ask(question, sizes[i], strlen(sizes[i]), args_value(args, sizes[i]));
	for (int i = first; i < args->count && !code; i++) {
		const char *equals = strchr(args->values[i], '=');

		code = equals && equals > args->values[i]
			       ? ask(question, args->values[i], (size_t)(equals - args->values[i]),
					 equals + 1)
			       : complain("'%s' is not SIZE=NUMBER, as in tokens=4096", args->values[i]);
	}
	return code;
}

static int read_capacity(const struct args *args, struct fit_question *question)
{
	const char *gpu = args_value(args, "gpu"), *memory = args_value(args, "memory");
	const struct sb_peak_rates *rates = gpu ? sb_peak_rates_find(gpu, NAN) : NULL;
	char *end;

	question->request.capacity_bytes = NAN;
	question->request.of_gpu = gpu != NULL;
	if (gpu && !rates && !memory)
		return complain("the table of GPUs has no '%s': --memory GB gives its size", gpu);
	if (rates) {
		question->request.capacity_bytes = rates->memory_gb * GB * USABLE;
		question->request.capacity_of = gpu;
	}
	if (!memory)
		return 0;
	question->request.capacity_bytes = strtod(memory, &end) * GB;
	if (end == memory || (*end && strcmp(end, "GB") != 0) || !(question->request.capacity_bytes > 0))
		return complain("--memory takes gigabytes, as in 24, not '%s'", memory);
	question->request.capacity_of = gpu ? gpu : "the memory given";
	return 0;
}

/* ---- the runs ---- */

static int add(void *self, struct sb_facts *facts)
{
	struct fit_question *question = self;
	struct sb_facts **grown = realloc(question->others, (question->other_count + 1) * sizeof *grown);

	if (!grown) {
		sb_facts_free(facts);
		return complain("no memory");
	}
	question->others = grown;
	question->others[question->other_count++] = facts;
	return 0;
}

/* A history that is off or cannot be read is left out, unless it was named. */
static int load_remembered(const struct args *args, struct fit_question *question)
{
	struct sb_history *h = NULL;
	int err = sb_history_open(args_value(args, "db"), &h);

	if (!err)
		err = sb_history_sizes(h, REMEMBERED, &question->others, &question->other_count);
	sb_history_close(h);
	return err && args_has(args, "db") ? complain_last() : 0;
}

static int load(const struct args *args, const char *spec, struct fit_question *question)
{
	const char *list;
	int code = facts_arg_open(args, spec, NULL, &question->run);

	if (!code && !args_has(args, "no-history"))
		code = load_remembered(args, question);
	for (size_t i = 0; !code && (list = args_nth(args, "with", i)); i++)
		code = facts_arg_open_list(args, list, add, question);
	return code;
}

static void question_done(struct fit_question *question)
{
	for (size_t i = 0; i < question->other_count; i++)
		sb_facts_free(question->others[i]);
	free(question->others);
	sb_facts_free(question->run);
}

/* ---- the command ---- */

static int print(const struct args *args, const struct sb_fit *fit, const char *format)
{
	struct sb_buf out = { 0 };
	int code;

	if (!strcmp(format, "json"))
		sb_fit_json(fit, &out);
	else
		sb_fit_text(fit, &out);
	code = output_put(&out, args_value(args, "output"));
	sb_buf_done(&out);
	return code;
}

static int run(struct args *args)
{
	const char *format = output_format(args) ? output_format(args) : "text";
	bool has_run = args->count > 0 && !strchr(args->values[0], '=');
	struct fit_question question = { 0 };
	struct sb_fit *fit = NULL;
	int code;

	if (strcmp(format, "text") && strcmp(format, "json"))
		return complain("--format takes text or json, not '%s'", format);
	question.request.keys = question.keys;
	question.request.values = question.values;
	code = ask_all(args, &question, has_run);
	if (!code)
		code = read_capacity(args, &question);
	if (!code)
		code = load(args, has_run ? args->values[0] : "last", &question);
	if (!code && sb_fit(question.run, (const struct sb_facts *const *)question.others,
			     question.other_count, &question.request, &fit))
		code = complain_last();
	if (!code)
		code = print(args, fit, format);
	sb_fit_free(fit);
	question_done(&question);
	return code;
}

const struct command cmd_fit = {
	.name = "fit",
	.usage = "[OPTIONS] [RUN] [SIZE=NUMBER...]",
	.summary = "predict from earlier runs whether a size fits in memory and how long it takes",
	.description = "Predicts peak memory and time of a generation of another size, from this machine's "
		       "history of\n"
		       "the same model on the same device. A size is any number that the generations carry: "
		       "frames,\n"
		       "width, height, steps, batch, or another one as SIZE=NUMBER. It prints whether the "
		       "size fits,\n"
		       "which stage is the limit, the largest size that fits, and how far off the prediction "
		       "would have\n"
		       "been for each size that was measured. With too few runs it predicts nothing and says "
		       "how many\n"
		       "more are needed.",
	.examples = "  strobe fit last --frames 121 --width 1280 --height 720\n"
		    "  strobe fit --frames 121 --gpu 'RTX 4090'\n"
		    "  strobe fit last tokens=32768 --format json",
	.options = options,
	.run = run,
};
