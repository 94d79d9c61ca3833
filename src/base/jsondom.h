/* A whole JSON document as a tree, for small ones: reports, settings. Large
 * traces go through base/jsonin.h. */
#ifndef SB_BASE_JSONDOM_H
#define SB_BASE_JSONDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_jsondom_type {
	SB_JSONDOM_NULL,
	SB_JSONDOM_BOOL,
	SB_JSONDOM_NUMBER,
	SB_JSONDOM_STRING,
	SB_JSONDOM_ARRAY,
	SB_JSONDOM_OBJECT
};

/* Members and elements keep the order of the file. */
struct sb_jsondom {
	enum sb_jsondom_type type;
	bool is_int; /* NUMBER: integer holds it exactly */
	bool truth; /* BOOL */
	double number; /* NUMBER */
	int64_t integer; /* NUMBER: rounded towards zero where it fits, else 0 */
	const char *text; /* STRING: NUL-terminated; may hold NULs before size */
	size_t size; /* STRING: bytes; ARRAY, OBJECT: children */
	const char *key; /* inside an object, else NULL */
	struct sb_jsondom *first; /* children */
	struct sb_jsondom *next; /* sibling */
};

struct sb_jsondom_doc;

/* name is what messages call it. */
int sb_jsondom_parse(const char *name, const char *text, size_t size, struct sb_jsondom_doc **out_doc);
/* Files past limit bytes are refused. */
int sb_jsondom_read(const char *path, size_t limit, struct sb_jsondom_doc **out_doc);
void sb_jsondom_free(struct sb_jsondom_doc *doc); /* takes NULL */
const struct sb_jsondom *sb_jsondom_root(const struct sb_jsondom_doc *doc);

/* Everything below takes NULL nodes and answers "absent", so that lookups can
 * be chained: sb_jsondom_get(sb_jsondom_get(root, "a"), "b"). */
const struct sb_jsondom *sb_jsondom_get(const struct sb_jsondom *object, const char *key);
/* "stage_analysis.wall_s": one key per dot. */
const struct sb_jsondom *sb_jsondom_path(const struct sb_jsondom *node, const char *path);
double sb_jsondom_number(const struct sb_jsondom *node, double otherwise);
int64_t sb_jsondom_int(const struct sb_jsondom *node, int64_t otherwise);
bool sb_jsondom_bool(const struct sb_jsondom *node, bool otherwise);
const char *sb_jsondom_string(const struct sb_jsondom *node, const char *otherwise);

/* for (sb_jsondom_each(child, array)) … also over NULL and scalars: no rounds. */
#define sb_jsondom_each(child, node)                                \
	const struct sb_jsondom *child = sb_jsondom_children(node); \
	child;                                                      \
	child = child->next
static inline const struct sb_jsondom *sb_jsondom_children(const struct sb_jsondom *node)
{
	return node ? node->first : NULL;
}

#endif
