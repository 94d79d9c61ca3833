/* The program's lines that time was spent at, by what they do: wait for the GPU, write, collect garbage… */
#ifndef SB_ADVISE_HOT_H
#define SB_ADVISE_HOT_H

#include "advise/rule.h"

enum sb_doing {
	SB_DOES_COMPUTE, /* none of those below */
	SB_DOES_WAIT_GPU, /* .item(), synchronize(), if tensor.any() … */
	SB_DOES_COPY, /* .to(device), .cuda(), copy_() */
	SB_DOES_ALLOCATE, /* empty_cache() */
	SB_DOES_COLLECT, /* gc.collect() */
	SB_DOES_WRITE, /* files, images, encoders, processes for them */
	SB_DOES_WAIT_INPUT, /* a queue, a reader */
	SB_DOES_ASK, /* another server, and waits for its answer */
	SB_DOES_WAIT, /* for another thread, a socket, a timer: without the GIL */
	SB_DOES_SLEEP
};
enum sb_doing sb_hot_doing(const struct sb_line *line);
/* True if the line may wait for the GPU beside what else it does: it copies, or makes a number of what may be a tensor. */
bool sb_hot_may_wait_gpu(const struct sb_line *line);
/* True if the line waits for input, another thread or a socket, also inside a function of Python's own
 * (Thread.join). */
bool sb_hot_waits(const struct sb_line *line);

/* Lines of one function that match, added up. */
struct sb_hot {
	const struct sb_line *line; /* the largest of them; NULL: none matches */
	double total_s, generation_s, step_s, loop_s, among_s, module_s, outside_s, from_s,
		to_s; /* as of a line */
	uint64_t sample_count, loop_count, warm_count, outside_count, stood_count, ran_count, without_count;
	double cpu_s, cpu_of_s;
};
/* Those of the function that the line is in, or by_line of this line alone. */
struct sb_hot sb_hot_of(const struct sb_model *model, const struct sb_line *line, bool by_line,
	bool (*fits)(const struct sb_model *, const struct sb_line *));
/* The function whose matching lines took most time. */
struct sb_hot sb_hot_find(
	const struct sb_model *model, bool (*fits)(const struct sb_model *, const struct sb_line *));
/* The share of the line's time in which the GPU was still at what had been launched before: what the CPU does meanwhile holds
 * nothing up. The time of lines that are known to wait for it is theirs. 0: not known. */
double sb_hot_ahead_ratio(const struct sb_model *model, const struct sb_line *line);
/* True if that is so nearly all the time: then it only waits for the GPU. */
bool sb_hot_only_waits(const struct sb_model *model, const struct sb_line *line);
/* Says what was not counted, in a finding that may be NULL. */
void sb_hot_say_ahead(struct sb_advisor *a, struct sb_advice *f, const struct sb_hot *hot);
/* Of a line whose text is not known, and of which nothing else says what it does, a finding that may be NULL says nothing sure:
 * the line may only sleep. */
void sb_hot_doubt(struct sb_advisor *a, struct sb_advice *f, const struct sb_line *line);
/* "on_step (wan.py:41): time.sleep(0.02)" */
const char *sb_hot_words(struct sb_advisor *a, const struct sb_line *line);
/* Puts the place into a finding that may be NULL. */
void sb_hot_place(struct sb_advice *f, const struct sb_hot *hot);
/* Puts the program's line that was seen most in the stage into a finding about it, where one function takes half of it. */
void sb_hot_name_stage(struct sb_advisor *a, struct sb_advice *f, const struct sb_stage *s);

#endif
