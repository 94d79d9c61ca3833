/* What a run is called, and the command that it records. */
#include "run_name.h"

#include "base/buf.h"
#include "base/filename.h"
#include "base/secret.h"
#include "format/run_keys.h"
#include "record/put.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_script(const char *argument)
{
	size_t size = strlen(argument);

	return size > 3 && !strcmp(argument + size - 3, ".py") && argument[0] != '-' &&
	       !strchr(argument, ' ');
}

void run_name_after(char **command, char *out, size_t size)
{
	const char *name = sb_filename_of(command[0]), *module = NULL, *dot;

	for (char **p = command + 1; *p; p++) {
		if (is_script(*p)) {
			name = sb_filename_of(*p);
			module = NULL;
			break;
		}
		if (!strcmp(*p, "-m") && p[1] && !module)
			module = p[1];
	}
	if (module) {
		snprintf(out, size, "%s", module);
		return;
	}
	dot = strrchr(name, '.');
	snprintf(out, size, "%.*s", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

const char *run_name_launcher(char **command)
{
	static const char *const launchers[] = { "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun",
		"srun", NULL };

	for (const char *const *name = launchers; *name; name++)
		if (!strcmp(sb_filename_of(command[0]), *name))
			return *name;
	return NULL;
}

static void put_quoted(struct sb_buf *out, const char *word)
{
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
					"+=./:,@%")]) {
		sb_buf_puts(out, word);
		return;
	}
	sb_buf_putc(out, '\'');
	for (const char *c = word; *c; c++)
		if (*c == '\'')
			sb_buf_puts(out, "'\\''");
		else
			sb_buf_putc(out, *c);
	sb_buf_putc(out, '\'');
}

void run_record_command(char **command)
{
	struct sb_buf text = { 0 };

	for (char **p = command; *p; p++) {
		size_t size = sb_secret_room(strlen(*p));
		char *word = malloc(size);

		if (!word)
			break;
		sb_secret_mask_argument(command, (size_t)(p - command), word, size);
		sb_buf_puts(&text, p == command ? "" : " ");
		put_quoted(&text, word);
		free(word);
	}
	sb_keep_meta_string(SB_META_RUN, SB_RUN_COMMAND, sb_buf_text(&text));
	sb_buf_done(&text);
}
