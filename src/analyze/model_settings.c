/* Settings and tags of the recording as numbers. */
#include "analyze/model.h"

#include <stdlib.h>
#include <string.h>

static double text_number(const char *text)
{
	char *end;
	double value;

	if (!text || !*text)
		return NAN;
	value = strtod(text, &end);
	return end == text || (*end && *end != ';') ? NAN : value;
}

static const struct sb_pair *pair_find(const struct sb_pair *all, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(all[i].key, key))
			return &all[i];
	return NULL;
}

static double pair_number(const struct sb_pair *pair)
{
	if (!pair)
		return NAN;
	switch (pair->type) {
	case STROBE_TYPE_INT:
	case STROBE_TYPE_BOOL: return (double)pair->i;
	case STROBE_TYPE_FLOAT: return pair->f;
	case STROBE_TYPE_STRING: return text_number(pair->s);
	}
	return NAN;
}

double sb_model_setting_number(const struct sb_model *model, const char *key)
{
	return pair_number(pair_find(model->system.settings, model->system.setting_count, key));
}

double sb_model_tag_number(const struct sb_model *model, const char *key)
{
	return pair_number(pair_find(model->session.tags, model->session.tag_count, key));
}

/* The recorder writes the list as one text: "name=value;name=value". */
double sb_model_threshold(const struct sb_model *model, const char *name)
{
	const struct sb_pair *pair = pair_find(
		model->system.settings, model->system.setting_count, "thresholds");
	const char *p = pair && pair->type == STROBE_TYPE_STRING ? pair->s : NULL;
	size_t size = strlen(name);

	while (p) {
		if (strncmp(p, name, size) == 0 && p[size] == '=')
			return text_number(p + size + 1);
		p = strchr(p, ';');
		p = p ? p + 1 : NULL;
	}
	return NAN;
}
