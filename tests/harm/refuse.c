/* A system that does not know MADV_WIPEONFORK; to be preloaded. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

int madvise(void *at, size_t size, int advice);
int madvise(void *at, size_t size, int advice)
{
	int (*real)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (advice == 18) {
		errno = EINVAL;
		return -1;
	}
	return real(at, size, advice);
}
