/* What a JSON report says of the model: its parameters, named variants, operators of a profiled call. */
#include "exchange/profile_model.h"

#include "base/error.h"
#include "exchange/profile_json.h"

#include <math.h>
#include <stdio.h>

typedef const struct sb_jsondom *node;

/* strobe's list, or the session profiler's object with a key for each name. */
static int take_models(struct sb_textlog *log, node models)
{
	for (sb_jsondom_each(model, models)) {
		struct sb_textlog_header *to = sb_vec_push(&log->models, sizeof *to);
		const char *name = sb_profile_string(model, "name"), *type = sb_profile_string(model, "type");
		double parameters = sb_profile_number(model, "parameter_count"),
		       size_mb = sb_profile_number(model, "size_mb");

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		if (isnan(parameters))
			parameters = sb_profile_number(model, "parameters_count");
		*to = (struct sb_textlog_header){ .size_mb = size_mb > 0 && size_mb < 1e12 ? size_mb : 0 };
		to->parameters = parameters > 0 && parameters < 1e18 ? (int64_t)parameters : 0;
		snprintf(to->name, sizeof to->name, "%s", !*name && model->key ? model->key : name);
		snprintf(to->type, sizeof to->type, "%s",
			*type ? type : sb_profile_string(model, "model_type"));
	}
	return 0;
}

static int take_variants(struct sb_textlog *log, node variants)
{
	for (sb_jsondom_each(variant, variants)) {
		struct sb_textlog_variant *to = sb_vec_push(&log->variants, sizeof *to);

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		*to = (struct sb_textlog_variant){ .count = sb_jsondom_int(
							   sb_jsondom_get(variant, "count"), 1),
			.mean_ms = sb_profile_number(variant, "mean_s") * 1e3,
			.median_ms = sb_profile_number(variant, "median_s") * 1e3,
			.std_ms = sb_profile_number(variant, "std_s") * 1e3,
			.min_ms = sb_profile_number(variant, "min_s") * 1e3,
			.max_ms = sb_profile_number(variant, "max_s") * 1e3 };
		snprintf(to->name, sizeof to->name, "%s", sb_profile_string(variant, "name"));
	}
	return 0;
}

static int take_operators(struct sb_textlog *log, node operators)
{
	for (sb_jsondom_each(row, operators)) {
		struct sb_textlog_operator *to = sb_vec_push(&log->operators, sizeof *to);

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		*to = (struct sb_textlog_operator){ .calls = sb_jsondom_int(sb_jsondom_get(row, "count"), 1),
			.self_s = sb_profile_number(row, "self_s"),
			.total_s = sb_profile_number(row, "total_s"),
			.gpu_s = sb_profile_number(row, "gpu_s") };
		snprintf(to->name, sizeof to->name, "%s", sb_profile_string(row, "name"));
		log->operators_s += to->self_s > 0 ? to->self_s : 0;
	}
	return 0;
}

int sb_profile_take_model(struct sb_textlog *log, const struct sb_jsondom *analysis)
{
	int err = take_models(log, sb_jsondom_get(analysis, "models"));

	if (!err)
		err = take_variants(log, sb_jsondom_get(analysis, "variants"));
	return err ? err : take_operators(log, sb_jsondom_get(analysis, "operators"));
}
