/* What is made from the tables of fields: schemas, the page's types, the reference page. */
#ifndef SB_TOOLS_GENERATE_H
#define SB_TOOLS_GENERATE_H

#include "base/buf.h"
#include "stats/fields.h"

struct report { /* one JSON form that strobe writes */
	const char *name; /* "report": docs/report.schema.json */
	const char *title;
	const struct sb_fields *fields;
	bool is_list; /* an array of them, not one */
};
extern const struct report reports[]; /* name NULL ends it */

/* The tables that a report reaches, each once, inner ones after those that hold them. */
struct tables {
	const struct sb_fields *all[256];
	size_t count;
};
void tables_reach(struct tables *tables, const struct sb_fields *fields);

bool field_is_number(const struct sb_field *field); /* integers too */
bool field_is_integer(const struct sb_field *field);
bool field_is_required(const struct sb_field *field);
bool field_has_name(
	const struct sb_field *field, size_t i); /* names[i] is one, and none before it is the same */

void schema_write(const struct report *report, struct sb_buf *out);
void types_write(struct sb_buf *out);
void keys_write(struct sb_buf *out);
void dashboard_write(struct sb_buf *out);

#endif
