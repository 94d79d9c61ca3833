/* The list of exporters, and what they share. */
#include "exchange/export.h"

#include "base/role.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define TASK_TID 10000000u

#define DECLARE(name) extern const struct sb_exporter sb_##name##_exporter;
#define ENTRY(name) &sb_##name##_exporter,

SB_EXPORTERS(DECLARE)

const struct sb_exporter *const sb_exporters[] = { SB_EXPORTERS(ENTRY) NULL };

const struct sb_exporter *sb_exporter_find(const char *name)
{
	for (const struct sb_exporter *const *e = sb_exporters; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

const struct sb_exporter *sb_exporter_of_file(const char *path)
{
	const char *ending = strrchr(path, '.');

	for (const struct sb_exporter *const *e = sb_exporters; ending && *e; e++)
		if (!strcmp(ending, strrchr((*e)->file_name, '.')))
			return *e;
	return NULL;
}

int sb_export(const struct sb_exporter *exporter, struct sb_run *run, const char *path,
	struct sb_export_summary *out_summary)
{
	struct sb_export_summary summary = { 0 };
	struct sb_out out;
	int err, close_err;

	if (exporter->write_file) {
		err = exporter->write_file(run, path, &summary);
	} else {
		err = sb_out_open(&out, path);
		if (err)
			return err;
		err = exporter->write(run, &out, &summary);
		close_err = sb_out_close(&out, !err);
		summary.bytes = out.written_bytes;
		if (!err)
			err = close_err;
	}
	if (!err)
		*out_summary = summary;
	return err;
}

uint32_t sb_export_pid(const struct sb_run *run, uint32_t process)
{
	return run->processes[process].pid;
}

uint64_t sb_export_tid(const struct sb_run_track *track)
{
	return track->track ? (uint64_t)TASK_TID + track->track : track->tid;
}

void sb_export_track_name(const struct sb_run *run, uint32_t track, char *out, size_t size)
{
	const struct sb_run_track *t = &run->tracks[track];

	if (t->name && *t->name)
		snprintf(out, size, "%s", t->name);
	else if (t->track)
		snprintf(out, size, "task %u", t->track);
	else
		snprintf(out, size, t->main ? "main thread" : "thread %u", t->tid);
}

void sb_export_column_name(const struct sb_run_schema *schema, uint32_t column, char *out, size_t size)
{
	if (schema->device >= 0)
		snprintf(out, size, "%s %d %s", schema->source, schema->device, schema->columns[column]);
	else
		snprintf(out, size, "%s %s", schema->source, schema->columns[column]);
}

const char *sb_export_role_name(uint32_t role)
{
	const char *name = sb_role_name(role);

	return name ? name : "";
}
