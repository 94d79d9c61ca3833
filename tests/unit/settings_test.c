/* Settings: defaults, presets, precedence, errors with place and nearest key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "record/settings.h"
#include "record/settings_file.h"
#include "record/trace_spec.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sb_settings settings;
static struct sb_settings_origin origin;
static char path[64];

static const char *yaml(const char *text)
{
	FILE *file;

	snprintf(path, sizeof path, "/tmp/strobe-settings-%d.yaml", (int)getpid());
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static int load(const char *text)
{
	int err = sb_settings_load_from(&settings, yaml(text), NULL, &origin);

	unlink(path);
	return err;
}

static void assert_fails(const char *text, const char *expected)
{
	assert_true(load(text) < 0);
	if (!strstr(sb_error_message(), expected))
		print_error("message: %s\nexpected: %s\n", sb_error_message(), expected);
	assert_non_null(strstr(sb_error_message(), expected));
}

static void defaults_are_the_documented_ones(void **state)
{
	sb_settings_default(&settings);
	assert_false(settings.enabled);
	assert_false(settings.real_time_display);
	assert_true(settings.display_interval_s == 5.0);
	assert_true(settings.gpu_monitor_interval_s == 0.5);
	assert_true(settings.cpu_monitor_interval_s == 1.0);
	assert_int_equal(settings.max_data_points, 10000);
	assert_int_equal(settings.max_trace_bytes, 256 << 20);
	assert_int_equal(settings.report_format, SB_REPORT_BOTH);
	assert_string_equal(settings.output_dir, "./strobe-runs");
	assert_true(settings.monitor_gpu_power && settings.profile_text_encoding);
	assert_true(settings.target_fps == 0);
}

static void presets_change_what_they_should_and_nothing_else(void **state)
{
	sb_settings_default(&settings);
	assert_int_equal(sb_settings_apply_preset(&settings, "development", &origin), 0);
	assert_true(settings.real_time_display && settings.save_raw_data);
	assert_true(settings.gpu_monitor_interval_s == 0.1 && settings.cpu_monitor_interval_s == 0.5);
	assert_true(settings.display_interval_s == 1.0);
	sb_settings_default(&settings);
	assert_int_equal(sb_settings_apply_preset(&settings, "production", &origin), 0);
	assert_false(settings.real_time_display);
	assert_true(settings.gpu_monitor_interval_s == 1.0 && settings.cpu_monitor_interval_s == 2.0);
	assert_int_equal(settings.report_format, SB_REPORT_JSON);
	assert_int_equal(settings.max_data_points, 5000);
	assert_false(
		settings.monitor_gpu_temperature || settings.monitor_gpu_power || settings.monitor_cpu_usage);
	assert_false(settings.profile_text_encoding);
	assert_true(settings.monitor_gpu_memory && settings.profile_vae_decode);
	assert_true(sb_settings_apply_preset(&settings, "prod", &origin) < 0);
}

static void environment_beats_file_beats_preset(void **state)
{
	setenv("STROBE_GPU_MONITOR_INTERVAL", "0.25", 1);
	assert_int_equal(load("profiling:\n  preset: production\n  gpu_monitor_interval: 0.75\n"
			      "  cpu_monitor_interval: 3\n"),
		0);
	unsetenv("STROBE_GPU_MONITOR_INTERVAL");
	assert_true(settings.gpu_monitor_interval_s == 0.25);
	assert_true(settings.cpu_monitor_interval_s == 3);
	assert_int_equal(settings.max_data_points, 5000);
	assert_int_equal(origin.source[sb_setting_find("gpu_monitor_interval") - sb_setting_table],
		SB_FROM_ENVIRONMENT);
	assert_int_equal(
		origin.source[sb_setting_find("cpu_monitor_interval") - sb_setting_table], SB_FROM_FILE);
	assert_int_equal(origin.line[sb_setting_find("cpu_monitor_interval") - sb_setting_table], 4);
	assert_int_equal(
		origin.source[sb_setting_find("max_data_points") - sb_setting_table], SB_FROM_PRESET);
	assert_string_equal(origin.preset, "production");
}

static void unknown_key_names_place_and_nearest(void **state)
{
	assert_fails("profiling:\n  enabled: true\n  display_intervall: 2\n",
		".yaml:3:3: unknown key 'display_intervall'; did you mean 'display_interval'?\n"
		"      display_intervall: 2\n      ^");
	assert_fails("profiling:\n  qqq: 2\n", "unknown key 'qqq'; 'strobe run --print-config' lists them");
	assert_fails("profiling:\n  monitor: false\n",
		"unknown key 'monitor'; 'strobe run --print-config' lists them");
	assert_fails("enabled: true\n", ":1:1: this key belongs under the root key 'profiling:'");
	assert_fails("# nothing\n", "the root key 'profiling:' is missing");
	assert_fails("other: 1\n", "the root key 'profiling:' is missing");
}

static void wrong_types_and_ranges_are_refused_in_place(void **state)
{
	assert_fails("profiling:\n  enabled: 3\n", ":2:12: 'enabled' takes true or false, not '3'");
	assert_fails("profiling:\n  enabled: \"true\"\n", "'enabled' takes true or false, not text");
	assert_fails("profiling:\n  enabled: 1\n", "'enabled' takes true or false");
	assert_fails("profiling:\n  display_interval: 0.05\n",
		"'display_interval' takes seconds from 0.1 to 86400, not '0.05'");
	assert_fails("profiling:\n  display_interval: [1]\n", "'display_interval' takes a single value");
	assert_fails("profiling:\n  max_data_points: 2.5\n", "'max_data_points' takes a whole number");
	assert_fails("profiling:\n  max_data_points: nan\n", "'max_data_points' takes a whole number");
	assert_fails(
		"profiling:\n  report_format: pdf\n", "'report_format' takes html, json or both, not 'pdf'");
	assert_fails("profiling:\n  max_trace_bytes: 1\n", "'max_trace_bytes' takes a size from 1 MiB");
	assert_fails("profiling:\n  preset: fast\n",
		":2:11: there is no preset 'fast'; there are development and production");
	assert_fails("profiling:\n  session_tags: {a: [1]}\n", "a tag is text, a number");
	assert_fails("profiling:\n  stages: [nonsense]\n", "a stage is 'pkg.mod:Class.method'");
}

static void broken_yaml_shows_the_parsers_place(void **state)
{
	assert_fails("profiling:\n  enabled: true\n  enabled: false\n",
		":3:3: duplicate key\n      enabled: false\n      ^");
	assert_fails("profiling: [1,\nb: }\n", ":2:1: ");
}

static void a_second_document_is_an_error(void **state)
{
	static const char second[] = "a second document begins here; the settings are one document";

	assert_fails("profiling:\n  name: a\n---\nprofiling:\n  name: b\n", ":3:1: a second document");
	assert_fails("---\nprofiling:\n  name: a\n--- # other\n", second);
	assert_fails(
		"profiling:\n  name: a\n...\n# more\nprofiling:\n  name: b\n", ":5:1: a second document");
	assert_int_equal(load("# one\n%YAML 1.2\n---\nprofiling:\n  name: a---b\n\n...\n# done\n"), 0);
	assert_string_equal(settings.name, "a---b");
}

static void tags_keep_their_types(void **state)
{
	assert_int_equal(
		load("profiling:\n  session_tags:\n    model: wan-1.3b\n    steps: 50\n    scale: 7.5\n"
		     "    cfg: true\n    seed: \"42\"\n"),
		0);
	assert_int_equal(settings.tag_count, 5);
	assert_int_equal(settings.tags[0].type, STROBE_TYPE_STRING);
	assert_string_equal(settings.tags[0].s, "wan-1.3b");
	assert_int_equal(settings.tags[1].type, STROBE_TYPE_INT);
	assert_int_equal(settings.tags[1].i, 50);
	assert_true(settings.tags[2].type == STROBE_TYPE_FLOAT && settings.tags[2].f == 7.5);
	assert_true(settings.tags[3].type == STROBE_TYPE_BOOL && settings.tags[3].i == 1);
	assert_int_equal(settings.tags[4].type, STROBE_TYPE_STRING);
	assert_string_equal(settings.tags[4].s, "42");
}

static void stages_come_as_lists_pairs_and_mappings(void **state)
{
	assert_int_equal(load("profiling:\n  stages:\n    - wan.vae:VAE.decode = 4c VAE decode\n"
			      "    - wan.text:encode: {code: \"4b\", name: Text encode}\n"
			      "    - {target: \"wan.io:save\", name: export}\n    - wan.io:load\n"),
		0);
	assert_int_equal(settings.stage_count, 4);
	assert_string_equal(settings.stages[0].target, "wan.vae:VAE.decode");
	assert_string_equal(settings.stages[0].code, "4c");
	assert_string_equal(settings.stages[0].name, "VAE decode");
	assert_string_equal(settings.stages[1].code, "4b");
	assert_string_equal(settings.stages[1].name, "Text encode");
	assert_string_equal(settings.stages[2].code, "");
	assert_string_equal(settings.stages[2].name, "export");
	assert_string_equal(settings.stages[3].name, "");
	assert_int_equal(load("profiling:\n  stages:\n    wan.vae:VAE.decode: 4c.1 decode\n"), 0);
	assert_string_equal(settings.stages[0].code, "4c.1");
}

/* What `strobe run` passes on must be what the child reads. */
static void every_value_survives_the_environment(void **state)
{
	static struct sb_settings first;
	struct strobe_attr odd = { "prompt", STROBE_TYPE_STRING, { .s = "50% off; a \"fox\"" } };

	assert_int_equal(
		load("profiling:\n  preset: development\n  target_fps: 23.976\n  max_trace_bytes: 64 MiB\n"
		     "  session_tags: {a: 1, b: 0.1, c: \"1\", whole: 7.0}\n  stages: [\"m:f = [4e.1] x "
		     "y\"]\n"
		     "  thresholds: {step_ms: 150}\n"),
		0);
	assert_int_equal(sb_settings_put_tag(&settings, &odd), 0);
	sb_settings_default(&first);
	for (const struct sb_setting *t = sb_setting_table; t->key; t++) {
		struct sb_buf text = { 0 }, again = { 0 };

		sb_settings_text(&settings, t, &text);
		assert_int_equal(sb_settings_set(&first, t, sb_buf_text(&text)), 0);
		sb_settings_text(&first, t, &again);
		assert_string_equal(sb_buf_text(&text), sb_buf_text(&again));
		sb_buf_done(&text);
		sb_buf_done(&again);
	}
	assert_int_equal(first.tags[3].type, STROBE_TYPE_FLOAT); /* 7.0, not 7 */
	assert_string_equal(first.tags[4].s, "50% off; a \"fox\"");
	assert_true(first.tags[1].f == 0.1 && first.tags[2].type == STROBE_TYPE_STRING);
	assert_string_equal(first.stages[0].code, "4e.1");
	assert_true(first.thresholds[0].value == 150);
}

/* Sets the key from text, takes its own text back, and gives that text. */
static const char *round_trip(const char *key, const char *value)
{
	static struct sb_buf text, again;
	const struct sb_setting *t = sb_setting_find(key);

	sb_buf_clear(&text);
	sb_buf_clear(&again);
	assert_int_equal(sb_settings_set(&settings, t, value), 0);
	sb_settings_text(&settings, t, &text);
	assert_int_equal(sb_settings_set(&settings, t, sb_buf_text(&text)), 0);
	sb_settings_text(&settings, t, &again);
	assert_string_equal(sb_buf_text(&text), sb_buf_text(&again));
	return sb_buf_text(&text);
}

static void a_stage_name_like_a_code_stays_a_name(void **state)
{
	assert_string_equal(round_trip("stages", "m:f=[] 4c"), "m:f=[] 4c");
	assert_string_equal(settings.stages[0].name, "4c");
	assert_string_equal(round_trip("stages", "m:f=[] [x] y"), "m:f=[] [x] y");
	assert_string_equal(settings.stages[0].name, "[x] y");
	assert_string_equal(round_trip("stages", "m:f=4both\t"), "m:f=[4both]");
	assert_string_equal(round_trip("stages", "m:f = 4c\tVAE "), "m:f=[4c] VAE");
}

static void separators_inside_a_part_survive(void **state)
{
	char percent[1024] = "k=\"";

	assert_int_equal(
		load("profiling:\n  stages: [\"m:f = 4c a; b\"]\n  session_tags: {\"a;=\": \"x\"}\n"), 0);
	assert_string_equal(settings.stages[0].name, "a; b");
	assert_string_equal(round_trip("stages", "m:f=4c a%3B b=c 50%20"), "m:f=[4c] a%3B b=c 50%2520");
	assert_string_equal(settings.stages[0].name, "a; b=c 50%20");
	assert_string_equal(round_trip("session_tags", "a%3B%3D=\"x\""), "a%3B%3D=\"x\"");
	assert_string_equal(settings.tags[0].key, "a;=");
	memset(percent + 3, '%', 200);
	assert_int_equal(strlen(round_trip("session_tags", strcat(percent, "\""))), 3 + 200 * 3 + 1);
}

/* A prompt is a tag too. */
static void a_long_tag_is_kept_whole_or_refused(void **state)
{
	char text[SB_STRING_MAX + 16] = "prompt=", file[SB_STRING_MAX + 64];
	const char *value = text + strlen(text);
	struct strobe_attr own = { "prompt", STROBE_TYPE_STRING, { .s = value } };

	sb_settings_default(&settings);
	memset(text + strlen(text), ';', SB_STRING_MAX);
	assert_int_equal(sb_settings_add_tag(&settings, text), 0);
	assert_string_equal(settings.tags[0].s, value);
	round_trip("session_tags", "a=b"); /* empties the list */
	assert_int_equal(sb_settings_put_tag(&settings, &own), 0);
	assert_string_equal(settings.tags[1].s, value);
	for (char *p = text; *p; p++)
		*p = *p == ';' ? 'x' : *p;
	round_trip("session_tags", text);
	assert_string_equal(settings.tags[0].s, value);
	snprintf(file, sizeof file, "profiling:\n  session_tags: {prompt: %s}\n", value);
	assert_int_equal(load(file), 0);
	assert_string_equal(settings.tags[0].s, value);

	strcat(text, "x");
	assert_int_equal(sb_settings_add_tag(&settings, text), STROBE_EINVAL);
	assert_non_null(
		strstr(sb_error_message(), "the tag 'prompt' has a value of 2049 bytes; at most 2048"));
	snprintf(file, sizeof file, "profiling:\n  session_tags: {prompt: %s}\n", value);
	assert_fails(file, "at most 2048 bytes");
}

static void numbers_come_back_to_the_last_bit(void **state)
{
	assert_string_equal(round_trip("target_fps", "23.976"), "23.976");
	assert_string_equal(round_trip("target_fps", "0.30000000000000004"), "0.30000000000000004");
	assert_string_equal(round_trip("thresholds", "step_ms = 1.7976931348623157e308"),
		"step_ms=1.7976931348623157e+308");
	assert_fails("profiling:\n  thresholds: {step_ms: inf}\n", "a threshold is a number");
}

static void units_and_none_are_understood(void **state)
{
	assert_int_equal(
		load("profiling:\n  max_trace_bytes: 1GiB\n  gpu_monitor_interval: 200ms\n  target_fps: ~\n"),
		0);
	assert_true(settings.max_trace_bytes == 1ull << 30);
	assert_true(settings.gpu_monitor_interval_s == 0.2);
	assert_true(settings.target_fps == 0);
}

static void bad_environment_names_the_variable(void **state)
{
	setenv("STROBE_DISPLAY_INTERVAL", "soon", 1);
	assert_true(sb_settings_load(&settings, NULL) < 0);
	assert_non_null(strstr(
		sb_error_message(), "environment STROBE_DISPLAY_INTERVAL: 'display_interval' takes seconds"));
	unsetenv("STROBE_DISPLAY_INTERVAL");
	assert_int_equal(sb_settings_load(&settings, NULL), 0);
}

/* A locale whose decimal sign is a comma, made here: few machines have one. */
static bool choose_comma(void)
{
	char folder[64], command[400];

	snprintf(folder, sizeof folder, "/tmp/strobe-locale-%d", (int)getpid());
	snprintf(command, sizeof command,
		"mkdir %s && cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
		"grouping 3;3\nEND LC_NUMERIC\n' > source && localedef -c -i source ./comma > log 2>&1",
		folder, folder);
	if (system(command) < 0)
		return false;
	setenv("LOCPATH", folder, 1);
	bool chosen = setlocale(LC_NUMERIC, "comma") != NULL;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) == 0 && chosen;
}

static void numbers_have_a_point_in_every_locale(void **state)
{
	struct sb_trace_spec trace;
	struct sb_buf text = { 0 };

	if (!choose_comma())
		skip();
	assert_true(strtod("0.5", NULL) == 0); /* the locale is what it should be */
	assert_int_equal(load("profiling:\n  gpu_monitor_interval: 0.25\n  gpu_trace: seconds:0.5\n"
			      "  session_tags: {guidance: 7.5}\n  thresholds: {block_std_ms: 0.5}\n"),
		0);
	assert_true(settings.gpu_monitor_interval_s == 0.25);
	assert_true(settings.tags[0].type == STROBE_TYPE_FLOAT && settings.tags[0].f == 7.5);
	assert_true(settings.thresholds[0].value == 0.5);
	assert_int_equal(sb_trace_spec_parse("seconds:0.5", &trace), 0);
	assert_true(trace.seconds == 0.5);
	setenv("STROBE_DISPLAY_INTERVAL", "2.5", 1);
	assert_int_equal(sb_settings_load(&settings, NULL), 0);
	unsetenv("STROBE_DISPLAY_INTERVAL");
	assert_true(settings.display_interval_s == 2.5);
	sb_settings_text(&settings, sb_setting_find("display_interval"), &text);
	assert_string_equal(sb_buf_text(&text), "2.5");
	sb_buf_done(&text);
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_documented_ones),
		cmocka_unit_test(presets_change_what_they_should_and_nothing_else),
		cmocka_unit_test(environment_beats_file_beats_preset),
		cmocka_unit_test(unknown_key_names_place_and_nearest),
		cmocka_unit_test(wrong_types_and_ranges_are_refused_in_place),
		cmocka_unit_test(broken_yaml_shows_the_parsers_place),
		cmocka_unit_test(a_second_document_is_an_error),
		cmocka_unit_test(tags_keep_their_types),
		cmocka_unit_test(stages_come_as_lists_pairs_and_mappings),
		cmocka_unit_test(every_value_survives_the_environment),
		cmocka_unit_test(a_stage_name_like_a_code_stays_a_name),
		cmocka_unit_test(separators_inside_a_part_survive),
		cmocka_unit_test(a_long_tag_is_kept_whole_or_refused),
		cmocka_unit_test(numbers_come_back_to_the_last_bit),
		cmocka_unit_test(units_and_none_are_understood),
		cmocka_unit_test(bad_environment_names_the_variable),
		cmocka_unit_test(numbers_have_a_point_in_every_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
