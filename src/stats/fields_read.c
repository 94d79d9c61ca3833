/* The JSON reader of reports, over the same tables as the writer. */
#include "stats/fields.h"

#include "base/memory_units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void read_pair(const struct sb_jsondom *node, struct sb_pair *out)
{
	*out = (struct sb_pair){ .key = node->key, .i = node->integer, .f = node->number, .s = node->text };
	switch (node->type) {
	case SB_JSONDOM_STRING: out->type = STROBE_TYPE_STRING; break;
	case SB_JSONDOM_BOOL:
		out->type = STROBE_TYPE_BOOL;
		out->i = node->truth;
		break;
	default: out->type = node->is_int ? STROBE_TYPE_INT : STROBE_TYPE_FLOAT; break;
	}
}

static bool is_scalar(const struct sb_jsondom *node)
{
	return node->type == SB_JSONDOM_STRING || node->type == SB_JSONDOM_BOOL ||
	       node->type == SB_JSONDOM_NUMBER;
}

static void read_pairs(
	const struct reading *r, const struct sb_field *f, const struct sb_jsondom *node, char *out)
{
	size_t room = node && node->type == SB_JSONDOM_OBJECT ? node->size : 0, count = 0;
	struct sb_pair *all = room ? r->alloc(r->owner, room * sizeof *all) : NULL;

	for (sb_jsondom_each(child, node))
		if (all && child->key && is_scalar(child))
			read_pair(child, &all[count++]);
	*(struct sb_pair **)(out + f->at) = all;
	*(size_t *)(out + f->count_at) = count;
}

static void read_numbers(
	const struct reading *r, const struct sb_field *f, const struct sb_jsondom *node, char *out)
{
	size_t room = node && node->type == SB_JSONDOM_ARRAY ? node->size : 0, count = 0;
	double *all = room ? r->alloc(r->owner, room * sizeof *all) : NULL;

	for (sb_jsondom_each(child, node))
		if (all)
			all[count++] = sb_jsondom_number(child, NAN);
	*(double **)(out + f->at) = all;
	*(size_t *)(out + f->count_at) = count;
}

/* The digits behind ".", as ns; *at moves past them. */
static uint64_t fraction_ns(const char **at)
{
	uint64_t ns = 0, unit = 100000000;

	for (++*at; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
		ns += (uint64_t)(**at - '0') * unit;
	return ns;
}

uint64_t sb_fields_time(const char *iso)
{
	struct tm t = { 0 };
	const char *rest = iso ? strptime(iso, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
	int hours = 0, minutes = 0;
	int64_t seconds;
	uint64_t ns = 0;

	if (!rest)
		return 0;
	if (*rest == '.')
		ns = fraction_ns(&rest);
	if (*rest == '+' || *rest == '-')
		sscanf(rest + 1, "%2d:%2d", &hours, &minutes);
	seconds = timegm(&t) - (*rest == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return seconds > 0 && seconds < INT64_MAX / 1000000000 ? (uint64_t)seconds * 1000000000u + ns : 0;
}

/* 0: no time, or one that 64 bits of ns do not hold. */
static uint64_t ns_of(double seconds)
{
	return seconds > 0 && seconds < 1e10 ? (uint64_t)llround(seconds * 1e9) : 0;
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
	case SB_FIELD_TIME:
	case SB_FIELD_TIME_S: *(uint64_t *)at = sb_fields_time(sb_jsondom_string(node, NULL)); break;
	case SB_FIELD_SECONDS: *(uint64_t *)at = ns_of(sb_jsondom_number(node, 0)); break;
	case SB_FIELD_PAIRS: read_pairs(r, f, node, out); break;
	case SB_FIELD_NUMBERS: read_numbers(r, f, node, out); break;
	case SB_FIELD_OBJECT: read_object(r, f->of, node, at); break;
	case SB_FIELD_OBJECTS: read_objects(r, f, node, out); break;
	default: break;
	}
}

static void read_object(
	const struct reading *r, const struct sb_fields *fields, const struct sb_jsondom *node, char *out)
{
	if (fields->flag_at)
		*(bool *)(out + fields->flag_at - 1) = node && node->type == SB_JSONDOM_OBJECT;
	for (size_t i = 0; i < fields->count; i++)
		read_field(r, &fields->all[i], sb_jsondom_get(node, fields->all[i].key), out);
}

void sb_fields_read(const struct sb_fields *fields, const struct sb_jsondom *node,
	void *(*alloc)(void *owner, size_t size), void *owner, void *out_object)
{
	read_object(&(struct reading){ alloc, owner }, fields, node, out_object);
}
