/* The effective configuration of a recording: PRODUCT's `profiling:` keys.
 * Flags beat environment beats file beats preset beats default. */
#ifndef SB_RECORD_SETTINGS_H
#define SB_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct strobe_options;

enum sb_report_format { SB_REPORT_HTML = 1, SB_REPORT_JSON = 2, SB_REPORT_BOTH = 3 };

struct sb_settings {
	bool enabled;
	bool real_time_display;
	double display_interval_s;
	double gpu_monitor_interval_s;
	double cpu_monitor_interval_s;
	bool monitor_gpu_memory, monitor_gpu_utilization, monitor_gpu_temperature, monitor_gpu_power;
	bool monitor_cpu_usage, monitor_system_memory, monitor_disk_io;
	bool generate_final_report;
	enum sb_report_format report_format;
	bool save_raw_data;
	bool profile_inference_steps, profile_vae_decode, profile_text_encoding;
	bool profile_diffusion_steps, profile_block_computation, profile_model_parameters;
	uint32_t max_data_points;
	uint64_t max_trace_bytes;
	double target_fps;        /* 0: none */
	double gpu_cost_per_hour; /* 0: none */
	char output_dir[512];
	char name[128];
};

void sb_settings_default(struct sb_settings *s);

/* Everything but the command line: opts (may be NULL), environment, file,
 * preset. On failure *s holds what could be read so far. */
int sb_settings_load(struct sb_settings *s, const struct strobe_options *opts);

#endif
