/* A parsed YAML document as a tree. Aliases are followed when they are met, never
 * expanded: nested ones would need more memory than any machine has. */
#ifndef SB_RECORD_YAML_TREE_H
#define SB_RECORD_YAML_TREE_H

#include "record/yaml.h"

struct sb_yaml_tree {
	const struct sb_yaml_api *api;
	struct fy_document *document;
	struct fy_node *lost; /* an alias without a target, once found */
	unsigned merge_count;
};

/* The target of an alias, or the node itself; NULL: nothing. */
struct fy_node *sb_yaml_follow(struct sb_yaml_tree *t, struct fy_node *node);

/* Stops at the first visit that is not 0 and returns it. value is NULL for "key:". */
typedef int sb_yaml_visit(void *self, struct fy_node *key, struct fy_node *value);
/* Every pair of a mapping; those merged into it (<<) first, unless its own keys hide them. */
int sb_yaml_each(struct sb_yaml_tree *t, struct fy_node *mapping, sb_yaml_visit *visit, void *self);

/* True when a text has so many keys that the library, which compares every key of a
 * mapping with every other, would not come to an end. */
bool sb_yaml_too_many_keys(const char *text);

#endif
