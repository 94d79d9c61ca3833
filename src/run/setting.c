/* Settings of a run as numbers. */
#include "run/setting.h"

#include "base/setting_value.h"

#include <math.h>

double sb_run_setting_number(const struct sb_run *run, const char *key)
{
	const struct sb_run_meta *meta = sb_run_meta_find(run, SB_META_SETTING, key);

	return meta ? sb_setting_value(meta->attr.type, meta->attr.i, meta->attr.f, meta->attr.s) : NAN;
}

double sb_run_threshold(const struct sb_run *run, const char *name)
{
	const struct sb_run_meta *meta = sb_run_meta_find(run, SB_META_SETTING, "thresholds");

	return sb_setting_listed(meta && meta->attr.type == STROBE_TYPE_STRING ? meta->attr.s : NULL, name);
}
