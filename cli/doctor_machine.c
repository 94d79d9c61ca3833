/* Checks of the machine: clock, folders, what /proc tells. */
#include "doctor.h"

#include "monitor/cgroup.h"
#include "monitor/procfile.h"
#include "record/clock.h"
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void look_clock(struct doctor_finding *f)
{
	static const char *const names[] = { "?", "TSC", "cntvct_el0", "CLOCK_MONOTONIC" };

	sb_clock_init();
	if (sb_clock_kind == SB_CLOCK_MONOTONIC)
		doctor_say(f, DOCTOR_LIMITED, "zones cost about 50 ns more; nothing to do on this CPU",
			"no invariant counter, using CLOCK_MONOTONIC");
	else
		doctor_say(f, DOCTOR_OK, "", "%s at %.1f MHz", names[sb_clock_kind & 3],
			(double)sb_clock_hz() / 1e6);
}

static const char *output_dir(void)
{
	const char *given = getenv("STROBE_OUTPUT_DIR");

	return given && *given ? given : ".";
}

/* Disks that are no part of another: what machine-wide traffic is counted from. */
static void look_disks(struct doctor_finding *f)
{
	char text[16384], blocks[300];

	snprintf(blocks, sizeof blocks, "%s/block", sb_procfile_sys());
	if (sb_procfile_proc_text(text, sizeof text, "diskstats") > 0 && !access(blocks, R_OK))
		doctor_say(f, DOCTOR_OK, "", "reads and writes of the machine's disks");
	else
		doctor_say(f, DOCTOR_MISSING, "show /proc/diskstats and /sys/block to this container",
			"no disk traffic of the machine, only the program's");
}

/* The folder itself, or the nearest above it that is there: run makes the rest. */
static const char *nearest_folder(char *out, size_t size)
{
	snprintf(out, size, "%s", output_dir());
	while (access(out, F_OK) && *out) {
		char *slash = strrchr(out, '/');

		if (slash && slash != out)
			*slash = 0;
		else
			snprintf(out, size, "%s", slash ? "/" : ".");
	}
	return out;
}

/* What a recording needs: a file with room that is there, mapped. errno says why not. */
static bool can_be_mapped(int fd)
{
	void *at = fallocate(fd, 0, 0, 4096) ? MAP_FAILED
					     : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at != MAP_FAILED && !munmap(at, 4096);
}

static void say_spooled(struct doctor_finding *f, const char *why)
{
	const char *forced = getenv("STROBE_SPOOL");

	if (forced && forced[0] != '1')
		doctor_say(f, DOCTOR_BROKEN, "choose a local folder with -o, or unset STROBE_SPOOL",
			"'%s' %s, and STROBE_SPOOL=%s forbids a local spool", output_dir(), why, forced);
	else
		doctor_say(f, DOCTOR_LIMITED, "choose a local folder with -o, or set STROBE_SPOOL_DIR",
			"'%s' %s: recordings are spooled locally first", output_dir(), why);
}

static void look_output(struct doctor_finding *f)
{
	char path[1100], folder[1024], why[160];
	struct statvfs fs;
	bool mapped;
	int fd;

	snprintf(path, sizeof path, "%s/.strobe-doctor-XXXXXX", nearest_folder(folder, sizeof folder));
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		doctor_say(f, DOCTOR_BROKEN, "choose a folder you may write: -o DIR or STROBE_OUTPUT_DIR",
			"'%s' cannot be written", output_dir());
		return;
	}
	unlink(path);
	mapped = can_be_mapped(fd);
	snprintf(why, sizeof why, "has files that cannot be mapped (%s)", strerror(errno));
	close(fd);
	if (sb_rundir_needs_spool(folder))
		say_spooled(f, getenv("STROBE_SPOOL") ? "comes second (STROBE_SPOOL=1)"
						      : "is a network or FUSE folder");
	else if (!mapped)
		say_spooled(f, why);
	else if (!statvfs(folder, &fs) && (double)fs.f_bavail * (double)fs.f_frsize < 1e9)
		doctor_say(f, DOCTOR_LIMITED, "free some space, or lower max_trace_bytes",
			"'%s' has only %.0f MB free", output_dir(),
			(double)fs.f_bavail * (double)fs.f_frsize / 1e6);
	else
		doctor_say(f, DOCTOR_OK, "", "'%s' can be written and mapped", output_dir());
}

static void look_proc(struct doctor_finding *f)
{
	char text[2048];

	if (sb_procfile_proc_text(text, sizeof text, "self/stat") <= 0)
		doctor_say(f, DOCTOR_MISSING, "mount /proc in this container", "/proc cannot be read");
	else if (sb_procfile_proc_text(text, sizeof text, "self/io") <= 0)
		doctor_say(f, DOCTOR_LIMITED, "a kernel with CONFIG_TASK_IO_ACCOUNTING",
			"no disk bytes per process");
	else if (sb_procfile_proc_text(text, sizeof text, "self/smaps_rollup") <= 0)
		doctor_say(f, DOCTOR_LIMITED, "a kernel from 4.14 with CONFIG_PROC_PAGE_MONITOR",
			"no proportional memory (smaps_rollup); resident size is there");
	else
		doctor_say(f, DOCTOR_OK, "", "CPU, memory and disk of the process tree");
}

static void look_pressure(struct doctor_finding *f)
{
	char text[256];

	if (sb_procfile_proc_text(text, sizeof text, "pressure/io") > 0)
		doctor_say(f, DOCTOR_OK, "", "waiting for CPU, memory and disk is measured");
	else
		doctor_say(f, DOCTOR_MISSING, "boot with psi=1, or a kernel with CONFIG_PSI",
			"no /proc/pressure");
}

static void look_cgroup(struct doctor_finding *f)
{
	struct sb_cgroup group;
	uint64_t limit, kills;

	sb_cgroup_find(&group);
	limit = sb_cgroup_memory_limit(&group);
	if (!sb_cgroup_oom_kills(&group, &kills))
		doctor_say(f, DOCTOR_LIMITED, "mount the control groups (cgroup2) in this container",
			"out-of-memory kills cannot be told from other kills");
	else if (limit)
		doctor_say(f, DOCTOR_OK, "", "memory limit %.1f GB, out-of-memory kills are counted",
			(double)limit / 1e9);
	else
		doctor_say(f, DOCTOR_OK, "", "no memory limit, out-of-memory kills are counted");
}

static void look_frequency(struct doctor_finding *f)
{
	char text[8192];
	double khz;

	if (sb_procfile_sys_number(&khz, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"))
		doctor_say(f, DOCTOR_OK, "", "cpufreq, now %.0f MHz", khz / 1000);
	else if (sb_procfile_proc_text(text, sizeof text, "cpuinfo") > 0 && strstr(text, "cpu MHz"))
		doctor_say(f, DOCTOR_OK, "", "from /proc/cpuinfo");
	else
		doctor_say(f, DOCTOR_MISSING,
			"nothing to do in a virtual machine; else load a cpufreq driver",
			"this machine does not tell");
}

const struct doctor_check doctor_machine_checks[] = {
	{ "recording", "clock", look_clock },
	{ "recording", "output folder", look_output },
	{ "machine", "process tree", look_proc },
	{ "machine", "disks", look_disks },
	{ "machine", "pressure (PSI)", look_pressure },
	{ "machine", "control group", look_cgroup },
	{ "machine", "CPU frequency", look_frequency },
	{ 0 },
};
