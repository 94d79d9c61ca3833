/* Opens a run: which recordings belong to it, and one time axis for them. */
#include "run/run.h"

#include "run/index.h"
#include "run/sessions.h"
#include "base/error.h"
#include "base/room.h"
#include "format/gathered.h"
#include "format/run_keys.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_run_warn(struct sb_run *run, const char *format, ...)
{
	char **more = realloc(run->warnings, (run->warning_count + 1) * sizeof *more);
	va_list args;

	if (!more)
		return;
	run->warnings = more;
	va_start(args, format);
	if (vasprintf(&run->warnings[run->warning_count], format, args) >= 0)
		run->warning_count++;
	va_end(args);
}

/* ---- is it still running? ------------------------------------------------ */

static bool same_boot(const char *boot_id)
{
	char here[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return false;
	if (!fgets(here, sizeof here, f))
		here[0] = 0;
	fclose(f);
	here[strcspn(here, "\n")] = 0;
	return *here && !strncmp(here, boot_id, strlen(here));
}

/* When a process started (field 22 of /proc/PID/stat): with pid and boot it identifies the process. A
 * zombie writes no more, unless only its main thread has ended. */
bool sb_run_is_running(const struct sb_file_header *h)
{
	unsigned long long start = 0;
	long threads = 0;
	char state = 0;
	char path[64], line[1024] = "";
	const char *at;
	FILE *f;

	if (h->closed || !same_boot(h->boot_id))
		return false;
	snprintf(path, sizeof path, "/proc/%u/stat", h->pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof line, f))
		line[0] = 0;
	fclose(f);
	at = strrchr(line, ')'); /* the name may hold spaces */
	if (!at || sscanf(at + 1, " %c", &state) != 1)
		return false;
	for (int field = 2; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%ld %*d %llu", &threads, &start) != 2 || start != h->process_start)
		return false;
	return (state != 'Z' && state != 'X') || threads > 1;
}

/* ---- one time axis ------------------------------------------------------- */

static bool same_clock(const struct sb_file_header *a, const struct sb_file_header *b)
{
	return !strcmp(a->boot_id, b->boot_id) && !strcmp(a->host, b->host);
}

/* Nanoseconds from q's start to p's. */
static int64_t start_after(const struct sb_run_process *p, const struct sb_run_process *q)
{
	const struct sb_file_header *a = &p->reader->head, *b = &q->reader->head;

	return same_clock(a, b) ? (int64_t)(a->start_mono_ns - b->start_mono_ns)
				: (int64_t)(a->start_real_ns - b->start_real_ns) + p->shift_ns - q->shift_ns;
}

static void place_processes(struct sb_run *run)
{
	const struct sb_run_process *first = &run->processes[0];
	int32_t first_rank = -1;
	int64_t end = 0;

	for (uint32_t i = 0; i < run->process_count; i++)
		if (start_after(&run->processes[i], first) < 0)
			first = &run->processes[i];
	run->start_real_ns = first->reader->head.start_real_ns;
	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_run_process *p = &run->processes[i];
		const struct sb_file_header *h = &p->reader->head;

		run->many_hosts |= !same_clock(h, &first->reader->head);
		run->job |= h->rank >= 0 && first_rank >= 0 && h->rank != first_rank;
		first_rank = first_rank < 0 ? h->rank : first_rank;
		p->start_ns = start_after(p, first);
		if (p->start_ns < 0)
			p->start_ns = 0;
		p->end_ns = sb_process_ns(p, p->reader->last_ticks);
		if (p->end_ns > end)
			end = p->end_ns;
		run->live |= sb_run_is_running(h);
	}
	run->wall_ns = end;
}

/* What was made from the command's output (run.labels.strobe) has the command's pid and is
 * no process: it counts only where no process recorded zones. */
static int rank_of(const struct sb_run_process *p, bool has_zones, bool is_command)
{
	if (p->tool)
		return 0;
	if (p->reader->head.clock_kind == SB_CLOCK_SYNTHETIC)
		return 1 + 2 * has_zones + is_command;
	return 1 + 4 * has_zones + is_command;
}

/* The command itself, else the process that recorded zones first, else the first. */
static void choose_main(struct sb_run *run)
{
	const struct sb_run_meta *command = sb_run_meta_find(run, SB_META_RUN, SB_RUN_PID);
	int best_rank = -1;

	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_run_process *p = &run->processes[i];
		struct sb_chunk_range hot = sb_reader_range(p->reader, SB_STREAM_HOT, 0);
		int rank = rank_of(p, hot.end > hot.first, command && command->attr.i == p->pid);

		if (rank > best_rank ||
			(rank == best_rank && p->start_ns < run->processes[run->main_process].start_ns)) {
			best_rank = rank;
			run->main_process = i;
		}
	}
	run->complete = run->processes[run->main_process].reader->head.closed != 0;
	for (uint32_t i = 0; i < run->track_count; i++)
		run->tracks[i].main = !run->tracks[i].track && run->tracks[i].process == run->main_process &&
				      run->tracks[i].tid ==
					      run->processes[run->main_process].reader->head.main_tid;
}

/* Every thread that recorded is a track, in order of appearance. */
static void add_threads(struct sb_run *run)
{
	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_reader *r = run->processes[i].reader;
		struct sb_chunk_range hot = sb_reader_range(r, SB_STREAM_HOT, 0);
		struct sb_chunk_range digest = sb_reader_range(r, SB_STREAM_DIGEST, 0);

		for (uint32_t c = hot.first; c < hot.end; c++)
			sb_run_track_of(run, i, r->chunks[c].tid, 0);
		for (uint32_t c = digest.first; c < digest.end; c++)
			sb_run_track_of(run, i, r->chunks[c].tid, 0);
	}
}

/* ---- open, close --------------------------------------------------------- */

static bool same_recording(const struct sb_file_header *a, const struct sb_file_header *b)
{
	return a->pid == b->pid && a->process_start == b->process_start && a->start_ticks == b->start_ticks &&
	       a->start_real_ns == b->start_real_ns && !memcmp(a->session_uuid, b->session_uuid, 16);
}

/* A packed copy beside its recording is the same recording, not a second one; nor is one
 * that was gathered and not yet removed. */
static bool drop_copy(struct sb_run *run, struct sb_reader *reader)
{
	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_reader **known = &run->processes[i].reader;
		struct sb_reader *other = *known;

		if (!same_recording(&reader->head, &other->head) ||
			(reader->packed == other->packed && !reader->base && !other->base))
			continue;
		if (other->packed)
			*known = reader;
		sb_reader_close(other->packed ? other : reader);
		return true;
	}
	return false;
}

static int add_reader(struct sb_run *run, struct sb_reader *reader)
{
	struct sb_run_process *added;

	if (drop_copy(run, reader))
		return 0;
	if (!SB_MAKE_ROOM(run->processes, run->process_count, run->index->process_room)) {
		sb_reader_close(reader);
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", run->path);
	}
	added = &run->processes[run->process_count++];
	memset(added, 0, sizeof *added);
	sb_reader_files_add(&run->index->files, reader);
	added->reader = reader;
	added->pid = reader->head.pid;
	added->ppid = reader->head.ppid;
	return 0;
}

/* The many small recordings of a gathered file. */
static int open_parts(struct sb_run *run, const char *path)
{
	struct sb_gathered_part *parts = NULL;
	struct sb_reader *reader;
	size_t count = 0;
	int err = sb_gathered_list(path, &parts, &count);

	if (err && count)
		sb_run_warn(run, "left out: %s", sb_error_message());
	for (size_t i = 0; i < count; i++) {
		err = sb_reader_open_part(path, parts[i].offset, parts[i].bytes, &reader);
		if (!err)
			err = add_reader(run, reader);
		if (err == STROBE_ENOMEM)
			break;
		if (err)
			sb_run_warn(run, "left out: %s", sb_error_message());
	}
	free(parts);
	return err == STROBE_ENOMEM || !count ? err : 0;
}

static int open_path(struct sb_run *run, const char *path, bool listed)
{
	struct sb_reader *reader;
	int err;

	if (sb_gathered_is(path))
		return open_parts(run, path);
	err = sb_reader_open_from(path, listed ? SB_INFILE_LISTED : SB_INFILE_NAMED, &reader);
	return err ? err : add_reader(run, reader);
}

static int open_readers(struct sb_run *run, const struct sb_recordings *found)
{
	uint32_t first = run->process_count;
	int err = 0;

	for (size_t i = 0; i < found->files.count; i++) {
		err = open_path(run, found->files.paths[i], found->listed);
		if (err && (found->files.count == 1 || err == STROBE_ENOMEM))
			return err;
		if (err)
			sb_run_warn(run, "left out: %s", sb_error_message());
	}
	if (run->process_count == first)
		return err;
	return found->rank >= 0 ? sb_run_keep_rank(run, first, found->rank, found->attempt)
				: sb_run_keep_newest(run, first);
}

static int new_run(const char *path, struct sb_run **out_run)
{
	struct sb_run *run = calloc(1, sizeof *run);

	if (run) {
		run->index = calloc(1, sizeof *run->index);
		run->path = strdup(path);
	}
	if (!run || !run->index || !run->path) {
		sb_run_close(run);
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", path);
	}
	sb_run_name_add(run, "", 0, NULL, 0);
	*out_run = run;
	return 0;
}

/* All recordings are there: one axis, names, threads, the part asked for. */
static int settle(struct sb_run *run, const struct sb_cut *cut)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = sb_run_scan(run, i);
	if (err)
		return err;
	place_processes(run);
	choose_main(run);
	add_threads(run);
	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = sb_run_thread_names(run, i);
	return err ? err : sb_run_apply_cut(run, cut);
}

/* Gives the run out, or closes it. err: what opening its recordings came to. */
static int settle_or_close(struct sb_run *run, const struct sb_cut *cut, int err, struct sb_run **out_run)
{
	if (!err)
		err = settle(run, cut);
	if (err) {
		sb_run_close(run);
		return err;
	}
	*out_run = run;
	return 0;
}

/* name: what the run is called. */
static int open_as(
	const char *path, const char *name, bool in_page, const struct sb_cut *cut, struct sb_run **out_run)
{
	struct sb_run *run = NULL;
	int err = new_run(name, &run);

	if (err)
		return err;
	err = sb_recordings_find(path, &run->index->recordings);
	if (!err) {
		const char *folder = run->index->recordings.folder;

		run->folder = folder && !in_page ? strdup(folder) : NULL;
		err = open_readers(run, &run->index->recordings);
	}
	return settle_or_close(run, cut, err, out_run);
}

int sb_run_open(const char *spec, const struct sb_cut *cut, struct sb_run **out_run)
{
	char path[PATH_MAX];
	int err = sb_run_resolve(spec, path, sizeof path);
	bool in_page = !err && sb_run_is_in_page(spec);

	return err ? err : open_as(path, in_page ? spec : path, in_page, cut, out_run);
}

int sb_run_open_folder(const char *folder, struct sb_run **out_run)
{
	return open_as(folder, folder, false, NULL, out_run);
}

/* A rank that cannot be read is left out and said so; the others are shown. */
static int open_rank(struct sb_run *run, const struct sb_run_rank *rank)
{
	struct sb_recordings found = { 0 };
	uint32_t first = run->process_count;
	int err = sb_recordings_find(rank->path, &found);

	if (!err)
		err = open_readers(run, &found);
	sb_recordings_done(&found);
	for (uint32_t i = first; i < run->process_count; i++)
		run->processes[i].shift_ns = rank->shift_ns;
	if (err && err != STROBE_ENOMEM) {
		sb_run_warn(run, "left out: %s", sb_error_message());
		err = 0;
	}
	return err;
}

int sb_run_open_ranks(const char *path, const struct sb_run_rank *ranks, size_t count,
	const struct sb_cut *cut, struct sb_run **out_run)
{
	struct sb_run *run = NULL;
	int err = new_run(path, &run);

	if (err)
		return err;
	run->folder = sb_run_is_in_page(path) ? NULL : strdup(path);
	for (size_t i = 0; i < count && !err; i++)
		err = open_rank(run, &ranks[i]);
	if (!err && !run->process_count)
		err = sb_fail(STROBE_ENOENT, "no rank of '%s' can be read", path);
	return settle_or_close(run, cut, err, out_run);
}

void sb_run_close(struct sb_run *run)
{
	if (!run)
		return;
	for (uint32_t i = 0; i < run->process_count; i++) {
		sb_reader_close(run->processes[i].reader);
		free(run->processes[i].names);
	}
	for (uint32_t i = 0; i < run->schema_count; i++)
		free(run->schemas[i].columns);
	for (uint32_t i = 0; i < run->warning_count; i++)
		free(run->warnings[i]);
	if (run->index) {
		sb_recordings_done(&run->index->recordings);
		sb_strings_done(&run->index->names);
		sb_strings_done(&run->index->texts);
		sb_map_done(&run->index->tracks);
		sb_map_done(&run->index->schemas);
		sb_map_done(&run->index->metas);
		sb_map_done(&run->index->children);
		sb_vec_done(&run->index->writers);
		sb_gpu_spans_done(&run->index->gpu_spans);
		free(run->index->paths);
	}
	free(run->index);
	free(run->processes);
	free(run->names);
	free(run->tracks);
	free(run->schemas);
	free(run->metas);
	free(run->warnings);
	free(run->folder);
	free(run->path);
	free(run);
}

int64_t sb_run_time_ns(const struct sb_run *run, uint32_t process, uint64_t ticks)
{
	return sb_process_ns(&run->processes[process], ticks);
}

const struct sb_run_meta *sb_run_meta_find(
	const struct sb_run *run, enum sb_meta_scope scope, const char *key)
{
	uint32_t known;

	if (!sb_map_get(&run->index->metas, sb_run_meta_hash(scope, key), &known))
		return NULL;
	if (run->metas[known].scope == scope && !strcmp(run->metas[known].attr.key, key))
		return &run->metas[known];
	for (uint32_t i = run->meta_count; i-- > 0;) /* two keys of one hash */
		if (run->metas[i].scope == scope && !strcmp(run->metas[i].attr.key, key))
			return &run->metas[i];
	return NULL;
}

uint64_t sb_run_meta_hash(enum sb_meta_scope scope, const char *key)
{
	uint64_t hash = 14695981039346656037u ^ scope;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 1099511628211u;
	return hash;
}
