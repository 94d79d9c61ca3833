/* Calls of a model whose operations are known, on a GPU of a name. */
#ifndef TESTS_COUNTED_CALLS_H
#define TESTS_COUNTED_CALLS_H

#include "format/run_keys.h"
#include "synthetic.h"

/* A call of a model whose shape was counted. */
static inline void call(struct synthetic *s, uint64_t begin_ns, uint64_t end_ns)
{
	synthetic_begin(s, begin_ns, "Net", 0);
	sb_builder_attr(s->main, sb_builder_name(s->b, "flops_shape", NULL), 1);
	synthetic_end(s, end_ns);
}

static inline void count_shape(struct synthetic *s)
{
	const struct strobe_attr attrs[] = { INT("shape", 1), TEXT("precision", "bf16"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = 200e12 } } };

	sb_builder_event(s->b, 0, SB_EVENT_FLOPS, 0, attrs, 3);
}

static inline void open_gpu(struct synthetic *s, const char *name)
{
	synthetic_open(s);
	sb_builder_meta_string(s->b, SB_META_SYSTEM, "gpu0.name", name);
	synthetic_gpu_sample(s, synthetic_gpu(s, 0), 0, 1000, 85, 300);
	count_shape(s);
}

#endif
