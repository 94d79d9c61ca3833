/* A diff for programs: its fields. */
#include "report/diff/diff.h"

#include "stats/fields.h"

void sb_diff_json(const struct sb_comparison *c, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_comparison_fields, c, NULL, &j);
	sb_buf_putc(out, '\n');
}
