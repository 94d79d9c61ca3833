/* Opens the RUN a command was given. */
#include "run_arg.h"

#include "exchange/import.h"
#include "import_progress.h"

#include <string.h>

static bool read_time(const struct args *args, const char *name, bool *out_given, int64_t *out_ns)
{
	const char *text = args_value(args, name);
	bool negative = text && *text == '-';

	if (!text)
		return true;
	if (sb_cut_parse_duration(text + negative, out_ns)) {
		complain("--%s takes a time such as 90s, 10m or 1.5h, not '%s'", name, text);
		return false;
	}
	if (negative)
		*out_ns = -*out_ns;
	*out_given = true;
	return true;
}

/* 'strobe export' has a --to of its own: there the end of a part is --until. */
static const char *end_option(const struct args *args)
{
	for (const struct command_option *o = args->command->options; o && o->name; o++)
		if (!strcmp(o->name, "until"))
			return "until";
	return "to";
}

int run_arg_open(const struct args *args, const char *spec, struct sb_run **out_run)
{
	struct sb_cut cut = { 0 };
	size_t generation = 0;
	bool has_last = false;

	if (!args_count(args, "generation", 1, 1000000000, &generation) ||
		!read_time(args, "last", &has_last, &cut.last_ns) ||
		!read_time(args, "from", &cut.has_from, &cut.from_ns) ||
		!read_time(args, end_option(args), &cut.has_to, &cut.to_ns))
		return EXIT_USAGE;
	cut.generation = (int32_t)generation;
	return sb_run_open(spec, &cut, out_run) ? complain_last() : 0;
}

static int import_on_the_fly(const char *path, char *out_path, size_t size)
{
	struct import_progress progress;
	struct sb_import_options options = { 0 };
	int err;

	import_progress_begin(&progress, path, &options);
	err = sb_import_on_the_fly(path, &options, out_path, size);
	import_progress_end(&progress);
	return err;
}

void run_arg_install_importer(void)
{
	sb_run_set_importer(import_on_the_fly);
}
