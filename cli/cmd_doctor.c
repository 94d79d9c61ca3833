/* strobe doctor: what works here, and how to fix the rest. */
#include "command.h"
#include "doctor.h"
#include "doctor_bundle.h"
#include "output.h"

#include "base/json.h"
#include "strobe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command_option options[] = {
	{ "json", 0, NULL, "print the checks as JSON", false, false },
	{ "bundle", 0, "FILE", "write a file for a bug report, without names and secrets", false, false },
	{ 0 },
};

static const struct doctor_check *const groups[] = { doctor_machine_checks, doctor_gpu_checks,
	doctor_python_checks, doctor_build_checks, NULL };

void doctor_say(struct doctor_finding *out, enum doctor_state state, const char *fix, const char *format, ...)
{
	va_list args;

	out->state = state;
	snprintf(out->fix, sizeof out->fix, "%s", fix);
	va_start(args, format);
	vsnprintf(out->detail, sizeof out->detail, format, args);
	va_end(args);
}

static void print_line(const struct doctor_result *r, bool colour)
{
	static const char *const codes[] = { "32", "33", "33", "31" };
	const struct doctor_finding *f = &r->finding;

	if (colour)
		printf("  \033[%sm%-8s\033[0m", codes[f->state], doctor_state_words[f->state]);
	else
		printf("  %-8s", doctor_state_words[f->state]);
	printf(" %-20s %s\n", r->name, f->detail);
	if (f->fix[0])
		printf("  %-8s %-20s -> %s\n", "", "", f->fix);
}

static size_t check_count(void)
{
	size_t count = 0;

	for (const struct doctor_check *const *g = groups; *g; g++)
		for (const struct doctor_check *check = *g; check->name; check++)
			count++;
	return count;
}

/* Prints each line as soon as it is known, unless it is quiet: some checks take a while. */
static void look(struct doctor_report *report, unsigned counts[4], bool quiet)
{
	bool colour = terminal_has_colour(STDOUT_FILENO);
	const char *area = "";

	for (const struct doctor_check *const *g = groups; *g; g++)
		for (const struct doctor_check *check = *g; check->name; check++) {
			struct doctor_result *r = &report->results[report->count++];

			r->area = check->area;
			r->name = check->name;
			check->look(&r->finding);
			counts[r->finding.state]++;
			if (quiet)
				continue;
			if (strcmp(area, r->area))
				printf("%s%s\n", *area ? "\n" : "", r->area);
			area = r->area;
			print_line(r, colour);
		}
}

static void print_json(const struct doctor_report *report)
{
	struct sb_buf text = { 0 };
	struct sb_json j;

	sb_json_init(&j, &text, true);
	sb_fields_write(&doctor_fields, report, NULL, &j);
	puts(sb_buf_text(&text));
	sb_buf_done(&text);
}

static int write_bundle(const struct doctor_report *report, const char *path)
{
	struct sb_buf text = { 0 };
	int code;

	doctor_bundle(report, &text);
	code = output_put(&text, path);
	sb_buf_done(&text);
	if (code == EXIT_OK)
		printf("written to %s: read it before you send it\n", path);
	return code;
}

static int run(struct args *args)
{
	struct doctor_report report = { .version = STROBE_VERSION };
	const char *bundle = args_value(args, "bundle");
	bool json = args_has(args, "json");
	unsigned counts[4] = { 0 };
	int code = EXIT_OK;

	if (args->count)
		return complain("doctor takes no arguments, but got '%s'", args->values[0]);
	if (bundle && json)
		return complain("--bundle and --json cannot be combined");
	report.results = calloc(check_count(), sizeof *report.results);
	if (!report.results)
		return complain("no memory");
	look(&report, counts, json || bundle);
	report.can_record = !counts[DOCTOR_BROKEN];
	if (bundle)
		code = write_bundle(&report, bundle);
	else if (json)
		print_json(&report);
	else
		printf("\n%u ok, %u limited, %u missing, %u broken\n", counts[DOCTOR_OK],
			counts[DOCTOR_LIMITED], counts[DOCTOR_MISSING], counts[DOCTOR_BROKEN]);
	free(report.results);
	return code ? code : report.can_record ? EXIT_OK : EXIT_CHECK;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.usage = "[--json | --bundle FILE]",
	.summary = "what works here (GPU, NVML, CUPTI, NVTX, permissions) and how to fix the rest",
	.description =
		"Checks the machine, the GPU drivers, the Python of this shell and this build. Prints what\n"
		"works, what is missing, and how to fix it. Makes no CUDA context.\n"
		"The exit code is 1 if nothing can be recorded here.",
	.examples = "  strobe doctor\n  strobe doctor --json | jq '.checks[] | select(.state != \"ok\")'\n  "
		    "strobe doctor --bundle bug.md",
	.exit_status = "0 something can be recorded here, 1 nothing can, 2 an error, which is described on "
		       "standard error.",
	.options = options,
	.run = run,
};
