/* Words and keys for damage and losses. */
#include "format/reader.h"

const char *sb_damage_text(enum sb_damage kind)
{
	static const char *const texts[SB_DAMAGE_KINDS] = {
		[SB_DAMAGE_CHUNK_HEADER] = "a chunk header that makes no sense",
		[SB_DAMAGE_DUPLICATE] = "two chunks that claim the same place",
		[SB_DAMAGE_WORD] = "a word of no known kind",
		[SB_DAMAGE_LENGTH] = "a record that leaves its chunk",
		[SB_DAMAGE_TRUNCATED] = "the file ends inside a chunk",
		[SB_DAMAGE_MISSING] = "a chunk is missing",
		[SB_DAMAGE_DIGEST] = "a digest that makes no sense",
		[SB_DAMAGE_HOLE] = "zeros where events were",
		[SB_DAMAGE_PACKED] = "a packed chunk that does not unpack",
		[SB_DAMAGE_STREAM] = "a record where such records never are",
	};

	return kind < SB_DAMAGE_KINDS ? texts[kind] : "damage";
}

static const struct {
	const char *key, *text;
} lost_reasons[SB_LOST_REASONS] = {
	[SB_LOST_NONE] = { "unknown", "for an unknown reason" },
	[SB_LOST_NO_CHUNK] = { "no_chunk", "no room in the recording" },
	[SB_LOST_DISK_FULL] = { "disk_full", "the disk was full" },
	[SB_LOST_KEEP_FULL] = { "keep_full", "samples and marks past their share of max_trace_bytes" },
	[SB_LOST_NAMES_FULL] = { "names_full", "more than 65536 names: recorded as (other)" },
	[SB_LOST_DIGEST_FULL] = { "digest_full", "more stages than a digest holds: counted as (other)" },
	[SB_LOST_DEVICE_FULL] = { "device_full", "GPU records past their share of max_trace_bytes" },
	[SB_LOST_GPU_POOL] = { "gpu_pool", "no GPU event was free" },
	[SB_LOST_GPU_CAPTURE] = { "gpu_capture", "the stream was being captured into a graph" },
	[SB_LOST_STRING] = { "string_cut", "strings longer than 2048 bytes were cut" },
	[SB_LOST_UNRESOLVED] = { "gpu_unresolved", "GPU events unresolved at the end" },
	[SB_LOST_DEPTH] = { "depth", "zones nested too deep" },
	[SB_LOST_COMPILED] = { "compiled", "sections inside compiled code, which are inert" },
	[SB_LOST_CUPTI] = { "cupti", "CUPTI dropped records" },
	[SB_LOST_GPU_BUFFER] = { "gpu_buffer", "GPU records for which CUPTI found no free buffer" },
	[SB_LOST_GPU_TIME] = { "gpu_time", "GPU records without times" },
	[SB_LOST_GPU_WAIT] = { "gpu_wait", "waits for the GPU, more than strobe could read" },
	[SB_LOST_GPU_HELD] = { "gpu_held",
		"GPU records overwritten before their moment was known to be slow" },
	[SB_LOST_OPENING] = { "opening", "the recording took too long to open" },
	[SB_LOST_CUT] = { "cut", "the file was cut short while it was written, counted by whole chunks" },
};

const char *sb_lost_text(enum sb_lost_reason reason)
{
	return reason < SB_LOST_REASONS && lost_reasons[reason].text ? lost_reasons[reason].text
								     : "for an unknown reason";
}

const char *sb_lost_key(enum sb_lost_reason reason)
{
	return reason < SB_LOST_REASONS && lost_reasons[reason].key ? lost_reasons[reason].key : "unknown";
}
