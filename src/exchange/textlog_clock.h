/* A text's stages on their way into a recording: what its writers share. */
#ifndef SB_EXCHANGE_TEXTLOG_CLOCK_H
#define SB_EXCHANGE_TEXTLOG_CLOCK_H

#include "exchange/textlog.h"
#include "format/builder.h"

struct sb_textlog_clock {
	struct sb_builder *builder;
	struct sb_stream_writer *writer;
	struct sb_textlog *log;
	int64_t whole_ns;
};

/* Opens the file and the thread that the stages are written to. Undoes it if one fails. */
int sb_textlog_open(
	struct sb_textlog_clock *c, const char *strobe_path, const struct sb_builder_options *options);

/* Begins the stage's zone and writes what its line said beside the time. False: the stage was skipped;
 * that is written, and there is no zone to end. */
bool sb_textlog_begin_stage(
	struct sb_textlog_clock *c, const struct sb_textlog_node *n, int64_t at_ns, uint32_t *out_name);

/* The open zone stands for this many calls; NAN: not known. */
void sb_textlog_put_sums(
	struct sb_textlog_clock *c, int64_t calls, double min_s, double max_s, double median_s, double std_s);

/* The model, its variants and operators, differences that are named. */
void sb_textlog_put_facts(struct sb_textlog_clock *c);
/* A loop that is no part of the run's time. */
void sb_textlog_put_aside(struct sb_textlog_clock *c, const struct sb_textlog_loop *loop);
/* MB as bytes; -1: not known. */
int64_t sb_textlog_bytes(double mb);

/* What a table says of the GPU, laid end to end. */
void sb_textlog_put_gpu(struct sb_textlog_clock *c);
/* How long the GPU worked at least; 0: not known. */
int64_t sb_textlog_gpu_ns(struct sb_textlog *log);

#endif
