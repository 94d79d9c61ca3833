/* Writes the recordings of a made-up job: FOLDER/rank_<N>/run.strobe. Each rank
 * runs steps of forward, backward and an all-reduce at which it waits for the
 * slowest; one rank may be a straggler in its forward.
 * usage: make_ranks FOLDER RANKS ZONES [STRAGGLER [HOSTS [SKEW_MS]]] */
#include "format/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

struct job {
	int ranks, steps, straggler, hosts;
	double skew_s;
};

static uint64_t *forward_ns, *backward_ns; /* by step and rank */
static uint64_t *slowest_ns; /* by step */

static void plan(const struct job *job)
{
	forward_ns = malloc((size_t)job->steps * job->ranks * sizeof *forward_ns);
	backward_ns = malloc((size_t)job->steps * job->ranks * sizeof *backward_ns);
	slowest_ns = calloc((size_t)job->steps, sizeof *slowest_ns);
	for (int i = 0; i < job->steps * job->ranks; i++) {
		uint64_t *most = &slowest_ns[i / job->ranks];

		forward_ns[i] = (uint64_t)(4e6 * (1 + 0.02 * uniform()));
		backward_ns[i] = (uint64_t)(8e6 * (1 + 0.02 * uniform()));
		if (i % job->ranks == job->straggler)
			forward_ns[i] = forward_ns[i] * 3 / 2;
		if (forward_ns[i] + backward_ns[i] > *most)
			*most = forward_ns[i] + backward_ns[i];
	}
}

static uint64_t write_steps(const struct job *job, struct sb_builder *b, int rank)
{
	struct sb_stream_writer *w = sb_builder_thread(b, 0, "main");
	uint32_t step = sb_builder_name(b, "step", NULL), forward = sb_builder_name(b, "forward", NULL);
	uint32_t backward = sb_builder_name(b, "backward", NULL),
		 meet = sb_builder_name(b, "all_reduce", NULL);
	uint64_t t = 1000000;

	for (int i = 0; i < job->steps; i++) {
		uint64_t at = t, end = t + slowest_ns[i] + 500000;

		sb_builder_begin(w, at, step);
		sb_builder_role(w, STROBE_ROLE_STEP);
		sb_builder_begin(w, at, forward);
		at += forward_ns[i * job->ranks + rank];
		sb_builder_end(w, at, forward);
		sb_builder_begin(w, at, backward);
		at += backward_ns[i * job->ranks + rank];
		sb_builder_end(w, at, backward);
		sb_builder_begin(w, at, meet);
		sb_builder_role(w, STROBE_ROLE_COLLECTIVE);
		/* leaving takes a little, differently for everyone */
		sb_builder_end(w, end + (uint64_t)(20000 * uniform()), meet);
		t = end + 30000;
		sb_builder_end(w, t, step);
	}
	return t;
}

static void write_samples(struct sb_builder *b, int rank, uint64_t end_ns)
{
	static const char *const columns[] = { "memory_used_mb", "memory_total_mb", "utilization_percent" };
	uint32_t schema = sb_builder_schema(b, "gpu", 0, columns, 3);

	for (uint64_t t = 0; t < end_ns; t += 500000000)
		sb_builder_sample(
			b, schema, t, (const double[]){ 7200 + 100.0 * (rank % 8), 24564, 80 + rank % 8 }, 3);
}

static int write_rank(const struct job *job, const char *folder, int rank)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	char path[4096], host[64];
	struct sb_builder *b;
	uint64_t end_ns;

	snprintf(host, sizeof host, "node%03d", rank * job->hosts / job->ranks);
	snprintf(path, sizeof path, "%s/rank_%d", folder, rank);
	mkdir(path, 0777);
	snprintf(path, sizeof path, "%s/rank_%d/run.strobe", folder, rank);
	o.name = "train";
	o.host = host;
	o.rank = rank;
	o.local_rank = rank % 8;
	o.world_size = job->ranks;
	o.session = (uint64_t)rank + 1;
	/* hosts' clocks disagree; the work starts at one moment */
	o.start_real_ns = 1767225600000000000u +
			  (uint64_t)(job->skew_s * 1e9 * (rank * job->hosts / job->ranks));
	if (sb_builder_open(path, &o, &b))
		return 1;
	end_ns = write_steps(job, b, rank);
	write_samples(b, rank, end_ns);
	return sb_builder_close(b, end_ns + 1000000) != 0;
}

int main(int argc, char **argv)
{
	struct job job = { 0 };

	if (argc < 4) {
		fprintf(stderr, "usage: make_ranks FOLDER RANKS ZONES [STRAGGLER [HOSTS [SKEW_MS]]]\n");
		return 2;
	}
	job.ranks = atoi(argv[2]);
	job.steps = atoi(argv[3]) / 4;
	job.straggler = argc > 4 ? atoi(argv[4]) : -1;
	job.hosts = argc > 5 ? atoi(argv[5]) : 1;
	job.skew_s = argc > 6 ? atof(argv[6]) / 1000 : 0;
	mkdir(argv[1], 0777);
	plan(&job);
	for (int rank = 0; rank < job.ranks; rank++)
		if (write_rank(&job, argv[1], rank)) {
			fprintf(stderr, "make_ranks: %s\n", strobe_error());
			return 1;
		}
	return 0;
}
