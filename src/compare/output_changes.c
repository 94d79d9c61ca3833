/* The outputs of a diff: which belongs to which, and a word on a change of speed whose result changed too. */
#include "compare/compare.h"

#include "base/filename.h"

#include <stdlib.h>
#include <string.h>

/* By the file's name; the only one of both sides belongs together whatever it is called. */
static const struct sb_output *partner(const struct sb_facts *from, const struct sb_facts *in, size_t at)
{
	if (from->output_count == 1 && in->output_count == 1)
		return &in->outputs[0];
	for (size_t i = 0; i < in->output_count; i++)
		if (!strcmp(sb_filename_of(in->outputs[i].path), sb_filename_of(from->outputs[at].path)))
			return &in->outputs[i];
	return NULL;
}

static int add(
	struct sb_comparison *c, const struct sb_output *base, const struct sb_output *now, bool pictures)
{
	int err = sb_output_compare(base, now, pictures, &c->strings, &c->outputs[c->output_count]);

	c->output_count += !err;
	return err;
}

int sb_compare_outputs(struct sb_comparison *c, const struct sb_compare_options *options)
{
	const struct sb_facts *base = c->base[0], *now = c->now[0]; /* of several runs the first speaks */
	int err = 0;

	c->outputs = calloc(base->output_count + now->output_count + 1, sizeof *c->outputs);
	if (!c->outputs)
		return sb_compare_no_memory();
	for (size_t i = 0; i < now->output_count && !err; i++)
		err = add(c, partner(now, base, i), &now->outputs[i], options->pictures);
	for (size_t i = 0; i < base->output_count && !err; i++)
		if (!partner(base, now, i))
			err = add(c, &base->outputs[i], NULL, options->pictures);
	for (size_t i = 0; i < c->output_count && !c->output_verdict; i++)
		if (sb_output_changed(&c->outputs[i]))
			c->output_verdict = c->total.verdict == SB_VERDICT_BETTER
						    ? "faster, but the output changed"
						    : "the output changed";
	return err;
}

/* A result that may not fall below a PSNR; one that cannot be measured fails too. */
int sb_compare_output_gate(struct sb_comparison *c, double min_psnr_db)
{
	int err = 0;

	for (size_t i = 0; i < c->output_count && !err; i++) {
		const struct sb_output_change *o = &c->outputs[i];

		if (!strcmp(o->verdict, "identical") || !strcmp(o->verdict, "same_pixels") ||
			!strcmp(o->verdict, "only_new") || o->psnr_db >= min_psnr_db)
			continue;
		err = sb_comparison_say(&c->failures, &c->failure_count,
			"the output '%s' must keep a PSNR of %g dB: %s", o->name, min_psnr_db, o->words);
	}
	if (!err && !c->output_count)
		err = sb_comparison_say(&c->failures, &c->failure_count,
			"neither run names its output, so that its PSNR is not known");
	return err;
}
