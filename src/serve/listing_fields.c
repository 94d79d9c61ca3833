/* The list of runs key by key: the tables of listing.h. */
#include "serve/listing.h"

static const char *const states[] = { "live", "ended", "killed", SB_NAMES_END };

static const struct sb_field run_rows[] = {
	SB_FIELD(sb_listed, id, "id", SB_ALWAYS, "the name of its folder or file: /runs/ID is its page"),
	SB_FIELD_AS(TEXT, sb_listed, brief.name, "name", SB_ALWAYS, "the session's name"),
	SB_FIELD_AS(TEXT, sb_listed, brief.host, "host", SB_ALWAYS, "the machine it was recorded on"),
	SB_FIELD_AS(TIME_S, sb_listed, brief.start_real_ns, "start_time", SB_KNOWN, "when it began"),
	SB_FIELD_NAMED(sb_listed, state, "state", SB_ALWAYS, states,
		"ended: stopped in order; killed: not stopped, and its process is gone"),
	SB_FIELD(sb_listed, brief.live, "live", SB_ALWAYS, "a process records into it"),
	SB_FIELD_AS(SECONDS, sb_listed, brief.duration_ns, "duration_s", SB_SET,
		"until its end, or as long as it was known alive; of a job its longest rank's"),
	SB_FIELD(sb_listed, brief.frames, "frames", SB_SET,
		"frames that were made; of a job its first rank's"),
	SB_FIELD(sb_listed, brief.steps, "steps", SB_SET,
		"scheduler steps that began; of a job its first rank's"),
	SB_FIELD(sb_listed, command, "command", SB_KNOWN, "what was run; known of what strobe run started"),
	SB_FIELD(sb_listed, commit, "commit", SB_KNOWN, "git commit of the folder that it was started in"),
	SB_FIELD(sb_listed, brief.bytes, "bytes", SB_ALWAYS, "on the disk"),
	SB_FIELD(sb_listed, brief.pid, "pid", SB_ALWAYS, "the process that recorded it"),
	SB_FIELD(sb_listed, brief.rank, "rank", SB_KNOWN, "of a job with several"),
	SB_FIELD(sb_listed, job, "job", SB_KNOWN, "of a rank: the id of its job, which is listed before it"),
	SB_FIELD(sb_listed, rank_count, "rank_count", SB_SET, "of a job: its ranks, listed after it"),
};
static SB_FIELDS(run, sb_listed, "ListedRun", "A run that the server found.");

static const struct sb_field sb_listing_fields_rows[] = {
	SB_FIELD_LIST(sb_listing, runs, count, "runs", SB_ALWAYS, run, "newest first"),
	SB_FIELD(sb_listing, left_out, "left_out_count", SB_SET, "older runs that are not in the list"),
};
SB_FIELDS(sb_listing_fields, sb_listing, "RunList", "The runs that a server shows.");
