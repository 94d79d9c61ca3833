/* Writes a recording of N zones, three deep, on one thread.
 * usage: make_zones N OUT.strobe */
#include "format/builder.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t count = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	struct sb_builder *b;
	struct sb_stream_writer *w;
	uint32_t names[8];
	uint64_t t = 1000;

	if (!count || sb_builder_open(argv[2], NULL, &b)) {
		fprintf(stderr, "usage: make_zones N OUT.strobe\n");
		return 2;
	}
	for (int i = 0; i < 8; i++) {
		char name[32];

		snprintf(name, sizeof name, "transformer_block.%c", 'a' + i);
		names[i] = sb_builder_name(b, name, NULL);
	}
	w = sb_builder_thread(b, 0, "main");
	for (uint64_t done = 0; done < count;) {
		sb_builder_begin(w, t += 130, names[0]);
		for (int i = 1; i < 4 && done + 1 < count; i++, done += 2) {
			sb_builder_begin(w, t += 77, names[i]);
			sb_builder_begin(w, t += 51, names[i + 3]);
			sb_builder_end(w, t += 1234, names[i + 3]);
			sb_builder_end(w, t += 60, names[i]);
		}
		sb_builder_end(w, t += 99, names[0]);
		done++;
	}
	return sb_builder_close(b, t + 1000) ? 1 : 0;
}
