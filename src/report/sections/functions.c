/* Sampled functions, in text and JSON. */
#include "report/sections/section.h"

static void json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_functions_section *f = &model->functions;

	if (!f->count)
		return;
	sb_json_object_begin(j, "function_samples");
	sb_json_uint(j, "sample_count", f->sample_count);
	sb_json_array_begin(j, "functions");
	for (size_t i = 0; i < f->count; i++) {
		const struct sb_function *at = &f->all[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", at->name);
		sb_json_opt_string(j, "file", at->file);
		sb_json_uint(j, "line", at->line);
		sb_json_opt_string(j, "stage", at->stage);
		sb_json_uint(j, "self_count", at->self_count);
		sb_json_uint(j, "total_count", at->total_count);
		sb_json_double(j, "self_ratio", at->self_ratio);
		sb_json_double(j, "total_ratio", at->total_ratio);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_functions_section *f = &model->functions;

	if (!f->count)
		return;
	sb_text_heading(out, options, "Functions");
	sb_buf_printf(out, "  %7s %7s  %-34s %s\n", "self", "with", "function (hottest line)", "stage");
	for (size_t i = 0; i < f->count; i++) {
		const struct sb_function *at = &f->all[i];
		struct sb_buf name = { 0 };
		size_t used;

		sb_buf_printf(&name, "%s:%u", at->name, at->line);
		sb_buf_printf(out, "  %5.1f %% %5.1f %%  ", 100 * at->self_ratio, 100 * at->total_ratio);
		used = sb_text_name(out, sb_buf_text(&name), 34);
		sb_buf_printf(out, "%*s", (int)(35 - used), "");
		if (at->stage)
			sb_text_name(out, at->stage, 24);
		sb_buf_putc(out, '\n');
		sb_buf_done(&name);
	}
	sb_buf_printf(out, "  shares of %llu sampled stacks; with: and what it calls\n",
		(unsigned long long)f->sample_count);
}

const struct sb_section sb_section_functions = { .name = "functions", .json = json, .text = text };
