/* YAML to settings: walks the document, checks every key and value, and points
 * at the place in the file when one is wrong. */
#include "record/settings_file.h"

#include "base/error.h"
#include "base/numerals.h"
#include "record/yaml_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
	const struct sb_yaml_api *api;
	struct sb_yaml_tree tree;
	const char *path;
	const char *text;
	struct sb_settings *settings;
	struct sb_settings_origin *origin;
	char *preset;
	size_t preset_size;
};

/* "file:3:5: message", the source line and a caret under the column. */
static int fail_at(const struct walk *w, int line, int column, const char *message)
{
	const char *start = w->text;
	char source[128];
	int width, pad;

	for (int i = 1; i < line && *start; i++) {
		start += strcspn(start, "\n");
		start += *start == '\n';
	}
	width = (int)strcspn(start, "\r\n");
	if (width > 100)
		for (width = 100; ((unsigned char)start[width] & 0xc0) == 0x80;)
			width--;
	snprintf(source, sizeof source, "%.*s", width, start);
	for (char *tab = source; (tab = strchr(tab, '\t'));)
		*tab = ' '; /* or the caret would stand elsewhere */
	pad = column - 1 > width ? width : column - 1;
	return sb_fail(STROBE_EINVAL, "%s:%d:%d: %s\n    %s\n    %*s^", w->path, line, column, message,
		source, pad, "");
}

static struct sb_yaml_mark mark_of(const struct walk *w, struct fy_node *node)
{
	struct sb_yaml_mark none = { 0, 0, 0 };
	struct fy_token *token;
	const struct sb_yaml_mark *mark;

	if (!node || w->api->node_get_type(node) != SB_YAML_SCALAR)
		return none;
	token = w->api->node_get_scalar_token(node);
	mark = token ? w->api->token_start_mark(token) : NULL;
	return mark ? *mark : none;
}

static int fail_node(const struct walk *w, struct fy_node *node, const char *message)
{
	struct sb_yaml_mark mark = mark_of(w, node);
	char copy[400];

	snprintf(copy, sizeof copy, "%s", message);
	return fail_at(w, mark.line + 1, mark.column + 1, copy);
}

/* A scalar's text into out; false for lists, mappings and what is too long. */
static bool scalar(const struct walk *w, struct fy_node *node, char *out, size_t size)
{
	const char *text = "";
	size_t length = 0;

	if (node && w->api->node_get_type(node) != SB_YAML_SCALAR)
		return false;
	if (node)
		text = w->api->node_get_scalar(node, &length);
	if (length >= size || (text && memchr(text, 0, length)))
		return false;
	if (text)
		memcpy(out, text, length);
	out[length] = 0;
	return true;
}

static bool is_plain(const struct walk *w, struct fy_node *node)
{
	return node && w->api->node_get_style(node) == SB_YAML_PLAIN;
}

struct keyed { /* a visit that wants the key's text */
	struct walk *w;
	struct fy_node *where;
	int (*visit)(struct walk *, struct fy_node *key, const char *text, struct fy_node *value);
};

static int visit_keyed(void *self, struct fy_node *key, struct fy_node *value)
{
	struct keyed *k = self;
	char text[256];

	if (!key || !scalar(k->w, key, text, sizeof text))
		return fail_node(k->w, k->where, "a key here is not plain text");
	return k->visit(k->w, key, text, value);
}

/* Calls visit for each key of a mapping; an empty value is an empty mapping. */
static int each_pair(struct walk *w, struct fy_node *mapping, struct fy_node *where, const char *wanted,
	int (*visit)(struct walk *, struct fy_node *key, const char *text, struct fy_node *value))
{
	struct keyed k = { w, where, visit };
	char text[256];

	if (!mapping)
		return 0;
	if (w->api->node_get_type(mapping) == SB_YAML_SCALAR)
		return scalar(w, mapping, text, sizeof text) && !*text ? 0 : fail_node(w, mapping, wanted);
	if (w->api->node_get_type(mapping) != SB_YAML_MAPPING)
		return fail_node(w, where, wanted);
	return sb_yaml_each(&w->tree, mapping, visit_keyed, &k);
}

/* ---- lists ------------------------------------------------------------------- */

static int visit_tag(struct walk *w, struct fy_node *key, const char *name, struct fy_node *value)
{
	struct strobe_attr attr = { .key = name, .type = STROBE_TYPE_STRING };
	char text[SB_STRING_MAX + 1], pair[SB_STRING_MAX + 512];

	if (!scalar(w, value, text, sizeof text))
		return fail_node(w, key, "a tag is text, a number, true or false, of at most 2048 bytes");
	attr.value.s = text;
	if (!is_plain(w, value)) {
		if (sb_settings_put_tag(w->settings, &attr))
			return fail_node(w, key, sb_error_message());
		return 0;
	}
	snprintf(pair, sizeof pair, "%s=%s", name, text);
	if (strchr(name, '=') || sb_settings_add_tag(w->settings, pair))
		return fail_node(w, key, strchr(name, '=') ? "a tag's key has no '='" : sb_error_message());
	return 0;
}

static int visit_threshold(struct walk *w, struct fy_node *key, const char *name, struct fy_node *value)
{
	char text[64], *end;
	double number;

	if (!scalar(w, value, text, sizeof text) || !*text)
		return fail_node(w, key, "a threshold is a number");
	number = sb_numerals_read(text, &end);
	if (*end || !isfinite(number))
		return fail_node(w, value, "a threshold is a number");
	if (sb_settings_add_threshold(w->settings, name, number))
		return fail_node(w, key, sb_error_message());
	return 0;
}

struct stage_parts {
	char target[256], code[32], name[128];
};

static int add_stage(struct walk *w, struct fy_node *where, const struct stage_parts *parts)
{
	char text[512];

	if (parts->code[0])
		snprintf(text, sizeof text, "%s = [%s] %s", parts->target, parts->code, parts->name);
	else
		snprintf(
			text, sizeof text, "%s%s%s", parts->target, parts->name[0] ? " = " : "", parts->name);
	return sb_settings_add_stage(w->settings, text) ? fail_node(w, where, sb_error_message()) : 0;
}

struct parts_visit {
	struct walk *w;
	struct stage_parts *parts;
};

static int visit_part(void *self, struct fy_node *key, struct fy_node *value)
{
	struct parts_visit *v = self;
	char text[32];
	bool ok = key && scalar(v->w, key, text, sizeof text);

	if (ok && !strcmp(text, "target"))
		ok = scalar(v->w, value, v->parts->target, sizeof v->parts->target);
	else if (ok && !strcmp(text, "code"))
		ok = scalar(v->w, value, v->parts->code, sizeof v->parts->code);
	else if (ok && !strcmp(text, "name"))
		ok = scalar(v->w, value, v->parts->name, sizeof v->parts->name);
	else
		ok = false;
	return ok ? 0 : STROBE_EINVAL;
}

/* {target: …, code: …, name: …}; says false at the first other key. */
static bool read_parts(struct walk *w, struct fy_node *mapping, struct stage_parts *parts)
{
	return !sb_yaml_each(&w->tree, mapping, visit_part, &(struct parts_visit){ w, parts });
}

/* pkg.mod:Class.method: "4c VAE encode" or {code: 4c, name: VAE encode}. */
static int visit_stage(struct walk *w, struct fy_node *key, const char *target, struct fy_node *value)
{
	struct stage_parts parts = { 0 };
	char text[512], right[256];

	snprintf(parts.target, sizeof parts.target, "%s", target);
	if (scalar(w, value, right, sizeof right)) {
		snprintf(text, sizeof text, "%s%s%s", target, *right ? " = " : "", right);
		return sb_settings_add_stage(w->settings, text) ? fail_node(w, key, sb_error_message()) : 0;
	}
	if (w->api->node_get_type(value) != SB_YAML_MAPPING || !read_parts(w, value, &parts))
		return fail_node(w, key, "a stage has a code and a name: {code: 4c, name: VAE encode}");
	return add_stage(w, key, &parts);
}

static int read_stages(struct walk *w, struct fy_node *where, struct fy_node *list)
{
	static const char wanted[] = "'stages' takes a list of 'pkg.mod:Class.method = code name'";
	struct fy_node *item;
	void *previous = NULL;
	char text[512];

	if (!list || w->api->node_get_type(list) != SB_YAML_SEQUENCE)
		return each_pair(w, list, where, wanted, visit_stage);
	while ((item = w->api->node_sequence_iterate(list, &previous))) {
		struct stage_parts parts = { 0 };
		int err;

		item = sb_yaml_follow(&w->tree, item);
		if (scalar(w, item, text, sizeof text))
			err = sb_settings_add_stage(w->settings, text)
				      ? fail_node(w, item, sb_error_message())
				      : 0;
		else if (w->api->node_get_type(item) != SB_YAML_MAPPING)
			err = fail_node(w, where, wanted);
		else if (read_parts(w, item, &parts))
			err = add_stage(w, where, &parts);
		else
			err = each_pair(w, item, where, wanted, visit_stage);
		if (err)
			return err;
	}
	return 0;
}

/* ---- keys -------------------------------------------------------------------- */

/* Text from a file is stricter than from the environment: true is not 1, a quoted
 * number is text. */
static bool type_fits(
	const struct walk *w, const struct sb_setting *t, struct fy_node *value, const char *text)
{
	if (t->type == SB_SETTING_TEXT)
		return true;
	if (!value)
		return t->type == SB_SETTING_NUMBER;
	if (t->type == SB_SETTING_BOOL)
		return is_plain(w, value) && strcmp(text, "0") && strcmp(text, "1");
	return t->type == SB_SETTING_FORMAT || t->type == SB_SETTING_BYTES || is_plain(w, value);
}

static int read_scalar(struct walk *w, const struct sb_setting *t, struct fy_node *key, struct fy_node *value)
{
	char text[600], message[300];
	bool readable = scalar(w, value, text, sizeof text);
	int err = readable ? sb_settings_set(w->settings, t, text) : STROBE_EINVAL;

	if (!err && type_fits(w, t, value, text))
		return 0;
	if (!readable)
		snprintf(message, sizeof message, "'%s' takes a single value", t->key);
	else if (err)
		snprintf(message, sizeof message, "%s", sb_error_message());
	else
		snprintf(message, sizeof message, "'%s' takes %s, not %s", t->key,
			t->type == SB_SETTING_BOOL ? "true or false" : "a number",
			value ? "text" : "nothing");
	return fail_node(w, readable && value ? value : key, message);
}

static int unknown_key(struct walk *w, struct fy_node *key, const char *text)
{
	const char *nearest = sb_setting_nearest(text);
	char message[300];

	if (nearest)
		snprintf(message, sizeof message, "unknown key '%.60s'; did you mean '%s'?", text, nearest);
	else
		snprintf(message, sizeof message,
			"unknown key '%.60s'; 'strobe run --print-config' lists them", text);
	return fail_node(w, key, message);
}

static int visit_key(struct walk *w, struct fy_node *key, const char *text, struct fy_node *value)
{
	const struct sb_setting *t = sb_setting_find(text);
	int err;

	if (!strcmp(text, "preset")) {
		if (!scalar(w, value, w->preset, w->preset_size))
			return fail_node(w, key, "'preset' takes development or production");
		if (sb_settings_check_preset(w->preset))
			return fail_node(w, value ? value : key, sb_error_message());
		return 0;
	}
	if (!t || sb_setting_is_internal(t))
		return unknown_key(w, key, text);
	if (t->type == SB_SETTING_TAGS)
		err = each_pair(w, value, key, "'session_tags' takes key: value pairs", visit_tag);
	else if (t->type == SB_SETTING_THRESHOLDS)
		err = each_pair(w, value, key, "'thresholds' takes rule: number pairs", visit_threshold);
	else if (t->type == SB_SETTING_STAGES)
		err = read_stages(w, key, value);
	else
		err = read_scalar(w, t, key, value);
	if (!err && w->origin) {
		w->origin->source[t - sb_setting_table] = SB_FROM_FILE;
		w->origin->line[t - sb_setting_table] = mark_of(w, key).line + 1;
	}
	return err;
}

/* ---- the document ------------------------------------------------------------- */

struct root_visit {
	struct walk *w;
	struct fy_node *key, *value; /* of the root key; keys after it belong to other tools */
};

static int visit_root(void *self, struct fy_node *key, struct fy_node *value)
{
	static const char *const root_key[] = { "profiling" };
	struct root_visit *v = self;
	char text[64];

	if (v->key || !key || !scalar(v->w, key, text, sizeof text))
		return 0;
	if (!strcmp(text, "profiling"))
		*v = (struct root_visit){ v->w, key, value };
	else if (sb_setting_nearest_of(text, root_key, 1))
		return fail_node(v->w, key, "unknown root key; did you mean 'profiling:'?");
	else if (sb_setting_find(text))
		return fail_node(v->w, key, "this key belongs under the root key 'profiling:'");
	return 0;
}

static int walk_root(struct walk *w, struct fy_node *root)
{
	struct root_visit v = { .w = w };
	bool is_mapping = root && w->api->node_get_type(root) == SB_YAML_MAPPING;
	int err = is_mapping ? sb_yaml_each(&w->tree, root, visit_root, &v) : 0;

	if (!err && !v.key)
		return sb_fail(STROBE_EINVAL, "%s: the root key 'profiling:' is missing", w->path);
	if (!err)
		err = each_pair(w, v.value, v.key, "'profiling' takes key: value pairs", visit_key);
	if (w->tree.lost)
		return fail_node(w, w->tree.lost, "invalid alias");
	return err;
}

static int fail_parse(const struct walk *w, struct fy_diag *diag)
{
	void *previous = NULL;
	const struct sb_yaml_error *error = w->api->diag_errors_iterate(diag, &previous);
	char message[300];

	if (!error)
		return sb_fail(STROBE_EINVAL, "%s: not a YAML file", w->path);
	snprintf(message, sizeof message, "%s", error->message);
	return fail_at(w, error->line, error->column, message);
}

static bool only_comments(const char *text)
{
	while (*text) {
		text += strspn(text, " \t\r\n");
		if (*text && *text != '#')
			return false;
		text += strcspn(text, "\n");
	}
	return true;
}

static bool is_marker(const char *line, const char *marker)
{
	return !strncmp(line, marker, 3) && (!line[3] || strchr(" \t\r\n", line[3]));
}

/* The line where a second document begins, 0: there is one alone. No scalar of any
 * kind holds such a marker at the beginning of a line. */
static int second_document(const char *text)
{
	bool begun = false, ended = false;
	int line = 1;

	if (!strncmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	for (; *text; line++) {
		bool start = is_marker(text, "---"), end = is_marker(text, "...");
		bool blank = !start && !end && strchr("#\r\n", text[strspn(text, " \t")]);

		if ((start && begun) || (ended && !start && !end && !blank))
			return line;
		ended = end || (ended && blank);
		begun |= start || (!blank && !end && *text != '%');
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return 0;
}

static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t size)
{
	(void)diag, (void)user, (void)text, (void)size;
}

static int walk_text(struct walk *w, const struct sb_buf *text)
{
	struct sb_yaml_diag_cfg silent = { .output = say_nothing };
	struct sb_yaml_parse_cfg cfg = { .flags = SB_YAML_QUIET };
	struct fy_document *document = NULL;
	int err, second;

	w->text = sb_buf_text(text);
	if (only_comments(w->text)) /* the library would print about an empty document */
		return sb_fail(STROBE_EINVAL, "%s: empty; the root key 'profiling:' is missing", w->path);
	second = second_document(w->text);
	if (second)
		return fail_at(w, second, 1, "a second document begins here; the settings are one document");
	if (sb_yaml_too_many_keys(w->text))
		return sb_fail(STROBE_EINVAL, "%s: too many keys for a file with settings", w->path);
	w->api = sb_yaml_find();
	if (!w->api)
		return sb_fail(STROBE_ENOTSUP,
			"cannot read '%s': libfyaml is not on this machine (Debian: libfyaml0)", w->path);
	cfg.diag = w->api->diag_create(&silent);
	w->api->diag_set_collect_errors(cfg.diag, true);
	document = w->api->document_build_from_string(&cfg, text->data, text->size);
	w->tree = (struct sb_yaml_tree){ .api = w->api, .document = document };
	err = document ? walk_root(w, w->api->document_root(document)) : fail_parse(w, cfg.diag);
	if (document)
		w->api->document_destroy(document);
	w->api->diag_destroy(cfg.diag);
	return err;
}

int sb_settings_read_file(
	struct sb_settings *s, const char *path, const struct sb_buf *text, struct sb_settings_origin *origin)
{
	char preset[24] = "";
	struct walk w = {
		.path = path, .settings = s, .origin = origin, .preset = preset, .preset_size = sizeof preset
	};
	int err = walk_text(&w, text);

	if (origin)
		snprintf(origin->file, sizeof origin->file, "%s", path);
	return err;
}

int sb_settings_file_preset(const char *path, const struct sb_buf *text, char *out, size_t size)
{
	struct sb_settings *scratch = calloc(1, sizeof *scratch);
	struct walk w = { .path = path, .settings = scratch, .preset = out, .preset_size = size };
	int err;

	*out = 0;
	if (!scratch)
		return sb_fail(STROBE_ENOMEM, "no memory for the settings");
	err = walk_text(&w, text);
	free(scratch);
	return err;
}
