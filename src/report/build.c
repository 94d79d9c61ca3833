/* Analyses, then findings: the order in which a model is filled. */
#include "report/build.h"

#include "advise/advise.h"

int sb_report_build(struct sb_run *run, const struct sb_model_options *options, struct sb_model **out_model)
{
	struct sb_model *model = NULL;
	int err = sb_analyze(run, options, &model);

	if (!err)
		err = sb_advise(model);
	if (err) {
		sb_model_free(model);
		return err;
	}
	*out_model = model;
	return 0;
}
