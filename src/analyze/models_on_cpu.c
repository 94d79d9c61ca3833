/* Where the run's models are, by what they said when they were called. */
#include "analyze/models_on_cpu.h"

#include <string.h>

static const char *text_of(const struct sb_event_row *e, const char *key)
{
	for (size_t i = 0; i < e->attr_count; i++)
		if (!strcmp(e->attrs[i].key, key) && e->attrs[i].type == STROBE_TYPE_STRING)
			return e->attrs[i].s;
	return NULL;
}

static bool has_gpu_time(const struct sb_model *model)
{
	for (size_t i = 0; i < model->stages.stage_count; i++)
		if (model->stages.stages[i].gpu_span_count > 0)
			return true;
	return model->gpu.present;
}

bool sb_models_on_cpu(const struct sb_model *model)
{
	bool said = false;

	for (size_t i = 0; i < model->events.count; i++) {
		const struct sb_event_row *e = &model->events.rows[i];
		const char *device = strcmp(e->name, "torch.asked") ? NULL : text_of(e, "device");

		if (!device)
			continue;
		if (strcmp(device, "cpu") != 0 || text_of(e, "offload"))
			return false;
		said = true;
	}
	return said && !has_gpu_time(model);
}
