/* A benchmark as a table, as JSON and as CSV. */
#ifndef SB_REPORT_BENCH_BENCH_H
#define SB_REPORT_BENCH_BENCH_H

#include "compare/bench.h"
#include "base/buf.h"

void sb_bench_text(const struct sb_bench *bench, struct sb_buf *out);
void sb_bench_json(const struct sb_bench *bench, struct sb_buf *out);
void sb_bench_csv(const struct sb_bench *bench, struct sb_buf *out);

#endif
