/* What a JSON report says of the model: its parameters, named variants, operators of a profiled call. */
#include "exchange/profile_model.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>

typedef const struct sb_jsondom *node;

static double number(node n, const char *key)
{
	return sb_jsondom_number(sb_jsondom_get(n, key), NAN);
}

static const char *string(node n, const char *key)
{
	return sb_jsondom_string(sb_jsondom_get(n, key), "");
}

/* strobe's list, or the session profiler's object with a key for each name. */
static int take_models(struct sb_textlog *log, node models)
{
	for (sb_jsondom_each(model, models)) {
		struct sb_textlog_header *to = sb_vec_push(&log->models, sizeof *to);
		const char *name = string(model, "name"), *type = string(model, "type");
		double parameters = number(model, "parameter_count"), size_mb = number(model, "size_mb");

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		if (isnan(parameters))
			parameters = number(model, "parameters_count");
		*to = (struct sb_textlog_header){ .size_mb = size_mb > 0 && size_mb < 1e12 ? size_mb : 0 };
		to->parameters = parameters > 0 && parameters < 1e18 ? (int64_t)parameters : 0;
		snprintf(to->name, sizeof to->name, "%s", !*name && model->key ? model->key : name);
		snprintf(to->type, sizeof to->type, "%s", *type ? type : string(model, "model_type"));
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
			.mean_ms = number(variant, "mean_s") * 1e3,
			.median_ms = number(variant, "median_s") * 1e3,
			.std_ms = number(variant, "std_s") * 1e3,
			.min_ms = number(variant, "min_s") * 1e3,
			.max_ms = number(variant, "max_s") * 1e3 };
		snprintf(to->name, sizeof to->name, "%s", string(variant, "name"));
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
			.self_s = number(row, "self_s"),
			.total_s = number(row, "total_s"),
			.gpu_s = number(row, "gpu_s") };
		snprintf(to->name, sizeof to->name, "%s", string(row, "name"));
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
