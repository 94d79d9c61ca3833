/* A CUPTI for tests: records and callbacks come when the test makes them. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

struct fake_cupti {
	void (*reset)(void);
	uint64_t (*calls)(const char *function);
	void (*set_version)(uint32_t version);
	void (*refuse)(const char *function, int result); /* NULL: nothing is refused */
	uint64_t (*now)(void); /* on CUPTI's clock */
	/* The program calls cuLaunchKernel; returns the correlation number. */
	uint32_t (*launch)(void);
	/* Records of finished work. bytes, kinds: of copies and sets. */
	void (*kernel)(uint32_t correlation, uint64_t start, uint64_t end, const char *name);
	void (*copy)(uint32_t correlation, uint64_t start, uint64_t end, uint8_t kind, uint8_t source,
		uint8_t target, uint64_t bytes);
	void (*memset)(uint32_t correlation, uint64_t start, uint64_t end, uint64_t bytes);
	bool (*enabled)(int kind);
	bool (*subscribed)(void);
	uint32_t (*held)(void); /* buffers */
	void (*hold_empty)(void); /* CUPTI asks for a buffer that gets no record and stays */
	void (*take_over)(void); /* another client registers its buffers */
	uint32_t (*unzeroed)(void); /* buffers that came dirty although promised clean */
	uint64_t (*refused_records)(void); /* no buffer was given */
	void (*shape)(int32_t shared_bytes, int32_t grid_y); /* of the kernels from now on */
	void (*sized)(int32_t grid_x, int32_t block_x, uint16_t registers); /* the same */
	/* The program waits for the GPU in a call of the runtime (0: none) that calls the driver (0: does not). */
	void (*synchronize)(uint32_t runtime_id, uint32_t driver_id, void *stream, void (*meanwhile)(void));
	/* Work of a launch that the GPU has not ended; finish: all of it has. Until then a flush that is not forced leaves the
	 * buffer with CUPTI. */
	void (*begin)(uint32_t correlation, const char *name);
	void (*finish)(void);
	void (*on)(const char *function, void (*call)(void)); /* made at the begin of each; NULL: no more */
	void (*drop)(uint32_t count); /* CUPTI drops records, for a reason of its own */
	void (*driver_call)(uint32_t id, const void *params, int result); /* by the program */
};

typedef const struct fake_cupti *(*fake_cupti_function)(void);

#endif
