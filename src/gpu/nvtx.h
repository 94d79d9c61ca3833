/*
 * The part of NVTX version 3 that a tool sees: how the program's copy of NVTX
 * hands over its function tables, and the attributes of an event.
 */
#ifndef SB_GPU_NVTX_H
#define SB_GPU_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

enum {
	NVTX_MARK_EX = 1,
	NVTX_MARK_A = 2,
	NVTX_MARK_W = 3,
	NVTX_RANGE_START_EX = 4,
	NVTX_RANGE_START_A = 5,
	NVTX_RANGE_START_W = 6,
	NVTX_RANGE_END = 7,
	NVTX_RANGE_PUSH_EX = 8,
	NVTX_RANGE_PUSH_A = 9,
	NVTX_RANGE_PUSH_W = 10,
	NVTX_RANGE_POP = 11,
	NVTX_NAME_THREAD_A = 14,
	NVTX_NAME_THREAD_W = 15
};
enum {
	NVTX_DOMAIN_MARK_EX = 1,
	NVTX_DOMAIN_RANGE_START_EX = 2,
	NVTX_DOMAIN_RANGE_END = 3,
	NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	NVTX_DOMAIN_RANGE_POP = 5,
	NVTX_DOMAIN_REGISTER_STRING_A = 10,
	NVTX_DOMAIN_REGISTER_STRING_W = 11,
	NVTX_DOMAIN_CREATE_A = 12,
	NVTX_DOMAIN_CREATE_W = 13,
	NVTX_DOMAIN_DESTROY = 14
};

enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum {
	NVTX_PAYLOAD_U64 = 1,
	NVTX_PAYLOAD_I64 = 2,
	NVTX_PAYLOAD_DOUBLE = 3,
	NVTX_PAYLOAD_U32 = 4,
	NVTX_PAYLOAD_I32 = 5,
	NVTX_PAYLOAD_FLOAT = 6
};

struct nvtx_attributes {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
	size_t size;
	int (*module_table)(int module, nvtx_function ***out_table, unsigned *out_size);
};

typedef const void *(*nvtx_export_table)(uint32_t id);

/* Puts strobe's functions into the tables of one copy of NVTX, of which a program may have several. 1: done. */
int sb_nvtx_attach(nvtx_export_table export_table);
void sb_nvtx_forget(
	void); /* in a forked child: a thread that is gone may have held the lock of the domains */

#endif
