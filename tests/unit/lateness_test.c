/* Random jobs with known clocks: the stated uncertainty holds the truth, and blame is right where it
 * is given. Topologies: data, tensor, pipeline and sequence parallel groups on 2 to 64 hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/aggregate.h"
#include "noise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 1767225600000000000u
enum { JOBS = 120, STEPS = 60, RANKS_MAX = 256 };

static int between(int low, int high)
{
	return low + (int)(uniform() * (high - low + 1));
}

struct plan {
	int hosts, per_host, ranks, tp;
	double skew_s[64];
	double drift[64],
		later_drift[64]; /* in the first half of the run, in the second: NTP slews a clock */
	double transfer_s; /* a collective takes up to this */
	double delay_s[RANKS_MAX]; /* by design: a late stage of a pipeline, a slow rank */
	double step_s;
	bool world; /* a group of all at the end of each step */
	bool pipeline;
	bool ring; /* each rank sends to the next, as ring attention does */
	bool hosts_alone; /* ranks meet on their host and in the world, and nowhere else */
};

static double now[RANKS_MAX]; /* true time of each rank */
static struct sb_facts *facts[RANKS_MAX];
static size_t truly_last[RANKS_MAX];

static struct plan make_plan(void)
{
	struct plan p = { .hosts = between(2, uniform() < 0.1 ? 64 : 8), .per_host = between(1, 4) };

	p.ranks = p.hosts * p.per_host;
	p.tp = p.per_host;
	p.transfer_s = 50e-6 + 2e-3 * uniform() * uniform();
	p.step_s = uniform() < 0.3 ? 20 : 0.05;
	p.world = uniform() < 0.8;
	p.pipeline = uniform() < 0.4;
	p.ring = !p.pipeline && uniform() < 0.3;
	for (int h = 1; h < p.hosts; h++) {
		p.skew_s[h] = 0.2 * (uniform() - 0.5);
		p.drift[h] = uniform() < 0.5 ? 0 : 100e-6 * (uniform() - 0.5);
		p.later_drift[h] = uniform() < 0.5 ? p.drift[h] : 100e-6 * (uniform() - 0.5);
	}
	for (int r = 0; r < p.ranks; r++)
		p.delay_s[r] = uniform() < 0.1 ? 0.05 * uniform() : 0;
	if (uniform() < 0.3) /* a group that is late by design */
		for (int r = 0; r < p.per_host; r++)
			p.delay_s[p.ranks - 1 - r] += 0.05;
	return p;
}

/* What a rank's clock says, since its start. */
static double told(const struct plan *p, int rank, double t_s)
{
	double half_s = STEPS * p->step_s / 2;
	int h = rank / p->per_host;

	return t_s + p->drift[h] * fmin(t_s, half_s) + p->later_drift[h] * fmax(t_s - half_s, 0);
}

static void add_call(const struct plan *p, int rank, const char *name, const char *group, int64_t seq,
	double begin_s, double end_s)
{
	struct sb_facts *f = facts[rank];

	f->collectives[f->collective_count++] = (struct sb_fact_collective){ .name = sb_facts_text(f, name),
		.group = sb_facts_text(f, group),
		.occurrence = seq,
		.begin_s = told(p, rank, begin_s),
		.end_s = told(p, rank, end_s),
		.kind = sb_meet_kind_of(name) };
	f->collective_total++;
}

/* All come, the last decides; each leaves within the transfer's time of the others. */
static void meet(const struct plan *p, const int *members, int count, const char *group, int64_t seq)
{
	double last_s = 0, took_s = p->transfer_s * (0.5 + 0.5 * uniform());
	int last = 0;

	for (int i = 0; i < count; i++)
		if (now[members[i]] > last_s) {
			last_s = now[members[i]];
			last = members[i];
		}
	truly_last[last]++;
	for (int i = 0; i < count; i++) {
		/* who came last was there all the while */
		double leave_s = last_s + (members[i] == last ? took_s : took_s * uniform());

		if (uniform() < 0.005)
			leave_s += 0.02 * uniform(); /* the scheduler had other ideas */
		add_call(p, members[i], "collective:all_reduce", group, seq, now[members[i]], leave_s);
		now[members[i]] = leave_s;
	}
}

static void send(const struct plan *p, int from, int to, int64_t seq)
{
	char group[64];
	double arrives_s = now[from] + p->transfer_s;

	snprintf(group, sizeof group, "p2p:%d>%d", from, to);
	add_call(p, from, "collective:send", group, seq, now[from], now[from] + 20e-6);
	now[from] += 20e-6;
	add_call(p, to, "collective:recv", group, seq, now[to], fmax(now[to], arrives_s) + 10e-6);
	now[to] = fmax(now[to], arrives_s) + 10e-6;
}

static void run_step(const struct plan *p, int step)
{
	int members[RANKS_MAX];
	char group[64];

	for (int r = 0; r < p->ranks; r++)
		now[r] += p->step_s * (1 + 0.002 * uniform()) + p->delay_s[r];
	for (int h = 0; h < p->hosts && p->tp > 1; h++) {
		for (int i = 0; i < p->tp; i++)
			members[i] = h * p->per_host + i;
		snprintf(group, sizeof group, "nccl:%d-%d:tp", members[0], members[p->tp - 1]);
		meet(p, members, p->tp, group, step);
	}
	for (int i = 0; i < 2 * p->ranks && p->ring; i++)
		send(p, i % p->ranks, (i + 1) % p->ranks, 2 * step + i / p->ranks);
	for (int h = 0; h + 1 < p->hosts && p->pipeline; h++)
		send(p, h * p->per_host, (h + 1) * p->per_host, step);
	for (int i = 0; i < p->per_host; i++) { /* data parallel: the same place on every host */
		for (int h = 0; h < p->hosts; h++)
			members[h] = h * p->per_host + i;
		snprintf(group, sizeof group, "nccl:dp%d", i);
		if (!p->pipeline && !p->hosts_alone)
			meet(p, members, p->hosts, group, step);
	}
	for (int r = 0; r < p->ranks && p->world; r++)
		members[r] = r;
	if (p->world)
		meet(p, members, p->ranks, "nccl:world", step);
}

static struct sb_aggregate *run_job(const struct plan *p)
{
	struct sb_aggregate *a = sb_aggregate_new();

	memset(truly_last, 0, sizeof truly_last);
	for (int r = 0; r < p->ranks; r++) {
		char host[16];

		snprintf(host, sizeof host, "node%d", r / p->per_host);
		now[r] = 0;
		facts[r] = sb_facts_new(host);
		facts[r]->host = facts[r]->clock = sb_facts_text(facts[r], host);
		facts[r]->rank = r;
		facts[r]->world_size = p->ranks;
		facts[r]->start_real_ns = START_NS + (uint64_t)(int64_t)(p->skew_s[r / p->per_host] * 1e9);
		facts[r]->metrics[SB_METRIC_WALL] = STEPS * p->step_s;
		facts[r]->collectives = calloc(STEPS * (4 + 4), sizeof *facts[r]->collectives);
	}
	for (int step = 0; step < STEPS; step++)
		run_step(p, step);
	for (int r = 0; r < p->ranks; r++) {
		assert_int_equal(sb_aggregate_add(a, facts[r]), 0);
		sb_facts_free(facts[r]);
	}
	assert_int_equal(sb_aggregate_finish(a), 0);
	return a;
}

/* Of the clocks that were set: how many, and how many at least as well as they say. */
static void check_clocks(const struct plan *p, const struct sb_aggregate *a, size_t *set, size_t *right)
{
	for (int r = 0; r < p->ranks; r += p->per_host) {
		const struct sb_align_rank *c = &a->ranks[r].align;
		double worst_s = 0;

		if (c->method != SB_ALIGN_COLLECTIVES)
			continue;
		for (int i = 0; i <= 10; i++) {
			double t_s = STEPS * p->step_s * i / 10;

			worst_s = fmax(
				worst_s, fabs(sb_align_time(&a->ranks[0].align, c, told(p, r, t_s)) - t_s));
		}
		++*set;
		*right += worst_s <= c->uncertainty_s;
	}
}

static void the_stated_uncertainty_holds_the_truth_and_blame_is_right(void **state)
{
	size_t set = 0, right = 0, blamed = 0, deserved = 0;

	for (int job = 0; job < JOBS; job++) {
		struct plan p;
		struct sb_aggregate *a;

		seed = 1000 + (uint64_t)job;
		p = make_plan();
		a = run_job(&p);
		check_clocks(&p, a, &set, &right);
		for (int r = 0; r < p.ranks; r++) {
			blamed += a->ranks[r].last_count;
			deserved += a->ranks[r].last_count <= truly_last[r] ? a->ranks[r].last_count
									    : truly_last[r];
		}
		sb_aggregate_free(a);
	}
	print_message("%zu of %zu clocks within what is stated; %zu of %zu times rightly blamed\n", right,
		set, deserved, blamed);
	assert_true(set > 100 && blamed > 1000);
	assert_true((double)right >= 0.99 * (double)set);
	assert_true((double)deserved >= 0.99 * (double)blamed);
}

/* A job on two hosts, of which the second comes later at each step. */
static size_t late_groups_where(double late_s)
{
	struct plan p = { .hosts = 2,
		.per_host = 2,
		.ranks = 4,
		.tp = 2,
		.transfer_s = 50e-6,
		.step_s = 0.05,
		.world = true,
		.hosts_alone = true,
		.delay_s = { 0, 0, late_s, late_s } };
	struct sb_aggregate *a;
	size_t count;

	seed = 7;
	a = run_job(&p);
	count = a->late_group_count;
	if (count)
		assert_string_equal(a->late_groups[0].group, "nccl:2-3:tp");
	sb_aggregate_free(a);
	return count;
}

static void a_group_is_late_only_where_the_others_wait_for_it(void **state)
{
	assert_int_equal(late_groups_where(0.08), 1);
	assert_int_equal(late_groups_where(0.006), 1);
	assert_int_equal(
		late_groups_where(0.001), 0); /* every time, but 2 % of the time is nothing to look for */
	assert_int_equal(late_groups_where(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stated_uncertainty_holds_the_truth_and_blame_is_right),
		cmocka_unit_test(a_group_is_late_only_where_the_others_wait_for_it),
	};

	return cmocka_run_group_tests_name("lateness", tests, NULL, NULL);
}
