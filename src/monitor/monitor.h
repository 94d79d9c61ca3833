/* The monitors: sampling of GPU, CPU, memory and disk beside a recording, from
 * inside the recording process or, for `strobe run`, from outside. */
#ifndef SB_MONITOR_MONITOR_H
#define SB_MONITOR_MONITOR_H

#include "record/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Set by `strobe run` for what it starts: "RANK/WORLD" of the tool itself, "-1/0" if it is no rank. A
 * process with another rank samples itself. */
#define SB_MONITOR_RANKS "STROBE_MONITOR_RANKS"
/* Set by `strobe run` for what it starts: the file to which a program appends "SECONDS<tab>LABEL" and a newline when its
 * configuration asks for the live display; the tool shows it. */
#define SB_MONITOR_DISPLAY_ASKED "STROBE_DISPLAY_ASKED"

struct sb_monitor_options {
	const struct sb_settings *settings;
	pid_t root; /* 0: this process */
	bool outside; /* root itself is not watched, only what is below it */
	const char *label; /* in the live display; NULL: the run's folder name */
	int display_fd; /* of the live display; usually 2 */
	bool no_display; /* whatever the settings say */
	bool display_later; /* sb_monitor_show() may ask for it */
	/* What the program says it does, for the display; false: nothing. NULL: not asked. Another thread calls it. */
	bool (*stage)(void *of, char *out, size_t size);
	void *stage_of;
};

/* Starts the threads; one set at a time. What cannot be sampled is noted in the recording. */
void sb_monitor_start(const struct sb_monitor_options *options);
void sb_monitor_stop(void); /* takes the last samples and ends the threads */
/* Shows the live display every interval_s from now on, under this label; 0: no longer. After a failed write it
 * stays off. From any thread, between start and stop. */
void sb_monitor_show(double interval_s, const char *label);

extern const struct sb_module sb_monitor_module;

#endif
