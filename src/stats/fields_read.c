/* The JSON reader of reports, over the same tables as the writer. */
#include "stats/fields.h"

#include "base/memory_units.h"

#include <math.h>
#include <string.h>

struct reading {
	void *(*alloc)(void *owner, size_t size);
	void *owner;
};

static void read_object(
	const struct reading *r, const struct sb_fields *fields, const struct sb_jsondom *node, char *out);

static uint32_t value_of(const char *const *names, const char *text)
{
	for (uint32_t i = 0; text && names[i] != SB_NAMES_END; i++)
		if (names[i] && !strcmp(names[i], text))
			return i;
	return 0;
}

static void read_objects(
	const struct reading *r, const struct sb_field *f, const struct sb_jsondom *node, char *out)
{
	size_t room = node && node->type == SB_JSONDOM_ARRAY ? node->size : 0, count = 0;
	char *all = room ? r->alloc(r->owner, room * f->of->size) : NULL;

	for (sb_jsondom_each(child, node)) {
		if (!all || child->type != SB_JSONDOM_OBJECT)
			continue;
		read_object(r, f->of, child, all + count++ * f->of->size);
	}
	*(void **)(out + f->at) = all;
	*(size_t *)(out + f->count_at) = count;
}

static void read_field(
	const struct reading *r, const struct sb_field *f, const struct sb_jsondom *node, char *out)
{
	int64_t whole = sb_jsondom_int(node, f->rule == SB_KNOWN ? -1 : 0);
	void *at = out + f->at;

	switch (f->kind) {
	case SB_FIELD_NUMBER:
	case SB_FIELD_WHOLE: *(double *)at = sb_jsondom_number(node, NAN); break;
	case SB_FIELD_MB: *(double *)at = SB_MB * sb_jsondom_number(node, NAN); break;
	case SB_FIELD_INT32:
	case SB_FIELD_UINT32: *(int32_t *)at = (int32_t)whole; break;
	case SB_FIELD_INT64:
	case SB_FIELD_UINT64: *(int64_t *)at = whole; break;
	case SB_FIELD_BOOL: *(bool *)at = sb_jsondom_bool(node, false); break;
	case SB_FIELD_STRING: *(const char **)at = sb_jsondom_string(node, NULL); break;
	case SB_FIELD_NAME: *(uint32_t *)at = value_of(f->names, sb_jsondom_string(node, NULL)); break;
	case SB_FIELD_OBJECT: read_object(r, f->of, node, at); break;
	case SB_FIELD_OBJECTS: read_objects(r, f, node, out); break;
	default: break;
	}
}

static void read_object(
	const struct reading *r, const struct sb_fields *fields, const struct sb_jsondom *node, char *out)
{
	for (size_t i = 0; i < fields->count; i++)
		read_field(r, &fields->all[i], sb_jsondom_get(node, fields->all[i].key), out);
}

void sb_fields_read(const struct sb_fields *fields, const struct sb_jsondom *node,
	void *(*alloc)(void *owner, size_t size), void *owner, void *out_object)
{
	read_object(&(struct reading){ alloc, owner }, fields, node, out_object);
}
