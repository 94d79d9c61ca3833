/* The live display's lines, from the newest samples. */
#include "monitor/display.h"

#include "monitor/gpus.h"
#include "monitor/samples.h"
#include "record/descriptor.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COLUMNS_MOST = 1000 };

/* "Memory 8420MB / 24564MB (34.3%)" */
static bool put_memory(struct sb_buf *out, double used_mb, double total_mb)
{
	sb_buf_printf(out, "Memory %.0fMB / %.0fMB (%.1f%%)", used_mb, total_mb,
		total_mb > 0 ? 100 * used_mb / total_mb : 0);
	return true;
}

static void put_gpu(struct sb_buf *out, int device, bool only)
{
	double used, total, value;
	bool any = false;

	if (only)
		sb_buf_puts(out, "GPU: ");
	else
		sb_buf_printf(out, "GPU %d: ", device);
	if (sb_samples_latest("gpu", device, "memory_used_mb", &used) &&
		sb_samples_latest("gpu", device, "memory_total_mb", &total))
		any = put_memory(out, used, total);
	if (sb_samples_latest("gpu", device, "utilization_percent", &value)) {
		sb_buf_printf(out, "%sUtil %.1f%%", any ? ", " : "", value);
		any = true;
	}
	if (sb_samples_latest("gpu", device, "temperature_c", &value)) {
		sb_buf_printf(out,
			"%sTemp %.1f\xc2\xb0"
			"C",
			any ? ", " : "", value);
		any = true;
	}
	sb_buf_puts(out, any ? "\n" : "n/a\n");
}

static void put_cpu(struct sb_buf *out)
{
	double used, total, limit, value;
	bool any = false;

	sb_buf_puts(out, "CPU: ");
	if (sb_samples_latest("cpu", -1, "usage_percent", &value)) {
		sb_buf_printf(out, "%.1f%%", value);
		any = true;
	}
	if (sb_samples_latest("memory", -1, "used_mb", &used) &&
		sb_samples_latest("memory", -1, "total_mb", &total)) {
		/* Under a limit, the group's own use against it is what can run out. */
		if (sb_samples_latest("memory", -1, "limit_mb", &limit) && limit < total &&
			sb_samples_latest("memory", -1, "group_used_mb", &used))
			total = limit;
		sb_buf_puts(out, any ? ", " : "");
		any = put_memory(out, used, total);
	}
	sb_buf_puts(out, any ? "\n" : "n/a\n");
}

/* A full row of blanks and a return: at the left margin the same row stays, inside a
 * line the blanks run over into the next one. There is no way to ask where the cursor is
 * without taking the answer from the program's input. */
static void lead_terminal(struct sb_buf *out, int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col || size.ws_col > COLUMNS_MOST)
		sb_buf_putc(out, '\n');
	else
		sb_buf_printf(out, "%*s\r", (int)size.ws_col, "");
}

static bool ends_with_newline(int fd, off_t size)
{
	struct sb_descriptor again;
	char path[48], last = '\n';

	snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
	if (!sb_descriptor_open(&again, path, O_RDONLY, 0))
		return false;
	if (size > 0 && pread(again.number, &last, 1, size - 1) != 1)
		last = 0;
	sb_descriptor_close(&again);
	return last == '\n';
}

void sb_display_lead(struct sb_buf *out, int fd)
{
	struct stat s;

	if (isatty(fd))
		lead_terminal(out, fd);
	else if (fstat(fd, &s) || !S_ISREG(s.st_mode) || !ends_with_newline(fd, s.st_size))
		sb_buf_putc(out, '\n'); /* what went into a pipe cannot be seen again */
}

void sb_display_format(struct sb_buf *out, const char *label)
{
	int devices[SB_GPUS_DEVICES_MAX];
	uint32_t count = sb_samples_devices("gpu", devices, SB_GPUS_DEVICES_MAX);

	sb_buf_printf(out, "=== Profiling Metrics (%s) ===\n", label);
	if (!count)
		sb_buf_puts(out, "GPU: n/a\n");
	for (uint32_t i = 0; i < count; i++)
		put_gpu(out, devices[i], count == 1);
	put_cpu(out);
}
