/* Finds a CUPTI that fits the program: the copy already in the process, the one
 * beside the program's CUDA runtime (PyTorch's wheels), the toolkit's. */
#ifndef SB_GPU_CUPTI_LIBRARY_H
#define SB_GPU_CUPTI_LIBRARY_H

#include "gpu/cupti.h"

struct sb_cupti {
	uint32_t version;
	char path[512];
	int (*get_version)(uint32_t *);
	int (*get_timestamp)(uint64_t *);
	int (*register_callbacks)(cupti_buffer_requested, cupti_buffer_completed);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*flush_all)(uint32_t flags);
	int (*next_record)(uint8_t *, size_t, const struct cupti_record **);
	int (*dropped)(void *context, uint32_t stream, size_t *);
	int (*set_attribute)(int attribute, size_t *size, void *value);
	int (*subscribe)(void **, cupti_callback, void *user);
	int (*subscribe_v2)(
		void **, cupti_callback, void *user, struct cupti_subscriber_params *); /* from 13.0 */
	int (*unsubscribe)(void *);
	int (*enable_callback)(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id);
	int (*device_of)(void *context, uint32_t *out_device);
	int (*stream_number)(void *context, void *stream, uint8_t per_thread, uint32_t *out_number);
};

/* The table lives as long as the process. Fails with words for the user. */
int sb_cupti_load(const struct sb_cupti **out_cupti);

/* The name that CUPTI gives to a result. */
const char *sb_cupti_error(int result);

#endif
