/* Two plugins, each with its own copy of the library, loaded apart from each
 * other: one recorder, one file. usage: instances_test PLUGIN_A PLUGIN_B RECOUNT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plugin {
	void *handle;
	int (*start)(const char *);
	int (*stop)(void);
	void (*zones)(long);
	const char *(*run_dir)(void);
	unsigned (*step)(void);
};

static struct plugin load(const char *path)
{
	struct plugin p = { .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };

	if (!p.handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	p.start = (int (*)(const char *))dlsym(p.handle, "plugin_start");
	p.stop = (int (*)(void))dlsym(p.handle, "plugin_stop");
	p.zones = (void (*)(long))dlsym(p.handle, "plugin_zones");
	p.run_dir = (const char *(*)(void))dlsym(p.handle, "plugin_run_dir");
	p.step = (unsigned (*)(void))dlsym(p.handle, "plugin_step");
	return p;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/strobe-copies-XXXXXX", command[2048];
	struct plugin a, b;
	int failed;

	if (argc != 4 || !mkdtemp(folder))
		return 2;
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 1);
	a = load(argv[1]);
	if (a.start(folder))
		return 3;
	b = load(argv[2]); /* late: finds recording switched on */
	a.zones(1000);
	b.zones(234);
	if (a.step() != 1 || b.step() != 2) /* both mark those of one session */
		return 5;
	dlclose(b.handle); /* its names and words stay */
	a.zones(1);
	if (strcmp(a.run_dir(), b.run_dir()) || a.stop())
		return 4;
	snprintf(command, sizeof command, "test \"$(%s %s/run.strobe plugin)\" = '1235 0'", argv[3],
		a.run_dir());
	failed = system(command);
	if (a.start(folder) || a.step() != 1 || a.stop()) /* the next session counts anew */
		return 6;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	system(command);
	printf(failed ? "copies did not join\n" : "copies joined in one recorder\n");
	return failed ? 1 : 0;
}
