/* libFuzzer on everything that reads a recording: reader, cursor, digests, the
 * pass, the model, text and JSON. The input is a .strobe file, plain or packed. */
#include "report/build.h"
#include "report/json.h"
#include "report/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Chunk headers are hard to hit by chance: mend what would end the reading at once. */
static void write_input(int fd, const uint8_t *data, size_t size)
{
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return;
	if (size >= 24 && !memcmp(data, SB_MAGIC, 8))
		(void)!pwrite(fd, "\x01\0\0\0\0\x10\0\0\0\x10\0\0", 12,
			8); /* version 1, header 4096, chunks 4096 */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *model;
	struct sb_run *run;

	if (fd < 0) {
		fd = memfd_create("recording", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (size > 1 << 18)
		return 0;
	write_input(fd, data, size);
	if (sb_run_open(path, NULL, &run))
		return 0;
	if (!sb_report_build(run, &options, &model)) {
		struct sb_buf out = { 0 };

		sb_report_text(model, NULL, &out);
		sb_report_json(model, &out);
		sb_buf_done(&out);
		sb_model_free(model);
	}
	sb_run_close(run);
	return 0;
}
