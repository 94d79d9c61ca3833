/* The run's tables: names, texts, tracks and schemas of all its recordings. */
#include "run/index.h"
#include "base/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		const char *kept;

		if (!SB_MAKE_ROOM(run->names, run->name_count, x->name_room))
			return 0;
		kept = sb_strings_text(&x->names, run->name_count);
		run->names[run->name_count] = run->name_count
						      ? (struct sb_run_name){ kept, kept + strlen(kept) + 1 }
						      : (struct sb_run_name){ "", "" };
		run->name_count++;
	}
	return id;
}

bool sb_run_file_name_set(struct sb_run_process *p, uint32_t file_id, uint32_t id)
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

uint32_t sb_run_name_of_any(struct sb_run *run, uint32_t process, uint32_t file_id)
{
	struct sb_run_process *p = &run->processes[process];
	char text[32];
	uint32_t id;

	if (file_id < p->name_count && p->names[file_id])
		return p->names[file_id];
	if (!file_id)
		return 0;
	id = sb_run_name_add(
		run, text, (size_t)snprintf(text, sizeof text, SB_LOST_NAME "%u)", file_id), NULL, 0);
	sb_run_file_name_set(p, file_id & SB_ID_MAX, id);
	return id;
}

const char *sb_run_text_of(struct sb_run *run, uint32_t process, uint32_t file_id)
{
	uint32_t id = sb_run_name_of(run, process, file_id); /* may move run->names */

	return run->names[id].text;
}

const char *sb_run_text_keep(struct sb_run *run, const char *text, size_t size)
{
	return sb_strings_text(
		&run->index->texts, sb_strings_add(&run->index->texts, text, strnlen(text, size)));
}

uint32_t sb_run_track_of(struct sb_run *run, uint32_t process, uint32_t tid, uint32_t task)
{
	struct sb_run_index *x = run->index;
	uint64_t key = (uint64_t)process << 40 | (uint64_t)(task != 0) << 32 | (task ? task : tid);
	struct sb_run_process *p = &run->processes[process];
	uint32_t index;

	if (sb_map_get(&x->tracks, key, &index))
		return index;
	if (!SB_MAKE_ROOM(run->tracks, run->track_count, x->track_room))
		return 0;
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
