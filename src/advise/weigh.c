/* What a finding costs the generations, and how urgent that makes it. */
#include "advise/weigh.h"

#define SHARE_HIGH 0.20
#define SHARE_MEDIUM 0.07

double sb_weigh_work_s(const struct sb_model *model)
{
	return model->summary.generation_s > 0 ? model->summary.generation_s : model->stages.wall_s;
}

bool sb_weigh_has_gpu(const struct sb_model *model)
{
	return model->gpu.present || model->summary.gpu_utilization_mean_percent > 0;
}

double sb_weigh_idle_s(const struct sb_model *model)
{
	double work_s = sb_weigh_work_s(model), used = model->summary.gpu_utilization_mean_percent / 100;

	if (model->gpu.present && model->gpu.busy_s + model->gpu.idle_s > 0)
		return work_s * model->gpu.idle_s / (model->gpu.busy_s + model->gpu.idle_s);
	return used > 0 ? work_s * fmax(0, 1 - used) : INFINITY;
}

void sb_weigh_priority(struct sb_advisor *a, struct sb_advice *f)
{
	double share = f ? f->rank_s / sb_weigh_work_s(a->model) : 0;

	if (f)
		f->priority = sb_priority_name(share >= SHARE_HIGH     ? SB_PRIORITY_HIGH
					       : share >= SHARE_MEDIUM ? SB_PRIORITY_MEDIUM
								       : SB_PRIORITY_LOW);
}
