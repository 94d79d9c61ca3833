/* A plugin with a copy of the library inside. */
#include <strobe.h>

__attribute__((visibility("default"))) int plugin_start(const char *output_dir);
__attribute__((visibility("default"))) int plugin_stop(void);
__attribute__((visibility("default"))) void plugin_zones(long n);
__attribute__((visibility("default"))) const char *plugin_run_dir(void);
__attribute__((visibility("default"))) unsigned plugin_step(void);

int plugin_start(const char *output_dir)
{
	struct strobe_options options = { .size = sizeof options, .output_dir = output_dir };

	return strobe_start(&options);
}

int plugin_stop(void)
{
	return strobe_stop();
}

void plugin_zones(long n)
{
	for (long i = 0; i < n; i++) {
		STROBE_ZONE_BEGIN("plugin");
		STROBE_ZONE_END();
	}
}

/* Marks a step. Returns how many are marked. */
unsigned plugin_step(void)
{
	strobe_step_begin(NULL, NULL);
	strobe_step_end();
	return strobe_steps_marked();
}

const char *plugin_run_dir(void)
{
	return strobe_run_dir();
}
