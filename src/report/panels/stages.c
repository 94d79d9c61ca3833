/* stage_analysis: table, tree, stage log. */
#include "report/panels/stages.h"

#define MOVED_LEAST 0.005 /* of the generations */

bool sb_stages_moved(const struct sb_stages_panel *stages, double wall_s)
{
	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];

		if (s->side_by_side && fabs(s->moved_s) >= MOVED_LEAST * wall_s)
			return true;
	}
	return false;
}

static void text(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	if (!m->stages.stage_count && m->session.no_times)
		return; /* a table of memory: there was no program to look into */
	if (!m->stages.stage_count && m->session.file_date) {
		sb_buf_puts(out, "\nThe text names no stage.\n");
		return;
	}
	if (!m->stages.stage_count) {
		sb_buf_puts(out, "\nNo stages were recorded: nothing in the program began one.\n"
				 "If it prints a line per stage, record it with strobe run --labels.\n");
		return;
	}
	sb_stages_table(m, o, out);
	sb_stages_tree(m, o, out);
	sb_stages_log(m, o, out);
}

const struct sb_panel sb_panel_stages = { "stages", text };
