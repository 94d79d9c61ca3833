/* The list of exporters, and what they share. */
#include "exchange/export.h"

#include "base/role.h"
#include "base/error.h"
#include "base/filename.h"

#include <stdio.h>
#include <string.h>

#define TASK_TID 10000000u
#define JOB_PID 10000000u /* beyond what a system gives */
#define JOB_GPU_PID 20000000u
#define DEVICES_MAX 256u

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
	for (const struct sb_exporter *const *e = sb_exporters; *e;
		e++) /* ".speedscope.json" before ".json" */
		if (strchr((*e)->file_name, '.') != strrchr((*e)->file_name, '.') &&
			sb_ends_with(path, strchr((*e)->file_name, '.')))
			return *e;
	for (const struct sb_exporter *const *e = sb_exporters; *e; e++)
		if ((strchr((*e)->file_name, '.') == strrchr((*e)->file_name, '.') || (*e)->write_file) &&
			sb_ends_with(path, strrchr((*e)->file_name, '.')))
			return *e;
	return NULL;
}

int sb_export(const struct sb_exporter *exporter, struct sb_run *run, const struct sb_markers *markers,
	const char *path, struct sb_export_summary *out_summary)
{
	static const struct sb_markers none;
	struct sb_export_summary summary = { 0 };
	struct sb_out out;
	int err, close_err;

	if (exporter->write_file) {
		err = exporter->write_file(run, path, &summary);
	} else {
		err = sb_out_open(&out, path);
		if (err)
			return err;
		err = exporter->write(run, markers ? markers : &none, &out, &summary);
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
	return run->many_hosts ? JOB_PID + process : run->processes[process].pid;
}

void sb_export_process_name(const struct sb_run *run, uint32_t process, char *out, size_t size)
{
	const struct sb_file_header *h = &run->processes[process].reader->head;

	if (run->job && h->rank >= 0)
		snprintf(out, size, "%s rank %d: %s", h->host, (int)h->rank, h->name);
	else if (run->job)
		snprintf(out, size, "%s: %s", h->host, h->name);
	else
		snprintf(out, size, "%s", h->name);
}

static bool stands_before(const struct sb_file_header *a, const struct sb_file_header *b)
{
	int hosts = strverscmp(a->host, b->host);

	return hosts ? hosts < 0 : a->rank < b->rank;
}

uint32_t sb_export_process_order(const struct sb_run *run, uint32_t process)
{
	const struct sb_file_header *own = &run->processes[process].reader->head;
	uint32_t before = 0;

	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_file_header *other = &run->processes[i].reader->head;

		before += stands_before(other, own) || (i < process && !stands_before(own, other));
	}
	return before;
}

uint32_t sb_export_gpu_pid(const struct sb_run *run, uint32_t process, uint32_t device)
{
	return run->job ? JOB_GPU_PID + process * DEVICES_MAX + device % DEVICES_MAX : device;
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

/* Under its own name; those of a gathered file under the one they had. Any other name would make a rank of it
 * ("rank_3.packed.strobe"), or a run of its own. */
void sb_export_recording_path(
	const struct sb_reader *reader, uint32_t number, const char *folder, char *out, size_t size)
{
	const char *name = sb_filename_of(reader->path);

	if (reader->base || strncmp(name, "run.", 4) != 0)
		snprintf(out, size, "%s/run.%u.%u.strobe", folder, reader->head.pid, number);
	else
		snprintf(out, size, "%s/%s", folder, name);
}

const char *sb_export_role_name(uint32_t role)
{
	const char *name = sb_role_name(role);

	return name ? name : "";
}
