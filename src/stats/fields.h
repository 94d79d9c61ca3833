/* A field of a report is declared once, by one line of a table beside its struct.
 * The JSON writer and reader, the schemas, the page's types and docs/report-keys.md
 * come from these tables (tools/generate). */
#ifndef SB_STATS_FIELDS_H
#define SB_STATS_FIELDS_H

#include "base/json.h"
#include "base/jsondom.h"
#include "stats/series.h"
#include "strobe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_pair { /* a key with a typed value: tags, settings, system facts */
	const char *key;
	enum strobe_type type;
	int64_t i;
	double f;
	const char *s;
};

enum sb_field_kind {
	SB_FIELD_NUMBER, /* double */
	SB_FIELD_MB, /* double of bytes, written in MB with one decimal */
	SB_FIELD_WHOLE, /* double, written without decimals */
	SB_FIELD_INT32,
	SB_FIELD_INT64,
	SB_FIELD_UINT32,
	SB_FIELD_UINT64,
	SB_FIELD_BOOL,
	SB_FIELD_STRING,
	SB_FIELD_TEXT, /* char[], the text itself; by SB_FIELD_AS, since an array looks like a pointer */
	SB_FIELD_CONSTANT, /* help is the string */
	SB_FIELD_NAME, /* an enum, written as names[value]; NULL there: left out */
	SB_FIELD_TIME, /* uint64_t, ns since 1970, written as ISO 8601 */
	SB_FIELD_TIME_S, /* the same, to the second */
	SB_FIELD_SECONDS, /* uint64_t of ns, written in seconds */
	SB_FIELD_PAIRS, /* struct sb_pair[count], an object of the user's own keys */
	SB_FIELD_NUMBERS, /* double[count] */
	SB_FIELD_INTEGERS, /* int64_t[count] */
	SB_FIELD_STRINGS, /* char *[count] */
	SB_FIELD_OBJECT, /* a struct with a table of its own */
	SB_FIELD_OBJECTS, /* struct[count] */
	SB_FIELD_SERIES, /* struct sb_series */
	SB_FIELD_SERIES_AT /* const struct sb_series * */
};

enum sb_field_rule {
	SB_ALWAYS, /* written, whatever it is */
	SB_KNOWN, /* left out when it is NAN, negative, NULL, empty */
	SB_SET, /* left out when it is 0, false, NULL, empty */
	SB_OR_ZERO /* written, as 0 when it is NAN */
};

/* What a number can be. */
enum sb_field_range { SB_POSITIVE, SB_SHARE /* 0 to 1 */, SB_SIGNED };

struct sb_field {
	const char *key; /* a number's ends in its unit */
	const char *help; /* one line */
	enum sb_field_kind kind;
	enum sb_field_rule rule;
	size_t at; /* offset of the member */
	size_t count_at; /* arrays: offset of their size_t count */
	size_t size; /* OBJECT, OBJECTS: of the struct, which must be the table's; 0: a part */
	const struct sb_fields *of; /* OBJECT, OBJECTS; its `present` decides whether one is left out */
	const char *const *names; /* NAME: by value; STRING: all it can be; ends with SB_NAMES_END */
	/* optional, after the help */
	enum sb_field_range range;
	int decimals; /* numbers; 0: as many as it takes */
	bool (*when)(const void *object); /* false: left out */
};

/* The fields of one struct, in the order they are written. */
struct sb_fields {
	const char *name; /* of the type in schemas and in TypeScript: "Stage" */
	const char *help;
	const struct sb_field *all;
	size_t count;
	size_t size; /* of the struct */
	bool (*present)(const void *object); /* false: the whole object is left out; NULL: never */
	size_t flag_at; /* 1 + offset of a bool that reading sets where the object is there; 0: none */
};

extern const char sb_names_end[];
#define SB_NAMES_END sb_names_end

/* Which kind a member is, by its type. */
/* clang-format off */
#define SB_FIELD_KIND_(member) \
	_Generic((member), double: SB_FIELD_NUMBER, int32_t: SB_FIELD_INT32, int64_t: SB_FIELD_INT64, \
		uint32_t: SB_FIELD_UINT32, uint64_t: SB_FIELD_UINT64, bool: SB_FIELD_BOOL, \
		char *: SB_FIELD_STRING, const char *: SB_FIELD_STRING, \
		double *: SB_FIELD_NUMBERS, int64_t *: SB_FIELD_INTEGERS, \
		char **: SB_FIELD_STRINGS, const char **: SB_FIELD_STRINGS, struct sb_pair *: SB_FIELD_PAIRS, \
		struct sb_series: SB_FIELD_SERIES, const struct sb_series *: SB_FIELD_SERIES_AT)
#define SB_FIELD_START_(type, member, k, r, key_, help_) \
	.key = (key_), .help = (help_), .kind = (k), .rule = (r), .at = offsetof(struct type, member)

/* SB_FIELD(struct's name, member, key, rule, help[, .range = …, .decimals = …, .when = …]) */
#define SB_FIELD(type, member, key, rule, help, ...) \
	{ SB_FIELD_START_(type, member, SB_FIELD_KIND_(((struct type *)0)->member), rule, key, help), ##__VA_ARGS__ }
/* The same with the kind given: MB, WHOLE, TEXT, TIME, TIME_S, SECONDS. */
#define SB_FIELD_AS(kind, type, member, key, rule, help, ...) \
	{ SB_FIELD_START_(type, member, SB_FIELD_##kind, rule, key, help), ##__VA_ARGS__ }
/* An enum, or a string of which all values are known. */
#define SB_FIELD_NAMED(type, member, key, rule, names_, help, ...) \
	{ SB_FIELD_START_(type, member, \
		_Generic(((struct type *)0)->member, const char *: SB_FIELD_STRING, default: SB_FIELD_NAME), \
		rule, key, help), .names = (names_), ##__VA_ARGS__ }
/* An array with the member that counts it; of structs with their table. */
#define SB_FIELD_ARRAY(type, member, count, key, rule, help, ...) \
	{ SB_FIELD_START_(type, member, SB_FIELD_KIND_(((struct type *)0)->member), rule, key, help), \
		.count_at = offsetof(struct type, count), ##__VA_ARGS__ }
#define SB_FIELD_LIST(type, member, count, key, rule, table, help, ...) \
	{ SB_FIELD_START_(type, member, SB_FIELD_OBJECTS, rule, key, help), \
		.count_at = offsetof(struct type, count), .size = sizeof *((struct type *)0)->member, .of = &(table), \
		##__VA_ARGS__ }
#define SB_FIELD_STRUCT(type, member, key, rule, table, help, ...) \
	{ SB_FIELD_START_(type, member, SB_FIELD_OBJECT, rule, key, help), .size = sizeof((struct type *)0)->member, \
		.of = &(table), ##__VA_ARGS__ }
/* An object made of members of the same struct. */
#define SB_FIELD_PART(key_, table, help_, ...) \
	{ .key = (key_), .help = (help_), .kind = SB_FIELD_OBJECT, .of = &(table), ##__VA_ARGS__ }
#define SB_FIELD_SCHEMA(version) \
	{ .key = "schema", .help = (version), .kind = SB_FIELD_CONSTANT, .rule = SB_ALWAYS }

/* A table with its name; the rows are the array `identifier_rows`. */
#define SB_FIELDS(identifier, type, name_, help_, ...) \
	const struct sb_fields identifier = { .name = (name_), .help = (help_), .all = identifier##_rows, \
		.count = sizeof identifier##_rows / sizeof *identifier##_rows, .size = sizeof(struct type), ##__VA_ARGS__ }
/* The struct's own bool that says whether the object is there. */
#define SB_FLAG(type, member) .flag_at = 1 + offsetof(struct type, member)
/* A condition on the struct `it` for .when and for whole tables. */
#define SB_FIELD_WHEN(name, type, condition) \
	static bool name(const void *object) \
	{ \
		const struct type *it = object; \
		return (condition); \
	}
/* clang-format on */

/* {"count": 3, "mean_s": …}; left out when the count is 0. By the unit of the values. */
extern const struct sb_fields sb_stats_s_fields, sb_stats_ms_fields, sb_stats_ratio_fields;

/* Writes the struct as an object; key is NULL inside arrays and at the top. */
void sb_fields_write(
	const struct sb_fields *fields, const void *object, const char *key, struct sb_json *json);

/* Writes an array of such structs. */
void sb_fields_write_list(const struct sb_fields *fields, const void *first, size_t count, const char *key,
	struct sb_json *json);

/* Writes one field of the struct, by its key, into the object that is open. Does nothing if there is no
 * such key. */
void sb_fields_write_key(
	const struct sb_fields *fields, const void *object, const char *key, struct sb_json *json);

/* Fills a zeroed struct from the object; what is not there gets its absent value. Texts point
 * into the document, arrays come from alloc (zeroed, NULL: no memory, then they stay empty).
 * Series, texts in the struct itself, and arrays of strings and integers stay empty. */
void sb_fields_read(const struct sb_fields *fields, const struct sb_jsondom *node,
	void *(*alloc)(void *owner, size_t size), void *owner, void *out_object);
/* Nanoseconds since 1970 of ISO 8601; 0: no time, or one that 64 bits of ns do not hold. */
uint64_t sb_fields_time(const char *iso);

#endif
