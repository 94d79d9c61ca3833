/* For the comparison with another parser: reads documents from stdin, each after
 * its size on a line of its own, and answers each with "ok JSON" or "error TEXT". */
#include "base/error.h"
#include "base/json.h"
#include "base/jsonin.h"

#include "../text_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_number(struct sb_json *j, const char *key, struct sb_jsonin *p)
{
	int64_t whole;
	char text[SB_JSONIN_NUMBER_MAX + 1];

	if (sb_jsonin_int(&p->number, &whole) && !memchr(p->text, '.', p->size) &&
		!memchr(p->text, 'e', p->size) && !memchr(p->text, 'E', p->size)) {
		sb_json_int(j, key, whole);
	} else if (memchr(p->text, '.', p->size) || memchr(p->text, 'e', p->size) ||
		   memchr(p->text, 'E', p->size)) {
		snprintf(text, sizeof text, "%.17e", sb_jsonin_double(p));
		sb_json_raw(j, key, strstr(text, "inf") ? "null" : text);
	} else { /* a whole number that does not fit */
		snprintf(text, sizeof text, "%.*s", (int)p->size, p->text);
		sb_json_raw(j, key, text);
	}
}

static int echo(struct sb_jsonin *p, struct sb_json *j)
{
	char *key = NULL;
	enum sb_jsonin_token token;

	while ((token = sb_jsonin_next(p)) > 0) {
		switch (token) {
		case SB_JSONIN_KEY:
			free(key);
			key = strndup(p->text, p->size);
			continue;
		case SB_JSONIN_OBJECT: sb_json_object_begin(j, key); break;
		case SB_JSONIN_ARRAY: sb_json_array_begin(j, key); break;
		case SB_JSONIN_OBJECT_END: sb_json_object_end(j); break;
		case SB_JSONIN_ARRAY_END: sb_json_array_end(j); break;
		case SB_JSONIN_STRING: sb_json_string_n(j, key, p->text, p->size); break;
		case SB_JSONIN_NUMBER: put_number(j, key, p); break;
		case SB_JSONIN_NULL: sb_json_null(j, key); break;
		default: sb_json_bool(j, key, token == SB_JSONIN_TRUE); break;
		}
		free(key);
		key = NULL;
	}
	free(key);
	return token;
}

int main(void)
{
	size_t size, number = 0;

	while (scanf("%zu", &size) == 1 && getchar() == '\n') {
		char *bytes = malloc(size + 1);
		struct text_source t = { bytes, size, 1 + number++ % 40 };
		struct sb_buf out = { 0 };
		struct sb_jsonin p;
		struct sb_json j;

		if (!bytes || fread(bytes, 1, size, stdin) != size ||
			sb_jsonin_init(&p, "in", 1 << 20, text_source_read, &t))
			return 1;
		sb_json_init(&j, &out, false);
		if (echo(&p, &j) == SB_JSONIN_ERROR)
			printf("error %s\n", sb_error_message());
		else
			printf("ok %s\n", sb_buf_text(&out));
		sb_jsonin_done(&p);
		sb_buf_done(&out);
		free(bytes);
	}
	return 0;
}
