/* See share_summary.h. */
#include "share_summary.h"

#include "report/panels/panel.h"

#include <stdio.h>

static void print_removed(const struct sb_share_summary *s)
{
	for (int i = 0; i < SB_SHARE_RULES; i++) {
		enum sb_share_rule rule = (enum sb_share_rule)i;

		printf("  %6llu %s", (unsigned long long)s->counts[i], sb_share_rule_what(rule));
		if (rule == SB_SHARE_TAGS && *s->tags)
			printf(" (%s)", s->tags);
		printf(s->counts[i] ? ": %s\n" : "\n", sb_share_rule_done(rule));
	}
	printf("  kept: names of the session, of stages, functions, threads and kernels; file names; GPU "
	       "and\n"
	       "  library versions; numbers and times. Look at it before you send it.\n");
}

void share_summary_print(
	const struct args *args, const char *path, size_t bytes, const struct sb_share_summary *s)
{
	char whole[32], raw[32];

	if (args_has(args, "quiet")) {
		printf("%s\n", path);
		return;
	}
	sb_text_bytes(whole, sizeof whole, (double)bytes);
	sb_text_bytes(raw, sizeof raw, (double)s->recording_bytes);
	printf("%s: %s, a page with %u recording%s (%s unpacked) inside\nremoved or hashed:\n", path, whole,
		s->recording_count, s->recording_count == 1 ? "" : "s", raw);
	print_removed(s);
}
