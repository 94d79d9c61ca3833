/* The report key by key, as profiling_report.json has it: the tables of model.h and, at the
 * end, the order of all panels. */
#include "analyze/model.h"

/* ---- session_info, system, processes ------------------------------------- */

static const struct sb_field session_rows[] = {
	SB_FIELD(sb_session_panel, id, "id", SB_ALWAYS, "the session's uuid"),
	SB_FIELD(sb_session_panel, name, "name", SB_KNOWN, "the session's name"),
	SB_FIELD_AS(TIME, sb_session_panel, start_real_ns, "start_time", SB_ALWAYS, "ISO 8601 with offset"),
	SB_FIELD_AS(TIME, sb_session_panel, end_real_ns, "end_time", SB_ALWAYS, "ISO 8601 with offset"),
	SB_FIELD(sb_session_panel, duration, "duration", SB_ALWAYS, "for people: \"131.40 s\""),
	SB_FIELD(sb_session_panel, duration_s, "duration_s", SB_ALWAYS,
		"from the start to the end of the recording"),
	SB_FIELD(sb_session_panel, digit_s, "time_digit_s", SB_KNOWN,
		"the value of the last digit of the imported times: they are exact to half of it"),
	SB_FIELD(sb_session_panel, import_note, "import_note", SB_KNOWN,
		"what was doubtful in a text that was imported"),
	SB_FIELD(sb_session_panel, file_date, "file_date", SB_SET,
		"what was imported has no date: start_time and end_time come from the date of its file"),
	SB_FIELD(sb_session_panel, no_times, "no_times", SB_SET,
		"what was imported has no times: those of this report are made up"),
	SB_FIELD_ARRAY(sb_session_panel, tags, tag_count, "tags", SB_ALWAYS, "tags that the program set"),
	SB_FIELD_AS(TIME, sb_session_panel, generated_real_ns, "generated_at", SB_ALWAYS,
		"when this report was made"),
	SB_FIELD(sb_session_panel, command, "command", SB_KNOWN, "the command line"),
	SB_FIELD(sb_session_panel, commit, "commit", SB_KNOWN,
		"git commit of the folder that it was started in"),
	SB_FIELD(sb_session_panel, state, "state", SB_ALWAYS,
		"\"complete\", \"live\", \"damaged\", \"ended without a stop\""),
	SB_FIELD(sb_session_panel, run, "run", SB_ALWAYS, "folder or file of the recording"),
	SB_FIELD(sb_session_panel, host, "host", SB_KNOWN, "the machine's name"),
	SB_FIELD(sb_session_panel, pid, "pid", SB_ALWAYS, "process id of the main process"),
	SB_FIELD(sb_session_panel, rank, "rank", SB_KNOWN, "its rank in a distributed job"),
	SB_FIELD(sb_session_panel, local_rank, "local_rank_index", SB_KNOWN, "rank on its machine"),
	SB_FIELD(sb_session_panel, world_size, "world_size_count", SB_KNOWN, "ranks of the job"),
	SB_FIELD(sb_session_panel, previous_rank, "previous_rank", SB_KNOWN,
		"the next lower rank with a folder beside this one's: ../rank_<N>"),
	SB_FIELD(sb_session_panel, next_rank, "next_rank", SB_KNOWN, "the next higher one"),
	SB_FIELD(sb_session_panel, job, "job", SB_KNOWN, "the tag `job`, else the launcher's id of the job"),
	SB_FIELD(sb_session_panel, attempt, "attempt_index", SB_KNOWN,
		"which start of the job this is, from 1: a restart or a second step has the next number"),
	SB_FIELD(sb_session_panel, exit_code, "exit_code_value", SB_KNOWN, "exit code of the command"),
	SB_FIELD(sb_session_panel, exit_signal, "exit_signal_value", SB_KNOWN,
		"the signal that ended the command"),
	SB_FIELD(sb_session_panel, outcome, "outcome", SB_KNOWN, "in words: \"exit 3 after Ctrl-C\""),
	SB_FIELD(sb_session_panel, left_behind, "left_behind", SB_KNOWN,
		"processes still running when it ended"),
	SB_FIELD(sb_session_panel, cpu_s, "cpu_s", SB_KNOWN, "CPU time of the command's processes"),
	SB_FIELD(sb_session_panel, peak_rss_bytes, "peak_rss_bytes", SB_KNOWN,
		"resident memory of the largest process"),
	SB_FIELD(sb_session_panel, process_count, "process_count", SB_KNOWN,
		"processes of the command; short-lived ones may be missing"),
	SB_FIELD(sb_session_panel, cut_from_s, "cut_from_s", SB_KNOWN, "start of the selected part",
		.range = SB_SIGNED),
	SB_FIELD(sb_session_panel, cut_to_s, "cut_to_s", SB_KNOWN, "end of the selected part",
		.range = SB_SIGNED),
	SB_FIELD(sb_session_panel, cut_generation, "cut_generation_index", SB_KNOWN,
		"the generation asked for, from 1"),
};
static SB_FIELDS(session, sb_session_panel, "SessionInfo", "Which run this is.");

static const struct sb_field system_rows[] = {
	SB_FIELD(sb_model, session.host, "host", SB_KNOWN, "the machine's name"),
	SB_FIELD_ARRAY(sb_model, system.facts, system.fact_count, "facts", SB_ALWAYS,
		"hardware and software, as found"),
	SB_FIELD_ARRAY(sb_model, system.settings, system.setting_count, "settings", SB_ALWAYS,
		"strobe's settings of the run"),
};
static SB_FIELDS(system, sb_model, "System", "The machine.");

static const struct sb_field process_rows[] = {
	SB_FIELD(sb_system_process, pid, "pid", SB_ALWAYS, "its number"),
	SB_FIELD(sb_system_process, ppid, "parent_id", SB_KNOWN, "its parent's number"),
	SB_FIELD(sb_system_process, command, "command", SB_KNOWN, "its command line"),
	SB_FIELD(sb_system_process, start_s, "start_s", SB_KNOWN, "when it began", .range = SB_SIGNED),
	SB_FIELD(sb_system_process, end_s, "end_s", SB_KNOWN, "when it ended", .range = SB_SIGNED),
	SB_FIELD(sb_system_process, exit_code, "exit_code_value", SB_KNOWN, "how it ended"),
	SB_FIELD(sb_system_process, exit_signal, "exit_signal_value", SB_KNOWN, "the signal that ended it"),
	SB_FIELD(sb_system_process, recorded, "recorded", SB_ALWAYS, "it wrote a recording of its own"),
};
static SB_FIELDS(process, sb_system_process, "Process", "A process of the command.");

/* ---- summary, verdict ---------------------------------------------------- */

static const struct sb_field outside_rows[] = {
	SB_FIELD(
		sb_outside, what, "name", SB_ALWAYS, "\"imports\", \"load\", \"compile\", or a stage's name"),
	SB_FIELD(sb_outside, total_s, "total_s", SB_ALWAYS, "its wall time while no generation ran"),
	SB_FIELD(sb_outside, bytes, "moved_bytes", SB_KNOWN, "bytes that it moved"),
	SB_FIELD(sb_outside, bottleneck, "bottleneck", SB_SET,
		"a bottleneck: it takes longer than all generations, or a stage inside it does"),
};
static SB_FIELDS(outside, sb_outside, "Outside", "A part of the run outside the generations.");

SB_FIELD_WHEN(target_known, sb_summary_panel, it->target_known)

static const struct sb_field summary_rows[] = {
	SB_FIELD(sb_summary_panel, wall_s, "wall_s", SB_ALWAYS, "time of the run, or of the selected part"),
	SB_FIELD(sb_summary_panel, generation_count, "generation_count", SB_ALWAYS,
		"videos or requests that began and ended, without an error"),
	SB_FIELD(sb_summary_panel, video_count, "video_count", SB_SET,
		"videos that these made, where some made several at once, images, or latents (attribute "
		"`videos`)"),
	SB_FIELD(sb_summary_panel, image_count, "image_count", SB_SET,
		"images that these made (attribute `images`)"),
	SB_FIELD(sb_summary_panel, unfinished_count, "unfinished_generation_count", SB_SET,
		"generations that did not end, or that the border of the selected part cuts"),
	SB_FIELD(sb_summary_panel, failed_count, "failed_generation_count", SB_SET,
		"those that an error ended"),
	SB_FIELD(sb_summary_panel, failure, "failure", SB_KNOWN,
		"of the first that failed: the error, what it says, the program's line, the stage"),
	SB_FIELD(sb_summary_panel, generation_s, "generation_s", SB_KNOWN,
		"wall time in which at least one generation ran"),
	SB_FIELD(sb_summary_panel, unattributed_s, "unattributed_s", SB_KNOWN,
		"part of generation_s that no stage covers"),
	SB_FIELD(sb_summary_panel, overlap_s, "overlap_s", SB_SET,
		"stages inside at the same time: their wall times and unattributed_s add up to this much "
		"more "
		"than generation_s"),
	SB_FIELD(sb_summary_panel, outside_s, "outside_s", SB_KNOWN, "wall time in which no generation ran"),
	SB_FIELD(sb_summary_panel, startup_end_s, "startup_end_s", SB_KNOWN,
		"when the first generation began, else the first stage that is not set-up: what lies before "
		"is start-up "
		"(imports, load, compile)"),
	SB_FIELD(sb_summary_panel, startup_unattributed_s, "startup_unattributed_s", SB_KNOWN,
		"part of the start-up that no stage covers"),
	SB_FIELD(sb_summary_panel, outside_overlap_s, "outside_overlap_s", SB_SET,
		"the same for stages outside the generations"),
	SB_FIELD(sb_summary_panel, frames, "frames", SB_KNOWN, "output frames, each counted once"),
	SB_FIELD(sb_summary_panel, steps, "steps", SB_KNOWN, "scheduler steps"),
	SB_FIELD(sb_summary_panel, blocks, "blocks", SB_KNOWN, "blocks of frames"),
	SB_FIELD(sb_summary_panel, dropped_frames, "dropped_frames_count", SB_KNOWN,
		"frames that were not sent"),
	SB_FIELD(sb_summary_panel, width, "width_px", SB_KNOWN,
		"width of a frame, where all videos have the same"),
	SB_FIELD(sb_summary_panel, height, "height_px", SB_KNOWN,
		"height of a frame, where all videos have the same"),
	SB_FIELD(sb_summary_panel, fps_wall, "fps", SB_KNOWN,
		"frames per second end to end, over the wall time of the generations"),
	SB_FIELD(sb_summary_panel, fps_compute, "compute_fps", SB_KNOWN,
		"frames per second over the end to end compute time"),
	SB_FIELD(sb_summary_panel, bps_wall, "bps", SB_KNOWN, "blocks per second end to end"),
	SB_FIELD(sb_summary_panel, bps_compute, "compute_bps", SB_KNOWN,
		"blocks per second over the end to end compute time"),
	SB_FIELD(sb_summary_panel, first_block_s, "first_block_latency_s", SB_KNOWN,
		"from the start of the generation to the end of its first block"),
	SB_FIELD(sb_summary_panel, energy_wh, "energy_wh", SB_KNOWN, "energy of the generations"),
	SB_FIELD(sb_summary_panel, energy_wh_per_video, "video_energy_wh", SB_KNOWN,
		"energy of one video, mean"),
	SB_FIELD(sb_summary_panel, run_energy_wh, "run_energy_wh", SB_KNOWN, "energy of the whole run"),
	SB_FIELD(sb_summary_panel, cost, "gpu_cost", SB_KNOWN,
		"cost of the generations, in the currency of gpu_cost_per_hour"),
	SB_FIELD(sb_summary_panel, cost_per_video, "video_gpu_cost", SB_KNOWN, "cost of one video, mean"),
	SB_FIELD(sb_summary_panel, run_cost, "run_gpu_cost", SB_KNOWN, "cost of the whole run"),
	SB_FIELD(sb_summary_panel, gpu_name, "gpu_name", SB_KNOWN,
		"name of the GPU that was used; of several each with its number"),
	SB_FIELD(sb_summary_panel, gpu_peak_bytes, "gpu_memory_peak_bytes", SB_KNOWN,
		"peak memory of the GPU with the highest peak"),
	SB_FIELD(sb_summary_panel, gpu_reserved_peak_bytes, "gpu_memory_reserved_peak_bytes", SB_KNOWN,
		"the most that the allocator held"),
	SB_FIELD(sb_summary_panel, gpu_total_bytes, "gpu_memory_total_bytes", SB_KNOWN, "memory of that GPU"),
	SB_FIELD(sb_summary_panel, gpu_peak_stage, "gpu_memory_peak_stage", SB_KNOWN,
		"the stage in which the peak was reached"),
	SB_FIELD(sb_summary_panel, ram_peak_bytes, "ram_peak_bytes", SB_KNOWN,
		"the most RAM used on the machine"),
	SB_FIELD(sb_summary_panel, ram_total_bytes, "ram_total_bytes", SB_KNOWN,
		"RAM of the machine, or the cgroup's limit where that is lower"),
	SB_FIELD(sb_summary_panel, gpu_utilization_mean_percent, "gpu_utilization_mean_percent", SB_KNOWN,
		"mean utilization of the busiest GPU that the run used, during verdict.judged_s"),
	SB_FIELD(sb_summary_panel, cpu_mean_percent, "process_cpu_mean_percent", SB_KNOWN,
		"CPU use of the program during verdict.judged_s; 100: one core"),
	SB_FIELD(sb_summary_panel, target_fps, "target_fps", SB_SET, "the setting target_fps"),
	SB_FIELD(sb_summary_panel, target_reached, "target_reached", SB_ALWAYS, "fps is at least target_fps",
		.when = target_known),
	SB_FIELD_LIST(sb_summary_panel, outside, outside_count, "outside", SB_KNOWN, outside,
		"time outside the generations"),
};
static SB_FIELDS(summary, sb_summary_panel, "Summary", "What one screen says.");

static const char *const bounds[] = { "gpu", "cpu", "cpu_launch", "copies", "disk", "input", "communication",
	"mixed", "unknown", SB_NAMES_END };

static const struct sb_field left_alone_rows[] = {
	SB_FIELD(sb_left_alone, name, "name", SB_ALWAYS, "name of the stage"),
};
static SB_FIELDS(left_alone, sb_left_alone, "LeftAlone", "A stage too small to pay for work on it.");

SB_FIELD_WHEN(any_left_alone, sb_summary_panel, it->leave_alone_count > 0)

static const struct sb_field verdict_rows[] = {
	SB_FIELD_NAMED(
		sb_summary_panel, bound_by, "bound_by", SB_ALWAYS, bounds, "what the run waits for most"),
	SB_FIELD(sb_summary_panel, bound_reason, "why", SB_KNOWN,
		"the reason, with its numbers; or why it is unknown"),
	SB_FIELD(sb_summary_panel, next_command, "next_command", SB_KNOWN,
		"the command to type next; where no cause was found, a recording that would show it"),
	SB_FIELD(sb_summary_panel, next_reason, "next_reason", SB_KNOWN, "why that one"),
	SB_FIELD(sb_summary_panel, judged_s, "judged_s", SB_KNOWN,
		"what it is about: the time of the generations, else from the start-up to the end of the "
		"last "
		"stage"),
	SB_FIELD_LIST(sb_summary_panel, leave_alone, leave_alone_count, "leave_alone", SB_KNOWN, left_alone,
		"stages too small to be worth work"),
	SB_FIELD(sb_summary_panel, leave_alone_ratio, "leave_alone_ratio", SB_ALWAYS,
		"share of the wall time of all stages that small", .when = any_left_alone),
};
static SB_FIELDS(verdict, sb_summary_panel, "Verdict", "What bounds the run, and what to leave alone.");

/* ---- recommendations ----------------------------------------------------- */

static const char *const priorities[] = { "high", "medium", "low", SB_NAMES_END };
static const char *const efforts[] = { "< 1 day", "2-3 days", "1-2 weeks", SB_NAMES_END };

static const char *const bases[] = { "measured", "bounded", "estimated", SB_NAMES_END };
static const char *const confidences[] = { "certain", "likely", "possible", SB_NAMES_END };

static const struct sb_field where_rows[] = {
	SB_FIELD(sb_advice_where, stage, "stage", SB_KNOWN, "the stage it is about"),
	SB_FIELD(sb_advice_where, stage_index, "stage_index", SB_KNOWN,
		"its place in stage_analysis.stages, from 0"),
	SB_FIELD(sb_advice_where, panel, "panel", SB_KNOWN, "the panel of the page that shows the numbers"),
	SB_FIELD(sb_advice_where, file, "file", SB_KNOWN, "source file of the program"),
	SB_FIELD(sb_advice_where, line, "line", SB_SET, "in that file"),
	SB_FIELD(sb_advice_where, module, "module", SB_KNOWN, "module of the model: its class or component"),
	SB_FIELD(sb_advice_where, kernel, "kernel", SB_KNOWN, "the GPU kernel it shows in"),
	SB_FIELD(sb_advice_where, kernel_short_name, "kernel_short_name", SB_KNOWN,
		"of a kernel of C++: what it is and which operation"),
	SB_FIELD(sb_advice_where, from_s, "from_s", SB_KNOWN,
		"begin of the time to look at, since the run's start"),
	SB_FIELD(sb_advice_where, to_s, "to_s", SB_KNOWN, "end of that time"),
};
static SB_FIELDS(where, sb_advice_where, "FindingPlace", "Where a finding is to be seen.");

SB_FIELD_WHEN(has_threshold, sb_advice, it->threshold_key)
static const struct sb_field advice_rows[] = {
	SB_FIELD(sb_advice, id, "id", SB_ALWAYS, "of the finding, see docs/advice.md"),
	SB_FIELD(sb_advice, category, "category", SB_ALWAYS, "what it is about"),
	SB_FIELD_NAMED(sb_advice, priority, "priority", SB_ALWAYS, priorities, "by what it could save"),
	SB_FIELD(sb_advice, issue, "issue", SB_ALWAYS, "what is wrong"),
	SB_FIELD(sb_advice, cause, "cause", SB_ALWAYS,
		"names what does it: a function, file:line, module, setting or kernel; of a symptom \"cause "
		"not "
		"found: …\", of a measurement \"not looked for: …\""),
	SB_FIELD_STRUCT(
		sb_advice, where, "where", SB_ALWAYS, where, "where to look; empty: nowhere in particular"),
	SB_FIELD(sb_advice, suggestion, "suggestion", SB_ALWAYS, "what to do"),
	SB_FIELD(sb_advice, evidence, "evidence", SB_ALWAYS, "what was seen, with its numbers and units"),
	SB_FIELD_NAMED(sb_advice, effort, "effort", SB_ALWAYS, efforts, "how much work it is"),
	SB_FIELD(sb_advice, saves_s, "gain_s", SB_KNOWN,
		"seconds of this run it could save; absent together with gain_basis where that cannot be "
		"computed"),
	SB_FIELD_NAMED(sb_advice, basis, "gain_basis", SB_KNOWN, bases,
		"measured: taken from this run; bounded: at most that; estimated: by a factor or from a "
		"sample"),
	SB_FIELD_NAMED(sb_advice, confidence, "confidence", SB_ALWAYS, confidences, "how sure the cause is"),
	SB_FIELD_ARRAY(sb_advice, explains, explain_count, "explains", SB_ALWAYS,
		"ids of the symptoms it accounts for, which get no line of their own; empty: none"),
	SB_FIELD(sb_advice, startup, "startup", SB_SET, "it costs the start, not the warm generations"),
	SB_FIELD(sb_advice, stage, "subject", SB_KNOWN, "the stage it is about"),
	SB_FIELD(sb_advice, value, "measured_value", SB_KNOWN, "what was compared with the threshold",
		.range = SB_SIGNED),
	SB_FIELD(sb_advice, threshold_key, "threshold_key", SB_KNOWN,
		"its key under `thresholds:` in the settings"),
	SB_FIELD(sb_advice, threshold, "threshold_value", SB_KNOWN, "the threshold", .when = has_threshold,
		.range = SB_SIGNED),
};
static SB_FIELDS(advice, sb_advice, "Recommendation", "A finding: what could be faster, and how.");

/* ---- counters, events ---------------------------------------------------- */

static const char *const counter_kinds[] = { "gauge", "sum", SB_NAMES_END };

static const struct sb_field counter_rows[] = {
	SB_FIELD(sb_counter, name, "name", SB_ALWAYS, "of the counter"),
	SB_FIELD_NAMED(sb_counter, kind, "kind", SB_ALWAYS, counter_kinds, "gauge: set; sum: added to"),
	SB_FIELD(sb_counter, value, "last_value", SB_KNOWN, "the last value set, or the sum",
		.range = SB_SIGNED),
	SB_FIELD(sb_counter, updates, "update_count", SB_ALWAYS, "how often it was set or added to"),
};
static SB_FIELDS(counter, sb_counter, "Counter", "A counter of the program.");

static const char *const event_kinds[] = { "event", "mark", "skipped", SB_NAMES_END };

static const struct sb_field event_rows[] = {
	SB_FIELD(sb_event_row, name, "name", SB_ALWAYS, "of the event"),
	SB_FIELD(sb_event_row, t_s, "t_s", SB_ALWAYS, "when", .range = SB_SIGNED),
	SB_FIELD_NAMED(
		sb_event_row, kind, "kind", SB_ALWAYS, event_kinds, "skipped: a stage that was left out"),
	SB_FIELD(sb_event_row, reason, "reason", SB_KNOWN, "why it was skipped"),
	SB_FIELD_ARRAY(
		sb_event_row, attrs, attr_count, "attributes", SB_KNOWN, "attributes that the program set"),
};
static SB_FIELDS(event, sb_event_row, "Event", "Something that happened at one moment.");

static const struct sb_field event_name_rows[] = {
	SB_FIELD(sb_event_name, name, "name", SB_ALWAYS, "of the events"),
	SB_FIELD(sb_event_name, count, "count", SB_ALWAYS, "events of this name, also those not listed"),
};
static SB_FIELDS(event_name, sb_event_name, "EventName", "All events of one name.");

/* ---- recording, not_recorded --------------------------------------------- */

static const struct sb_field damage_rows[] = {
	SB_FIELD(sb_damaged, text, "what", SB_ALWAYS, "\"a chunk is missing\""),
	SB_FIELD(sb_damaged, count, "count", SB_ALWAYS, "how often it happened"),
	SB_FIELD(sb_damaged, bytes, "bytes", SB_ALWAYS, "bytes that could not be read"),
	SB_FIELD(sb_damaged, file, "file", SB_ALWAYS, "where it was seen first"),
	SB_FIELD(sb_damaged, first_offset, "first_offset", SB_ALWAYS, "its first byte in that file"),
};
static SB_FIELDS(damage, sb_damaged, "Damage", "A part of the recording that could not be read.");

SB_FIELD_WHEN(cost_known, sb_recording_panel, !isnan(it->recording_s))

static const struct sb_field recording_rows[] = {
	SB_FIELD(sb_recording_panel, events, "events", SB_ALWAYS, "everything that was recorded"),
	SB_FIELD(sb_recording_panel, zones, "zones", SB_ALWAYS, "zones among them"),
	SB_FIELD(sb_recording_panel, dropped_count, "dropped_count", SB_ALWAYS, "events that were lost"),
	SB_FIELD_ARRAY(sb_recording_panel, drop_reasons, drop_reason_count, "drop_reasons", SB_ALWAYS,
		"lost events by reason"),
	SB_FIELD_AS(WHOLE, sb_recording_panel, bytes, "bytes", SB_ALWAYS, "size of the recording"),
	SB_FIELD(sb_recording_panel, complete, "complete", SB_ALWAYS,
		"the main process stopped in order, nothing of it is missing, and no process is known to be "
		"unrecorded"),
	SB_FIELD(sb_recording_panel, live, "live", SB_ALWAYS, "it is still being written"),
	SB_FIELD(sb_recording_panel, files, "file_count", SB_ALWAYS, "its files"),
	SB_FIELD(sb_recording_panel, open_zones, "open_zone_count", SB_ALWAYS, "zones that had not ended"),
	SB_FIELD(sb_recording_panel, folded_zones, "folded_zone_count", SB_ALWAYS,
		"zones of which only totals are kept"),
	SB_FIELD(sb_recording_panel, unmatched_ends, "unmatched_end_count", SB_ALWAYS,
		"ends without a beginning"),
	SB_FIELD_AS(WHOLE, sb_recording_panel, skipped_bytes, "skipped_bytes", SB_ALWAYS,
		"bytes that could not be read"),
	SB_FIELD(sb_recording_panel, limited_by, "limited_by", SB_KNOWN,
		"why detail was folded: \"max_trace_bytes\" of one process, \"max_run_bytes\" of all, \"disk "
		"full\", \"file size limit\""),
	SB_FIELD(sb_recording_panel, folded_until_s, "folded_until_s", SB_KNOWN, "detail starts here",
		.range = SB_SIGNED),
	SB_FIELD(sb_recording_panel, own_cpu_s, "own_cpu_s", SB_ALWAYS, "CPU time of strobe's own threads"),
	SB_FIELD(sb_recording_panel, own_cpu_ratio, "own_cpu_ratio", SB_KNOWN,
		"own_cpu_s as a share of one core; absent for runs under a second"),
	SB_FIELD(sb_recording_panel, record_cost_s, "record_cost_s", SB_KNOWN,
		"one counter read and one store, measured when the session was opened"),
	SB_FIELD(sb_recording_panel, recording_s, "recording_s", SB_KNOWN,
		"all words at record_cost_s each, folded ones at twice that"),
	SB_FIELD(sb_recording_panel, threads_s, "threads_s", SB_ALWAYS, "time of the threads that recorded",
		.when = cost_known),
	SB_FIELD(sb_recording_panel, overhead_ratio, "overhead_ratio", SB_KNOWN,
		"recording_s as a share of threads_s", .range = SB_SHARE),
	SB_FIELD(sb_recording_panel, own_stages_s, "own_stages_s", SB_KNOWN,
		"what strobe did in the program besides recording (counting FLOPs, reading a memory "
		"history): "
		"its stages \"strobe: …\", not in overhead_ratio"),
	SB_FIELD(sb_recording_panel, waiting_s, "waiting_s", SB_ALWAYS,
		"what threads spent on moving to the next piece of the recording file, work and waiting, "
		"added up over threads: not in overhead_ratio"),
	SB_FIELD_LIST(sb_recording_panel, damage, damage_count, "damage", SB_KNOWN, damage,
		"what could not be read"),
	SB_FIELD_ARRAY(sb_recording_panel, warnings, warning_count, "warnings", SB_KNOWN,
		"what to know before trusting the numbers"),
};
static SB_FIELDS(
	recording, sb_recording_panel, "Recording", "What was recorded, what was lost, what it cost.");

static const struct sb_field missing_rows[] = {
	SB_FIELD(sb_missing, what, "what", SB_ALWAYS, "what is not there"),
	SB_FIELD(sb_missing, why, "why", SB_ALWAYS, "the reason"),
	SB_FIELD(sb_missing, how, "how", SB_ALWAYS, "how to get it"),
};
static SB_FIELDS(missing, sb_missing, "NotRecorded", "Something that was not recorded.");

/* ---- the report ---------------------------------------------------------- */

static const struct sb_field sb_model_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.report/1"),
	SB_FIELD_STRUCT(sb_model, session, "session_info", SB_ALWAYS, session, "which run this is"),
	SB_FIELD_PART("system", system, "the machine"),
	SB_FIELD_LIST(sb_model, system.processes, system.process_count, "processes", SB_KNOWN, process,
		"processes of the command"),
	SB_FIELD_STRUCT(
		sb_model, stages, "stage_analysis", SB_ALWAYS, sb_stages_fields, "where the time went"),
	SB_FIELD_LIST(sb_model, iterations.all, iterations.count, "iterations", SB_KNOWN,
		sb_iterations_fields, "how regular loops are"),
	SB_FIELD_STRUCT(sb_model, summary, "summary", SB_ALWAYS, summary, "what one screen says"),
	SB_FIELD_STRUCT(
		sb_model, generations, "generations", SB_ALWAYS, sb_generations_fields, "what was made"),
	SB_FIELD_STRUCT(sb_model, diffusion, "diffusion_analysis", SB_KNOWN, sb_diffusion_fields,
		"steps, frames per second"),
	SB_FIELD_STRUCT(sb_model, blocks, "block_analysis", SB_KNOWN, sb_block_fields, "blocks of frames"),
	SB_FIELD_STRUCT(sb_model, models, "model_analysis", SB_KNOWN, sb_models_fields,
		"parameters, layers, variants"),
	SB_FIELD_STRUCT(sb_model, streaming, "streaming_analysis", SB_KNOWN, sb_streaming_fields,
		"frames that were sent"),
	SB_FIELD_STRUCT(
		sb_model, caches, "cache_analysis", SB_KNOWN, sb_cache_fields, "the pipeline's caches"),
	SB_FIELD_STRUCT(sb_model, memory, "memory", SB_KNOWN, sb_memory_fields, "GPU and host memory"),
	SB_FIELD_LIST(sb_model, slow_moments.all, slow_moments.count, "slow_moments", SB_KNOWN,
		sb_slow_moment_fields, "slow steps and generations that --gpu-trace=slow:1.5 caught"),
	SB_FIELD_STRUCT(sb_model, slow_moments.watch, "slow_watch", SB_KNOWN, sb_slow_watch_fields,
		"what it looked at for them, also where none was slow"),
	SB_FIELD_STRUCT(sb_model, out_of_memory, "out_of_memory", SB_KNOWN, sb_out_of_memory_fields,
		"memory ran out: what held it"),
	SB_FIELD_STRUCT(sb_model, alloc_retries, "alloc_retries", SB_KNOWN, sb_alloc_retries_fields,
		"torch's allocator got memory only after it had given its cache back"),
	SB_FIELD_STRUCT(sb_model, residency, "residency", SB_KNOWN, sb_residency_fields,
		"what memory held, stage by stage"),
	SB_FIELD_LIST(sb_model, memory_pictures.all, memory_pictures.count, "memory_over_time", SB_KNOWN,
		sb_memory_picture_fields, "what memory held over time: each GPU, the host"),
	SB_FIELD_LIST(sb_model, memory_segments.all, memory_segments.count, "memory_segments", SB_KNOWN,
		sb_memory_segment_fields, "fragmentation: blocks of the allocator's segments"),
	SB_FIELD_STRUCT(sb_model, sizes, "generation_sizes", SB_KNOWN, sb_sizes_fields,
		"what generations of each size needed"),
	SB_FIELD_STRUCT(sb_model, gpu_counters, "gpu_counters", SB_KNOWN, sb_gpu_counters_fields,
		"what parts of the GPU did, the whole run"),
	SB_FIELD_STRUCT(sb_model, pm_samples, "sampled_counters", SB_KNOWN, sb_pm_samples_fields,
		"the same sampled every half millisecond, with --gpu-counters"),
	SB_FIELD_STRUCT(
		sb_model, roofline, "roofline", SB_KNOWN, sb_roofline_fields, "what this GPU can do at most"),
	SB_FIELD_LIST(sb_model, efficiency.all, efficiency.count, "efficiency", SB_KNOWN,
		sb_efficiency_fields, "how well each stage uses the GPU"),
	SB_FIELD_STRUCT(sb_model, devices, "gpu_metrics", SB_KNOWN, sb_devices_fields,
		"what the GPU monitor sampled"),
	SB_FIELD_STRUCT(
		sb_model, cpu, "cpu_metrics", SB_KNOWN, sb_cpu_fields, "what the CPU monitor sampled"),
	SB_FIELD_STRUCT(
		sb_model, disk, "disk_metrics", SB_KNOWN, sb_disk_fields, "what the disk monitor sampled"),
	SB_FIELD_LIST(sb_model, others.all, others.count, "other_metrics", SB_KNOWN, sb_other_fields,
		"samples of monitors without a panel of their own"),
	SB_FIELD_LIST(sb_model, charts.first, charts.first_count, "first_charts", SB_KNOWN,
		sb_first_chart_fields, "what to draw of the samples on the first screen, in this order"),
	SB_FIELD_LIST(sb_model, charts.columns, charts.column_count, "chart_columns", SB_KNOWN,
		sb_chart_column_fields, "columns that do not share a chart with the others of their unit"),
	SB_FIELD_STRUCT(
		sb_model, gpu, "gpu_trace", SB_KNOWN, sb_gpu_fields, "what the GPU did, kernel by kernel"),
	SB_FIELD_LIST(sb_model, lines.all, lines.count, "hot_lines", SB_KNOWN, sb_line_fields,
		"lines of the program that time was spent at, largest first"),
	SB_FIELD_STRUCT(sb_model, unattributed, "unattributed", SB_KNOWN, sb_unattributed_fields,
		"what ran while no stage did"),
	SB_FIELD_STRUCT(sb_model, garbage, "garbage_collection", SB_KNOWN, sb_garbage_fields,
		"Python's garbage collector"),
	SB_FIELD_LIST(sb_model, line_profile.all, line_profile.count, "line_profile", SB_KNOWN,
		sb_profiled_function_fields, "functions with @profile, line by line"),
	SB_FIELD_STRUCT(sb_model, functions, "function_samples", SB_KNOWN, sb_functions_fields,
		"sampled Python stacks"),
	SB_FIELD_LIST(sb_model, advice.all, advice.count, "recommendations", SB_ALWAYS, advice,
		"findings, the most urgent first, among equals by the seconds they could save"),
	SB_FIELD_STRUCT(sb_model, summary, "verdict", SB_ALWAYS, verdict, "what bounds the run"),
	SB_FIELD_LIST(sb_model, readings.all, readings.count, "readings", SB_KNOWN, sb_reading_fields,
		"what the numbers mean, a sentence each"),
	SB_FIELD_LIST(sb_model, chat.all, chat.count, "chat", SB_KNOWN, sb_chat_fields,
		"models that write tokens: how soon the first, how fast the others"),
	SB_FIELD_LIST(sb_model, padding.all, padding.count, "padding", SB_KNOWN, sb_padding_fields,
		"what is computed and never seen, the largest first"),
	SB_FIELD_LIST(sb_model, outputs.all, outputs.count, "outputs", SB_KNOWN, sb_output_fields,
		"what the program wrote as its result"),
	SB_FIELD_LIST(sb_model, strategies.all, strategies.count, "strategies", SB_KNOWN, sb_strategy_fields,
		"settings that could be changed, stage by stage: the least effort first, then the largest "
		"gain"),
	SB_FIELD_LIST(sb_model, events.counters, events.counter_count, "counters", SB_KNOWN, counter,
		"counters of the program"),
	SB_FIELD_LIST(sb_model, events.rows, events.count, "events", SB_KNOWN, event,
		"at most max_data_points, thinned evenly"),
	SB_FIELD_LIST(sb_model, events.names, events.name_count, "event_names", SB_KNOWN, event_name,
		"how often each event came, the rarest first; at most 1000"),
	SB_FIELD_STRUCT(sb_model, recording, "recording", SB_ALWAYS, recording,
		"what was recorded, and what it cost"),
	SB_FIELD_LIST(sb_model, missing.all, missing.count, "not_recorded", SB_ALWAYS, missing,
		"what is not there, and why"),
};
SB_FIELDS(sb_model_fields, sb_model, "Report",
	"One run. Every number's key ends in its unit, or is a count word (count, bytes, frames, blocks, "
	"steps, events, "
	"zones, fps, bps, index, pid, rank, depth, per_second, line). Data that was not recorded is absent, "
	"never zero and "
	"never null (null appears inside series only, for a sample that could not be read). Times named t_s "
	"are seconds "
	"since the start of the run.");
