/* Opens a run: readers, names, threads, schemas, one time axis. */
#include "analyze/run.h"

#include "analyze/index.h"
#include "base/error.h"
#include "format/cursor.h"
#include "format/run_keys.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fixed_names[] = { "",
#define TEXT_(sym, text) text,
	SB_FIXED_NAMES(TEXT_)
#undef TEXT_
};

/* Doubles an array when it is full; NULL: no memory, the old one is untouched. */
static void *grow(void *array, uint32_t *room, uint32_t count, size_t size)
{
	void *bigger;

	if (count < *room)
		return array;
	bigger = realloc(array, (*room ? *room * 2 : 16) * size);
	if (bigger)
		*room = *room ? *room * 2 : 16;
	return bigger;
}

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

/* ---- names, tracks, schemas --------------------------------------------- */

uint32_t sb_run_name_add(
	struct sb_run *run, const char *text, size_t size, const char *code, size_t code_size)
{
	struct sb_run_index *x = run->index;
	char both[2 * SB_STRING_MAX + 2];
	uint32_t id;

	size = strnlen(text, size < SB_STRING_MAX ? size : SB_STRING_MAX);
	code_size = code ? strnlen(code, code_size < SB_STRING_MAX ? code_size : SB_STRING_MAX) : 0;
	memcpy(both, text, size);
	both[size] = 0;
	if (code_size)
		memcpy(both + size + 1, code, code_size);
	id = sb_strings_add(&x->names, both, size + 1 + code_size);
	while (id >= run->name_count) {
		struct sb_run_name *more = grow(run->names, &x->name_room, run->name_count, sizeof *more);
		const char *kept;

		if (!more)
			return 0;
		run->names = more;
		kept = sb_strings_text(&x->names, run->name_count);
		run->names[run->name_count] = run->name_count
						      ? (struct sb_run_name){ kept, kept + strlen(kept) + 1 }
						      : (struct sb_run_name){ "", "" };
		run->name_count++;
	}
	return id;
}

static bool file_name_set(struct sb_run_process *p, uint32_t file_id, uint32_t id)
{
	if (file_id >= p->name_count) {
		uint32_t count = p->name_count ? p->name_count : 256;
		uint32_t *more;

		while (count <= file_id)
			count *= 2;
		more = realloc(p->names, count * sizeof *more);
		if (!more)
			return false;
		memset(more + p->name_count, 0, (count - p->name_count) * sizeof *more);
		p->names = more;
		p->name_count = count;
	}
	p->names[file_id] = id;
	return true;
}

uint32_t sb_run_name_of(struct sb_run *run, uint32_t process, uint32_t file_id)
{
	struct sb_run_process *p = &run->processes[process];
	char text[32];
	uint32_t id;

	if (file_id < p->name_count && p->names[file_id])
		return p->names[file_id];
	if (!file_id)
		return 0;
	id = sb_run_name_add(run, text, (size_t)snprintf(text, sizeof text, "(name %u)", file_id), NULL, 0);
	file_name_set(p, file_id & SB_ID_MAX, id);
	return id;
}

const char *sb_run_text_of(struct sb_run *run, uint32_t process, uint32_t file_id)
{
	uint32_t id = sb_run_name_of(run, process, file_id); /* may move run->names */

	return run->names[id].text;
}

static const char *keep_text(struct sb_run *run, const char *text, size_t size)
{
	return sb_strings_text(
		&run->index->texts, sb_strings_add(&run->index->texts, text, strnlen(text, size)));
}

uint32_t sb_run_track_of(struct sb_run *run, uint32_t process, uint32_t tid, uint32_t task)
{
	struct sb_run_index *x = run->index;
	uint64_t key = (uint64_t)process << 40 | (uint64_t)(task != 0) << 32 | (task ? task : tid);
	struct sb_run_process *p = &run->processes[process];
	struct sb_run_track *more;
	uint32_t index;

	if (sb_map_get(&x->tracks, key, &index))
		return index;
	more = grow(run->tracks, &x->track_room, run->track_count, sizeof *more);
	if (!more)
		return 0;
	run->tracks = more;
	index = run->track_count++;
	run->tracks[index] = (struct sb_run_track){ .process = process,
		.tid = task ? 0 : tid,
		.track = task,
		.name = "",
		.main = !task && process == run->main_process && tid == p->reader->head.main_tid };
	sb_map_put(&x->tracks, key, index);
	return index;
}

const struct sb_run_schema *sb_run_schema_of(const struct sb_run *run, uint32_t process, uint32_t schema)
{
	uint32_t index;

	if (!sb_map_get(&run->index->schemas, (uint64_t)process << 40 | schema, &index))
		return NULL;
	return &run->schemas[index];
}

/* ---- what a file says about itself -------------------------------------- */

struct scan {
	struct sb_run *run;
	uint32_t process;
	/* the best anchor for the clock's rate */
	uint64_t anchor_ticks, anchor_mono_ns;
};

static void scan_name(struct scan *s, const struct sb_record *r)
{
	uint64_t sizes = r->words ? r->payload[0] : 0;
	uint64_t name_size = sizes & UINT32_MAX, code_size = sizes >> 32;
	const char *text = (const char *)(r->payload + 1);
	uint32_t id;

	if (!r->words || name_size + code_size > (uint64_t)(r->words - 1) * 8 || (r->aux & SB_ID_MAX) == 0)
		return;
	id = sb_run_name_add(s->run, text, name_size, text + name_size, code_size);
	file_name_set(&s->run->processes[s->process], (uint32_t)r->aux & SB_ID_MAX, id);
}

static void scan_schema(struct scan *s, const struct sb_record *r)
{
	struct sb_run *run = s->run;
	struct sb_run_schema *more;
	struct sb_run_schema schema = { .process = s->process, .id = (uint32_t)r->aux };

	if (r->words < 3 || r->payload[2] > r->words - 3 || sb_run_schema_of(run, s->process, schema.id))
		return;
	schema.source = sb_run_text_of(run, s->process, (uint32_t)r->payload[0] & SB_ID_MAX);
	schema.device = (int)r->payload[1] - 1;
	schema.column_count = (uint32_t)r->payload[2];
	schema.columns = calloc(schema.column_count + 1, sizeof *schema.columns);
	more = grow(run->schemas, &run->index->schema_room, run->schema_count, sizeof *more);
	if (!more || !schema.columns) {
		free(schema.columns);
		return;
	}
	run->schemas = more;
	for (uint32_t i = 0; i < schema.column_count; i++)
		schema.columns[i] = sb_run_text_of(run, s->process, (uint32_t)r->payload[3 + i] & SB_ID_MAX);
	sb_map_put(&run->index->schemas, (uint64_t)s->process << 40 | schema.id, run->schema_count);
	run->schemas[run->schema_count++] = schema;
}

static void scan_meta(struct scan *s, const struct sb_record *r)
{
	struct sb_run *run = s->run;
	struct sb_run_meta meta = { .process = s->process,
		.scope = (enum sb_meta_scope)(r->aux >> 24 & 255) };
	struct sb_run_meta *more;
	const char *text;
	size_t size;

	meta.attr.key = sb_run_text_of(run, s->process, (uint32_t)r->aux & SB_ID_MAX);
	meta.attr.type = (enum strobe_type)(r->aux >> 20 & 15);
	if (!r->words)
		return;
	if (meta.attr.type == STROBE_TYPE_STRING) {
		if (!sb_record_text(r, 0, &text, &size))
			return;
		meta.attr.s = keep_text(run, text, size);
	} else if (meta.attr.type == STROBE_TYPE_FLOAT) {
		memcpy(&meta.attr.f, r->payload, 8);
	} else if (meta.attr.type == STROBE_TYPE_INT || meta.attr.type == STROBE_TYPE_BOOL) {
		meta.attr.i = (int64_t)r->payload[0];
	} else {
		return;
	}
	more = grow(run->metas, &run->index->meta_room, run->meta_count, sizeof *more);
	if (!more)
		return;
	run->metas = more;
	run->metas[run->meta_count++] = meta;
	if (meta.scope == SB_META_RUN && !strcmp(meta.attr.key, SB_RUN_TOOL))
		run->processes[s->process].tool = true;
}

static void scan_track_name(struct scan *s, const struct sb_record *r, uint32_t tid, uint32_t task)
{
	const char *text;
	size_t size;
	uint32_t track;

	if (!sb_record_text(r, 0, &text, &size))
		return;
	track = sb_run_track_of(s->run, s->process, tid, task);
	if (track < s->run->track_count)
		s->run->tracks[track].name = keep_text(s->run, text, size);
	if (task)
		s->run->processes[s->process].has_tracks = true;
}

/* Later anchors give a better rate; all of them are near enough in time. */
static void scan_anchor(struct scan *s, uint64_t ticks, uint64_t mono_ns, uint64_t width_ns)
{
	if (width_ns < 1000000 && (int64_t)(ticks - s->anchor_ticks) > 0) {
		s->anchor_ticks = ticks;
		s->anchor_mono_ns = mono_ns;
	}
}

/* Records that say when they happened also say how far an unclosed file reaches. */
static void scan_time(struct scan *s, const struct sb_record *r)
{
	const uint32_t timed = 1u << SB_SAMPLE | 1u << SB_SNAPSHOT | 1u << SB_EVENT | 1u << SB_SKIP |
			       1u << SB_MODEL | 1u << SB_PROCESS | 1u << SB_STACK | 1u << SB_ANCHOR;
	struct sb_reader *reader = s->run->processes[s->process].reader;

	if (reader->head.closed || r->type >= 32 || !(timed >> r->type & 1) || !r->words)
		return;
	if ((int64_t)(r->payload[0] - reader->last_ticks) > 0 &&
		r->payload[0] - reader->last_ticks < reader->head.clock_hz * 86400)
		reader->last_ticks = r->payload[0];
}

static void scan_record(struct scan *s, const struct sb_record *r)
{
	scan_time(s, r);
	switch (r->type) {
	case SB_NAME: scan_name(s, r); break;
	case SB_SCHEMA: scan_schema(s, r); break;
	case SB_META: scan_meta(s, r); break;
	case SB_THREAD: scan_track_name(s, r, (uint32_t)r->aux, 0); break;
	case SB_TRACK: scan_track_name(s, r, 0, (uint32_t)r->aux & SB_ID_MAX); break;
	case SB_ANCHOR:
		if (r->words >= 4)
			scan_anchor(s, r->payload[0], r->payload[1], r->payload[3]);
		break;
	case SB_LOST:
		if (r->words >= 1 && r->aux < SB_LOST_REASONS)
			s->run->lost[r->aux] += r->payload[0];
		break;
	default: break;
	}
}

/* NAMEs first: other records refer to names that may be written after them. */
static int scan_keep(struct scan *s)
{
	struct sb_reader *r = s->run->processes[s->process].reader;
	struct sb_chunk_range range = sb_reader_range(r, SB_LANE_KEEP, 0);
	uint64_t *buf = malloc(r->head.chunk_bytes);

	if (!buf)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	for (int names = 1; names >= 0; names--)
		for (uint32_t i = range.first; i < range.end; i++) {
			struct sb_cursor c;
			struct sb_record record;
			size_t count;
			const uint64_t *words = sb_reader_chunk(r, &r->chunks[i], buf, &count);

			if (!words)
				continue;
			sb_cursor_init(&c, words, count, r->chunks[i].base_ticks);
			while (sb_cursor_next(&c, &record))
				if (record.kind == SB_LONG && (record.type == SB_NAME) == names)
					scan_record(s, &record);
		}
	free(buf);
	return 0;
}

/* The last word of every writer: how far an unclosed file reaches. */
static void scan_ends(struct sb_reader *r)
{
	uint64_t *buf = malloc(r->head.chunk_bytes);

	for (uint32_t i = 0; buf && i < r->chunk_count; i++) {
		const struct sb_chunk *chunk = &r->chunks[i];
		const struct sb_chunk *next = i + 1 < r->chunk_count ? chunk + 1 : NULL;
		struct sb_cursor c;
		struct sb_record record;
		size_t count;
		const uint64_t *words;

		if (chunk->lane != SB_LANE_HOT ||
			(next && next->lane == chunk->lane && next->writer == chunk->writer))
			continue;
		words = sb_reader_chunk(r, chunk, buf, &count);
		if (!words)
			continue;
		if ((int64_t)(chunk->base_ticks - r->last_ticks) > 0)
			r->last_ticks = chunk->base_ticks;
		sb_cursor_init(&c, words, count, chunk->base_ticks);
		while (sb_cursor_next(&c, &record))
			if (record.kind <= SB_SWITCH && (int64_t)(record.ticks - r->last_ticks) > 0 &&
				record.ticks - chunk->base_ticks < (uint64_t)1 << 50)
				r->last_ticks = record.ticks;
	}
	free(buf);
}

static void set_rate(struct sb_run_process *p, const struct scan *s)
{
	const struct sb_file_header *h = &p->reader->head;
	double nominal = 1e9 / (double)h->clock_hz;
	double span_ticks = (double)(int64_t)(s->anchor_ticks - h->start_ticks);
	double span_ns = (double)(int64_t)(s->anchor_mono_ns - h->start_mono_ns);

	p->ns_per_tick = nominal;
	if ((h->clock_kind == SB_CLOCK_TSC || h->clock_kind == SB_CLOCK_CNTVCT) && span_ns > 50e6 &&
		fabs(span_ns / span_ticks / nominal - 1) < 0.02)
		p->ns_per_tick = span_ns / span_ticks;
	p->scale = (uint64_t)(p->ns_per_tick * 0x1p40 + 0.5);
	p->origin_ticks = h->start_ticks;
}

static int scan_process(struct sb_run *run, uint32_t process)
{
	struct sb_run_process *p = &run->processes[process];
	struct sb_reader *r = p->reader;
	struct scan s = { .run = run,
		.process = process,
		.anchor_ticks = r->head.start_ticks,
		.anchor_mono_ns = r->head.start_mono_ns };
	int err;

	for (uint32_t i = 1; i < SB_NAME_FIXED_END; i++)
		file_name_set(p, i, sb_run_name_add(run, fixed_names[i], strlen(fixed_names[i]), NULL, 0));
	err = scan_keep(&s);
	if (err)
		return err;
	for (uint32_t i = 0; i < r->chunk_count; i++) {
		const struct sb_chunk *c = &r->chunks[i];

		if (c->anchor_mono_ns)
			scan_anchor(&s, c->base_ticks, c->anchor_mono_ns, c->anchor_width_ns);
		if (c->track)
			p->has_tracks = true;
	}
	if (r->head.closed)
		scan_anchor(&s, r->head.end_ticks, r->head.end_mono_ns, 0);
	else
		scan_ends(r);
	set_rate(p, &s);
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		run->lost[i] += r->head.lost[i];
	return 0;
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

/* Field 22 of /proc/PID/stat: with the pid and the boot it names a process. */
bool sb_run_is_running(const struct sb_file_header *h)
{
	unsigned long long start = 0;
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
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%llu", &start) == 1 && start == h->process_start;
}

/* ---- one time axis ------------------------------------------------------- */

static bool same_clock(const struct sb_file_header *a, const struct sb_file_header *b)
{
	return !strcmp(a->boot_id, b->boot_id) && !strcmp(a->host, b->host);
}

/* Nanoseconds from b's start to a's. */
static int64_t start_after(const struct sb_file_header *a, const struct sb_file_header *b)
{
	return same_clock(a, b) ? (int64_t)(a->start_mono_ns - b->start_mono_ns)
				: (int64_t)(a->start_real_ns - b->start_real_ns);
}

static void place_processes(struct sb_run *run)
{
	const struct sb_run_process *first = &run->processes[0];
	int64_t end = 0;

	for (uint32_t i = 0; i < run->process_count; i++)
		if (start_after(&run->processes[i].reader->head, &first->reader->head) < 0)
			first = &run->processes[i];
	run->start_real_ns = first->reader->head.start_real_ns;
	run->complete = true;
	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_run_process *p = &run->processes[i];
		const struct sb_file_header *h = &p->reader->head;

		p->start_ns = start_after(h, &first->reader->head);
		if (p->start_ns < 0)
			p->start_ns = 0;
		p->end_ns = sb_process_ns(p, p->reader->last_ticks);
		if (p->end_ns > end)
			end = p->end_ns;
		run->live |= sb_run_is_running(h);
		run->complete &= h->closed != 0;
	}
	run->wall_ns = end;
}

/* The command itself, else whoever recorded zones first, else the first. */
static void choose_main(struct sb_run *run)
{
	const struct sb_run_meta *command = sb_run_meta_find(run, SB_META_RUN, SB_RUN_PID);
	int best_rank = -1;

	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_run_process *p = &run->processes[i];
		struct sb_chunk_range hot = sb_reader_range(p->reader, SB_LANE_HOT, 0);
		int rank = p->tool ? 0
				   : 1 + 2 * (hot.end > hot.first) + (command && command->attr.i == p->pid);

		if (rank > best_rank ||
			(rank == best_rank && p->start_ns < run->processes[run->main_process].start_ns)) {
			best_rank = rank;
			run->main_process = i;
		}
	}
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
		struct sb_chunk_range hot = sb_reader_range(r, SB_LANE_HOT, 0);
		struct sb_chunk_range digest = sb_reader_range(r, SB_LANE_DIGEST, 0);

		for (uint32_t c = hot.first; c < hot.end; c++)
			sb_run_track_of(run, i, r->chunks[c].tid, 0);
		for (uint32_t c = digest.first; c < digest.end; c++)
			sb_run_track_of(run, i, r->chunks[c].tid, 0);
	}
}

/* ---- several sessions in one folder -------------------------------------- */

static uint64_t real_end_ns(const struct sb_reader *r)
{
	double seconds = (double)(int64_t)(r->last_ticks - r->head.start_ticks) / (double)r->head.clock_hz;

	return r->head.start_real_ns + (uint64_t)(seconds > 0 ? seconds * 1e9 : 0);
}

static bool related(const struct sb_reader *a, const struct sb_reader *b)
{
	if (!memcmp(a->head.session_uuid, b->head.session_uuid, 16))
		return true;
	if (a->head.ppid == b->head.pid || b->head.ppid == a->head.pid)
		return true;
	return a->head.start_real_ns <= real_end_ns(b) && b->head.start_real_ns <= real_end_ns(a);
}

/* Leaves the newest session and everything recorded along with it. */
static void keep_newest_session(struct sb_run *run)
{
	bool keep[run->process_count];
	uint32_t newest = 0, kept = 0;
	bool more = true;

	memset(keep, 0, sizeof keep);
	for (uint32_t i = 0; i < run->process_count; i++)
		if (run->processes[i].reader->head.start_real_ns >
			run->processes[newest].reader->head.start_real_ns)
			newest = i;
	keep[newest] = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < run->process_count; i++)
			for (uint32_t k = 0; k < run->process_count && !keep[i]; k++)
				if (keep[k] && related(run->processes[i].reader, run->processes[k].reader))
					more = keep[i] = true;
	}
	for (uint32_t i = 0; i < run->process_count; i++) {
		if (keep[i]) {
			run->processes[kept++] = run->processes[i];
			continue;
		}
		sb_run_warn(run,
			"'%s' is an earlier session in the same folder and left out: report it by its file "
			"name",
			run->processes[i].reader->path);
		sb_reader_close(run->processes[i].reader);
	}
	run->process_count = kept;
}

/* ---- open, close --------------------------------------------------------- */

static bool same_recording(const struct sb_file_header *a, const struct sb_file_header *b)
{
	return a->pid == b->pid && a->process_start == b->process_start && a->start_ticks == b->start_ticks &&
	       a->start_real_ns == b->start_real_ns && !memcmp(a->session_uuid, b->session_uuid, 16);
}

/* A packed copy beside its recording is the same recording, not a second one. */
static bool drop_copy(struct sb_run *run, struct sb_reader *reader)
{
	for (uint32_t i = 0; i < run->process_count; i++) {
		struct sb_reader **known = &run->processes[i].reader;
		struct sb_reader *other = *known;

		if (!same_recording(&reader->head, &other->head) || reader->packed == other->packed)
			continue;
		if (other->packed)
			*known = reader;
		sb_reader_close(other->packed ? other : reader);
		return true;
	}
	return false;
}

static int open_readers(struct sb_run *run)
{
	const struct sb_recordings *files = &run->index->recordings;
	int err = 0;

	run->processes = calloc(files->count, sizeof *run->processes);
	if (!run->processes)
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", run->path);
	for (size_t i = 0; i < files->count; i++) {
		struct sb_run_process *p = &run->processes[run->process_count];

		err = sb_reader_open(files->paths[i], &p->reader);
		if (err && files->count == 1)
			return err;
		if (err) {
			sb_run_warn(run, "left out: %s", sb_error_message());
			continue;
		}
		if (drop_copy(run, p->reader))
			continue;
		p->pid = p->reader->head.pid;
		p->ppid = p->reader->head.ppid;
		run->process_count++;
	}
	if (!run->process_count)
		return err;
	keep_newest_session(run);
	return 0;
}

static int64_t cut_edge(const struct sb_run *run, int64_t t_ns)
{
	if (t_ns < 0)
		t_ns += run->wall_ns;
	return t_ns < 0 ? 0 : t_ns > run->wall_ns ? run->wall_ns : t_ns;
}

struct generations {
	int32_t wanted;
	int64_t *begins, *ends;
	uint32_t count, room;
};

static void see_generation(void *self, const struct sb_zone *z)
{
	struct generations *g = self;

	if (g->count == g->room) {
		uint32_t room = g->room ? g->room * 2 : 64;
		int64_t *begins = realloc(g->begins, room * sizeof *begins);
		int64_t *ends = realloc(g->ends, room * sizeof *ends);

		g->begins = begins ? begins : g->begins;
		g->ends = ends ? ends : g->ends;
		if (!begins || !ends)
			return;
		g->room = room;
	}
	/* by begin: nearly sorted already */
	uint32_t at = g->count++;
	for (; at && g->begins[at - 1] > z->begin_ns; at--) {
		g->begins[at] = g->begins[at - 1];
		g->ends[at] = g->ends[at - 1];
	}
	g->begins[at] = z->begin_ns;
	g->ends[at] = z->end_ns;
}

static int cut_to_generation(struct sb_run *run, int32_t wanted)
{
	struct generations g = { .wanted = wanted };
	struct sb_visitor v = { .self = &g, .roles = 1u << STROBE_ROLE_GENERATION, .zone = see_generation };
	int err = sb_run_visit(run, &v, 1);

	if (!err && !g.count)
		err = sb_fail(
			STROBE_EINVAL, "'%s' has no generations: nothing in it was marked as one", run->path);
	else if (!err && (wanted < 1 || (uint32_t)wanted > g.count))
		err = sb_fail(
			STROBE_EINVAL, "'%s' has generations 1 to %u, not %d", run->path, g.count, wanted);
	if (!err) {
		run->from_ns = g.begins[wanted - 1];
		run->to_ns = g.ends[wanted - 1];
		run->generation = wanted;
		run->is_cut = true;
	}
	free(g.begins);
	free(g.ends);
	return err;
}

static int apply_cut(struct sb_run *run, const struct sb_cut *cut)
{
	run->to_ns = run->wall_ns;
	if (!cut)
		return 0;
	if (cut->generation)
		return cut_to_generation(run, cut->generation);
	if (cut->has_from)
		run->from_ns = cut_edge(run, cut->from_ns);
	if (cut->has_to)
		run->to_ns = cut_edge(run, cut->to_ns);
	if (cut->last_ns && run->to_ns - cut->last_ns > run->from_ns)
		run->from_ns = run->to_ns - cut->last_ns;
	run->is_cut = cut->has_from || cut->has_to || cut->last_ns;
	if (run->is_cut && run->from_ns >= run->to_ns)
		return sb_fail(STROBE_EINVAL,
			"nothing lies between %.3f s and %.3f s: the run is %.3f s long",
			(double)run->from_ns / 1e9, (double)run->to_ns / 1e9, (double)run->wall_ns / 1e9);
	return 0;
}

int sb_run_open(const char *spec, const struct sb_cut *cut, struct sb_run **out_run)
{
	char path[PATH_MAX];
	struct sb_run *run;
	int err = sb_run_resolve(spec, path, sizeof path);

	if (err)
		return err;
	run = calloc(1, sizeof *run);
	if (run) {
		run->index = calloc(1, sizeof *run->index);
		run->path = strdup(path);
	}
	if (!run || !run->index || !run->path) {
		sb_run_close(run);
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", path);
	}
	err = sb_recordings_find(path, &run->index->recordings);
	if (!err) {
		run->folder = run->index->recordings.folder ? strdup(run->index->recordings.folder) : NULL;
		sb_run_name_add(run, "", 0, NULL, 0);
		err = open_readers(run);
	}
	for (uint32_t i = 0; !err && i < run->process_count; i++)
		err = scan_process(run, i);
	if (!err) {
		place_processes(run);
		choose_main(run);
		add_threads(run);
		err = apply_cut(run, cut);
	}
	if (err) {
		sb_run_close(run);
		return err;
	}
	*out_run = run;
	return 0;
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
		sb_map_done(&run->index->children);
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
	for (uint32_t i = run->meta_count; i-- > 0;)
		if (run->metas[i].scope == scope && !strcmp(run->metas[i].attr.key, key))
			return &run->metas[i];
	return NULL;
}
