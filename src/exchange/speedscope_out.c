/* Writes speedscope JSON: a profile per thread, task and GPU stream, and one of sampled Python stacks. Frames
 * are the run's names and come last, when all of them are known. */
#include "exchange/export.h"
#include "exchange/nested.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 1024u

struct speedscope {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
	uint32_t profile_count, active;
	bool in_line, first_event, spans, gpu;
	int64_t begin_ns, end_ns; /* of the line */
	uint64_t span_count;
	/* sampled stacks */
	uint64_t sample_count;
	bool weighted;
	uint64_t total;
	bool weights; /* the second of its two passes */
};

static void put_text(struct speedscope *s, const char *text)
{
	sb_out_write(s->out, text, strlen(text));
}

static void put_name(struct speedscope *s, const char *name)
{
	char *at = sb_out_room(s->out, NAME_LIMIT * 6 + 64);

	s->out->at = sb_put_json_string(at, name, NAME_LIMIT);
}

/* ---- lines ---- */

static void line_name(const struct speedscope *s, const struct sb_nested_line *line, char *out, size_t size)
{
	char name[512], process[512];

	if (line->kind == SB_NESTED_STREAM)
		snprintf(name, sizeof name, "GPU %u stream %u", line->device, line->stream);
	else
		sb_export_track_name(s->run, line->track, name, sizeof name);
	if (s->run->job) {
		sb_export_process_name(s->run, line->process, process, sizeof process);
		snprintf(out, size, "%s: %s", process, name);
	} else if (s->run->process_count > 1) {
		snprintf(out, size, "%s (pid %u)", name, s->run->processes[line->process].pid);
	} else {
		snprintf(out, size, "%s", name);
	}
}

static void end_line(struct speedscope *s)
{
	char *at;

	if (!s->in_line)
		return;
	at = sb_out_room(s->out, 256);
	at = SB_PUT(at, "\n],\"startValue\":");
	at = sb_put_i64(at, s->begin_ns);
	at = SB_PUT(at, ",\"endValue\":");
	at = sb_put_i64(at, s->end_ns);
	s->out->at = SB_PUT(at, "}");
	s->in_line = false;
}

static void begin_profile(struct speedscope *s, const char *type, const char *name, const char *unit)
{
	put_text(s, s->profile_count++ ? ",\n{\"type\":\"" : "\n{\"type\":\"");
	put_text(s, type);
	put_text(s, "\",\"name\":");
	put_name(s, name);
	put_text(s, ",\"unit\":\"");
	put_text(s, unit);
	put_text(s, "\"");
}

static void take_line(void *self, const struct sb_nested_line *line)
{
	struct speedscope *s = self;
	char name[1100];

	end_line(s);
	s->spans = line->kind == SB_NESTED_SPANS;
	s->gpu = line->kind == SB_NESTED_STREAM;
	if (s->spans)
		return;
	line_name(s, line, name, sizeof name);
	if (line->kind == SB_NESTED_TRACK && s->run->tracks[line->track].main)
		s->active = s->profile_count;
	begin_profile(s, "evented", name, "nanoseconds");
	put_text(s, ",\"events\":[");
	s->in_line = s->first_event = true;
	s->begin_ns = s->run->from_ns;
	s->end_ns = s->run->from_ns;
}

static void put_event(struct speedscope *s, char type, uint32_t name, int64_t t_ns)
{
	char *at = sb_out_room(s->out, 128);

	at = s->first_event ? SB_PUT(at, "\n{\"type\":\"") : SB_PUT(at, ",\n{\"type\":\"");
	*at++ = type;
	at = SB_PUT(at, "\",\"frame\":");
	at = sb_put_u64(at, name);
	at = SB_PUT(at, ",\"at\":");
	at = sb_put_i64(at, t_ns);
	s->out->at = SB_PUT(at, "}");
	s->first_event = false;
	s->begin_ns = t_ns < s->begin_ns ? t_ns : s->begin_ns;
	s->end_ns = t_ns > s->end_ns ? t_ns : s->end_ns;
}

static void open_zone(void *self, const struct sb_nested_zone *z)
{
	struct speedscope *s = self;

	if (s->spans) {
		s->span_count++;
		return;
	}
	s->summary->zones += !s->gpu;
	s->summary->gpu += s->gpu;
	put_event(s, 'O', z->name, z->begin_ns);
}

static void close_zone(void *self, const struct sb_nested_zone *z)
{
	struct speedscope *s = self;

	if (!s->spans)
		put_event(s, 'C', z->name, z->end_ns);
}

/* ---- sampled stacks ---- */

static void count_stack(void *self, const struct sb_event *ev)
{
	struct speedscope *s = self;

	if (ev->stack.native || !ev->stack.frame_count)
		return;
	s->sample_count++;
	s->weighted |= ev->stack.weight_ns > 0;
}

static uint64_t weight_of(const struct speedscope *s, const struct sb_event *ev)
{
	return s->weighted ? (uint64_t)ev->stack.weight_ns : 1;
}

static void put_stack(void *self, const struct sb_event *ev)
{
	struct speedscope *s = self;
	char *at;

	if (ev->stack.native || !ev->stack.frame_count)
		return;
	at = sb_out_room(s->out, 64);
	at = s->first_event ? at : SB_PUT(at, ",");
	s->first_event = false;
	if (s->weights) {
		s->total += weight_of(s, ev);
		s->out->at = sb_put_u64(at, weight_of(s, ev));
		return;
	}
	*at++ = '[';
	s->out->at = at;
	for (uint32_t i = ev->stack.frame_count; i-- > 0;) {
		at = sb_put_u64(sb_out_room(s->out, 32), ev->stack.names[i]);
		if (i)
			*at++ = ',';
		s->out->at = at;
	}
	*sb_out_room(s->out, 1) = ']';
	s->out->at++;
}

static int visit_stacks(struct speedscope *s, void (*event)(void *, const struct sb_event *))
{
	struct sb_visitor v = { .self = s, .kinds = 1u << SB_EVENT_STACK, .event = event };

	s->first_event = true;
	return sb_run_visit(s->run, &v, 1);
}

static int put_stacks(struct speedscope *s)
{
	int err = visit_stacks(s, count_stack);
	char *at;

	if (err || !s->sample_count)
		return err;
	begin_profile(
		s, "sampled", "Python stacks, sampled, all threads", s->weighted ? "nanoseconds" : "none");
	put_text(s, ",\"samples\":[");
	err = visit_stacks(s, put_stack);
	put_text(s, "],\"weights\":[");
	s->weights = true;
	if (!err)
		err = visit_stacks(s, put_stack);
	at = SB_PUT(sb_out_room(s->out, 128), "],\"startValue\":0,\"endValue\":");
	at = sb_put_u64(at, s->total);
	s->out->at = SB_PUT(at, "}");
	return err;
}

/* ---- the whole ---- */

static void put_frames(struct speedscope *s)
{
	for (uint32_t i = 0; i < s->run->name_count; i++) {
		const struct sb_run_name *n = &s->run->names[i];
		char name[NAME_LIMIT + 80];

		snprintf(name, sizeof name, *n->code ? "[%.64s] %.*s" : "%.0s%.*s", n->code, (int)NAME_LIMIT,
			*n->text ? n->text : SB_NO_NAME);
		put_text(s, i ? ",\n{\"name\":" : "\n{\"name\":");
		put_name(s, name);
		put_text(s, "}");
	}
}

static void put_tail(struct speedscope *s)
{
	char name[128], *at;

	put_text(s, "\n],\n\"shared\":{\"frames\":[");
	put_frames(s);
	put_text(s, "\n]},\n\"name\":");
	snprintf(name, sizeof name, "%.127s", s->run->processes[s->run->main_process].reader->head.name);
	put_name(s, name);
	at = SB_PUT(sb_out_room(s->out, 64), ",\n\"activeProfileIndex\":");
	at = sb_put_u64(at, s->active);
	s->out->at = SB_PUT(at, "\n}\n");
}

static int write_speedscope(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct speedscope s = { .run = run, .out = out, .summary = summary };
	struct sb_nested_visitor visitor = {
		.self = &s, .line = take_line, .open = open_zone, .close = close_zone
	};
	int err;

	put_text(&s, "{\"$schema\":\"https://www.speedscope.app/"
		     "file-format-schema.json\",\n\"exporter\":\"strobe\",\n"
		     "\"profiles\":[");
	err = sb_nested_visit(run, &visitor);
	end_line(&s);
	summary->folded_zones = sb_run_pass(run)->folded_zones;
	summary->overlapping = s.span_count;
	if (!err)
		err = put_stacks(&s);
	put_tail(&s);
	return err ? err : out->err;
}

const struct sb_exporter sb_speedscope_exporter = { .name = "speedscope",
	.file_name = "trace.speedscope.json",
	.summary = "flame graphs for speedscope.app: threads, tasks, GPU streams, sampled Python stacks",
	.write = write_speedscope };
