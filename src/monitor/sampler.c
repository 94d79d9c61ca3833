/* The sampler thread: walks the table of sources at the interval. The GPU has a
 * thread of its own (gpus.c); this one watches over it. */
#include "monitor/monitor.h"

#include "monitor/display.h"
#include "monitor/made.h"
#include "monitor/gpus.h"
#include "monitor/procfile.h"
#include "monitor/samples.h"
#include "monitor/source.h"
#include "monitor/thread.h"
#include "monitor/tree.h"
#include "record/tags.h"
#include "record/clock.h"
#include "record/descriptor.h"
#include "record/errand.h"
#include "record/put.h"
#include "record/rank.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

#define SOURCE_(name) &sb_source_##name,
static const struct sb_source *const sources[] = { SB_SOURCES(SOURCE_) };
enum { SOURCE_COUNT = sizeof sources / sizeof sources[0] };

static struct {
	struct sb_thread thread;
	struct sb_settings settings;
	bool running;
	bool on[SOURCE_COUNT];
	bool any_on;
	bool with_tree, with_io;
	uint64_t sample_ns, display_ns;
	uint64_t start_ns;
	uint64_t next_sample_ns, next_display_ns;
	bool displayed;
	bool display_later;
	bool display_failed; /* no one reads it: never again */
	int display_fd;
	bool display_in_reach; /* also from a table of the sampler's own */
	char label[128];
	bool outside;
	bool (*stage)(void *of, char *out, size_t size);
	void *stage_of;
	struct sb_made_so_far made; /* when it was displayed last */
	uint64_t made_ns;
} sampler;

/* What sb_monitor_show() asks for, until the thread takes it. */
static struct {
	pthread_mutex_t lock;
	bool any;
	double interval_s;
	char label[sizeof sampler.label];
} asked = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct sb_tick tick_now(void)
{
	return (struct sb_tick){ .ticks = sb_clock_ticks(), .mono_ns = sb_mono_ns() };
}

static void sample_all(void)
{
	struct sb_tick tick;

	if (sampler.with_tree)
		sb_tree_update(sb_mono_ns(), sampler.with_io);
	tick = tick_now();
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (sampler.on[i])
			sources[i]->sample(&tick);
	sb_gpus_watch(tick.mono_ns);
}

/* The first CPU value needs two samples: the first display waits for it a while. */
static bool display_is_ready(uint64_t now_ns)
{
	double usage;

	return sampler.displayed || !sampler.settings.monitor_cpu_usage ||
	       now_ns > sampler.start_ns + sampler.display_ns + SECOND_NS ||
	       sb_samples_latest("cpu", -1, "usage_percent", &usage);
}

static void put_stage(struct sb_buf *text)
{
	char stage[200];

	if (sampler.stage && sampler.stage(sampler.stage_of, stage, sizeof stage))
		sb_buf_printf(text, "Stage: %s\n", stage);
}

static void put_made(struct sb_buf *text)
{
	struct sb_made_so_far now;
	uint64_t now_ns = sb_mono_ns();

	sb_made_read(sampler.outside ? strobe_run_dir() : NULL, &now);
	sb_made_put(text, &now, &sampler.made, 1e-9 * (double)(now_ns - sampler.made_ns));
	sampler.made = now;
	sampler.made_ns = now_ns;
}

/* One write of whole lines: nothing of the program's output lands between. */
static void display(void)
{
	int fd = sb_descriptor_borrow(sampler.display_fd);
	struct sb_buf text = { 0 };

	sampler.displayed = true;
	if (fd >= 0 && (sampler.display_fd != STDERR_FILENO || sb_descriptor_stderr_is_safe(fd))) {
		sb_display_lead(&text, fd);
		sb_display_format(&text, *sb_tags_session_id() ? sb_tags_session_id() : sampler.label);
		put_stage(&text);
		put_made(&text);
		if (!sb_buf_failed(&text) && !sb_descriptor_write(fd, text.data, text.size))
			sampler.display_failed = true;
	}
	sb_descriptor_give_back(fd, sampler.display_fd);
	sb_buf_done(&text);
}

/* What is displayed goes to the program's standard error, which must stay in reach. */
static void leave_the_programs_table(void)
{
	if ((!sampler.settings.real_time_display && !sampler.display_later) || sampler.display_in_reach)
		sb_descriptor_table_make();
}

/* The display counts from the moment that it was asked for; its first block has a CPU value of its own then. */
static void begin_display(uint64_t now_ns)
{
	double usage;

	if (!sb_samples_latest("cpu", -1, "usage_percent", &usage))
		sampler.next_sample_ns = now_ns;
	sampler.start_ns = now_ns;
	sampler.next_display_ns = now_ns + sampler.display_ns;
	sb_made_read(sampler.outside ? strobe_run_dir() : NULL, &sampler.made);
	sampler.made_ns = now_ns;
}

static void take_asked(uint64_t now_ns)
{
	bool before = sampler.settings.real_time_display;
	uint64_t interval_ns;

	pthread_mutex_lock(&asked.lock);
	if (asked.any) {
		asked.any = false;
		interval_ns = (uint64_t)(asked.interval_s * 1e9);
		sampler.settings.real_time_display = interval_ns > 0;
		if (interval_ns) {
			before &= interval_ns == sampler.display_ns;
			sampler.display_ns = interval_ns;
			snprintf(sampler.label, sizeof sampler.label, "%s", asked.label);
		}
	}
	pthread_mutex_unlock(&asked.lock);
	if (sampler.display_failed)
		sampler.settings.real_time_display = false;
	if (sampler.settings.real_time_display && !before)
		begin_display(now_ns);
}

void sb_monitor_show(double interval_s, const char *label)
{
	if (!sampler.running)
		return;
	pthread_mutex_lock(&asked.lock);
	asked.any = true;
	asked.interval_s = interval_s;
	snprintf(asked.label, sizeof asked.label, "%s", label);
	pthread_mutex_unlock(&asked.lock);
	sb_thread_poke(&sampler.thread);
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void open_sources(void)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (sampler.on[i])
			sources[i]->open(&sampler.settings);
}

static void close_sources(void)
{
	struct sb_tick tick = tick_now();

	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (sampler.on[i])
			sources[i]->close(&tick);
}

/* Until something was displayed, samples come as often as the display asks. */
static uint64_t sample_after_ns(void)
{
	bool soon = sampler.settings.real_time_display && !sampler.displayed;

	return soon ? min64(sampler.sample_ns, sampler.display_ns) : sampler.sample_ns;
}

static void run(struct sb_thread *thread)
{
	leave_the_programs_table();
	open_sources();
	sampler.start_ns = sampler.next_sample_ns = sampler.next_display_ns = sb_mono_ns();
	sampler.next_display_ns += sampler.display_ns;
	for (;;) {
		bool last = sb_thread_stopping(thread);
		uint64_t now_ns = sb_mono_ns(), step_ns = sampler.sample_ns;

		take_asked(now_ns);
		if (sampler.settings.real_time_display)
			step_ns = min64(step_ns, sampler.display_ns);
		if (last || now_ns + step_ns / 8 >= sampler.next_sample_ns) {
			sample_all();
			sampler.next_sample_ns = now_ns + sample_after_ns();
		}
		if (last)
			break;
		if (sampler.settings.real_time_display && now_ns + step_ns / 8 >= sampler.next_display_ns &&
			display_is_ready(now_ns)) {
			display();
			sampler.next_display_ns = now_ns + sampler.display_ns;
		}
		sb_thread_wait(thread, step_ns);
	}
	close_sources();
	sb_descriptor_table_leave();
}

static void choose_sources(const struct sb_settings *s)
{
	sampler.any_on = false;
	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		sampler.on[i] = sources[i]->wanted(s);
		sampler.any_on |= sampler.on[i];
	}
	sampler.with_io = s->monitor_disk_io;
	sampler.with_tree = s->monitor_disk_io || s->monitor_cpu_usage || s->monitor_system_memory ||
			    s->monitor_gpu_memory;
}

/* What is read before the threads start: reading files is the helper's to do. */
struct look {
	const struct sb_monitor_options *options;
	long cpu_count;
	char cpuinfo[4096], meminfo[4096], release[256];
};

static int look_at_machine(void *look)
{
	struct look *l = look;
	const struct sb_monitor_options *o = l->options;
	int fd = sb_descriptor_borrow(o->display_fd);

	sampler.display_in_reach = fd >= 0;
	sb_descriptor_give_back(fd, o->display_fd);
	l->cpu_count = sysconf(_SC_NPROCESSORS_ONLN); /* the C library opens a file for it */
	sb_procfile_proc_text(l->cpuinfo, sizeof l->cpuinfo, "cpuinfo");
	sb_procfile_proc_text(l->meminfo, sizeof l->meminfo, "meminfo");
	sb_procfile_proc_text(l->release, sizeof l->release, "sys/kernel/osrelease");
	if (sampler.with_tree || o->outside)
		sb_tree_open(o->root ? o->root : getpid(), o->outside);
	return 0;
}

/* Facts about the machine that do not change. */
static void describe_machine(struct look *l)
{
	char *line = strstr(l->cpuinfo, "model name");
	uint64_t kb;

	sb_keep_meta_int(SB_META_SYSTEM, "cpu.count", l->cpu_count);
	if (line) {
		line += strcspn(line, ":\n");
		line += strspn(line, ": \t");
		line[strcspn(line, "\n")] = 0;
		sb_keep_meta_string(SB_META_SYSTEM, "cpu.model", line);
	}
	if (sb_procfile_field(l->meminfo, "MemTotal:", &kb))
		sb_keep_meta_float(SB_META_SYSTEM, "memory.total_mb", (double)kb / 1024);
	l->release[strcspn(l->release, "\n")] = 0;
	if (l->release[0])
		sb_keep_meta_string(SB_META_SYSTEM, "kernel", l->release);
}

static const char *folder_name(void)
{
	const char *dir = strobe_run_dir(), *slash = strrchr(dir, '/');

	return slash && slash[1] ? slash + 1 : dir;
}

void sb_monitor_start(const struct sb_monitor_options *o)
{
	struct look look = { .options = o };

	if (sampler.running)
		return;
	memset(&sampler, 0, sizeof sampler);
	sampler.settings = *o->settings;
	sampler.settings.real_time_display &= !o->no_display;
	sampler.sample_ns = (uint64_t)(o->settings->cpu_monitor_interval_s * 1e9);
	sampler.display_ns = (uint64_t)(o->settings->display_interval_s * 1e9);
	sampler.display_fd = o->display_fd;
	sampler.display_later = o->display_later;
	asked.any = false;
	snprintf(sampler.label, sizeof sampler.label, "%s", o->label ? o->label : folder_name());
	sampler.outside = o->outside;
	sampler.stage = o->stage;
	sampler.stage_of = o->stage_of;
	sampler.made_ns = sb_mono_ns();
	choose_sources(o->settings);
	sb_errand_run(look_at_machine, &look);
	describe_machine(&look);
	if (sb_gpus_wanted(o->settings))
		sb_gpus_start(o->settings);
	if (!sampler.any_on && !sampler.settings.real_time_display && !o->display_later &&
		!sb_gpus_wanted(o->settings))
		return;
	sampler.running = sb_thread_start(&sampler.thread, "strobe-sampler", run, NULL);
	if (!sampler.running)
		sb_samples_missing("CPU, memory and disk metrics", "no thread could be started", "");
}

void sb_monitor_stop(void)
{
	bool stopped = !sampler.running || sb_thread_stop(&sampler.thread, 10 * SECOND_NS);

	sampler.running = false;
	if (!stopped) /* it hangs writing the display: it may still look at the rest */
		return;
	sb_gpus_stop();
	sb_tree_close();
}

/* `strobe run` samples its whole tree at once; below it, each rank of a launcher samples itself
 * too. The variable has the rank that the tool is, if it is one: then its command is no other. */
static bool is_rank_below_run(void)
{
	const char *tool = secure_getenv(SB_MONITOR_RANKS);
	struct sb_rank rank;
	char own[32];

	if (!tool)
		return false;
	sb_rank_detect(&rank);
	snprintf(own, sizeof own, "%d/%d", rank.rank, rank.world_size);
	return rank.rank >= 0 && strcmp(own, tool) != 0;
}

static bool asked_of_tool; /* `strobe run` above shows the display of this process */

static int ask_tool(void *line)
{
	const char *path = secure_getenv(SB_MONITOR_DISPLAY_ASKED);
	struct sb_descriptor file;

	if (!path || !sb_descriptor_open(&file, path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0))
		return 0;
	asked_of_tool = sb_descriptor_write(file.number, line, strlen(line));
	sb_descriptor_close(&file);
	return 0;
}

/* One display of the whole run, not one of each of its processes. */
static void leave_display_to_tool(const struct sb_settings *s)
{
	char line[sizeof sampler.label + 32];

	if (!s->real_time_display || !secure_getenv(SB_MONITOR_DISPLAY_ASKED))
		return;
	snprintf(line, sizeof line, "%.3f\t%s\n", s->display_interval_s,
		*sb_tags_session_id() ? sb_tags_session_id() : folder_name());
	sb_errand_run(ask_tool, line);
}

static void start_inside(const struct sb_settings *settings)
{
	sb_monitor_start(&(struct sb_monitor_options){ .settings = settings,
		.display_fd = STDERR_FILENO,
		.no_display = secure_getenv(SB_MONITOR_DISPLAY_ASKED) != NULL });
}

static void start_module(const struct sb_settings *settings)
{
	if (sb_session_is_forked()) /* it is in its parent's tree already */
		return;
	leave_display_to_tool(settings);
	if (settings->monitor || is_rank_below_run())
		start_inside(settings);
}

static void stop_module(void)
{
	static char no_longer[] = "0\t\n";

	sb_monitor_stop();
	if (asked_of_tool)
		sb_errand_run(ask_tool, no_longer);
	asked_of_tool = false;
}

/* The session is a rank's, as turned out after it began. */
static void ranked(const struct sb_settings *settings, int local_rank)
{
	if (settings->monitor || !secure_getenv(SB_MONITOR_RANKS) || sb_session_is_forked())
		return;
	sb_gpus_set_local_rank(local_rank);
	start_inside(settings);
}

static void forked(void)
{
	sampler.running = false;
	asked_of_tool = false;
	sb_gpus_forked();
	sb_tree_forked();
	sb_samples_forget_all();
}

const struct sb_module sb_monitor_module = { "monitor", start_module, stop_module, ranked, forked };
