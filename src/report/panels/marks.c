/* events and counters. */
#include "report/panels/panel.h"

#include <stdio.h>
#include <string.h>

#define EVENTS_SHOWN 12
#define FEW 5 /* of one name; more are one line */

/* Times that were made up are not shown. */
static void put_at(const struct sb_event_row *e, bool no_times, struct sb_buf *out)
{
	if (no_times)
		sb_buf_puts(out, "  ");
	else
		sb_buf_printf(out, "  %10.3f s  ", e->t_s);
}

static void text_event(const struct sb_event_row *e, bool no_times, struct sb_buf *out)
{
	put_at(e, no_times, out);
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

/* The events of one name. */
struct alike {
	const char *name;
	size_t first, count;
	double last_s;
};

enum { NAMES_MOST = 256 }; /* events of further names are lines of their own */

static struct alike *find_alike(struct alike *all, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

static size_t count_alike(const struct sb_events_panel *events, struct alike *all)
{
	size_t names = 0;

	for (size_t i = 0; i < events->count; i++) {
		struct alike *of = find_alike(all, names, events->rows[i].name);

		if (!of && names < NAMES_MOST) {
			of = &all[names++];
			*of = (struct alike){ .name = events->rows[i].name, .first = i };
		}
		if (of) {
			of->count++;
			of->last_s = events->rows[i].t_s;
		}
	}
	return names;
}

static void text_events(const struct sb_events_panel *events, bool no_times, struct sb_buf *out)
{
	struct alike all[NAMES_MOST];
	size_t names = count_alike(events, all), lines = 0;
	int64_t told = 0;

	for (size_t i = 0; i < events->count && lines < EVENTS_SHOWN; i++) {
		const struct sb_event_row *e = &events->rows[i];
		const struct alike *of = find_alike(all, names, e->name);

		if (!of || of->count <= FEW) {
			text_event(e, no_times, out);
			told++;
		} else if (of->first == i) {
			put_at(e, no_times, out);
			sb_text_name(out, e->name, 40);
			sb_buf_printf(out, "  and %zu more", of->count - 1);
			if (!no_times)
				sb_buf_printf(out, ", the last at %.3f s", of->last_s);
			sb_buf_putc(out, '\n');
			told += (int64_t)of->count;
		} else {
			continue;
		}
		lines++;
	}
	if (events->total > told)
		sb_buf_printf(out, "  ... %lld in all\n", (long long)events->total);
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
	text_events(&m->events, m->session.no_times, out);
}

const struct sb_panel sb_panel_marks = { "marks", text };
