/* Reads marshal: a tree of values with back references. Every length is checked
 * against the bytes that are left. */
#include "exchange/marshal.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define REFERENCE_FLAG 0x80

struct sb_marshal_doc {
	const char *name;
	const unsigned char *start, *at, *end;
	struct sb_vec nodes; /* struct sb_marshal *: everything to free */
	struct sb_vec references; /* const struct sb_marshal * */
	const struct sb_marshal *root;
	int err;
};

static const struct sb_marshal *fail(struct sb_marshal_doc *d, const char *what)
{
	if (!d->err)
		d->err = sb_fail(
			STROBE_EFORMAT, "'%s' byte %zu: %s", d->name, (size_t)(d->at - d->start), what);
	return NULL;
}

static struct sb_marshal *new_node(struct sb_marshal_doc *d, enum sb_marshal_type type)
{
	struct sb_marshal *n = calloc(1, sizeof *n);
	struct sb_marshal **kept = n ? sb_vec_push(&d->nodes, sizeof *kept) : NULL;

	if (!kept) {
		free(n);
		d->err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", d->name);
		return NULL;
	}
	*kept = n;
	n->type = type;
	return n;
}

static int read_number(struct sb_marshal_doc *d, unsigned bytes, uint64_t *out_value)
{
	if ((size_t)(d->end - d->at) < bytes) {
		fail(d, "the file ends inside a number");
		return -1;
	}
	*out_value = 0;
	memcpy(out_value, d->at, bytes);
	d->at += bytes;
	return 0;
}

static const struct sb_marshal *read_text(struct sb_marshal_doc *d, unsigned size_bytes)
{
	struct sb_marshal *n;
	uint64_t size;

	if (read_number(d, size_bytes, &size))
		return NULL;
	if (size > (size_t)(d->end - d->at))
		return fail(d, "a string longer than the file");
	n = new_node(d, SB_MARSHAL_TEXT);
	if (!n)
		return NULL;
	n->text = (const char *)d->at;
	n->size = size;
	d->at += size;
	return n;
}

static const struct sb_marshal *read_float(struct sb_marshal_doc *d)
{
	struct sb_marshal *n = new_node(d, SB_MARSHAL_FLOAT);
	uint64_t bits;

	if (!n || read_number(d, 8, &bits))
		return NULL;
	memcpy(&n->f, &bits, sizeof n->f);
	return n;
}

static const struct sb_marshal *read_int(struct sb_marshal_doc *d)
{
	struct sb_marshal *n = new_node(d, SB_MARSHAL_INT);
	uint64_t bits;

	if (!n || read_number(d, 4, &bits))
		return NULL;
	n->i = (int32_t)(uint32_t)bits;
	n->f = (double)n->i;
	return n;
}

/* 15 bits a digit, least first; the sign is the count's. */
static const struct sb_marshal *read_long(struct sb_marshal_doc *d)
{
	struct sb_marshal *n = new_node(d, SB_MARSHAL_INT);
	uint64_t bits, digit, value = 0;
	int32_t count;

	if (!n || read_number(d, 4, &bits))
		return NULL;
	count = (int32_t)(uint32_t)bits;
	if (count > 4 || count < -4)
		return fail(d, "a number past 60 bits");
	for (int32_t i = 0; i < (count < 0 ? -count : count); i++) {
		if (read_number(d, 2, &digit))
			return NULL;
		value |= (digit & 0x7fff) << 15 * i;
	}
	n->i = count < 0 ? -(int64_t)value : (int64_t)value;
	n->f = (double)n->i;
	return n;
}

static const struct sb_marshal *read_value(struct sb_marshal_doc *d, int depth);

static int keep_item(struct sb_marshal_doc *d, struct sb_vec *items, const struct sb_marshal *item)
{
	const struct sb_marshal **at = item ? sb_vec_push(items, sizeof *at) : NULL;

	if (at)
		*at = item;
	else if (!d->err)
		d->err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", d->name);
	return at ? 0 : -1;
}

static const struct sb_marshal *read_tuple(
	struct sb_marshal_doc *d, struct sb_marshal *n, unsigned size_bytes, int depth)
{
	struct sb_vec items = { 0 };
	uint64_t count;

	if (read_number(d, size_bytes, &count))
		return NULL;
	if (count > (size_t)(d->end - d->at))
		return fail(d, "a tuple longer than the file");
	for (uint64_t i = 0; i < count && !d->err; i++)
		keep_item(d, &items, read_value(d, depth));
	n->items = items.items;
	n->size = items.count;
	return d->err ? NULL : n;
}

static const struct sb_marshal *read_dict(struct sb_marshal_doc *d, struct sb_marshal *n, int depth)
{
	struct sb_vec items = { 0 };

	while (!d->err && d->at < d->end && *d->at != '0') {
		if (!keep_item(d, &items, read_value(d, depth)))
			keep_item(d, &items, read_value(d, depth));
	}
	n->items = items.items;
	n->size = items.count;
	if (!d->err && d->at == d->end)
		fail(d, "the file ends inside a dictionary");
	d->at += !d->err;
	return d->err ? NULL : n;
}

static const struct sb_marshal *read_reference(struct sb_marshal_doc *d)
{
	const struct sb_marshal *const *all = d->references.items;
	uint64_t number;

	if (read_number(d, 4, &number))
		return NULL;
	if (number >= d->references.count || !all[number])
		return fail(d, "a reference to nothing");
	return all[number];
}

static const struct sb_marshal *read_body(
	struct sb_marshal_doc *d, int type, struct sb_marshal *container, int depth)
{
	switch (type) {
	case 'N':
	case 'F': return new_node(d, SB_MARSHAL_NONE);
	case 'T': return new_node(d, SB_MARSHAL_NONE);
	case 'i': return read_int(d);
	case 'l': return read_long(d);
	case 'g': return read_float(d);
	case 's':
	case 't':
	case 'u':
	case 'a':
	case 'A': return read_text(d, 4);
	case 'z':
	case 'Z': return read_text(d, 1);
	case '(': return read_tuple(d, container, 4, depth);
	case ')': return read_tuple(d, container, 1, depth);
	case '{': return read_dict(d, container, depth);
	case 'r': return read_reference(d);
	default: d->at--; return fail(d, "not a value of a cProfile file");
	}
}

static const struct sb_marshal *read_value(struct sb_marshal_doc *d, int depth)
{
	struct sb_marshal *container = NULL;
	const struct sb_marshal *value;
	size_t number = d->references.count;
	int type;

	if (d->at == d->end)
		return fail(d, "the file ends where a value should be");
	if (depth == DEPTH_MAX)
		return fail(d, "nested too deep");
	type = *d->at++;
	/* A container's number comes before those of what it holds. */
	if (type & REFERENCE_FLAG && !sb_vec_push(&d->references, sizeof(struct sb_marshal *)))
		return fail(d, "no memory");
	if (strchr("()", type & 0x7f) && (type & 0x7f))
		container = new_node(d, SB_MARSHAL_TUPLE);
	else if ((type & 0x7f) == '{')
		container = new_node(d, SB_MARSHAL_DICT);
	if (d->err)
		return NULL;
	value = read_body(d, type & 0x7f, container, depth + 1);
	if (type & REFERENCE_FLAG)
		((const struct sb_marshal **)d->references.items)[number] = value;
	return value;
}

int sb_marshal_parse(const char *name, const char *bytes, size_t size, struct sb_marshal_doc **out_doc)
{
	struct sb_marshal_doc *d = calloc(1, sizeof *d);
	int err;

	if (!d)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", name);
	d->name = name;
	d->start = d->at = (const unsigned char *)bytes;
	d->end = d->start + size;
	d->root = read_value(d, 0);
	err = d->err;
	if (err)
		sb_marshal_free(d);
	else
		*out_doc = d;
	return err;
}

void sb_marshal_free(struct sb_marshal_doc *d)
{
	struct sb_marshal **all;

	if (!d)
		return;
	all = d->nodes.items;
	for (size_t i = 0; i < d->nodes.count; i++) {
		free(all[i]->items);
		free(all[i]);
	}
	sb_vec_done(&d->nodes);
	sb_vec_done(&d->references);
	free(d);
}

const struct sb_marshal *sb_marshal_root(const struct sb_marshal_doc *d)
{
	return d->root;
}
