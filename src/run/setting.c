/* Settings of a run as numbers. */
#include "run/setting.h"

#include <math.h>
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

static double meta_number(const struct sb_run_meta *meta)
{
	if (!meta)
		return NAN;
	switch (meta->attr.type) {
	case STROBE_TYPE_INT:
	case STROBE_TYPE_BOOL: return (double)meta->attr.i;
	case STROBE_TYPE_FLOAT: return meta->attr.f;
	case STROBE_TYPE_STRING: return text_number(meta->attr.s);
	}
	return NAN;
}

double sb_run_setting_number(const struct sb_run *run, const char *key)
{
	return meta_number(sb_run_meta_find(run, SB_META_SETTING, key));
}

/* The recorder writes the list as one text: "name=value;name=value". */
double sb_run_threshold(const struct sb_run *run, const char *name)
{
	const struct sb_run_meta *meta = sb_run_meta_find(run, SB_META_SETTING, "thresholds");
	const char *p = meta && meta->attr.type == STROBE_TYPE_STRING ? meta->attr.s : NULL;
	size_t size = strlen(name);

	while (p) {
		if (strncmp(p, name, size) == 0 && p[size] == '=')
			return text_number(p + size + 1);
		p = strchr(p, ';');
		p = p ? p + 1 : NULL;
	}
	return NAN;
}
