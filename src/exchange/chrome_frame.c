/* What stands around the events of a Chrome trace: the head, the findings, the names of processes, threads and
 * streams. */
#include "exchange/chrome.h"

#include "format/run_keys.h"

#include <stdio.h>

void sb_chrome_put_head(struct sb_chrome *c)
{
	const struct sb_run *run = c->run;
	const struct sb_file_header *head = &run->processes[run->main_process].reader->head;
	char *at = sb_out_room(c->out, SB_OUT_RECORD_MAX);
	bool first = true;

	at = SB_PUT(at, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [");
	for (int device = 0; device < 16; device++) {
		char key[16];
		const struct sb_run_meta *meta;

		snprintf(key, sizeof key, "gpu%d", device);
		meta = sb_run_meta_find(run, SB_META_SYSTEM, key);
		if (!meta || meta->attr.type != STROBE_TYPE_STRING)
			continue;
		at = first ? SB_PUT(at, "{\"id\": ") : SB_PUT(at, ", {\"id\": ");
		first = false;
		at = sb_put_u64(at, (uint64_t)device);
		at = SB_PUT(at, ", \"name\": ");
		at = sb_put_json_string(at, meta->attr.s, 256);
		*at++ = '}';
	}
	at = SB_PUT(at, "],\n");
	if (head->rank >= 0) {
		const struct sb_run_meta *backend = sb_run_meta_find(run, SB_META_RUN, SB_RUN_BACKEND);

		at = SB_PUT(at, "\"distributedInfo\": {");
		if (backend && backend->attr.type == STROBE_TYPE_STRING) {
			at = SB_PUT(at, "\"backend\": ");
			at = sb_put_json_string(at, backend->attr.s, 64);
			at = SB_PUT(at, ", ");
		}
		at = SB_PUT(at, "\"rank\": ");
		at = sb_put_u64(at, (uint64_t)head->rank);
		at = SB_PUT(at, ", \"world_size\": ");
		at = sb_put_i64(at, head->world_size > head->rank ? head->world_size : head->rank + 1);
		at = SB_PUT(at, "},\n");
	}
	at = SB_PUT(at, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
	at = sb_put_u64(at, run->start_real_ns);
	at = SB_PUT(at, ",\n\"traceEvents\": [\n");
	c->out->at = at;
}

static void put_metadata(struct sb_chrome *c, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	char *at = sb_out_room(c->out, NAME_LIMIT * 6 + 256);

	at = SB_PUT(at, "{\"ph\":\"M\",\"name\":\"");
	at = sb_out_put(at, what, strlen(what));
	*at++ = '"';
	at = sb_chrome_place(at, pid, tid, 0);
	at = SB_PUT(at, ",\"args\":{\"name\":");
	at = sb_put_json_string(at, name, NAME_LIMIT);
	at = SB_PUT(at, "}},\n");
	c->out->at = at;
}

static void put_sort_index(struct sb_chrome *c, uint64_t pid, uint32_t index)
{
	char *at = sb_out_room(c->out, 256);

	at = SB_PUT(at, "{\"ph\":\"M\",\"name\":\"process_sort_index\"");
	at = sb_chrome_place(at, pid, 0, 0);
	at = SB_PUT(at, ",\"args\":{\"sort_index\":");
	at = sb_put_u64(at, index);
	at = SB_PUT(at, "}},\n");
	c->out->at = at;
}

static bool is_first_of_device(const struct sb_chrome *c, uint32_t stream)
{
	for (uint32_t i = 0; i < stream; i++)
		if (c->streams[i].pid == c->streams[stream].pid)
			return false;
	return true;
}

/* A stream, with its GPU where it is the first of it. A job's GPUs stand below their ranks. */
static void put_stream(struct sb_chrome *c, uint32_t number)
{
	const struct sb_chrome_stream *s = &c->streams[number];
	char name[512] = "";
	size_t used = 0;

	if (is_first_of_device(c, number)) {
		if (c->run->job) {
			sb_export_process_name(c->run, s->process, name, sizeof name - 32);
			used = strlen(name);
			put_sort_index(c, s->pid, 2 * sb_export_process_order(c->run, s->process) + 1);
		}
		snprintf(name + used, sizeof name - used, "%sGPU %u", used ? ", " : "", s->device);
		put_metadata(c, "process_name", s->pid, 0, name);
	}
	if (s->line & SB_CHROME_WAITS)
		snprintf(name, sizeof name, "waits of thread %u", (uint32_t)(s->line & ~SB_CHROME_WAITS));
	else
		snprintf(name, sizeof name, "stream %u", (uint32_t)s->line);
	put_metadata(c, "thread_name", s->pid, s->line, name);
}

/* Findings: asynchronous, so that each has a row of its own; those of no time in particular as global marks. */
static void put_marker(
	struct sb_chrome *c, const struct sb_marker *m, uint64_t id, const char *phase, int64_t t_ns)
{
	char *at = sb_out_room(c->out, SB_OUT_RECORD_MAX);

	at = SB_PUT(at, "{\"ph\":\"");
	at = sb_out_put(at, phase, 1);
	at = SB_PUT(at, "\",\"cat\":\"strobe.finding\",\"id\":");
	at = sb_put_u64(at, id);
	at = SB_PUT(at, ",\"s\":\"g\",\"name\":");
	at = sb_put_json_string(at, m->id, NAME_LIMIT);
	at = sb_chrome_place(at, sb_export_pid(c->run, c->run->main_process), 0, t_ns);
	if (*phase != 'e') {
		at = SB_PUT(at, ",\"args\":{\"priority\":");
		at = sb_put_json_string(at, m->priority, 64);
		at = SB_PUT(at, ",\"issue\":");
		at = sb_put_json_string(at, m->issue, TEXT_LIMIT);
		at = SB_PUT(at, ",\"suggestion\":");
		at = sb_put_json_string(at, m->suggestion, TEXT_LIMIT);
		*at++ = '}';
	}
	c->out->at = SB_PUT(at, "},\n");
}

void sb_chrome_put_markers(struct sb_chrome *c, const struct sb_markers *markers)
{
	for (size_t i = 0; i < markers->count; i++) {
		const struct sb_marker *m = &markers->all[i];

		if (m->to_ns > m->from_ns) {
			put_marker(c, m, ++c->correlation, "b", m->from_ns);
			put_marker(c, m, c->correlation, "e", m->to_ns);
		} else {
			put_marker(c, m, ++c->correlation, "i", c->run->from_ns);
		}
		c->summary->findings++;
	}
}

void sb_chrome_put_tail(struct sb_chrome *c)
{
	const struct sb_run *run = c->run;
	char name[512];

	for (uint32_t i = 0; i < run->process_count; i++) {
		sb_export_process_name(run, i, name, sizeof name);
		put_metadata(c, "process_name", sb_export_pid(run, i), 0, name);
		if (run->job)
			put_sort_index(c, sb_export_pid(run, i), 2 * sb_export_process_order(run, i));
	}
	for (uint32_t i = 0; i < run->track_count; i++) {
		sb_export_track_name(run, i, name, sizeof name);
		put_metadata(c, "thread_name", sb_export_pid(run, run->tracks[i].process),
			sb_export_tid(&run->tracks[i]), name);
	}
	for (uint32_t i = 0; i < c->stream_count; i++)
		put_stream(c, i);
	c->out->at = SB_PUT(sb_out_room(c->out, 256),
		"{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":0,\"tid\":0,\"ts\":");
	c->out->at = sb_put_us(c->out->at, run->to_ns);
	c->out->at = SB_PUT(c->out->at, "}\n]\n}\n");
}
