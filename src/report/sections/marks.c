/* events and counters. */
#include "report/sections/section.h"

#include <stdio.h>

#define EVENTS_SHOWN 12

static void json(const struct sb_model *m, struct sb_json *j)
{
	if (m->events.counter_count) {
		sb_json_array_begin(j, "counters");
		for (size_t i = 0; i < m->events.counter_count; i++) {
			const struct sb_counter *c = &m->events.counters[i];

			sb_json_object_begin(j, NULL);
			sb_json_string(j, "name", c->name);
			sb_json_string(j, "kind", c->gauge ? "gauge" : "sum");
			sb_json_opt(j, "last_value", c->value);
			sb_json_int(j, "update_count", c->updates);
			sb_json_object_end(j);
		}
		sb_json_array_end(j);
	}
	if (!m->events.count)
		return;
	sb_json_array_begin(j, "events");
	for (size_t i = 0; i < m->events.count; i++) {
		const struct sb_event_row *e = &m->events.rows[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", e->name);
		sb_json_double(j, "t_s", e->t_s);
		sb_json_string(j, "kind", e->kind);
		sb_json_opt_string(j, "reason", e->reason);
		if (e->attr_count) {
			sb_json_object_begin(j, "attributes");
			for (size_t k = 0; k < e->attr_count; k++)
				sb_json_pair(j, &e->attrs[k]);
			sb_json_object_end(j);
		}
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

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

const struct sb_section sb_section_happenings = { "happenings", json, text };
