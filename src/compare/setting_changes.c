/* What was set differently: tags, settings, the command, attributes of stages. */
#include "compare/compare.h"

#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_setting(struct sb_comparison *c, enum sb_fact_scope scope, const char *where, const char *key,
	const char *base, const char *now)
{
	struct sb_setting_change *grown = realloc(c->settings, (c->setting_count + 1) * sizeof *grown);

	if (!grown)
		return sb_compare_no_memory();
	c->settings = grown;
	grown[c->setting_count++] = (struct sb_setting_change){
		.scope = scope, .where = where, .key = key, .base = base, .now = now
	};
	return 0;
}

static const char *pair_value(const struct sb_facts *f, enum sb_fact_scope scope, const char *key)
{
	for (size_t i = 0; i < f->pair_count; i++)
		if (f->pairs[i].scope == scope && !strcmp(f->pairs[i].key, key))
			return f->pairs[i].value;
	return NULL;
}

/* What changes from run to run without meaning anything. */
static bool is_noise(const struct sb_fact_pair *p)
{
	static const char *const keys[] = { "output_dir", "pid", "run_dir", "session", "boot_id", "uptime_s",
		"load_average", "start_time" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!strcmp(p->key, keys[i]))
			return true;
	return false;
}

int sb_compare_pairs(struct sb_comparison *c)
{
	const struct sb_facts *base = c->base[0], *now = c->now[0];
	int err = 0;

	for (size_t i = 0; i < base->pair_count && !err; i++) {
		const struct sb_fact_pair *p = &base->pairs[i];
		const char *value = pair_value(now, p->scope, p->key);

		if (!is_noise(p) && (!value || strcmp(value, p->value)))
			err = add_setting(c, p->scope, "", p->key, p->value, value);
	}
	for (size_t i = 0; i < now->pair_count && !err; i++) {
		const struct sb_fact_pair *p = &now->pairs[i];

		if (!is_noise(p) && !pair_value(base, p->scope, p->key))
			err = add_setting(c, p->scope, "", p->key, NULL, p->value);
	}
	if (!err && *base->host && *now->host && strcmp(base->host, now->host))
		err = add_setting(c, SB_FACT_SYSTEM, "", "host", base->host, now->host);
	return err;
}

static const char *attr_text(struct sb_comparison *c, const struct sb_pair *p)
{
	char text[64];

	if (p->type == STROBE_TYPE_STRING)
		return p->s ? p->s : "";
	snprintf(text, sizeof text, "%.10g", p->type == STROBE_TYPE_FLOAT ? p->f : (double)p->i);
	return sb_strings_text(&c->strings, sb_strings_add(&c->strings, text, strlen(text)));
}

/* What imports note beside a stage's time: measured as the time is, not set by anyone. */
static bool is_measured(const char *key)
{
	static const char *const keys[] = { "measured_s", "cumulative_s", "gpu_s", "gpu_cumulative_s",
		"memory_mb", "gpu_memory_mb" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

static int compare_attrs_of(
	struct sb_comparison *c, const struct sb_fact_stage *b, const struct sb_fact_stage *n)
{
	char label[256];
	int err = 0;

	sb_stage_label(n->code, n->name, label, sizeof label);
	for (size_t i = 0; i < b->attr_count && !err; i++)
		for (size_t k = 0; k < n->attr_count && !err; k++) {
			const char *before = attr_text(c, &b->attrs[i]), *after = attr_text(c, &n->attrs[k]);

			if (strcmp(b->attrs[i].key, n->attrs[k].key) || !strcmp(before, after) ||
				is_measured(b->attrs[i].key))
				continue;
			err = add_setting(c, SB_FACT_SETTING,
				sb_strings_text(
					&c->strings, sb_strings_add(&c->strings, label, strlen(label))),
				b->attrs[i].key, before, after);
		}
	return err;
}

int sb_compare_attrs(struct sb_comparison *c)
{
	const struct sb_facts *base = c->base[0], *now = c->now[0];
	struct sb_map by_key = { 0 };
	int err = 0;

	for (size_t i = 0; i < base->stage_count && !err; i++)
		if (!sb_map_put(&by_key,
			    sb_strings_add(&c->strings, base->stages[i].key, strlen(base->stages[i].key)),
			    (uint32_t)i))
			err = sb_compare_no_memory();
	for (size_t i = 0; i < now->stage_count && !err; i++) {
		const struct sb_fact_stage *n = &now->stages[i];
		uint32_t key = sb_strings_find(&c->strings, n->key, strlen(n->key)), index;

		if (key && sb_map_get(&by_key, key, &index))
			err = compare_attrs_of(c, &base->stages[index], n);
	}
	sb_map_done(&by_key);
	return err;
}
