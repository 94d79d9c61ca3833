/* memory_log.json. The snapshots also carry the keys that memory trackers of
 * this kind have always written: timestamp and max_allocated_mb. */
#include "report/memory_log.h"

#include "base/error.h"
#include "base/json.h"

#include <stdlib.h>

struct entry {
	struct sb_memory_snapshot snapshot;
	double timestamp;
};

struct memory_log {
	struct entry *entries;
	size_t count;
	const struct sb_series *timeline;
};

static const struct sb_field entry_rows[] = {
	SB_FIELD(entry, snapshot.label, "label", SB_ALWAYS, "what the program calls the moment"),
	SB_FIELD(entry, timestamp, "timestamp", SB_ALWAYS, "when, in seconds since 1970", .decimals = 6),
	SB_FIELD(entry, snapshot.t_s, "t_s", SB_ALWAYS, "when, since the start of the run", .decimals = 6,
		.range = SB_SIGNED),
	SB_FIELD(entry, snapshot.device_name, "device", SB_ALWAYS, "\"gpu:0\" or \"host\""),
	SB_FIELD_AS(MB, entry, snapshot.allocated_bytes, "allocated_mb", SB_KNOWN, "in use"),
	SB_FIELD_AS(MB, entry, snapshot.reserved_bytes, "reserved_mb", SB_KNOWN, "held by the allocator"),
	SB_FIELD_AS(MB, entry, snapshot.peak_bytes, "max_allocated_mb", SB_KNOWN, "the same as peak_mb"),
	SB_FIELD_AS(MB, entry, snapshot.peak_bytes, "peak_mb", SB_KNOWN, "the most that was in use so far"),
	SB_FIELD(entry, snapshot.stage, "stage", SB_KNOWN, "the stage in which it was taken"),
};
static SB_FIELDS(entry, entry, "MemoryLogEntry", "Memory at one moment.");

static const struct sb_field sb_memory_log_fields_rows[] = {
	SB_FIELD_LIST(memory_log, entries, count, "snapshots", SB_ALWAYS, entry, "in the order of time"),
	SB_FIELD(memory_log, timeline, "timeline", SB_KNOWN, "memory over time, sampled"),
};
SB_FIELDS(sb_memory_log_fields, memory_log, "MemoryLog", "The memory of a run over time.");

int sb_report_memory_log(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_memory_panel *memory = &model->memory;
	struct memory_log log = { .count = memory->snapshot_count, .timeline = &memory->timeline };
	struct sb_json j;

	log.entries = calloc(log.count + 1, sizeof *log.entries);
	if (!log.entries)
		return sb_fail(STROBE_ENOMEM, "no memory for memory_log.json");
	for (size_t i = 0; i < log.count; i++) {
		const struct sb_memory_snapshot *s = &memory->snapshots[i];

		log.entries[i].snapshot = *s;
		log.entries[i].timestamp = (double)model->session.start_real_ns / 1e9 + s->t_s;
	}
	sb_json_init(&j, out, false);
	sb_fields_write(&sb_memory_log_fields, &log, NULL, &j);
	free(log.entries);
	sb_buf_putc(out, '\n');
	return sb_buf_failed(out) ? sb_fail(STROBE_ENOMEM, "no memory for memory_log.json") : 0;
}
