/* Words and numbers that every panel prints alike. */
#include "report/panels/panel.h"

#include "report/label.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void put_bytes(char *out, size_t size, double bytes, double step)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	int unit = 0;

	if (!isfinite(bytes)) {
		snprintf(out, size, "n/a");
		return;
	}
	while (fabs(bytes) >= 0.99995 * step && unit < 4) {
		bytes /= step;
		unit++;
	}
	snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void sb_text_bytes(char *out, size_t size, double bytes)
{
	put_bytes(out, size, bytes, 1000);
}

void sb_text_memory(char *out, size_t size, double bytes)
{
	put_bytes(out, size, bytes, 1024);
}

void sb_text_percent(struct sb_buf *out, double ratio)
{
	if (ratio > 0 && ratio < 0.00005)
		sb_buf_puts(out, "< 0.01 %");
	else
		sb_buf_printf(out, ratio < 0.0095 ? "%.2f %%" : "%.1f %%", ratio * 100);
}

void sb_text_count(char *out, size_t size, double count)
{
	if (!isfinite(count))
		snprintf(out, size, "n/a");
	else if (fabs(count) >= 999.95e6)
		snprintf(out, size, "%.1fB", count / 1e9);
	else if (fabs(count) >= 999950)
		snprintf(out, size, "%.1fM", count / 1e6);
	else
		snprintf(out, size, "%.0f", count);
}

void sb_text_colour(struct sb_buf *out, const struct sb_text_options *options, const char *code)
{
	if (options->colour)
		sb_buf_printf(out, "\033[%sm", *code ? code : "0");
}

void sb_text_heading(struct sb_buf *out, const struct sb_text_options *options, const char *title)
{
	sb_buf_putc(out, '\n');
	sb_text_colour(out, options, "1");
	sb_buf_puts(out, title);
	sb_text_colour(out, options, "");
	sb_buf_putc(out, '\n');
}

size_t sb_text_name(struct sb_buf *out, const char *name, size_t width)
{
	size_t columns = (size_t)sb_label_columns(name), at = 0, used = 0, head = columns, tail = 0;

	if (columns > width)
		sb_label_cut(name, width, &head, &tail);
	while (*name) {
		bool harmless;
		size_t n = sb_label_character(name, &harmless);

		if (at == head && head < columns) {
			sb_buf_puts(out, "…");
			used++;
		}
		if (at < head || at >= columns - tail) {
			sb_label_add(out, name, n, harmless);
			used++;
		}
		at++;
		name += n;
	}
	return used;
}

int sb_text_columns(const struct sb_text_options *options)
{
	return options->columns >= 60 ? options->columns : 80;
}

/* Whether a unit stands at the text's beginning, as a word of its own. */
static bool begins_with_unit(const char *text)
{
	static const char *const units[] = { "%", "s", "ms", "us", "ns", "h", "kB", "MB", "GB", "TB", "J",
		"W", NULL };

	for (size_t i = 0; units[i]; i++) {
		size_t size = strlen(units[i]);

		if (!strncmp(text, units[i], size) && !isalnum((unsigned char)text[size]))
			return true;
	}
	return false;
}

size_t sb_text_word(const char *text)
{
	size_t size = strcspn(text, " ");

	while (size && text[size] && isdigit((unsigned char)text[size - 1]) &&
		begins_with_unit(text + size + 1))
		size += 1 + strcspn(text + size + 1, " ");
	return size;
}

void sb_text_wrap(struct sb_buf *out, const char *words, int indent, int width)
{
	struct sb_buf harmless = { 0 };
	const char *text;
	int used = 0;

	sb_text_name(&harmless, words, SIZE_MAX); /* names of stages come from the user */
	text = sb_buf_text(&harmless);

	while (*text) {
		size_t word = sb_text_word(text), columns = 0;

		for (size_t i = 0; i < word; i++)
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (used && used + 1 + (int)columns > width - indent) {
			sb_buf_putc(out, '\n');
			used = 0;
		}
		if (used)
			sb_buf_putc(out, ' ');
		else
			sb_buf_printf(out, "%*s", indent, "");
		used += (used ? 1 : 0) + (int)columns;
		sb_buf_add(out, text, word);
		text += word + strspn(text + word, " ");
	}
	sb_buf_putc(out, '\n');
	sb_buf_done(&harmless);
}
