/* The effective configuration of a recording: the keys of `profiling:` (docs/config.md).
 * Flags beat environment beats file beats preset beats default. */
#ifndef SB_RECORD_SETTINGS_H
#define SB_RECORD_SETTINGS_H

#include "base/buf.h"
#include "format/wire.h"
#include "strobe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_report_format { SB_REPORT_HTML = 1, SB_REPORT_JSON = 2, SB_REPORT_BOTH = 3 };

enum { SB_TAGS_MAX = 32, SB_STAGES_MAX = 64, SB_THRESHOLDS_MAX = 64 };

/* A session tag with its type: numbers stay numbers in the report. */
struct sb_setting_tag {
	char key[48];
	enum strobe_type type;
	int64_t i; /* INT, BOOL */
	double f;
	char s[SB_STRING_MAX + 2]; /* one byte more than is written: the recorder counts what it cuts */
};

/* A function of the program that is to be a stage: "pkg.mod:Class.method". */
struct sb_setting_stage {
	char target[160];
	char code[16]; /* "": none */
	char name[80]; /* "": the function's own */
};

/* An advice rule's limit, by the rule's name for it. */
struct sb_setting_threshold {
	char name[48];
	double value;
};

struct sb_settings {
	bool enabled;
	bool real_time_display;
	double display_interval_s;
	double gpu_monitor_interval_s;
	double gpu_counters_interval_s; /* 0: off */
	bool gpu_counters_all; /* false: the six that matter */
	double cpu_monitor_interval_s;
	bool monitor; /* false: nothing is sampled here (another process does it) */
	bool monitor_gpu_memory, monitor_gpu_utilization, monitor_gpu_temperature, monitor_gpu_power;
	bool monitor_cpu_usage, monitor_system_memory, monitor_disk_io;
	bool generate_final_report;
	enum sb_report_format report_format;
	bool save_raw_data;
	bool profile_inference_steps, profile_vae_decode, profile_text_encoding;
	bool profile_diffusion_steps, profile_block_computation, profile_model_parameters;
	uint32_t max_data_points;
	uint64_t max_trace_bytes, max_run_bytes, keep_output_bytes;
	double target_fps; /* 0: none */
	double gpu_cost_per_hour; /* 0: none */
	double sample_hz; /* Python stacks per second, 0: none */
	char gpu_trace[64]; /* "": off; else "all", "steps:3", "seconds:5" */
	char gpu_counters[64]; /* the same for sampled counters, and "signal" */
	char output_dir[512];
	char stage_log[256]; /* "": off; a flag, or a file's name */
	char name[128];
	uint32_t tag_count;
	struct sb_setting_tag tags[SB_TAGS_MAX];
	uint32_t stage_count;
	struct sb_setting_stage stages[SB_STAGES_MAX];
	uint32_t threshold_count;
	struct sb_setting_threshold thresholds[SB_THRESHOLDS_MAX];
};

/* ---- the table: every key, declared once --------------------------------- */
enum sb_setting_type {
	SB_SETTING_BOOL,
	SB_SETTING_SECONDS,
	SB_SETTING_COUNT,
	SB_SETTING_BYTES,
	SB_SETTING_NUMBER,
	SB_SETTING_FORMAT, /* html, json, both */
	SB_SETTING_TEXT,
	SB_SETTING_TAGS,
	SB_SETTING_STAGES,
	SB_SETTING_THRESHOLDS
};

struct sb_setting {
	const char *key; /* in the file; the environment has STROBE_<KEY> */
	enum sb_setting_type type;
	size_t offset; /* in struct sb_settings */
	size_t size; /* of TEXT */
	const char *fallback;
	double lowest, highest;
	const char *development; /* NULL: as the fallback */
	const char *production;
	const char *help;
};

enum { SB_SETTINGS_MAX = 48 };
extern const struct sb_setting sb_setting_table[]; /* ends with a NULL key */
extern const size_t sb_setting_count;

const struct sb_setting *sb_setting_find(const char *key); /* NULL: there is no such key */
/* True for "true", "yes", "on", "1"; for "false", "no", "off", "0". A text may be neither. */
bool sb_setting_is_true(const char *text);
bool sb_setting_is_false(const char *text);
/* True for what `strobe run` sets for the processes below it: no file has it. */
bool sb_setting_is_internal(const struct sb_setting *setting);
/* The known key nearest to what was typed; NULL when none is near. */
const char *sb_setting_nearest(const char *typed);
/* The same for any list of names. */
const char *sb_setting_nearest_of(const char *typed, const char *const *names, size_t count);
/* "STROBE_DISPLAY_INTERVAL" into out. */
void sb_setting_env_name(const struct sb_setting *setting, char *out, size_t size);

/* ---- where each value came from ------------------------------------------ */
enum sb_setting_source {
	SB_FROM_DEFAULT,
	SB_FROM_PRESET,
	SB_FROM_FILE,
	SB_FROM_ENVIRONMENT,
	SB_FROM_OPTIONS, /* struct strobe_options of the program */
	SB_FROM_FLAG
};
struct sb_settings_origin {
	uint8_t source[SB_SETTINGS_MAX];
	int line[SB_SETTINGS_MAX]; /* of the file, from 1 */
	char preset[24];
	char file[512];
};

/* ---- values --------------------------------------------------------------- */
void sb_settings_default(struct sb_settings *s); /* sets every value to its fallback */

/* Sets one value from text; the message names the key, what it takes and what it
 * got. TAGS and STAGES replace the list: "k=v;k2=v2", "mod:f=4c VAE encode;…". */
int sb_settings_set(struct sb_settings *s, const struct sb_setting *setting, const char *text);
/* Adds one "k=v" (typed by its looks), one "pkg.mod:Class.method=code name". A
 * value that a recording cannot hold whole is refused. */
int sb_settings_add_tag(struct sb_settings *s, const char *text);
int sb_settings_add_stage(struct sb_settings *s, const char *text);
/* The text from which these two make the same tag, the same stage. */
void sb_setting_tag_text(const struct sb_setting_tag *tag, struct sb_buf *out);
void sb_setting_stage_text(const struct sb_setting_stage *stage, struct sb_buf *out);
/* A tag with the same key is replaced. A program's own value may be of any length. */
int sb_settings_put_tag(struct sb_settings *s, const struct strobe_attr *tag);
/* Adds the limit of a rule, or replaces it. */
int sb_settings_add_threshold(struct sb_settings *s, const char *name, double value);
/* The names that thresholds may have; the tool sets them. Before that any name is accepted. */
void sb_settings_provide_thresholds(const char *const *names, size_t count);
/* The text from which sb_settings_set() makes the same value. */
void sb_settings_text(const struct sb_settings *s, const struct sb_setting *setting, struct sb_buf *out);
/* Fails where there is no preset of that name; the message has the nearest. */
int sb_settings_check_preset(const char *preset);
/* Sets what the preset sets; origin says so from then on. */
int sb_settings_apply_preset(struct sb_settings *s, const char *preset, struct sb_settings_origin *origin);

/* Everything but the command line: opts (may be NULL), environment, file,
 * preset. On failure *s holds what could be read so far. */
int sb_settings_load(struct sb_settings *s, const struct strobe_options *opts);
/* The same, and says where each value came from. config and preset beat the
 * environment's and the file's when they are not NULL. */
int sb_settings_load_from(
	struct sb_settings *s, const char *config, const char *preset, struct sb_settings_origin *out_origin);
/* Fails where one setting needs another that says something else: for `strobe run`. A program that starts a session itself is
 * recorded without what does not fit, and told. */
int sb_settings_agree(const struct sb_settings *s);

#endif
