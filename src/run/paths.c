/* The tree of stage paths of a run. */
#include "run/index.h"

#include <stdlib.h>

#define DEPTH_MAX 1024u /* deeper zones count as recursion of the zone around them */

static bool ensure_root(struct sb_run_index *x)
{
	if (x->path_count)
		return true;
	x->paths = calloc(64, sizeof *x->paths);
	if (!x->paths)
		return false;
	x->path_room = 64;
	x->path_count = 1;
	return true;
}

/* A name that is its own ancestor shares the ancestor's path: recursion does not deepen the tree. */
static uint32_t ancestor_named(const struct sb_run_index *x, uint32_t path, uint32_t name)
{
	for (; path; path = x->paths[path].parent)
		if (x->paths[path].name == name)
			return path;
	return 0;
}

static uint32_t path_new(struct sb_run_index *x, uint32_t parent, uint32_t name, bool own)
{
	bool too_deep = parent && x->paths[parent].depth + 1 >= DEPTH_MAX;
	uint32_t ancestor = too_deep ? parent : own ? 0 : ancestor_named(x, parent, name);
	uint32_t path;

	if (ancestor)
		return ancestor | SB_PATH_RECURSIVE;
	if (x->path_count == x->path_room) {
		struct sb_path *more = realloc(x->paths, x->path_room * 2 * sizeof *more);

		if (!more)
			return parent ? parent | SB_PATH_RECURSIVE : 0;
		x->paths = more;
		x->path_room *= 2;
	}
	path = x->path_count++;
	x->paths[path] = (struct sb_path){
		.parent = parent, .name = name, .depth = parent ? x->paths[parent].depth + 1 : 0
	};
	return path;
}

uint32_t sb_run_path_of_any(struct sb_run *run, uint32_t parent, uint32_t name)
{
	struct sb_run_index *x = run->index;
	uint64_t key = (uint64_t)parent << 32 | name;
	uint32_t path;

	if (!ensure_root(x))
		return 0;
	if (!sb_map_get(&x->children, key, &path)) {
		path = path_new(x, parent, name, false);
		sb_map_put(&x->children, key, path);
	}
	*sb_path_recent(x, parent, name) = (struct sb_path_recent){ key + 1, path };
	return path;
}

uint32_t sb_run_path_of_role(struct sb_run *run, uint32_t parent, uint32_t name)
{
	struct sb_run_index *x = run->index;
	uint64_t key = (uint64_t)1 << 63 | (uint64_t)parent << 32 | name; /* no parent has that bit */
	uint32_t path;

	if (!ensure_root(x))
		return 0;
	if (!sb_map_get(&x->children, key, &path)) {
		path = path_new(x, parent, name, true);
		sb_map_put(&x->children, key, path);
	}
	return path;
}

const struct sb_path *sb_run_path(const struct sb_run *run, uint32_t path)
{
	static const struct sb_path root;

	return path < run->index->path_count ? &run->index->paths[path] : &root;
}

uint32_t sb_run_path_count(const struct sb_run *run)
{
	return run->index->path_count;
}

int64_t sb_run_attributed_ns(const struct sb_run *run)
{
	return run->index->attributed_ns;
}

const struct sb_pass *sb_run_pass(const struct sb_run *run)
{
	return &run->index->pass;
}

const struct sb_writer_use *sb_run_writers(const struct sb_run *run, size_t *out_count)
{
	*out_count = run->index->writers.count;
	return run->index->writers.items;
}
