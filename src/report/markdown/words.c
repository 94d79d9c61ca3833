/* Words inside Markdown. */
#include "report/markdown/words.h"

#include "report/label.h"
#include "report/panels/panel.h"

#include <ctype.h>
#include <string.h>

/* "vae_decode" stays as it is: an underscore between letters is no markup. */
static bool inside_word(const char *start, const char *at)
{
	return at > start && isalnum((unsigned char)at[-1]) && isalnum((unsigned char)at[1]);
}

void sb_markdown_put(struct sb_buf *out, const char *text)
{
	size_t n;

	for (const char *start = text; *text; text += n) {
		bool harmless;

		n = sb_label_character(text, &harmless);
		if (strchr("|\\`*<", *text) || (text[0] == ']' && text[1] == '(') ||
			(*text == '_' && !inside_word(start, text)))
			sb_buf_putc(out, '\\');
		sb_label_add(out, *text == '\r' ? " " : text, n, harmless || *text == '\r');
	}
}

void sb_markdown_name(struct sb_buf *out, const char *text, size_t width)
{
	struct sb_buf harmless = { 0 };

	sb_text_name(&harmless, text, width);
	sb_markdown_put(out, sb_buf_text(&harmless));
	out->failed |= harmless.failed;
	sb_buf_done(&harmless);
}
