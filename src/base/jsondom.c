/* Builds the tree from the token stream, in one arena per document. */
#include "base/jsondom.h"

#include "base/error.h"
#include "base/jsonin.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 65536u

struct page {
	struct page *next;
	size_t used;
	size_t size;
	_Alignas(16) char bytes[];
};

struct sb_jsondom_doc {
	struct page *pages;
	struct sb_jsondom *root;
};

struct text_source {
	const char *text;
	size_t left;
};

static void *arena_take(struct sb_jsondom_doc *doc, size_t size)
{
	struct page *page = doc->pages;
	size_t need = (size + 15) & ~(size_t)15;

	if (!page || page->size - page->used < need) {
		size_t room = need > PAGE_BYTES ? need : PAGE_BYTES;

		page = malloc(sizeof *page + room);
		if (!page)
			return NULL;
		page->next = doc->pages;
		page->used = 0;
		page->size = room;
		doc->pages = page;
	}
	page->used += need;
	return page->bytes + page->used - need;
}

static const char *keep_text(struct sb_jsondom_doc *doc, const char *text, size_t size)
{
	char *copy = arena_take(doc, size + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	copy[size] = 0;
	return copy;
}

static int out_of_memory(const struct sb_jsonin *p)
{
	return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", p->name);
}

static int fill_scalar(
	struct sb_jsondom_doc *doc, struct sb_jsonin *p, enum sb_jsonin_token token, struct sb_jsondom *node)
{
	switch (token) {
	case SB_JSONIN_STRING:
		node->type = SB_JSONDOM_STRING;
		node->size = p->size;
		node->text = keep_text(doc, p->text, p->size);
		return node->text ? 0 : out_of_memory(p);
	case SB_JSONIN_NUMBER:
		node->type = SB_JSONDOM_NUMBER;
		node->number = sb_jsonin_double(p);
		node->is_int = sb_jsonin_int(&p->number, &node->integer);
		if (!node->is_int && node->number > -9.2e18 && node->number < 9.2e18)
			node->integer = (int64_t)node->number;
		return 0;
	case SB_JSONIN_TRUE:
	case SB_JSONIN_FALSE:
		node->type = SB_JSONDOM_BOOL;
		node->truth = token == SB_JSONIN_TRUE;
		return 0;
	default: return 0;
	}
}

/* The containers that are open while a document is read. */
struct level {
	struct sb_jsondom *node;
	struct sb_jsondom *last;
};

static struct sb_jsondom *attach(struct sb_jsondom_doc *doc, struct level *level)
{
	struct sb_jsondom *node = arena_take(doc, sizeof *node);

	if (!node)
		return NULL;
	memset(node, 0, sizeof *node);
	if (!level->node)
		doc->root = node;
	else if (level->last)
		level->last->next = node;
	else
		level->node->first = node;
	if (level->node)
		level->node->size++;
	level->last = node;
	return node;
}

static int build(struct sb_jsondom_doc *doc, struct sb_jsonin *p)
{
	struct level levels[SB_JSONIN_DEPTH_MAX + 1] = { { 0 } };
	struct level *level = levels;
	const char *key = NULL;

	for (;;) {
		enum sb_jsonin_token token = sb_jsonin_next(p);
		struct sb_jsondom *node;
		int err;

		switch (token) {
		case SB_JSONIN_ERROR: return p->err;
		case SB_JSONIN_END: return 0;
		case SB_JSONIN_KEY:
			key = keep_text(doc, p->text, p->size);
			if (!key)
				return out_of_memory(p);
			continue;
		case SB_JSONIN_OBJECT_END:
		case SB_JSONIN_ARRAY_END: level--; continue;
		default: break;
		}
		node = attach(doc, level);
		if (!node)
			return out_of_memory(p);
		node->key = key;
		key = NULL;
		if (token == SB_JSONIN_OBJECT || token == SB_JSONIN_ARRAY) {
			node->type = token == SB_JSONIN_OBJECT ? SB_JSONDOM_OBJECT : SB_JSONDOM_ARRAY;
			*++level = (struct level){ node, NULL };
			continue;
		}
		err = fill_scalar(doc, p, token, node);
		if (err)
			return err;
	}
}

static ssize_t read_text(void *source, char *to, size_t size)
{
	struct text_source *s = source;
	size_t n = size < s->left ? size : s->left;

	memcpy(to, s->text, n);
	s->text += n;
	s->left -= n;
	return (ssize_t)n;
}

int sb_jsondom_parse(const char *name, const char *text, size_t size, struct sb_jsondom_doc **out_doc)
{
	struct text_source source = { text, size };
	struct sb_jsondom_doc *doc = calloc(1, sizeof *doc);
	struct sb_jsonin p;
	int err;

	if (!doc)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", name);
	err = sb_jsonin_init(&p, name, size, read_text, &source);
	if (!err)
		err = build(doc, &p);
	sb_jsonin_done(&p);
	if (err) {
		sb_jsondom_free(doc);
		return err;
	}
	*out_doc = doc;
	return 0;
}

int sb_jsondom_read(const char *path, size_t limit, struct sb_jsondom_doc **out_doc)
{
	struct sb_buf text = { 0 };
	int err = sb_buf_read_file(&text, path, limit);

	if (!err)
		err = sb_jsondom_parse(path, sb_buf_text(&text), text.size, out_doc);
	sb_buf_done(&text);
	return err;
}

void sb_jsondom_free(struct sb_jsondom_doc *doc)
{
	if (!doc)
		return;
	while (doc->pages) {
		struct page *page = doc->pages;

		doc->pages = page->next;
		free(page);
	}
	free(doc);
}

const struct sb_jsondom *sb_jsondom_root(const struct sb_jsondom_doc *doc)
{
	return doc ? doc->root : NULL;
}

static const struct sb_jsondom *find(const struct sb_jsondom *object, const char *key, size_t size)
{
	if (!object || object->type != SB_JSONDOM_OBJECT)
		return NULL;
	for (const struct sb_jsondom *n = object->first; n; n = n->next)
		if (!strncmp(n->key, key, size) && !n->key[size])
			return n;
	return NULL;
}

const struct sb_jsondom *sb_jsondom_get(const struct sb_jsondom *object, const char *key)
{
	return find(object, key, strlen(key));
}

const struct sb_jsondom *sb_jsondom_path(const struct sb_jsondom *node, const char *path)
{
	while (node && *path) {
		size_t size = strcspn(path, ".");

		node = find(node, path, size);
		path += size + (path[size] == '.');
	}
	return node;
}

double sb_jsondom_number(const struct sb_jsondom *node, double otherwise)
{
	return node && node->type == SB_JSONDOM_NUMBER ? node->number : otherwise;
}

int64_t sb_jsondom_int(const struct sb_jsondom *node, int64_t otherwise)
{
	return node && node->type == SB_JSONDOM_NUMBER ? node->integer : otherwise;
}

bool sb_jsondom_bool(const struct sb_jsondom *node, bool otherwise)
{
	return node && node->type == SB_JSONDOM_BOOL ? node->truth : otherwise;
}

const char *sb_jsondom_string(const struct sb_jsondom *node, const char *otherwise)
{
	return node && node->type == SB_JSONDOM_STRING ? node->text : otherwise;
}
