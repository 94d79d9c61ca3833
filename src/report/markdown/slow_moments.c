/* Slow moments in Markdown: each in one line, with what took longer in a second one. */
#include "report/markdown/markdown.h"

#include "analyze/gpu/short_names.h"
#include "report/markdown/words.h"
#include "report/panels/slow_moments.h"
#include "stats/seconds.h"

#include <math.h>
#include <string.h>

#define MOMENTS_SHOWN 5u
#define PARTS_SHOWN 3u
#define TITLE_MOST 300u
#define WORDS_MOST 400u
#define NAME_MOST 80u

static void parts(const struct sb_slow_moment *s, struct sb_buf *out)
{
	for (size_t i = 0; i < s->part_count && i < PARTS_SHOWN; i++) {
		const struct sb_slow_part *p = &s->parts[i];
		char more[32], short_name[SB_SHORT_NAME_SIZE];
		bool kernel = !strcmp(p->kind, "kernel") && sb_kernel_short_name(p->name, false, short_name);

		sb_text_seconds(more, sizeof more, p->more_s);
		sb_buf_printf(out, "%s%s%s in %s ", i ? ", " : "  - ", more,
			isnan(s->normal_s) ? "" : " more", p->kind);
		sb_markdown_name(out, kernel ? short_name : p->place ? p->place : p->name, NAME_MOST);
	}
	if (s->part_count)
		sb_buf_putc(out, '\n');
}

static void moment(const struct sb_slow_moment *s, struct sb_buf *out)
{
	struct sb_buf title = { 0 };

	sb_slow_moment_title(&title, s);
	sb_buf_puts(out, "- ");
	sb_markdown_name(out, sb_buf_text(&title), TITLE_MOST);
	if (s->words) {
		sb_buf_puts(out, ": ");
		sb_markdown_name(out, s->words, WORDS_MOST);
	}
	sb_buf_putc(out, '\n');
	parts(s, out);
	out->failed |= title.failed;
	sb_buf_done(&title);
}

void sb_markdown_slow_moments(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_slow_moments_panel *p = &model->slow_moments;

	if (!p->count)
		return;
	sb_markdown_heading(out, "Slow moments");
	for (size_t i = 0; i < p->count && i < MOMENTS_SHOWN; i++)
		moment(&p->all[i], out);
	if (p->count > MOMENTS_SHOWN)
		sb_buf_printf(out, "- %zu more in the JSON report\n", p->count - MOMENTS_SHOWN);
	if (p->watch.words) {
		sb_buf_puts(out, "- ");
		sb_markdown_name(out, p->watch.words, WORDS_MOST);
		sb_buf_putc(out, '\n');
	}
}
