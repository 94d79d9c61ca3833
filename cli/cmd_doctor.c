/* strobe doctor: what works here, and how to fix the rest. */
#include "command.h"
#include "doctor.h"

#include "base/json.h"
#include "strobe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command_option options[] = {
	{ "json", 0, NULL, "the same as JSON", false, false },
	{ 0 },
};

static const struct doctor_check *const groups[] = { doctor_machine_checks, doctor_gpu_checks,
	doctor_python_checks, doctor_build_checks, NULL };
static const char *const state_words[] = { "ok", "limited", "missing", "broken" };

void doctor_say(struct doctor_finding *out, enum doctor_state state, const char *fix, const char *format, ...)
{
	va_list args;

	out->state = state;
	snprintf(out->fix, sizeof out->fix, "%s", fix);
	va_start(args, format);
	vsnprintf(out->detail, sizeof out->detail, format, args);
	va_end(args);
}

static void print_line(const struct doctor_check *check, const struct doctor_finding *f, bool colour)
{
	static const char *const codes[] = { "32", "33", "33", "31" };

	if (colour)
		printf("  \033[%sm%-8s\033[0m", codes[f->state], state_words[f->state]);
	else
		printf("  %-8s", state_words[f->state]);
	printf(" %-20s %s\n", check->name, f->detail);
	if (f->fix[0])
		printf("  %-8s %-20s -> %s\n", "", "", f->fix);
}

static void put_json(struct sb_json *j, const struct doctor_check *check, const struct doctor_finding *f)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "area", check->area);
	sb_json_string(j, "name", check->name);
	sb_json_string(j, "state", state_words[f->state]);
	sb_json_string(j, "detail", f->detail);
	if (f->fix[0])
		sb_json_string(j, "fix", f->fix);
	sb_json_object_end(j);
}

static int run(struct args *args)
{
	bool json = args_has(args, "json"), colour = terminal_has_colour(STDOUT_FILENO);
	unsigned counts[4] = { 0 };
	const char *area = "";
	struct sb_buf text = { 0 };
	struct sb_json j;

	if (args->count)
		return complain("takes no argument, not '%s'", args->values[0]);
	sb_json_init(&j, &text, true);
	sb_json_object_begin(&j, NULL);
	sb_json_string(&j, "version", STROBE_VERSION);
	sb_json_array_begin(&j, "checks");
	for (const struct doctor_check *const *g = groups; *g; g++)
		for (const struct doctor_check *check = *g; check->name; check++) {
			struct doctor_finding finding = { 0 };

			check->look(&finding);
			counts[finding.state]++;
			put_json(&j, check, &finding);
			if (json)
				continue;
			if (strcmp(area, check->area))
				printf("%s%s\n", *area ? "\n" : "", check->area);
			area = check->area;
			print_line(check, &finding, colour);
		}
	sb_json_array_end(&j);
	sb_json_bool(&j, "can_record", counts[DOCTOR_BROKEN] == 0);
	sb_json_object_end(&j);
	if (json)
		puts(sb_buf_text(&text));
	else
		printf("\n%u ok, %u limited, %u missing, %u broken\n", counts[DOCTOR_OK],
			counts[DOCTOR_LIMITED], counts[DOCTOR_MISSING], counts[DOCTOR_BROKEN]);
	sb_buf_done(&text);
	return counts[DOCTOR_BROKEN] ? EXIT_CHECK : EXIT_OK;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.usage = "[--json]",
	.summary = "what works here (GPU, NVML, CUPTI, NVTX, permissions) and how to fix the rest",
	.description =
		"Looks at the machine, the GPU drivers, the Python of this shell and this build: what is "
		"ok,\n"
		"what is missing, and what to do about it. Makes no CUDA context.\n"
		"Exit code 1 when nothing could be recorded here.",
	.examples = "  strobe doctor\n  strobe doctor --json | jq '.checks[] | select(.state != \"ok\")'",
	.options = options,
	.run = run,
};
