/* What the files of the Perfetto exporter share: the state of one export, packets and
 * tracks. Only perfetto_*.c include it. */
#ifndef SB_EXCHANGE_PERFETTO_H
#define SB_EXCHANGE_PERFETTO_H

#include "base/map.h"
#include "exchange/export.h"
#include "exchange/sample_values.h"
#include "exchange/protobuf.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60
};

#define PACKET_ROOM 16000u /* the length of a packet is two bytes */

struct sb_perfetto {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
	uint64_t *name_seen; /* bit per run name: interned */
	uint32_t name_words;
	struct sb_map tracks; /* uuids described already */
	struct sb_map counters; /* hash of a counter's name -> number */
	uint32_t counter_count;
	struct sb_map span_ends; /* lane -> index of lane_end_ns */
	int64_t *lane_end_ns;
	uint32_t lane_count, lane_room;
	double *totals;
	uint32_t total_room;
	struct sb_sample_values samples;
	uint64_t flow;
	bool failed;
};

/* ---- perfetto_packet.c ---- */
static inline uint8_t *sb_perfetto_begin(struct sb_perfetto *p, uint8_t **out_start)
{
	return sb_pb_begin((uint8_t *)sb_out_room(p->out, PACKET_ROOM + 8), TRACE_PACKET, out_start);
}

static inline void sb_perfetto_end(struct sb_perfetto *p, uint8_t *start, uint8_t *at)
{
	sb_pb_end(start, at);
	p->out->at = (char *)at;
}

/* A string field, cut to a length that every packet has room for; UTF-8. */
uint8_t *sb_perfetto_text(uint8_t *at, uint32_t field, const char *text);
/* Time, sequence, flags, and the name (UINT32_MAX: none) when this packet is the first
 * to use it. */
uint8_t *sb_perfetto_event_head(struct sb_perfetto *p, uint8_t *at, int64_t t_ns, uint32_t name);

/* ---- perfetto_tracks.c: the uuid of a track, described the first time ---- */
uint64_t sb_perfetto_process_track(struct sb_perfetto *p, uint32_t process);
uint64_t sb_perfetto_thread_track(struct sb_perfetto *p, uint32_t number);
/* Spans overlap: each takes the first lane beside its thread that is free. */
uint64_t sb_perfetto_span_track(struct sb_perfetto *p, const struct sb_zone *z);
uint64_t sb_perfetto_gpu_track(struct sb_perfetto *p, const struct sb_event *ev);
uint64_t sb_perfetto_counter_track(struct sb_perfetto *p, uint32_t process, const char *name);

uint64_t sb_perfetto_finding_track(struct sb_perfetto *p, uint32_t number, const char *name);

#endif
