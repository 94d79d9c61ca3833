/* token_floor FILE: what reading a JSON file token by token costs at least. Every token is found and checked by the
 * importer's own reader, with the file read ahead as there; nothing is kept of them. */
#include "base/error.h"
#include "base/jsonin.h"
#include "exchange/foreign.h"

#include <stdio.h>

static int read_tokens(struct sb_foreign *source, const char *path)
{
	struct sb_jsonin p;
	int err = sb_jsonin_init(&p, path, 8192, sb_foreign_read, source);

	p.lend = sb_foreign_lend;
	p.any_bytes = true;
	if (!err)
		err = sb_jsonin_skip(&p, sb_jsonin_next(&p));
	sb_jsonin_done(&p);
	return err;
}

int main(int argc, char **argv)
{
	struct sb_foreign *source = NULL;
	int err = argc == 2 ? sb_foreign_open(argv[1], &source) : -1;

	if (argc != 2) {
		fprintf(stderr, "usage: token_floor FILE\n");
		return 2;
	}
	if (!err)
		err = read_tokens(source, argv[1]);
	sb_foreign_close(source);
	if (err)
		fprintf(stderr, "token_floor: %s\n", sb_error_message());
	return err ? 1 : 0;
}
