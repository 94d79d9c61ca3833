/* libFuzzer: any bytes as a report file, strobe's own or another profiler's; what is
 * taken is compared with itself and added up. */
#include "compare/aggregate.h"
#include "compare/compare.h"
#include "exchange/report_in.h"
#include "report/diff/diff.h"
#include "report/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct sb_facts *facts)
{
	const struct sb_facts *const side[1] = { facts };
	struct sb_aggregate *a = sb_aggregate_new();
	struct sb_compare_options options = { 0 };
	struct sb_diff_options wide = { 0 };
	struct sb_comparison *c;
	struct sb_buf out = { 0 };

	if (!sb_compare(side, 1, side, 1, &options, &c)) {
		sb_diff_text(c, &wide, &out);
		sb_diff_json(c, &out);
		sb_comparison_free(c);
	}
	if (a && !sb_aggregate_add(a, facts) && !sb_aggregate_finish(a))
		sb_aggregate_json(a, &out);
	sb_aggregate_free(a);
	sb_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;
	struct sb_facts *facts = NULL;

	if (fd < 0) {
		fd = memfd_create("report", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	(void)sb_report_in_is_report(path);
	if (!sb_report_in(path, &facts))
		show(facts);
	sb_facts_free(facts);
	return 0;
}
