/* libFuzzer on what /metrics reads: a recording that is followed while it
 * grows, and the text of its scrapes. The input is a .strobe file: its first
 * half is there at the first look, all of it at the second. */
#include "recording_input.h"

#include "serve/follow.h"
#include "serve/metrics.h"

#include <ctype.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every line is a comment, or begins with a name and ends with a number. */
static void check_exposition(const struct sb_buf *text)
{
	const char *line = sb_buf_text(text), *end;

	for (; *line; line = end + 1) {
		const char *value;

		end = strchr(line, '\n');
		if (!end)
			abort();
		if (*line == '#')
			continue;
		for (value = end; value > line && value[-1] != ' ';)
			value--;
		if (!isalpha((unsigned char)*line) || value == line || !strchr("+-0123456789IN", *value))
			abort();
	}
}

static void scrape(const struct sb_follow *f)
{
	const struct sb_tally *tallies[] = { &f->tally };
	struct sb_metrics_run run = { .id = "run\"\\\n",
		.job = "",
		.name = "n",
		.host = "h",
		.rank = -1,
		.tallies = tallies,
		.tally_count = f->begun,
		.stages_max = 20 };
	struct sb_buf out = { 0 };

	for (int open_metrics = 0; open_metrics < 2; open_metrics++) {
		struct sb_exposition e = { .open_metrics = open_metrics };

		sb_metrics_add(&e, &run);
		sb_exposition_write(&e, &out);
		check_exposition(&out);
		sb_buf_done(&out);
		sb_exposition_done(&e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/tmp/strobe-scrape-fuzz-XXXXXX";
	static int fd = -1;
	struct sb_follow f;

	if (fd < 0)
		fd = mkstemp(path); /* no link is followed: a name of its own */
	if (fd < 0 || sb_follow_init(&f, path))
		return 0;
	for (int part = 1; part <= 3; part++) {
		if (input_write(fd, data, part == 1 ? size / 2 : size))
			break;
		sb_follow_look(&f);
		scrape(&f);
	}
	sb_follow_done(&f);
	return 0;
}
