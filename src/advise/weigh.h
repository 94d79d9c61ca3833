/* What a finding costs the generations, and how urgent that makes it. */
#ifndef SB_ADVISE_WEIGH_H
#define SB_ADVISE_WEIGH_H

#include "advise/rule.h"

/* Time of the warm generations (all but the first, of three or more); where none is marked, of the run after its
 * start-up. */
double sb_weigh_work_s(const struct sb_model *model);
/* True if that is without the first generation, which is cold. */
bool sb_weigh_leaves_first_out(const struct sb_model *model);
/* Of the generations, the share whose time sb_weigh_work_s adds up. */
double sb_weigh_warm_share(const struct sb_model *model);
/* What that time is, in words: "the generations", "the warm generations" without the first, "the run", "the time after
 * the start-up". */
const char *sb_weigh_words(const struct sb_model *model);
/* A warm step's time over that of all steps, cold ones too: what steps that are left out would save; 1: not known. */
double sb_weigh_warm_step_ratio(const struct sb_model *model);
/* Seconds in percent of that time; at most 100, even if several threads together spend more. */
double sb_weigh_percent(const struct sb_model *model, double seconds);
/* Steps that a trace of steps has seen; NAN: it saw another part, or there is none. */
double sb_weigh_traced_steps(const struct sb_model *model);
/* One step as a trace of steps saw it, beside a warm one. */
struct sb_weigh_step {
	double traced_count, warm_count; /* steps */
	double took_s; /* a warm step, on average; of videos of several sizes the traced one's, the middle one; with a cache
			one of those that were traced */
	double busy_s, kernel_count; /* the GPU's part of a step */
	double read_count,
		read_s; /* single values copied to the host, and the wait for them, also between two steps */
};
/* False: no trace of steps, or no steps. */
bool sb_weigh_step(const struct sb_model *model, struct sb_weigh_step *out_step);
/* The GPU's time in a traced step over the time of a warm step; NAN: not known. */
double sb_weigh_step_busy(const struct sb_model *model);
/* Time of the generations in which the GPU had nothing to do, as traced or sampled; INFINITY: no GPU, or not known. */
double sb_weigh_idle_s(const struct sb_model *model);
/* Mean GPU utilisation over the warm generations, 0 to 1; NAN: not sampled there. */
double sb_weigh_utilization(const struct sb_model *model);
/* The same of what other processes made of it. */
double sb_weigh_others(const struct sb_model *model);
/* Cores that the process keeps busy over the warm generations; NAN: not sampled there. */
double sb_weigh_process(const struct sb_model *model);
/* The GPU's time of stages through which the CPU ran ahead of it: the GPU had work all the while. 0: not known. */
double sb_weigh_behind_s(const struct sb_model *model);
/* What a stage works over the wall time that the CPU is in it: less than 1 where it waits for the GPU's work of stages
 * before it, more where the GPU is at it later. */
double sb_weigh_own_ratio(const struct sb_stage *s);
/* The share of the warm time that the GPU takes for stages which the CPU leaves before the GPU is through: these are not
 * held up by launching. Cold first calls count nowhere. 0: none, or not known. */
double sb_weigh_ahead_ratio(const struct sb_model *model);
/* Time of the warm generations in which no innermost stage had work on the GPU, by the GPU's own events:
 * the most that waits between stages can cost. INFINITY: not known, or the GPU was not behind in a step,
 * where such a wait delays the launches. */
double sb_weigh_uncovered_s(const struct sb_model *model);
bool sb_weigh_moves_weights(const struct sb_stage *s); /* between the host and the GPU */
/* Time of the warm generations in which they do. */
double sb_weigh_moves_s(const struct sb_model *model);
/* Of that, what it can save if nothing moves: no more than the time without a kernel, since weights that move on a stream
 * of their own move while the GPU computes. */
double sb_weigh_moves_alone_s(const struct sb_model *model);
/* How many calls of the stage each traced call stands for. A trace holds some steps, and of every other
 * stage of a generation the first call or a few. */
double sb_weigh_calls_per_traced(const struct sb_model *model, const struct sb_stage *stage);
/* The GPU's time of its calls, by its own events; where it was not taken, the CPU's. */
double sb_weigh_gpu_s(const struct sb_stage *s);
/* True if the moment lies between the first warm generation's begin and the last one's end. */
bool sb_weigh_is_warm(const struct sb_model *model, double t_s);
/* True if a trace of the GPU stands for the run; one that was kept around slow moments does not. */
bool sb_weigh_traced(const struct sb_model *model);
/* True if later generations are larger than earlier ones, by frames or pixels: time and memory rise with them. */
bool sb_weigh_sizes_grow(const struct sb_model *model);
bool sb_weigh_has_gpu(const struct sb_model *model); /* true: a GPU was traced, or sampled at work */
/* High, medium or low by its share of the generations' time; of a finding that may be NULL. */
void sb_weigh_priority(struct sb_advisor *a, struct sb_advice *f);

/* How many threads want each core, where more want to run than there are cores and most are not this program's; else 1. */
double sb_weigh_crowding(const struct sb_model *model);

#endif
