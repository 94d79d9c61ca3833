/* What server and worker say to each other: heads, each followed by its texts. */
#ifndef SB_SERVE_WORKER_WIRE_H
#define SB_SERVE_WORKER_WIRE_H

#include <stdint.h>

#define SB_WORKER_MAGIC 0x53425731u
#define SB_WORKER_TEXT_MAX 4096u

struct sb_worker_request {
	uint32_t magic;
	uint32_t kind;
	uint32_t target_size, id_size, other_size;
	uint32_t bad_size; /* what killed a worker before, each ended by a NUL */
	uint64_t memory_bytes;
};

struct sb_worker_reply {
	uint32_t magic;
	uint32_t reading_size; /* more than 0: this is about to be read; the task goes on */
	int32_t status;
	uint32_t state;
	uint32_t aggregate, unused;
	uint64_t message_size, body_size, timeline_size;
};

#endif
