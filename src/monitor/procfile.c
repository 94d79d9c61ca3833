/* Reads small files of /proc and /sys. */
#include "monitor/procfile.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *proc_root = "/proc";
static const char *sys_root = "/sys";

void sb_procfile_set_roots(const char *proc, const char *sys)
{
	proc_root = proc ? proc : "/proc";
	sys_root = sys ? sys : "/sys";
}

const char *sb_procfile_proc(void)
{
	return proc_root;
}

const char *sb_procfile_sys(void)
{
	return sys_root;
}

/* A file of /proc may come in pieces: a large /proc/stat comes by the page. */
static ssize_t read_all(int fd, char *out, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		ssize_t n = pread(fd, out + used, size - 1 - used, (off_t)used);

		if (n < 0 && used == 0)
			return -1;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	out[used] = 0;
	return (ssize_t)used;
}

ssize_t sb_procfile_read_proc(struct sb_procfile *file, const char *name, char *out, size_t size)
{
	out[0] = 0;
	if (file->missing)
		return -1;
	if (!sb_descriptor_is_ours(&file->file)) {
		char path[320];

		snprintf(path, sizeof path, "%s/%s", proc_root, name);
		if (!sb_descriptor_open(&file->file, path, O_RDONLY, 0)) {
			file->missing = true;
			return -1;
		}
	}
	return read_all(file->file.number, out, size);
}

void sb_procfile_close(struct sb_procfile *file)
{
	sb_descriptor_close(&file->file);
	*file = (struct sb_procfile){ .missing = false };
}

static ssize_t read_path(const char *root, char *out, size_t size, const char *format, va_list args)
{
	char path[512];
	int used = snprintf(path, sizeof path, "%s/", root);
	struct sb_descriptor file;
	ssize_t n;

	out[0] = 0;
	vsnprintf(path + used, sizeof path - (size_t)used, format, args);
	if (!sb_descriptor_open(&file, path, O_RDONLY, 0))
		return -1;
	n = read_all(file.number, out, size);
	sb_descriptor_close(&file);
	return n;
}

ssize_t sb_procfile_proc_text(char *out, size_t size, const char *format, ...)
{
	va_list args;
	ssize_t n;

	va_start(args, format);
	n = read_path(proc_root, out, size, format, args);
	va_end(args);
	return n;
}

ssize_t sb_procfile_sys_text(char *out, size_t size, const char *format, ...)
{
	va_list args;
	ssize_t n;

	va_start(args, format);
	n = read_path(sys_root, out, size, format, args);
	va_end(args);
	return n;
}

bool sb_procfile_sys_number(double *out_value, const char *format, ...)
{
	char text[64], *end;
	va_list args;
	ssize_t n;
	double value;

	va_start(args, format);
	n = read_path(sys_root, text, sizeof text, format, args);
	va_end(args);
	if (n <= 0)
		return false;
	value = strtod(text, &end);
	if (end == text)
		return false;
	*out_value = value;
	return true;
}

bool sb_procfile_field(const char *text, const char *key, uint64_t *out_value)
{
	size_t size = strlen(key);

	while (text && *text) {
		if (!strncmp(text, key, size)) {
			char *end;
			uint64_t value = strtoull(text + size, &end, 10);

			if (end == text + size)
				return false;
			*out_value = value;
			return true;
		}
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return false;
}
