/* libFuzzer: any bytes as the configuration file, and as the text of every single
 * setting. What was taken must be taken again from its own text. */
#include "base/error.h"
#include "record/settings_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct sb_settings *s, const struct sb_setting *t)
{
	static struct sb_settings again;
	struct sb_buf text = { 0 }, same = { 0 };

	sb_settings_text(s, t, &text);
	again = *s;
	if (sb_settings_set(&again, t, sb_buf_text(&text)))
		abort();
	sb_settings_text(&again, t, &same);
	if (strcmp(sb_buf_text(&text), sb_buf_text(&same)))
		abort();
	sb_buf_done(&text);
	sb_buf_done(&same);
}

static void read_file(const char *path)
{
	static struct sb_settings s;
	static struct sb_settings_origin origin;
	struct sb_buf text = { 0 };
	char preset[24];

	sb_settings_default(&s);
	if (sb_settings_file_text(path, &text))
		return;
	if (sb_settings_read_file(&s, path, &text, &origin) && !*sb_error_message())
		abort(); /* a failure says why */
	for (const struct sb_setting *t = sb_setting_table; t->key; t++)
		check_text(&s, t);
	(void)sb_settings_file_preset(path, &text, preset, sizeof preset);
	sb_buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sb_settings s;
	static char path[64];
	static int fd = -1;
	char *value = malloc(size + 1);

	if (fd < 0) {
		fd = memfd_create("settings", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (!value || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_file(path);
	memcpy(value, data, size);
	value[size] = 0;
	sb_settings_default(&s);
	for (const struct sb_setting *t = sb_setting_table; t->key; t++)
		if (!sb_settings_set(&s, t, value))
			check_text(&s, t);
	free(value);
	return 0;
}
