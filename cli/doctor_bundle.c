/* The text of `doctor --bundle`. */
#include "doctor_bundle.h"

#include "base/secret.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

/* Settings that change what strobe does; the rest of the environment stays private. */
static const char *const told[] = { "STROBE_", "CUDA_VISIBLE_DEVICES=", "CUDA_INJECTION64_PATH=",
	"NVTX_INJECTION64_PATH=", "LD_PRELOAD=", "SLURM_NTASKS=", "WORLD_SIZE=", NULL };

/* With the home folder as "~". */
static void put_for_strangers(struct sb_buf *out, const char *masked)
{
	const char *home = getenv("HOME");
	size_t size = home ? strlen(home) : 0;

	for (const char *at = masked; *at;) {
		if (size > 1 && !strncmp(at, home, size) && (!at[size] || strchr("/:'\" ,)", at[size]))) {
			sb_buf_puts(out, "~");
			at += size;
		} else {
			sb_buf_putc(out, *at++);
		}
	}
}

static void put_system(struct sb_buf *out)
{
	struct utsname name;

	sb_buf_printf(out, "- C library: glibc %s\n", gnu_get_libc_version());
	if (!uname(&name))
		sb_buf_printf(out, "- system: %s %s, %s\n", name.sysname, name.release, name.machine);
	sb_buf_printf(out, "- processors: %ld, memory %ld MiB\n", sysconf(_SC_NPROCESSORS_ONLN),
		sysconf(_SC_PHYS_PAGES) / 1024 * sysconf(_SC_PAGESIZE) / 1024);
}

static void put_text(struct sb_buf *out, const char *text)
{
	char masked[4096];

	sb_secret_mask(text, masked, sizeof masked);
	put_for_strangers(out, masked);
}

static void put_variable(struct sb_buf *out, char *variable)
{
	char masked[4096];

	sb_secret_mask_argument((char *[]){ variable, NULL }, 0, masked, sizeof masked);
	put_for_strangers(out, masked);
}

static bool is_told(const char *entry)
{
	for (const char *const *t = told; *t; t++)
		if (!strncmp(entry, *t, strlen(*t)))
			return true;
	return false;
}

static void put_settings(struct sb_buf *out)
{
	bool any = false;

	for (char **e = environ; *e; e++)
		if (is_told(*e)) {
			any = true;
			sb_buf_puts(out, "    ");
			put_variable(out, *e);
			sb_buf_puts(out, "\n");
		}
	if (!any)
		sb_buf_puts(out, "None in the environment.\n");
}

void doctor_bundle(const struct doctor_report *report, struct sb_buf *out)
{
	const char *area = "";

	sb_buf_printf(out, "# What strobe doctor found\n\n- strobe %s\n", report->version);
	put_system(out);
	sb_buf_puts(out, "\n## Settings\n\n");
	put_settings(out);
	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_result *r = &report->results[i];

		if (strcmp(area, r->area))
			sb_buf_printf(out, "\n## %s\n\n", r->area);
		area = r->area;
		sb_buf_printf(out, "- **%s** %s: ", doctor_state_words[r->finding.state], r->name);
		put_text(out, r->finding.detail);
		sb_buf_puts(out, "\n");
	}
	sb_buf_puts(out, "\nIs it about one run? `strobe share RUN -o FILE` makes a file of it to attach.\n");
}
