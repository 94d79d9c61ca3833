/* The table of configuration keys, and values from and to text. settings_file.c reads files,
 * settings_load.c knows the precedence. */
#include "record/settings.h"

#include "base/error.h"
#include "base/numerals.h"
#include "record/trace_spec.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(member) offsetof(struct sb_settings, member), sizeof(((struct sb_settings *)0)->member)
#define TOGGLE(key, fallback, development, production, help)                                     \
	{                                                                                        \
#key, SB_SETTING_BOOL, FIELD(key), fallback, 0, 1, development, production, help \
	}

const struct sb_setting sb_setting_table[] = {
	TOGGLE(enabled, "false", NULL, NULL, "record; 'strobe run' switches it on"),
	{ "name", SB_SETTING_TEXT, FIELD(name), "", 0, 0, NULL, NULL,
		"the run's name; default: the program's" },
	{ "output_dir", SB_SETTING_TEXT, FIELD(output_dir), "./strobe-runs", 0, 0, NULL, NULL,
		"folder that gets one folder per run" },
	TOGGLE(real_time_display, "false", "true", "false", "print GPU and CPU lines while the program runs"),
	{ "display_interval", SB_SETTING_SECONDS, FIELD(display_interval_s), "5", 0.1, 86400, "1", NULL,
		"time between the lines of the display" },
	{ "gpu_monitor_interval", SB_SETTING_SECONDS, FIELD(gpu_monitor_interval_s), "0.5", 0.01, 3600, "0.1",
		"1", "time between GPU samples" },
	{ "gpu_counters_interval", SB_SETTING_SECONDS, FIELD(gpu_counters_interval_s), "1", 0, 3600, "0.2",
		"5",
		"time between readings of SM, tensor core and DRAM activity, "
		"where the GPU counts them; 0: off" },
	TOGGLE(gpu_counters_all, "false", "true", NULL,
		"read all the driver's counters of activity, not only the six that matter"),
	{ "cpu_monitor_interval", SB_SETTING_SECONDS, FIELD(cpu_monitor_interval_s), "1", 0.01, 3600, "0.5",
		"2", "time between CPU, memory and disk samples" },
	TOGGLE(monitor, "true", NULL, NULL, "sample from this process"),
	TOGGLE(monitor_gpu_memory, "true", NULL, NULL, "GPU memory, also by process"),
	TOGGLE(monitor_gpu_utilization, "true", NULL, NULL, "GPU utilisation, clocks, encoder, PCIe, NVLink"),
	TOGGLE(monitor_gpu_temperature, "true", NULL, "false", "GPU temperature"),
	TOGGLE(monitor_gpu_power, "true", NULL, "false", "GPU power and energy"),
	TOGGLE(monitor_cpu_usage, "true", NULL, "false", "CPU total, per core, frequency, load, pressure"),
	TOGGLE(monitor_system_memory, "true", NULL, NULL, "RAM, swap, page cache, the process tree's memory"),
	TOGGLE(monitor_disk_io, "true", NULL, NULL,
		"disk reads and writes of the process tree and the machine"),
	TOGGLE(generate_final_report, "true", NULL, NULL, "write the reports when the run ends"),
	{ "report_format", SB_SETTING_FORMAT, FIELD(report_format), "both", 0, 0, NULL, "json",
		"html, json or both" },
	TOGGLE(save_raw_data, "false", "true", NULL, "write the monitors' series as raw_profiling_data.json"),
	{ "keep_output_bytes", SB_SETTING_BYTES, FIELD(keep_output_bytes), "64 MiB", 0, 1e15, NULL, NULL,
		"how much of the outputs is copied into the run's folder, in total; 0: nothing" },
	TOGGLE(profile_inference_steps, "true", NULL, NULL, "record inference steps"),
	TOGGLE(profile_vae_decode, "true", NULL, NULL, "record VAE decoding"),
	TOGGLE(profile_text_encoding, "true", NULL, "false", "record text encoding"),
	TOGGLE(profile_diffusion_steps, "true", NULL, NULL, "record diffusion steps"),
	TOGGLE(profile_block_computation, "true", NULL, NULL, "record blocks"),
	TOGGLE(profile_model_parameters, "true", NULL, NULL, "record parameter counts and sizes of models"),
	{ "max_data_points", SB_SETTING_COUNT, FIELD(max_data_points), "10000", 16, 10000000, NULL, "5000",
		"samples kept per source; beyond it they are merged" },
	{ "max_trace_bytes", SB_SETTING_BYTES, FIELD(max_trace_bytes), "256 MiB", 1 << 20, 1e15, NULL, NULL,
		"size of one process's recording; beyond it the oldest detail becomes totals" },
	{ "max_run_bytes", SB_SETTING_BYTES, FIELD(max_run_bytes), "2 GiB", 1 << 20, 1e15, NULL, NULL,
		"size of all recordings of a run together; beyond it detail becomes totals in all of them" },
	{ "target_fps", SB_SETTING_NUMBER, FIELD(target_fps), "none", 0, 1e6, NULL, NULL,
		"frames per second the pipeline should reach" },
	{ "gpu_cost_per_hour", SB_SETTING_NUMBER, FIELD(gpu_cost_per_hour), "none", 0, 1e6, NULL, NULL,
		"price of one GPU hour, for cost per video" },
	{ "gpu_trace", SB_SETTING_TEXT, FIELD(gpu_trace), "", 0, 0, NULL, NULL,
		"kernel trace: all, steps:3, steps:3@10 (after ten steps), seconds:5, "
		"slow:1.5 or slow:1.5,3 (the worst three); empty: off" },
	{ "gpu_counters", SB_SETTING_TEXT, FIELD(gpu_counters), "", 0, 0, NULL, NULL,
		"counters sampled every 0.5 ms: all, steps:3, steps:3@10, seconds:5, "
		"signal or slow; empty: off" },
	{ "stage_log", SB_SETTING_TEXT, FIELD(stage_log), "", 0, 0, NULL, NULL,
		"print each stage's line as it ends: true (standard error) or a file; empty: off" },
	{ "sample_hz", SB_SETTING_NUMBER, FIELD(sample_hz), "20", 0, 1000, NULL, "0",
		"Python stacks sampled per second, and garbage collections; 0: none" },
	{ "session_tags", SB_SETTING_TAGS, FIELD(tags), "", 0, 0, NULL, NULL,
		"key: value pairs that describe the run; numbers stay numbers" },
	{ "stages", SB_SETTING_STAGES, FIELD(stages), "", 0, 0, NULL, NULL,
		"functions to record as stages: pkg.mod:Class.method = code and name" },
	{ "thresholds", SB_SETTING_THRESHOLDS, FIELD(thresholds), "", 0, 0, NULL, NULL,
		"limits of the advice rules, by name" },
	{ 0 },
};
const size_t sb_setting_count = sizeof sb_setting_table / sizeof sb_setting_table[0] - 1;
_Static_assert(sizeof sb_setting_table / sizeof sb_setting_table[0] <= SB_SETTINGS_MAX, "grow the origins");

const struct sb_setting *sb_setting_find(const char *key)
{
	for (const struct sb_setting *t = sb_setting_table; t->key; t++)
		if (!strcmp(t->key, key))
			return t;
	return NULL;
}

void sb_setting_env_name(const struct sb_setting *setting, char *out, size_t size)
{
	snprintf(out, size, "STROBE_%s", setting->key);
	for (char *p = out; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

static void *field(struct sb_settings *s, const struct sb_setting *setting)
{
	return (char *)s + setting->offset;
}

static const void *const_field(const struct sb_settings *s, const struct sb_setting *setting)
{
	return (const char *)s + setting->offset;
}

/* ---- parsing ---------------------------------------------------------------- */

static bool word_is(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(text, *words))
			return true;
	return false;
}

bool sb_setting_is_true(const char *text)
{
	return word_is(text, (const char *const[]){ "true", "yes", "on", "1", NULL });
}

bool sb_setting_is_false(const char *text)
{
	return word_is(text, (const char *const[]){ "false", "no", "off", "0", NULL });
}

/* A finite number and what follows it, blanks skipped. */
static bool read_number(const char *text, double *out_value, const char **out_rest)
{
	char *end;
	double value;

	errno = 0;
	value = sb_numerals_read(text, &end);
	if (errno || end == text || !isfinite(value))
		return false;
	while (*end == ' ')
		end++;
	*out_value = value;
	*out_rest = end;
	return true;
}

static bool scale_of(const char *unit, enum sb_setting_type type, double *out_scale)
{
	static const struct {
		enum sb_setting_type type;
		const char *unit;
		double scale;
	} units[] = {
		{ SB_SETTING_SECONDS, "s", 1 },
		{ SB_SETTING_SECONDS, "ms", 1e-3 },
		{ SB_SETTING_SECONDS, "m", 60 },
		{ SB_SETTING_SECONDS, "min", 60 },
		{ SB_SETTING_BYTES, "B", 1 },
		{ SB_SETTING_BYTES, "KiB", 1024 },
		{ SB_SETTING_BYTES, "MiB", 1048576 },
		{ SB_SETTING_BYTES, "GiB", 1073741824 },
		{ SB_SETTING_BYTES, "K", 1024 },
		{ SB_SETTING_BYTES, "M", 1048576 },
		{ SB_SETTING_BYTES, "G", 1073741824 },
		{ SB_SETTING_BYTES, "KB", 1e3 },
		{ SB_SETTING_BYTES, "MB", 1e6 },
		{ SB_SETTING_BYTES, "GB", 1e9 },
	};

	*out_scale = 1;
	if (!*unit)
		return true;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (units[i].type == type && !strcasecmp(units[i].unit, unit)) {
			*out_scale = units[i].scale;
			return true;
		}
	return false;
}

static const char *wanted(const struct sb_setting *t, char *out, size_t size)
{
	switch (t->type) {
	case SB_SETTING_BOOL: return "true or false";
	case SB_SETTING_FORMAT: return "html, json or both";
	case SB_SETTING_SECONDS:
		snprintf(out, size, "seconds from %.7g to %.7g", t->lowest, t->highest);
		break;
	case SB_SETTING_COUNT:
		snprintf(out, size, "a whole number from %.0f to %.0f", t->lowest, t->highest);
		break;
	case SB_SETTING_BYTES: snprintf(out, size, "a size from 1 MiB, such as 256 MiB"); break;
	case SB_SETTING_NUMBER:
		snprintf(out, size, "a number from %.7g to %.7g, or none", t->lowest, t->highest);
		break;
	case SB_SETTING_TEXT: snprintf(out, size, "at most %zu characters", t->size - 1); break;
	case SB_SETTING_TAGS: return "key: value pairs";
	case SB_SETTING_STAGES: return "a list of 'pkg.mod:Class.method = code name'";
	case SB_SETTING_THRESHOLDS: return "rule: number pairs";
	}
	return out;
}

static bool is_gpu_spec(const struct sb_setting *t)
{
	return !strcmp(t->key, "gpu_trace") || !strcmp(t->key, "gpu_counters");
}

/* What the setting takes in place of this text; NULL: it takes the text. */
static const char *wanted_instead(const struct sb_setting *t, const char *text, char *out, size_t size)
{
	if (strlen(text) >= t->size)
		return wanted(t, out, size);
	if (!strcmp(t->key, "gpu_trace"))
		return sb_trace_setting_wants(text);
	return strcmp(t->key, "gpu_counters") ? NULL : sb_counters_setting_wants(text);
}

static int refuse_for(const struct sb_setting *t, const char *text, const char *takes)
{
	return sb_fail(STROBE_EINVAL, "'%s' takes %s, not '%.60s'", t->key, takes, text);
}

static int refuse(const struct sb_setting *t, const char *text)
{
	char buffer[96];

	return refuse_for(t, text, wanted(t, buffer, sizeof buffer));
}

static int set_number(struct sb_settings *s, const struct sb_setting *t, const char *text)
{
	double value, scale;
	const char *rest;

	if (t->type == SB_SETTING_NUMBER &&
		word_is(text, (const char *const[]){ "none", "null", "~", "", NULL })) {
		*(double *)field(s, t) = 0;
		return 0;
	}
	if (!read_number(text, &value, &rest) || !scale_of(rest, t->type, &scale))
		return refuse(t, text);
	value *= scale;
	if (!(value >= t->lowest && value <= t->highest))
		return refuse(t, text);
	if (t->type == SB_SETTING_COUNT && value != floor(value))
		return refuse(t, text);
	if (t->type == SB_SETTING_COUNT)
		*(uint32_t *)field(s, t) = (uint32_t)value;
	else if (t->type == SB_SETTING_BYTES)
		*(uint64_t *)field(s, t) = (uint64_t)value;
	else
		*(double *)field(s, t) = value;
	return 0;
}

static int set_format(struct sb_settings *s, const struct sb_setting *t, const char *text)
{
	if (!strcmp(text, "html"))
		s->report_format = SB_REPORT_HTML;
	else if (!strcmp(text, "json"))
		s->report_format = SB_REPORT_JSON;
	else if (!strcmp(text, "both"))
		s->report_format = SB_REPORT_BOTH;
	else
		return refuse(t, text);
	return 0;
}

/* Calls add for each part of "a;b;c". */
static int each_part(struct sb_settings *s, const char *text, int (*add)(struct sb_settings *, const char *))
{
	while (*text) {
		size_t size = strcspn(text, ";\n");
		char *part = strndup(text, size), *start;
		int err = 0;

		if (!part)
			return sb_fail(STROBE_ENOMEM, "no memory for '%.40s…'", text);
		start = part + strspn(part, " \t");
		if (*start)
			err = add(s, start);
		free(part);
		if (err)
			return err;
		text += size + (text[size] != 0);
	}
	return 0;
}

static int add_threshold_text(struct sb_settings *s, const char *text)
{
	const char *equals = strchr(text, '='), *rest;
	char name[48];
	double value;

	if (!equals || (size_t)(equals - text) >= sizeof name || !read_number(equals + 1, &value, &rest) ||
		*rest)
		return sb_fail(STROBE_EINVAL, "a threshold is name=number, not '%.60s'", text);
	memcpy(name, text, (size_t)(equals - text));
	name[equals - text] = 0;
	return sb_settings_add_threshold(s, name, value);
}

int sb_settings_set(struct sb_settings *s, const struct sb_setting *t, const char *text)
{
	const char *takes;
	char buffer[96];

	switch (t->type) {
	case SB_SETTING_BOOL:
		if (!sb_setting_is_true(text) && !sb_setting_is_false(text))
			return refuse(t, text);
		*(bool *)field(s, t) = sb_setting_is_true(text);
		return 0;
	case SB_SETTING_FORMAT: return set_format(s, t, text);
	case SB_SETTING_TEXT:
		if (is_gpu_spec(t) && !strcmp(text, "off"))
			text = "";
		if (!*text && !strcmp(t->key, "output_dir"))
			return sb_fail(STROBE_EINVAL, "'output_dir' takes a folder, such as ./strobe-runs");
		takes = wanted_instead(t, text, buffer, sizeof buffer);
		if (takes)
			return refuse_for(t, text, takes);
		strcpy(field(s, t), text);
		return 0;
	case SB_SETTING_TAGS: s->tag_count = 0; return each_part(s, text, sb_settings_add_tag);
	case SB_SETTING_STAGES: s->stage_count = 0; return each_part(s, text, sb_settings_add_stage);
	case SB_SETTING_THRESHOLDS: s->threshold_count = 0; return each_part(s, text, add_threshold_text);
	default: return set_number(s, t, text);
	}
}

int sb_settings_agree(const struct sb_settings *s)
{
	if (strcmp(s->gpu_counters, SB_COUNTERS_OF_SLOW) != 0 || !strncmp(s->gpu_trace, "slow:", 5))
		return 0;
	return sb_fail(STROBE_EINVAL,
		"'gpu_counters' of slow needs a 'gpu_trace' of slow:1.5 (--gpu-trace=slow:1.5), "
		"which finds the slow moments; it is '%s'",
		*s->gpu_trace ? s->gpu_trace : "off");
}

/* ---- printing --------------------------------------------------------------- */

static void bytes_text(uint64_t bytes, struct sb_buf *out)
{
	if (bytes && bytes % (1 << 30) == 0)
		sb_buf_printf(out, "%" PRIu64 " GiB", bytes >> 30);
	else if (bytes && bytes % (1 << 20) == 0)
		sb_buf_printf(out, "%" PRIu64 " MiB", bytes >> 20);
	else
		sb_buf_printf(out, "%" PRIu64, bytes);
}

static void number_text(double value, struct sb_buf *out)
{
	char text[32];

	sb_numerals_write(value, text, sizeof text);
	sb_buf_puts(out, text);
}

void sb_settings_text(const struct sb_settings *s, const struct sb_setting *t, struct sb_buf *out)
{
	static const char *const formats[] = { "", "html", "json", "both" };
	const void *p = const_field(s, t);

	switch (t->type) {
	case SB_SETTING_BOOL: sb_buf_puts(out, *(const bool *)p ? "true" : "false"); break;
	case SB_SETTING_SECONDS: number_text(*(const double *)p, out); break;
	case SB_SETTING_COUNT: sb_buf_printf(out, "%" PRIu32, *(const uint32_t *)p); break;
	case SB_SETTING_BYTES: bytes_text(*(const uint64_t *)p, out); break;
	case SB_SETTING_FORMAT: sb_buf_puts(out, formats[s->report_format & 3]); break;
	case SB_SETTING_TEXT: sb_buf_puts(out, p); break;
	case SB_SETTING_NUMBER:
		if (*(const double *)p > 0)
			number_text(*(const double *)p, out);
		else
			sb_buf_puts(out, "none");
		break;
	case SB_SETTING_TAGS:
		for (uint32_t i = 0; i < s->tag_count; i++) {
			sb_buf_puts(out, i ? ";" : "");
			sb_setting_tag_text(&s->tags[i], out);
		}
		break;
	case SB_SETTING_STAGES:
		for (uint32_t i = 0; i < s->stage_count; i++) {
			sb_buf_puts(out, i ? ";" : "");
			sb_setting_stage_text(&s->stages[i], out);
		}
		break;
	case SB_SETTING_THRESHOLDS:
		for (uint32_t i = 0; i < s->threshold_count; i++) {
			sb_buf_printf(out, "%s%s=", i ? ";" : "", s->thresholds[i].name);
			number_text(s->thresholds[i].value, out);
		}
		break;
	}
}

/* ---- defaults and presets ---------------------------------------------------- */

void sb_settings_default(struct sb_settings *s)
{
	memset(s, 0, sizeof *s);
	for (const struct sb_setting *t = sb_setting_table; t->key; t++)
		sb_settings_set(s, t, t->fallback);
}

int sb_settings_check_preset(const char *preset)
{
	static const char *const presets[] = { "development", "production" };
	const char *nearest = sb_setting_nearest_of(preset, presets, 2);

	if (!strcmp(preset, presets[0]) || !strcmp(preset, presets[1]))
		return 0;
	if (nearest)
		return sb_fail(
			STROBE_EINVAL, "there is no preset '%.40s'; did you mean '%s'?", preset, nearest);
	return sb_fail(
		STROBE_EINVAL, "there is no preset '%.40s'; there are development and production", preset);
}

int sb_settings_apply_preset(struct sb_settings *s, const char *preset, struct sb_settings_origin *origin)
{
	bool development = !strcmp(preset, "development");

	if (sb_settings_check_preset(preset))
		return STROBE_EINVAL;
	for (size_t i = 0; i < sb_setting_count; i++) {
		const struct sb_setting *t = &sb_setting_table[i];
		const char *value = development ? t->development : t->production;

		if (!value)
			continue;
		sb_settings_set(s, t, value);
		if (origin)
			origin->source[i] = SB_FROM_PRESET;
	}
	if (origin)
		snprintf(origin->preset, sizeof origin->preset, "%s", preset);
	return 0;
}
