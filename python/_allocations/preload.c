/* malloc and its kin: passed on to the allocator that comes next, and kept where the block is large. */
#include "allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
} next;

/* dlsym() may ask for memory before it has found malloc. */
static _Alignas(16) char early[16384];
static size_t early_used;

static void *take_early(size_t size)
{
	size_t begin = (early_used + 15) & ~(size_t)15;

	if (size > sizeof early - begin)
		return NULL;
	early_used = begin + size;
	return early + begin;
}

static bool is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static void find(void *out, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(out, &found, sizeof found);
}

static bool ready(void)
{
	static _Thread_local bool finding;

	if (next.memalign)
		return true;
	if (finding)
		return false;
	finding = true;
	find(&next.malloc, "malloc");
	find(&next.calloc, "calloc");
	find(&next.realloc, "realloc");
	find(&next.free, "free");
	find(&next.posix_memalign, "posix_memalign");
	find(&next.aligned_alloc, "aligned_alloc");
	find(&next.memalign, "memalign"); /* the last: the others are there where it is */
	finding = false;
	return true;
}

static void *kept(void *block, size_t size)
{
	if (size >= allocations_least)
		allocations_put(block, size);
	return block;
}

EXPORTED void *malloc(size_t size)
{
	return ready() ? kept(next.malloc(size), size) : take_early(size);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	size_t bytes;

	if (!ready())
		return take_early(count * size);
	return kept(next.calloc(count, size), __builtin_mul_overflow(count, size, &bytes) ? 0 : bytes);
}

EXPORTED void free(void *block)
{
	if (is_early(block) || !ready())
		return;
	if (allocations_may_have(block))
		allocations_take(block);
	next.free(block);
}

EXPORTED void *realloc(void *block, size_t size)
{
	struct allocation taken = { 0 };
	void *moved;

	if (!ready() || is_early(block)) {
		moved = malloc(size);
		if (moved && block) /* its size is not known: never past the end of them all */
			memmove(moved, block,
				size < (size_t)(early + sizeof early - (char *)block)
					? size
					: (size_t)(early + sizeof early - (char *)block));
		return moved;
	}
	if (block && allocations_may_have(block))
		taken = allocations_take(block);
	moved = next.realloc(block, size);
	if (!moved && size)
		allocations_put_back(&taken);
	return kept(moved, size);
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t size)
{
	int failed = ready() ? next.posix_memalign(out, alignment, size) : ENOMEM;

	if (!failed)
		kept(*out, size);
	return failed;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	return ready() ? kept(next.aligned_alloc(alignment, size), size) : NULL;
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
	return ready() ? kept(next.memalign(alignment, size), size) : NULL;
}
