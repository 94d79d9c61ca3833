/* Writing whole records from inside the recording half: what monitors, GPU code
 * and the session itself use. The hot path is zone.c; this is everything else. */
#ifndef SB_RECORD_PUT_H
#define SB_RECORD_PUT_H

#include "format/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends one LONG record to the calling thread's chunk of a stream (HOT, KEEP or
 * DEVICE). Lock-free, no allocation. Returns false, having counted the loss,
 * when there is no room or nothing records. At most SB_PUT_WORDS_MAX words. */
#define SB_PUT_WORDS_MAX 400u
bool sb_put(
	enum sb_stream stream, enum sb_long_type type, uint64_t aux, const uint64_t *payload, uint32_t words);

/* A record that carries a string after `words` fixed words; cut at SB_STRING_MAX. */
bool sb_put_text(enum sb_stream stream, enum sb_long_type type, uint64_t aux, const uint64_t *payload,
	uint32_t words, const char *text, size_t size);

struct strobe_attr;
/* Writes a duration that began at start_ticks and ends now, in the zones of the calling thread. */
void sb_put_duration(uint32_t name, uint64_t start_ticks, const struct strobe_attr *attrs, size_t attr_count);

/* As strobe_zone_begin_id() and strobe_zone_end_id(), where the caller knows that a session is on. They return when. */
uint64_t sb_zone_begin(uint32_t name);
uint64_t sb_zone_end(uint32_t name);

uint32_t sb_track_current(void); /* of the calling thread; 0: the thread itself */

/* Interns a name (code may be NULL): an id for the life of the process. */
uint32_t sb_name_intern(const char *name, const char *code);

/* Counts what the program makes, for live displays. */
void sb_made(enum sb_made what, int64_t count);

/* Write a META record: one key of the session with its value. */
void sb_keep_meta_string(enum sb_meta_scope scope, const char *key, const char *value);
void sb_keep_meta_int(enum sb_meta_scope scope, const char *key, int64_t value);
void sb_keep_meta_bool(enum sb_meta_scope scope, const char *key, bool value);
void sb_keep_meta_float(enum sb_meta_scope scope, const char *key, double value);
/* Says what could not be recorded, why, and how to get it; the report lists it under not_recorded. */
void sb_keep_missing(const char *what, const char *why, const char *how);

/* Counts records that were lost and that no chunk's header counts. */
void sb_lost(enum sb_lost_reason reason, uint64_t count);

/* Names the columns of a series of samples, once; the names end in their unit. Returns the schema's number. */
uint32_t sb_schema_define(const char *source, int device, const char *const *columns,
	uint32_t column_count); /* 0 when nothing records */
/* Writes one sample: a double per column, NaN where the value is not known. */
void sb_sample_put(uint32_t schema, uint64_t ticks, const double *values, uint32_t count);

/* How scarce the room of the KEEP stream has become: 0 while half of its share is free, 1
 * below that, 2 below a quarter, and so on. Monitors then write less often. */
uint32_t sb_keep_scarcity(void);

bool sb_session_active(void); /* true: a session is open */
uint32_t sb_session_epoch(void); /* changes with every session */

/* True if this process was forked off a recording one, which samples the machine for both. */
bool sb_session_is_forked(void);

/* Has f called when the session closes, whichever instance of the library closes it: an
 * instance stops only its own modules. */
void sb_session_on_close(void (*f)(void));

/* Adds CPU time of one of strobe's own threads, for `recording.overhead`. */
void sb_session_add_own_cpu(uint64_t ns);

#endif
