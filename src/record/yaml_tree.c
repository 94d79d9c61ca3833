/* Follows aliases and merges, each only so far. */
#include "record/yaml_tree.h"

#include "base/error.h"

#include <string.h>

#define HOPS_MAX 8u
#define MERGES_MAX 64u
#define KEYS_MAX 8192u

struct outer { /* a mapping that others are merged into */
	const struct outer *next;
	struct fy_node *mapping;
};

struct fy_node *sb_yaml_follow(struct sb_yaml_tree *t, struct fy_node *node)
{
	for (unsigned hops = 0; node && t->api->node_get_style(node) == SB_YAML_ALIAS; hops++) {
		size_t size = 0;
		const char *name = t->api->node_get_scalar(node, &size);
		struct fy_anchor *anchor = name && hops < HOPS_MAX
						   ? t->api->document_lookup_anchor(t->document, name, size)
						   : NULL;
		struct fy_node *target = anchor ? t->api->anchor_node(anchor) : NULL;

		if (!target && !t->lost)
			t->lost = node;
		node = target;
	}
	return node;
}

static bool has_text(struct sb_yaml_tree *t, struct fy_node *node, const char *text, size_t size)
{
	size_t have = 0;
	const char *scalar = node && t->api->node_get_type(node) == SB_YAML_SCALAR
				     ? t->api->node_get_scalar(node, &have)
				     : NULL;

	return scalar && have == size && !memcmp(scalar, text, size);
}

static bool is_merge(struct sb_yaml_tree *t, struct fy_node *key)
{
	return key && t->api->node_get_style(key) == SB_YAML_PLAIN && has_text(t, key, "<<", 2);
}

static bool is_hidden(struct sb_yaml_tree *t, const struct outer *outer, struct fy_node *key)
{
	size_t size = 0;
	const char *text = key && t->api->node_get_type(key) == SB_YAML_SCALAR
				   ? t->api->node_get_scalar(key, &size)
				   : NULL;

	for (; outer && text; outer = outer->next) {
		struct fy_node_pair *pair;
		void *previous = NULL;

		while ((pair = t->api->node_mapping_iterate(outer->mapping, &previous)))
			if (has_text(t, sb_yaml_follow(t, t->api->node_pair_key(pair)), text, size))
				return true;
	}
	return false;
}

static int each(struct sb_yaml_tree *t, struct fy_node *mapping, const struct outer *outer,
	sb_yaml_visit *visit, void *self);

/* "<<" has a mapping, or a list of them. */
static int merge(struct sb_yaml_tree *t, struct fy_node *value, const struct outer *outer,
	sb_yaml_visit *visit, void *self)
{
	void *previous = NULL;
	struct fy_node *item;
	int err = 0;

	if (++t->merge_count > MERGES_MAX)
		return sb_fail(STROBE_EINVAL, "more than %u mappings are merged (<<)", MERGES_MAX);
	value = sb_yaml_follow(t, value);
	if (value && t->api->node_get_type(value) == SB_YAML_MAPPING)
		return each(t, value, outer, visit, self);
	if (value && t->api->node_get_type(value) == SB_YAML_SEQUENCE)
		while (!err && (item = t->api->node_sequence_iterate(value, &previous)))
			err = merge(t, item, outer, visit, self);
	return err;
}

static int each(struct sb_yaml_tree *t, struct fy_node *mapping, const struct outer *outer,
	sb_yaml_visit *visit, void *self)
{
	struct outer here = { outer, mapping };
	struct fy_node_pair *pair;
	void *previous = NULL;
	int err = 0;

	while (!err && (pair = t->api->node_mapping_iterate(mapping, &previous)))
		if (is_merge(t, t->api->node_pair_key(pair)))
			err = merge(t, t->api->node_pair_value(pair), &here, visit, self);
	previous = NULL;
	while (!err && (pair = t->api->node_mapping_iterate(mapping, &previous))) {
		struct fy_node *key = sb_yaml_follow(t, t->api->node_pair_key(pair));

		if (!is_merge(t, t->api->node_pair_key(pair)) && !is_hidden(t, outer, key))
			err = visit(self, key, sb_yaml_follow(t, t->api->node_pair_value(pair)));
	}
	return err;
}

int sb_yaml_each(struct sb_yaml_tree *t, struct fy_node *mapping, sb_yaml_visit *visit, void *self)
{
	return each(t, mapping, NULL, visit, self);
}

bool sb_yaml_too_many_keys(const char *text)
{
	unsigned keys = 0, braces = 0;

	for (; *text && keys <= KEYS_MAX; text++) {
		keys += *text == ':' || *text == '?' || (*text == ',' && braces);
		braces += *text == '{';
		braces -= *text == '}' && braces;
	}
	return keys > KEYS_MAX;
}
