/* Lines for stages, in the form of stage logs. */
#include "record/stage_log.h"

#include "strobe.h"

#include "record/clock.h"
#include "record/descriptor.h"
#include "record/recorder.h"
#include "record/settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MOST 64
#define NOTES_MOST 4

struct open_zone {
	uint32_t id;
	uint64_t ticks;
	bool coded, coded_inside;
	uint32_t note_count;
	struct {
		uint32_t key;
		int64_t value;
	} notes[NOTES_MOST];
};

struct sb_stage_log {
	uint32_t depth; /* beyond DEPTH_MOST they are only counted */
	uint32_t track; /* of a task, whose zones are not this thread's */
	struct open_zone open[DEPTH_MOST];
};

void sb_stage_log_open(const char *setting)
{
	bool on = *setting && !sb_setting_is_false(setting);

	atomic_store(&REC->stage_log, on && !REC->stage_log_elsewhere);
	if (on && !sb_setting_is_true(setting) && strcmp(setting, "stderr"))
		snprintf(REC->stage_log_path, sizeof REC->stage_log_path, "%s", setting);
	else
		REC->stage_log_path[0] = 0;
}

bool sb_stage_log_on(void)
{
	return atomic_load_explicit(&REC->stage_log, memory_order_relaxed);
}

void strobe_stage_log_elsewhere(void)
{
	REC->stage_log_elsewhere = true;
	atomic_store(&REC->stage_log, false);
}

/* ---- lines -------------------------------------------------------------------- */

static bool is_plain(const char *key)
{
	static const char *const plain[] = { "frames", "steps", "iters", "tiles", "tokens" };

	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		if (!strcmp(plain[i], key))
			return true;
	return false;
}

/* " (12 iters, batch=4)" */
static void put_notes(const struct open_zone *z, char *out, size_t size)
{
	size_t used = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < z->note_count && used + 80 < size; i++) {
		char key[64], code[32];
		long long value = z->notes[i].value;

		sb_name_text(z->notes[i].key, key, sizeof key, code, sizeof code);
		used += (size_t)snprintf(out + used, size - used, "%s", used ? ", " : " (");
		if (is_plain(key))
			used += (size_t)snprintf(out + used, size - used, "%lld %s", value, key);
		else
			used += (size_t)snprintf(out + used, size - used, "%s=%lld", key, value);
	}
	if (used)
		snprintf(out + used, size - used, ")");
}

/* Two digits behind the point; below a tenth, two that say something. */
static int digits_of(double seconds)
{
	int digits = 2;

	for (; seconds > 0 && seconds < .0995 && digits < 9; seconds *= 10)
		digits++;
	return digits;
}

static void print(const char *line, size_t size)
{
	struct sb_descriptor file;

	if (!REC->stage_log_path[0]) {
		if (sb_descriptor_stderr_is_safe(STDERR_FILENO) &&
			!sb_descriptor_write(STDERR_FILENO, line, size))
			atomic_store(&REC->stage_log, false);
		return;
	}
	if (!sb_descriptor_open(&file, REC->stage_log_path, O_WRONLY | O_CREAT | O_APPEND, 0600) ||
		!sb_descriptor_write(file.number, line, size))
		atomic_store(&REC->stage_log, false);
	sb_descriptor_close(&file);
}

static void say(struct sb_stage_log *log, const struct open_zone *z, uint64_t end_ticks)
{
	double seconds = (double)(end_ticks - z->ticks) / (double)sb_clock_hz();
	char line[700], name[200], code[32], label[40] = "", notes[320];
	uint32_t depth = log->depth, indent; /* of those around it */
	int size;

	sb_name_text(z->id, name, sizeof name, code, sizeof code);
	for (uint32_t i = depth; z->coded && i-- > 0;)
		log->open[i].coded_inside = true;
	if (z->coded)
		snprintf(label, sizeof label, "[%s] ", code);
	put_notes(z, notes, sizeof notes);
	indent = z->coded ? depth + 1 : depth;
	size = snprintf(line, sizeof line, "%*s%s%s%s%s: %.*fs\n", (int)(2 * indent), "", label, name, notes,
		!z->coded_inside ? ""
		: z->coded       ? " TOTAL"
				 : " total",
		digits_of(seconds), seconds);
	if (size > 0)
		print(line, (size_t)size < sizeof line ? (size_t)size : sizeof line - 1);
}

/* ---- zones --------------------------------------------------------------------- */

static void begin(struct sb_stage_log *log, uint32_t id, uint64_t ticks)
{
	char name[8], code[32];

	if (log->depth++ >= DEPTH_MOST)
		return;
	sb_name_text(id, name, sizeof name, code, sizeof code);
	log->open[log->depth - 1] = (struct open_zone){ .id = id, .ticks = ticks, .coded = code[0] != 0 };
}

/* An end that is not the innermost zone's ends those inside it too; one that matches none ends none. */
static void end(struct sb_stage_log *log, uint32_t id, uint64_t ticks)
{
	uint32_t to = log->depth;

	if (log->depth > DEPTH_MOST) {
		log->depth--;
		return;
	}
	while (id && to && log->open[to - 1].id != id)
		to--;
	if (!to)
		return;
	to = id ? to - 1 : log->depth - 1;
	while (log->depth > to) {
		struct open_zone z = log->open[--log->depth];

		say(log, &z, ticks);
	}
}

void sb_stage_log_event(struct sb_stage_log **log, enum sb_kind kind, uint32_t id, uint64_t ticks)
{
	if (!*log)
		*log = calloc(1, sizeof **log);
	if (!*log)
		return;
	if (kind == SB_SWITCH)
		(*log)->track = id;
	else if (!(*log)->track && kind == SB_BEGIN)
		begin(*log, id, ticks);
	else if (!(*log)->track && kind == SB_END)
		end(*log, id, ticks);
}

void sb_stage_log_attr(struct sb_stage_log *log, uint32_t key, int64_t value)
{
	struct open_zone *z = log && log->depth && log->depth <= DEPTH_MOST ? &log->open[log->depth - 1]
									    : NULL;

	if (!z || log->track || key == SB_NAME_ROLE || z->note_count == NOTES_MOST)
		return;
	z->notes[z->note_count].key = key;
	z->notes[z->note_count++].value = value;
}
