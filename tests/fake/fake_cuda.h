/*
 * A CUDA driver for tests: time passes only when the test says so, streams are
 * queues of scripted work, and every call is counted. Tests reach it with dlopen
 * of the library that STROBE_CUDA_PATH names, and these functions with dlsym.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdint.h>

struct fake_cuda {
	void (*reset)(void);
	uint64_t (*calls)(const char *function); /* since the reset */
	void (*advance)(uint64_t ns); /* the GPU's clock */
	void (*work)(void *stream, uint64_t ns); /* queues a kernel of this length */
	void (*capture)(void *stream, int state); /* 0 none, 1 capturing, < 0: an error */
	void (*make_current)(void *context, int device); /* on the calling thread; NULL: none */
	void (*destroy)(void *context); /* under strobe's feet */
	void (*fail_record)(int error); /* the next event records answer this */
	void (*limit_events)(uint32_t count); /* creating more fails */
	void (*on_record)(void (*f)(void)); /* called while an event is recorded: time passes */
	void (*record_takes)(uint64_t ns); /* of the real CPU's time: for benchmarks */
	void (*fail_capturing)(int error); /* asking whether a stream captures answers this */
	void (*memory)(uint64_t free_bytes, uint64_t total_bytes); /* of each device */
	void (*make_own)(void *context, int device); /* current, and not the device's primary one */
};

/* The library's one export for tests. */
typedef const struct fake_cuda *(*fake_cuda_function)(void);

#endif
