/* libevent's archive asks for arc4random(), which the C library has since 2.36. A tool
 * that brings its own runs on 2.34 (Ubuntu 22.04) too. Only with linked-in dependencies. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

uint32_t arc4random(void);
void arc4random_buf(void *out, size_t size);

void arc4random_buf(void *out, size_t size)
{
	unsigned char *at = out;

	while (size) {
		ssize_t got = getrandom(at, size < 256 ? size : 256, 0);

		if (got < 0 && errno != EINTR)
			abort(); /* as the C library's own */
		if (got < 0)
			continue;
		at += got;
		size -= (size_t)got;
	}
}

uint32_t arc4random(void)
{
	uint32_t value;

	arc4random_buf(&value, sizeof value);
	return value;
}
