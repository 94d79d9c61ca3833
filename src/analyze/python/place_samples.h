/* Stack samples, each assigned to the function of the program it was taken in, and lists of the most
 * frequent functions. */
#ifndef SB_ANALYZE_PYTHON_PLACE_SAMPLES_H
#define SB_ANALYZE_PYTHON_PLACE_SAMPLES_H

#include "analyze/analysis.h"
#include "base/map.h"

enum { SB_PLACE_COVERS = 3 };

struct sb_place_sample {
	int64_t t_ns, weight_ns;
	uint32_t process, track;
	uint32_t function, line; /* the program's or the pipeline's */
	uint32_t leaf; /* of a library: what it had called; 0: none */
	bool in_generation;
	bool waits; /* for a process that it started; of the main thread alone */
	int8_t phase; /* sb_role_phase() + 1 of the zone around it; 0: none */
	bool covered[SB_PLACE_COVERS]; /* by what the owner asks about */
	uint32_t next[SB_PLACE_COVERS]; /* nearest sample from here on that is not covered */
};

struct sb_place_samples {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_place_sample *all;
	uint32_t count, capacity;
	struct sb_map files; /* function -> index of texts, + 1 */
	const char **texts;
	uint32_t text_count, text_room;
	struct sb_map generation_tracks; /* track -> 1 */
	uint8_t *
		started; /* per process of the run: 1: one that find_started() counted; NULL: not asked for */
	bool launcher; /* lists are of the main threads of the processes that the main one started */
	bool no_memory;
};

/* Asks the visitor for what the samples need: events for sb_places_see(), zones of generations. */
void sb_places_begin(
	struct sb_place_samples *p, struct sb_run *run, struct sb_model *model, struct sb_visitor *v);
void sb_places_see(struct sb_place_samples *p, const struct sb_event *e);
/* Sorts the samples; none is covered afterwards. */
void sb_places_sort(struct sb_place_samples *p, int (*order)(const void *, const void *));
/* Covers the samples from i on that are not covered yet, as long as `is_inside` is true. */
void sb_places_cover(struct sb_place_samples *p, uint32_t i, int which,
	bool (*is_inside)(const struct sb_place_sample *s, const void *of), const void *of);

typedef bool (*sb_place_wanted)(const struct sb_place_samples *p, const struct sb_place_sample *s, int which);
/* The functions of the wanted samples; their estimates share out `seconds`. Leaves out threads that are
 * not the main one and make no generation: a waiting thread of a pool says nothing. Where the main process is a
 * launcher, the main threads of the others stand for its own. */
void sb_places_list(struct sb_place_samples *p, sb_place_wanted wanted, int which, double seconds,
	struct sb_place_list *to);
/* How many processes with samples of their main thread the run's main process started; those that another recorded process
 * started, as a rank's workers, are none of them. */
uint32_t sb_places_find_started(struct sb_place_samples *p);
void sb_places_done(struct sb_place_samples *p);

#endif
