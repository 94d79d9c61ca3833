/* Reads speedscope JSON: evented profiles as they are, sampled ones as the zones their stacks make one after the
 * other. A profile is a thread. The whole file is read before frames have names: they may come last. */
#include "exchange/import.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/jsondom.h"
#include "base/room.h"
#include "format/builder.h"
#include "format/run_keys.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (128u << 20)
#define PROFILES_MAX 10000u
#define TIME_MAX_NS 4e18 /* more does not fit 64 bits */
#define NAMELESS "(unnamed)"
#define UNITLESS_NS 1000000 /* what a sample without a unit stands for */

typedef const struct sb_jsondom *node;

struct speedscope {
	const char *path;
	struct sb_builder *builder;
	uint32_t *frames; /* names in the recording */
	size_t frame_count;
	/* of the profile */
	struct sb_stream_writer *writer;
	const char *profile;
	double factor_ns; /* of its unit */
	int64_t base_ns; /* where its time begins */
	int64_t now_ns, end_ns; /* end: of all profiles */
	uint32_t *stack;
	size_t depth, room;
	uint64_t zone_count;
	bool unitless;
};

static int malformed(const struct speedscope *s, const char *what)
{
	return sb_fail(STROBE_EFORMAT, "'%s': profile '%.60s' %s", s->path, s->profile, what);
}

/* ---- times ---- */

/* 0: no unit of time. */
static double factor_of(const char *unit)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "nanoseconds", 1 }, { "microseconds", 1e3 }, { "milliseconds", 1e6 },
		{ "seconds", 1e9 }, { "none", UNITLESS_NS } };

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (!strcmp(units[i].unit, unit))
			return units[i].ns;
	return 0;
}

/* Nanoseconds of a number in the profile's unit; exact where both are whole. */
static bool time_of(const struct speedscope *s, node n, int64_t *out_ns)
{
	int64_t factor = (int64_t)s->factor_ns;

	if (!n || n->type != SB_JSONDOM_NUMBER || !isfinite(n->number) ||
		fabs(n->number) * s->factor_ns > TIME_MAX_NS)
		return false;
	*out_ns = n->is_int ? n->integer * factor : (int64_t)llround(n->number * s->factor_ns);
	return true;
}

/* ---- zones ---- */

static int open_zone(struct speedscope *s, uint32_t frame)
{
	if (!SB_MAKE_ROOM(s->stack, s->depth, s->room))
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	s->stack[s->depth++] = frame;
	sb_builder_begin(s->writer, (uint64_t)s->now_ns, s->frames[frame]);
	s->zone_count++;
	return 0;
}

static void close_to(struct speedscope *s, size_t depth)
{
	while (s->depth > depth) {
		s->depth--;
		sb_builder_end(s->writer, (uint64_t)s->now_ns, 0);
	}
}

static int frame_of(const struct speedscope *s, node n, uint32_t *out_frame)
{
	int64_t frame = sb_jsondom_int(n, -1);

	if (frame < 0 || (uint64_t)frame >= s->frame_count)
		return malformed(s, "names a frame that is not there");
	*out_frame = (uint32_t)frame;
	return 0;
}

/* ---- evented ---- */

static int take_event(struct speedscope *s, node event)
{
	const char *type = sb_jsondom_string(sb_jsondom_get(event, "type"), "");
	int64_t at_ns;
	uint32_t frame = 0;
	int err = frame_of(s, sb_jsondom_get(event, "frame"), &frame);

	if (err)
		return err;
	if (!time_of(s, sb_jsondom_get(event, "at"), &at_ns))
		return malformed(s, "has an event without a time");
	at_ns -= s->base_ns;
	if (at_ns < s->now_ns)
		return malformed(s, "goes back in time");
	s->now_ns = at_ns;
	if (!strcmp(type, "O"))
		return open_zone(s, frame);
	if (strcmp(type, "C") != 0)
		return malformed(s, "has an event that neither opens nor closes a frame");
	if (!s->depth || s->stack[s->depth - 1] != frame)
		return malformed(s, "closes a frame that is not the innermost");
	close_to(s, s->depth - 1);
	return 0;
}

static int take_evented(struct speedscope *s, node profile)
{
	int err = 0;

	for (sb_jsondom_each(event, sb_jsondom_get(profile, "events"))) {
		err = take_event(s, event);
		if (err)
			return err;
	}
	return 0;
}

/* ---- sampled ---- */

/* Frames from the root on; what the stack before has in common stays open. */
static int take_stack(struct speedscope *s, node sample)
{
	size_t at = 0;
	bool same = true;

	if (sample->type != SB_JSONDOM_ARRAY)
		return malformed(s, "has a sample that is no list of frames");
	for (sb_jsondom_each(n, sample)) {
		uint32_t frame = 0;
		int err = frame_of(s, n, &frame);

		if (err)
			return err;
		same = same && at < s->depth && s->stack[at] == frame;
		if (!same) {
			close_to(s, at);
			err = open_zone(s, frame);
		}
		if (err)
			return err;
		at++;
	}
	close_to(s, at);
	return 0;
}

static int take_sampled(struct speedscope *s, node profile)
{
	node weight = sb_jsondom_children(sb_jsondom_get(profile, "weights"));

	for (sb_jsondom_each(sample, sb_jsondom_get(profile, "samples"))) {
		int64_t weight_ns = s->factor_ns > 0 ? (int64_t)s->factor_ns : 0;
		int err = take_stack(s, sample);

		if (err)
			return err;
		if (weight && (!time_of(s, weight, &weight_ns) || weight_ns < 0))
			return malformed(s, "has a weight that is no time");
		if (!weight && sb_jsondom_get(profile, "weights"))
			return malformed(s, "has fewer weights than samples");
		if ((double)s->now_ns + (double)weight_ns > TIME_MAX_NS)
			return malformed(s, "is longer than a recording can be");
		s->now_ns += weight_ns;
		weight = weight ? weight->next : NULL;
	}
	return 0;
}

/* ---- profiles ---- */

static int begin_profile(struct speedscope *s, node profile, uint32_t number, bool main_one)
{
	const char *unit = sb_jsondom_string(sb_jsondom_get(profile, "unit"), "none");

	s->profile = sb_jsondom_string(sb_jsondom_get(profile, "name"), "");
	s->factor_ns = factor_of(unit);
	if (!strcmp(unit, "bytes"))
		return malformed(s, "counts bytes, not time");
	if (s->factor_ns <= 0)
		return malformed(s, "has a unit that is not known");
	s->unitless |= !strcmp(unit, "none");
	s->now_ns = 0;
	if (!time_of(s, sb_jsondom_get(profile, "startValue"), &s->base_ns))
		s->base_ns = 0;
	s->writer = sb_builder_thread(s->builder, main_one ? 0 : 100000 + number, s->profile);
	return s->writer ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");
}

static int take_profile(struct speedscope *s, node profile, uint32_t number, bool main_one)
{
	const char *type = sb_jsondom_string(sb_jsondom_get(profile, "type"), "");
	int64_t end_ns;
	int err = begin_profile(s, profile, number, main_one);

	if (err)
		return err;
	if (!strcmp(type, "evented"))
		err = take_evented(s, profile);
	else if (!strcmp(type, "sampled"))
		err = take_sampled(s, profile);
	else
		err = malformed(s, "is neither evented nor sampled");
	if (err)
		return err;
	if (s->depth && time_of(s, sb_jsondom_get(profile, "endValue"), &end_ns) &&
		end_ns - s->base_ns > s->now_ns)
		s->now_ns = end_ns - s->base_ns; /* frames that were never closed */
	close_to(s, 0);
	sb_builder_thread_done(s->writer);
	s->end_ns = s->now_ns > s->end_ns ? s->now_ns : s->end_ns;
	return 0;
}

static int take_frames(struct speedscope *s, node frames)
{
	s->frame_count = frames && frames->type == SB_JSONDOM_ARRAY ? frames->size : 0;
	s->frames = calloc(s->frame_count + 1, sizeof *s->frames);
	if (!s->frames)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	s->frame_count = 0;
	for (sb_jsondom_each(frame, frames))
		s->frames[s->frame_count++] = sb_builder_name(
			s->builder, sb_jsondom_string(sb_jsondom_get(frame, "name"), NAMELESS), NULL);
	return 0;
}

static int take_document(struct speedscope *s, node root)
{
	node profiles = sb_jsondom_get(root, "profiles");
	int64_t active = sb_jsondom_int(sb_jsondom_get(root, "activeProfileIndex"), 0);
	uint32_t number = 0;
	int err = take_frames(s, sb_jsondom_path(root, "shared.frames"));

	if (!err && (!profiles || profiles->type != SB_JSONDOM_ARRAY || !profiles->size))
		err = sb_fail(STROBE_EFORMAT, "'%s' has no profiles", s->path);
	if (!err && profiles->size > PROFILES_MAX)
		err = sb_fail(STROBE_EFORMAT, "'%s' has %zu profiles, more than %u", s->path, profiles->size,
			PROFILES_MAX);
	if (active < 0 || (profiles && (uint64_t)active >= profiles->size))
		active = 0;
	for (sb_jsondom_each(profile, err ? NULL : profiles)) {
		err = take_profile(s, profile, number, number == (uint32_t)active);
		number++;
		if (err)
			return err;
	}
	return err;
}

/* ---- the file ---- */

static int write_recording(struct speedscope *s, node root, const char *strobe_path)
{
	const char *name = sb_jsondom_string(sb_jsondom_get(root, "name"), "speedscope");
	struct sb_builder_options options = SB_BUILDER_DEFAULTS;
	int err;

	options.name = name;
	options.host = "imported";
	options.start_real_ns = sb_import_start_real_ns(s->path, 0);
	err = sb_builder_open(strobe_path, &options, &s->builder);
	if (err)
		return err;
	sb_builder_meta_string(s->builder, SB_META_RUN, SB_RUN_IMPORTED_FROM, s->path);
	sb_import_note_file_date(s->builder);
	err = take_document(s, root);
	if (err)
		sb_builder_discard(s->builder);
	else
		err = sb_builder_close(s->builder, (uint64_t)s->end_ns + 1);
	return err;
}

static int read_all(struct sb_foreign *source, const char *path, struct sb_buf *out)
{
	for (;;) {
		char *to = sb_buf_reserve(out, 65536);
		ssize_t n = to ? sb_foreign_read(source, to, 65536) : -1;

		if (!to || out->size > FILE_BYTES_MAX)
			return sb_fail(STROBE_ENOMEM,
				"'%s' is larger than 128 MiB: too large for a speedscope file", path);
		if (n <= 0)
			return n < 0 ? STROBE_EIO : 0;
		out->size += (size_t)n;
	}
}

static int import_speedscope(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct speedscope s = { .path = path, .profile = "" };
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf bytes = { 0 };
	int err = read_all(source, path, &bytes);

	(void)opts;
	if (!err)
		err = sb_jsondom_parse(path, sb_buf_text(&bytes), bytes.size, &doc);
	sb_buf_done(&bytes);
	if (!err)
		err = write_recording(&s, sb_jsondom_root(doc), strobe_path);
	out_summary->zones = s.zone_count;
	if (s.unitless)
		snprintf(out_summary->note, sizeof out_summary->note,
			"samples without a unit stand for 1 ms each: shares are right, times are made up");
	free(s.frames);
	free(s.stack);
	sb_jsondom_free(doc);
	return err;
}

static bool has(const char *bytes, size_t size, const char *word)
{
	return memmem(bytes, size, word, strlen(word)) != NULL;
}

/* By its schema, or by its two parts where that is not there. */
static bool looks_like_speedscope(const char *bytes, size_t size)
{
	size_t i = 0;

	while (i < size && isspace((unsigned char)bytes[i]))
		i++;
	if (i == size || bytes[i] != '{')
		return false;
	return has(bytes, size, "speedscope.app/file-format-schema") ||
	       (has(bytes, size, "\"shared\"") && has(bytes, size, "\"frames\"") &&
		       !has(bytes, size, "\"traceEvents\""));
}

const struct sb_importer sb_speedscope_importer = { "speedscope", looks_like_speedscope, import_speedscope };
