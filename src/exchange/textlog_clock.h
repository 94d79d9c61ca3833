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

/* What the stage's line said beside its time, as attributes of the open zone. */
void sb_textlog_put_attrs(struct sb_textlog_clock *c, const struct sb_textlog_node *n);

#endif
