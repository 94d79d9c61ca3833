/* events and counters. */
#include "report/panels/panel.h"

#include <stdio.h>

#define EVENTS_SHOWN 12

static void text_event(const struct sb_event_row *e, struct sb_buf *out)
{
	sb_buf_printf(out, "  %10.3f s  ", e->t_s);
	sb_text_name(out, e->name, 40);
	if (e->reason) {
		sb_buf_puts(out, ": SKIPPED (");
		sb_text_name(out, e->reason, 40);
		sb_buf_putc(out, ')');
	}
	for (size_t i = 0; i < e->attr_count && i < 4; i++) {
		const struct sb_pair *p = &e->attrs[i];

		sb_buf_puts(out, i ? ", " : "  ");
		sb_text_name(out, p->key, 20);
		sb_buf_putc(out, '=');
		if (p->type == STROBE_TYPE_STRING)
			sb_text_name(out, p->s, 30);
		else if (p->type == STROBE_TYPE_FLOAT)
			sb_buf_printf(out, "%g", p->f);
		else
			sb_buf_printf(out, "%lld", (long long)p->i);
	}
	sb_buf_putc(out, '\n');
}

static void text(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	if (m->events.counter_count)
		sb_text_heading(out, o, "Counters");
	for (size_t i = 0; i < m->events.counter_count; i++) {
		sb_buf_puts(out, "  ");
		sb_text_name(out, m->events.counters[i].name, 50);
		sb_buf_printf(out, ": %.10g%s\n", m->events.counters[i].value,
			m->events.counters[i].gauge ? " (last)" : "");
	}
	if (!m->events.count)
		return;
	sb_text_heading(out, o, "Events");
	for (size_t i = 0; i < m->events.count && i < EVENTS_SHOWN; i++)
		text_event(&m->events.rows[i], out);
	if (m->events.total > EVENTS_SHOWN)
		sb_buf_printf(out, "  ... %lld in all\n", (long long)m->events.total);
}

const struct sb_panel sb_panel_marks = { "marks", text };
