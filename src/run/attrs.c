/* The attributes of a record. */
#include "run/pass.h"

#include "base/role.h"

#include <stdlib.h>
#include <string.h>

bool sb_engine_keep_text(struct sb_engine *e, const char *text, size_t size, size_t *out_offset)
{
	struct sb_buf_text *t = &e->text;

	if (t->size + size + 1 > t->room) {
		size_t room = (t->size + size + 1) * 2;
		char *more = realloc(t->data, room);

		if (!more) {
			e->no_memory = true;
			return false;
		}
		t->data = more;
		t->room = room;
	}
	*out_offset = t->size;
	memcpy(t->data + t->size, text, size);
	t->data[t->size + size] = 0;
	t->size += size + 1;
	return true;
}

uint32_t sb_engine_read_attrs(struct sb_engine *e, const struct sb_record *r, uint32_t at, uint32_t *out_role)
{
	struct sb_wire_attr w;
	uint32_t count = 0;

	while (sb_record_attr(r, &at, &w)) {
		struct sb_run_attr a = { .type = (enum strobe_type)w.type };
		size_t offset;

		if (w.key == SB_NAME_ROLE && out_role) {
			*out_role = sb_role_read(w.bits);
			continue;
		}
		if (!sb_engine_room(e, &e->attrs, &e->attr_room, count, sizeof *e->attrs))
			break;
		a.key = sb_run_text_of(e->run, e->process, w.key & SB_ID_MAX);
		if (w.type == STROBE_TYPE_STRING) {
			if (!sb_engine_keep_text(e, w.text, w.size, &offset))
				break;
			a.i = (int64_t)offset;
		} else if (w.type == STROBE_TYPE_FLOAT) {
			memcpy(&a.f, &w.bits, sizeof a.f);
		} else {
			a.i = (int64_t)w.bits;
		}
		e->attrs[count++] = a;
	}
	for (uint32_t i = 0; i < count; i++)
		if (e->attrs[i].type == STROBE_TYPE_STRING)
			e->attrs[i].s = e->text.data + e->attrs[i].i;
	return count;
}

const struct sb_run_attr *sb_attr_find(const struct sb_run_attr *attrs, uint32_t count, const char *key)
{
	for (uint32_t i = count; i-- > 0;)
		if (!strcmp(attrs[i].key, key))
			return &attrs[i];
	return NULL;
}

bool sb_zone_failed(const struct sb_zone *z)
{
	return sb_attr_find(z->attrs, z->attr_count, "error") != NULL;
}

double sb_attr_number(const struct sb_run_attr *attrs, uint32_t count, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(attrs, count, key);

	if (!a || a->type == STROBE_TYPE_STRING)
		return __builtin_nan("");
	return a->type == STROBE_TYPE_FLOAT ? a->f : (double)a->i;
}
