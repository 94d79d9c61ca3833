/* The names that the system has for threads: each stands at the beginning of what its
 * thread wrote. A name that the program gave itself (strobe_thread_name, NVTX) takes precedence. */
#include "base/error.h"
#include "format/cursor.h"
#include "run/index.h"
#include "strobe.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS_MOST = 4 }; /* before the name: the owner, a new time base */

struct named {
	const char *text; /* NULL: none */
	size_t size;
};

/* The text lies in buf. */
static struct named name_in(struct sb_reader *r, const struct sb_chunk *chunk, uint64_t *buf)
{
	uint64_t vanished_count = r->vanished_count;
	struct named found = { NULL, 0 };
	struct sb_cursor c;
	struct sb_record record;
	size_t count;
	const uint64_t *words = sb_reader_chunk(r, chunk, buf, &count);

	r->vanished_count = vanished_count; /* the pass looks again, and counts */
	if (!words)
		return found;
	sb_cursor_init(&c, words, count, chunk->base_ticks);
	for (int i = 0; i < RECORDS_MOST && !found.text && sb_cursor_next(&c, &record); i++)
		if (record.kind == SB_LONG && record.type == SB_THREAD &&
			(uint32_t)record.aux == chunk->tid &&
			!sb_record_text(&record, 0, &found.text, &found.size))
			found.text = NULL;
	return found;
}

/* A thread without a name of its own has the name of the thread that made it. */
static void name_thread(
	struct sb_run *run, uint32_t process, uint32_t tid, struct named name, const char *main)
{
	uint32_t track = sb_run_track_of(run, process, tid, 0);

	if (track >= run->track_count || (run->tracks[track].name && *run->tracks[track].name))
		return;
	if (strlen(main) == name.size && !memcmp(main, name.text, name.size))
		return;
	run->tracks[track].name = sb_run_text_keep(run, name.text, name.size);
}

int sb_run_thread_names(struct sb_run *run, uint32_t process)
{
	struct sb_reader *r = run->processes[process].reader;
	struct sb_chunk_range hot = sb_reader_range(r, SB_STREAM_HOT, 0);
	uint64_t *buf = malloc(r->head.chunk_bytes);
	char main[64] = "";

	if (!buf)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	for (int others = 0; others < 2; others++)
		for (uint32_t i = hot.first; i < hot.end; i++) {
			const struct sb_chunk *chunk = &r->chunks[i];
			bool first = i == hot.first || chunk->writer != r->chunks[i - 1].writer;
			struct named name = { NULL, 0 };

			if (first && (chunk->tid != r->head.main_tid) == others)
				name = name_in(r, chunk, buf);
			if (name.text && others)
				name_thread(run, process, chunk->tid, name, main);
			else if (name.text && name.size < sizeof main)
				memcpy(main, name.text, name.size);
		}
	free(buf);
	return 0;
}
