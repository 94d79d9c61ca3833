/* What printed digits leave open: "0.04s", "0.04s" and "0.06s" are parts of "0.13s". A total
 * keeps what was printed; its parts give way by less than half of their last digit. */
#include "exchange/textlog.h"

#include <math.h>

#define NONE SB_TEXTLOG_NONE

static int64_t open_ns(int64_t digit_ns)
{
	return digit_ns / 100 * 49; /* less than half: what is printed stays the same */
}

static int64_t larger(int64_t a_ns, int64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* How long a stage and all below it may have taken, at least and at most. Children that no rounding fits
 * into their total contradict it: nothing is open there. */
static void bound(struct sb_textlog *log, uint32_t node)
{
	struct sb_textlog_node *n = &log->nodes[node];
	int64_t printed_ns = n->line->duration_ns, open = open_ns(n->line->digit_ns), least_ns = 0,
		most_ns = 0;

	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next) {
		bound(log, c);
		least_ns += log->nodes[c].least_ns;
		most_ns += log->nodes[c].most_ns;
	}
	if (!printed_ns) {
		n->least_ns = least_ns;
		n->most_ns = most_ns;
	} else if (least_ns > printed_ns + open) {
		n->least_ns = n->most_ns = sb_textlog_duration(n);
	} else {
		n->least_ns = larger(least_ns, larger(0, printed_ns - open));
		n->most_ns = larger(printed_ns, n->least_ns);
	}
}

/* What one of several gives way by: the longer more, none more than it can. */
struct share {
	int64_t excess_ns; /* of all together */
	int64_t sum_ns, room_ns; /* what all of them take, and can give */
};

static int64_t given_way(const struct share *s, const struct sb_textlog_node *n)
{
	int64_t room_ns = n->most_ns - n->least_ns;

	return s->excess_ns <= 0 || !s->room_ns
		       ? 0
		       : (int64_t)(ceil((double)room_ns * (double)s->excess_ns / (double)s->room_ns));
}

static void add_to(struct share *s, const struct sb_textlog_node *n)
{
	s->sum_ns += n->most_ns;
	s->room_ns += n->most_ns - n->least_ns;
}

/* length_ns lies between the node's least and most. */
static void fit(struct sb_textlog *log, uint32_t node, int64_t length_ns)
{
	struct sb_textlog_node *n = &log->nodes[node];
	bool contradicts = n->line->duration_ns && n->most_ns != n->line->duration_ns &&
			   n->most_ns == n->least_ns;
	struct share s = { 0 };

	if (contradicts)
		return;
	if (n->line->duration_ns)
		n->line->duration_ns = larger(1, length_ns);
	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next)
		add_to(&s, &log->nodes[c]);
	s.excess_ns = s.sum_ns - length_ns;
	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next)
		fit(log, c, log->nodes[c].most_ns - given_way(&s, &log->nodes[c]));
}

void sb_textlog_fit_digits(struct sb_textlog *log)
{
	struct share s = { 0 };

	for (uint32_t i = log->segment; i < log->count; i++) {
		if (log->nodes[i].parent != NONE)
			continue;
		bound(log, i);
		add_to(&s, &log->nodes[i]);
	}
	if (log->segment_whole_ns)
		s.excess_ns = s.sum_ns - log->segment_whole_ns;
	if (s.excess_ns > s.room_ns && s.excess_ns <= s.room_ns + open_ns(log->segment_digit_ns))
		s.excess_ns = s.room_ns; /* the total gives way too */
	else if (s.excess_ns > s.room_ns)
		s.excess_ns = 0;
	for (uint32_t i = log->segment; i < log->count; i++)
		if (log->nodes[i].parent == NONE)
			fit(log, i, log->nodes[i].most_ns - given_way(&s, &log->nodes[i]));
}
