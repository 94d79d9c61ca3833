/* memory_log.json. The snapshots also carry the keys that memory trackers of
 * this kind have always written: timestamp and max_allocated_mb. */
#include "report/memory_log.h"

#include "base/memory_units.h"
#include "base/error.h"
#include "base/json.h"

#include <math.h>

static void opt_mb(struct sb_json *j, const char *key, double bytes)
{
	if (!isnan(bytes))
		sb_json_fixed(j, key, bytes / SB_MB, 1);
}

static void snapshot(const struct sb_model *model, const struct sb_memory_snapshot *s, struct sb_json *j)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "label", s->label);
	sb_json_fixed(j, "timestamp", (double)model->session.start_real_ns / 1e9 + s->t_s, 6);
	sb_json_fixed(j, "t_s", s->t_s, 6);
	sb_json_string(j, "device", s->device_name);
	opt_mb(j, "allocated_mb", s->allocated_bytes);
	opt_mb(j, "reserved_mb", s->reserved_bytes);
	opt_mb(j, "max_allocated_mb", s->peak_bytes);
	opt_mb(j, "peak_mb", s->peak_bytes);
	if (s->stage)
		sb_json_string(j, "stage", s->stage);
	sb_json_object_end(j);
}

int sb_report_memory_log(const struct sb_model *model, struct sb_buf *out)
{
	struct sb_json j;

	sb_json_init(&j, out, false);
	sb_json_object_begin(&j, NULL);
	sb_json_array_begin(&j, "snapshots");
	for (size_t i = 0; i < model->memory.snapshot_count; i++)
		snapshot(model, &model->memory.snapshots[i], &j);
	sb_json_array_end(&j);
	sb_series_write(&model->memory.timeline, "timeline", &j);
	sb_json_object_end(&j);
	sb_buf_putc(out, '\n');
	return sb_buf_failed(out) ? sb_fail(STROBE_ENOMEM, "no memory for memory_log.json") : 0;
}
