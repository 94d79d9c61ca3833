/* Many ranks for programs: their fields. The page draws from this too. */
#include "report/ranks/ranks.h"

#include "stats/fields.h"

void sb_aggregate_json(const struct sb_aggregate *a, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, true);
	sb_fields_write(&sb_aggregate_fields, a, NULL, &j);
	sb_buf_putc(out, '\n');
}
