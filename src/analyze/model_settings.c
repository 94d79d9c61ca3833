/* Settings and tags of the recording as numbers. */
#include "analyze/model.h"

#include "base/setting_value.h"

#include <string.h>

static const struct sb_pair *pair_find(const struct sb_pair *all, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(all[i].key, key))
			return &all[i];
	return NULL;
}

static double pair_number(const struct sb_pair *pair)
{
	return pair ? sb_setting_value(pair->type, pair->i, pair->f, pair->s) : NAN;
}

double sb_model_setting_number(const struct sb_model *model, const char *key)
{
	return pair_number(pair_find(model->system.settings, model->system.setting_count, key));
}

double sb_model_tag_number(const struct sb_model *model, const char *key)
{
	return pair_number(pair_find(model->session.tags, model->session.tag_count, key));
}

double sb_model_threshold(const struct sb_model *model, const char *name)
{
	const struct sb_pair *pair = pair_find(
		model->system.settings, model->system.setting_count, "thresholds");

	return sb_setting_listed(pair && pair->type == STROBE_TYPE_STRING ? pair->s : NULL, name);
}
