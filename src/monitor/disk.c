/* Bytes read from and written to disks, as running totals since the start: by
 * the process tree (/proc/PID/io) and by the machine (/proc/diskstats). */
#include "monitor/source.h"

#include "monitor/procfile.h"
#include "monitor/samples.h"
#include "monitor/tree.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISKS_MAX = 256, SECTOR_BYTES = 512 };

enum { READ, WRITE, MACHINE_READ, MACHINE_WRITE, COLUMNS };
static const struct sb_column columns[COLUMNS] = {
	[READ] = { "read_bytes", SB_MERGE_LAST },
	[WRITE] = { "write_bytes", SB_MERGE_LAST },
	[MACHINE_READ] = { "machine_read_bytes", SB_MERGE_LAST },
	[MACHINE_WRITE] = { "machine_write_bytes", SB_MERGE_LAST },
};

struct transfer {
	double read, written;
};

static struct {
	struct sb_samples series;
	struct sb_procfile diskstats;
	char disks[DISKS_MAX][32];
	uint32_t disk_count;
	struct transfer machine_start;
	bool machine_known;
	bool tree_known, tree_refused;
	char *text;
} disk;

enum { TEXT_BYTES = 128 << 10 };

static bool wanted(const struct sb_settings *s)
{
	return s->monitor_disk_io;
}

/* Whole disks only: what lies on other disks (RAID, LVM, dm-crypt) or in memory
 * would count the same bytes again. */
static bool is_leaf(const char *name)
{
	char path[400];
	struct sb_descriptor file;
	DIR *folder;
	struct dirent *entry;
	bool leaf = true;

	if (!strncmp(name, "loop", 4) || !strncmp(name, "ram", 3) || !strncmp(name, "zram", 4))
		return false;
	snprintf(path, sizeof path, "%s/block/%s/slaves", sb_procfile_sys(), name);
	folder = sb_descriptor_opendir(&file, path);
	while (folder && (entry = readdir(folder)))
		leaf = leaf && entry->d_name[0] == '.';
	if (folder)
		sb_descriptor_closedir(&file, folder);
	return leaf;
}

static void find_disks(void)
{
	char path[300];
	struct dirent *entry;
	struct sb_descriptor file;
	DIR *folder;

	snprintf(path, sizeof path, "%s/block", sb_procfile_sys());
	folder = sb_descriptor_opendir(&file, path);
	while (folder && disk.disk_count < DISKS_MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < sizeof disk.disks[0] &&
			is_leaf(entry->d_name))
			strcpy(disk.disks[disk.disk_count++], entry->d_name);
	if (folder)
		sb_descriptor_closedir(&file, folder);
}

static bool is_ours(const char *name)
{
	for (uint32_t i = 0; i < disk.disk_count; i++)
		if (!strcmp(disk.disks[i], name))
			return true;
	return false;
}

static bool read_machine(struct transfer *out)
{
	bool any = false;

	*out = (struct transfer){ 0, 0 };
	if (!disk.text || sb_procfile_read_proc(&disk.diskstats, "diskstats", disk.text, TEXT_BYTES) <= 0)
		return false;
	for (const char *line = disk.text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		unsigned long long read, written;
		char name[32];

		if (sscanf(line, "%*d %*d %31s %*u %*u %llu %*u %*u %*u %llu", name, &read, &written) != 3 ||
			!is_ours(name))
			continue;
		out->read += (double)read * SECTOR_BYTES;
		out->written += (double)written * SECTOR_BYTES;
		any = true;
	}
	return any;
}

static void start(const struct sb_settings *settings)
{
	memset(&disk, 0, sizeof disk);
	disk.text = malloc(TEXT_BYTES);
	find_disks();
	disk.machine_known = read_machine(&disk.machine_start);
	if (!disk.machine_known)
		sb_samples_missing("disk traffic of the machine", "/proc/diskstats shows no disk here",
			"the process's own reads and writes are still recorded");
	sb_samples_open(&disk.series, "disk", -1, columns, COLUMNS, settings->max_data_points);
}

static void sample(const struct sb_tick *tick)
{
	double v[COLUMNS] = { NAN, NAN, NAN, NAN };
	struct sb_tree_totals totals;
	struct transfer now;

	sb_tree_totals(&totals);
	disk.tree_known |= totals.io_known;
	disk.tree_refused |= totals.io_refused;
	if (totals.io_known) {
		v[READ] = (double)totals.read_bytes;
		v[WRITE] = (double)totals.write_bytes;
	}
	if (disk.machine_known && read_machine(&now)) {
		v[MACHINE_READ] = fmax(now.read - disk.machine_start.read, 0);
		v[MACHINE_WRITE] = fmax(now.written - disk.machine_start.written, 0);
	}
	sb_samples_push(&disk.series, tick->ticks, v);
}

static void finish(const struct sb_tick *tick)
{
	if (disk.series.open && !disk.tree_known && !disk.tree_refused)
		sb_samples_missing("disk traffic of the process", "the program ended before it was read", "");
	else if (disk.series.open && !disk.tree_known)
		sb_samples_missing("disk traffic of the process", "/proc/PID/io cannot be read",
			"run strobe as the same user as the program");
	sb_samples_close(&disk.series, tick->ticks);
	sb_procfile_close(&disk.diskstats);
	free(disk.text);
	disk.text = NULL;
}

const struct sb_source sb_source_disk = { "disk", wanted, start, sample, finish };
