/* libFuzzer: the JSON reader, in reads of every size; the tree reader and passing over everything must
 * agree on what of the same bytes is well formed, and reading by habit must give the same tokens. */
#include "base/jsondom.h"
#include "base/jsonin.h"

#include "../habit_walk.h"
#include "../text_source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_passed_over(const uint8_t *data, size_t size)
{
	struct text_source t = { (const char *)data + 1, size - 1, 1u + data[0] };
	struct sb_jsonin p;
	bool good = !sb_jsonin_init(&p, "fuzz", 100 + data[0], text_source_read, &t) &&
		    !sb_jsonin_skip(&p, sb_jsonin_next(&p)) && sb_jsonin_next(&p) == SB_JSONIN_END;

	sb_jsonin_done(&p);
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_source t = { (const char *)data + 1, size ? size - 1 : 0, size ? 1u + data[0] : 1 };
	struct sb_jsondom_doc *doc = NULL;
	enum sb_jsonin_token token;
	struct sb_jsonin p;
	int64_t whole;
	int err;

	if (!size || sb_jsonin_init(&p, "fuzz", 100 + data[0], text_source_read, &t))
		return 0;
	while ((token = sb_jsonin_next(&p)) > 0) {
		if (token == SB_JSONIN_NUMBER) {
			(void)sb_jsonin_double(&p);
			(void)sb_jsonin_scaled(&p.number, 3, &whole);
		}
		if (p.token_offset > size || p.depth > SB_JSONIN_DEPTH_MAX)
			abort();
	}
	err = sb_jsondom_parse("fuzz", (const char *)data + 1, size - 1, &doc);
	if ((err == 0) != (token == SB_JSONIN_END))
		abort();
	if (is_passed_over(data, size) != (token == SB_JSONIN_END))
		abort();
	if (!reads_the_same_by_habit((const char *)data + 1, size - 1, 1u + data[0], 100 + data[0]))
		abort();
	sb_jsondom_free(doc);
	sb_jsonin_done(&p);
	return 0;
}
