/* What a JSON report says of the model: its parameters, named variants, operators of a profiled call. */
#include "exchange/profile_model.h"

#include "base/error.h"
#include "exchange/profile_json.h"
#include "strobe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* ---- layers: the stages that are, and what a group of names ("Block *") stands for ---- */

static bool is_in_group(const struct sb_textlog_node *n, const char *name)
{
	size_t size = strlen(n->line->name);

	return n->role == STROBE_ROLE_LAYER && size > 1 && n->line->name[size - 1] == '*' &&
	       !strncmp(n->line->name, name, size - 1);
}

static int64_t count_in_group(const struct sb_textlog_node *n, node items)
{
	int64_t count = 0;

	for (sb_jsondom_each(item, items))
		count += is_in_group(n, sb_profile_string(item, "name"))
				 ? sb_jsondom_int(sb_jsondom_get(item, "count"), 1)
				 : 0;
	return count;
}

static struct sb_textlog_sums sums_of(node item)
{
	return (struct sb_textlog_sums){ .name = sb_profile_string(item, "name"),
		.calls = sb_jsondom_int(sb_jsondom_get(item, "count"), 1),
		.total_s = sb_profile_number(item, "total_s"),
		.min_s = NAN,
		.max_s = NAN,
		.median_s = NAN };
}

static void become(struct sb_textlog *log, uint32_t group, const struct sb_textlog_sums *layer)
{
	struct sb_stagelog_line *line = log->nodes[group].line;
	int64_t ns = sb_profile_ns(layer->total_s);

	snprintf(line->name, sizeof line->name, "%s", layer->name);
	log->nodes[log->nodes[group].parent].children_ns += ns - line->duration_ns;
	line->calls = layer->calls;
	line->duration_ns = ns;
	line->min_s = line->max_s = line->median_s = line->std_s = NAN;
}

/* The group becomes the first of its layers, the others follow. */
static int split_group(struct sb_textlog *log, uint32_t group, node items)
{
	struct sb_stagelog_line as_group = *log->nodes[group].line;
	const struct sb_textlog_node whole = { .line = &as_group, .role = STROBE_ROLE_LAYER };
	bool first = true;

	for (sb_jsondom_each(item, items)) {
		struct sb_textlog_sums sums = sums_of(item);
		uint32_t added;
		int err;

		if (!is_in_group(&whole, sums.name))
			continue;
		if (first) {
			become(log, group, &sums);
			first = false;
			continue;
		}
		err = sb_textlog_add_sums(log, &sums, &added);
		if (err)
			return err;
		log->nodes[added].role = STROBE_ROLE_LAYER;
		sb_textlog_set_parent(log, log->nodes[group].parent, added);
	}
	return 0;
}

static int take_layers(struct sb_textlog *log, node layers)
{
	node items = sb_jsondom_get(layers, "items");
	uint32_t count = log->count;
	int err = 0;

	for (sb_jsondom_each(item, items))
		for (uint32_t i = 0; i < count; i++)
			if (log->nodes[i].role == STROBE_ROLE_LAYER && isnan(log->nodes[i].line->std_s) &&
				!strcmp(log->nodes[i].line->name, sb_profile_string(item, "name")))
				log->nodes[i].line->std_s = sb_profile_number(item, "std_s");
	for (uint32_t i = 0; i < count && !err; i++) {
		int64_t calls = count_in_group(&log->nodes[i], items);

		if (calls > 0 && calls == log->nodes[i].line->calls &&
			log->nodes[i].parent != SB_TEXTLOG_NONE)
			err = split_group(log, i, items);
	}
	return err;
}

int sb_profile_take_model(struct sb_textlog *log, const struct sb_jsondom *analysis)
{
	int err = take_models(log, sb_jsondom_get(analysis, "models"));

	snprintf(log->model.device, sizeof log->model.device, "%s", sb_profile_string(analysis, "device"));
	snprintf(log->model.gpu, sizeof log->model.gpu, "%s", sb_profile_string(analysis, "gpu_name"));
	if (!err)
		err = take_layers(log, sb_jsondom_get(analysis, "layers"));
	if (!err)
		err = take_variants(log, sb_jsondom_get(analysis, "variants"));
	return err ? err : take_operators(log, sb_jsondom_get(analysis, "operators"));
}
