/* libFuzzer: any bytes as a picture or video; its first byte chooses whether it is raw. What is read is compared with
 * itself. */
#include "picture/quality.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;
	struct sb_picture_source source = { .path = path, .width = 4, .height = 4 };
	struct sb_quality q;

	if (!size)
		return 0;
	if (fd < 0) {
		setenv("STROBE_FFMPEG", "/nowhere/ffmpeg", 1);
		fd = memfd_create("picture", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1))
		abort();
	source.pixel_format = *data & 1 ? "yuv420p" : NULL;
	if (!sb_quality_measure(&source, &source, true, &q)) {
		if (q.different_frames)
			abort(); /* of a file and itself */
		sb_quality_done(&q);
	}
	return 0;
}
