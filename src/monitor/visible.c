/* CUDA_VISIBLE_DEVICES. */
#include "monitor/visible.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_visible_read(const char *const *variables, struct sb_visible_text *out_text)
{
	const char *value = NULL;

	for (; *variables && !value; variables++)
		value = secure_getenv(*variables);
	out_text->set = value != NULL;
	snprintf(out_text->text, sizeof out_text->text, "%s", value ? value : "");
}

static bool parse_entry(const char *text, size_t size, struct sb_visible_entry *out)
{
	char copy[96], *end;

	while (size && isspace((unsigned char)*text)) {
		text++;
		size--;
	}
	while (size && isspace((unsigned char)text[size - 1]))
		size--;
	if (!size || size >= sizeof copy)
		return false;
	memcpy(copy, text, size);
	copy[size] = 0;
	if (!strncmp(copy, "GPU-", 4) || !strncmp(copy, "MIG-", 4)) {
		out->index = -1;
		strcpy(out->uuid, copy);
		return true;
	}
	out->index = (int)strtol(copy, &end, 10);
	out->uuid[0] = 0;
	return !*end && out->index >= 0;
}

void sb_visible_parse(const char *text, struct sb_visible *out)
{
	memset(out, 0, sizeof *out);
	if (!text)
		return;
	out->restricted = true;
	while (out->count < SB_VISIBLE_MAX) {
		size_t size = strcspn(text, ",");

		if (!parse_entry(text, size, &out->entries[out->count]))
			return;
		out->count++;
		if (!text[size])
			return;
		text += size + 1;
	}
}
