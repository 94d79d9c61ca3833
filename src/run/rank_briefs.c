/* See rank_briefs.h: members.h says which recording is of which rank. One pass over the headers. */
#include "run/rank_briefs.h"

#include "base/error.h"
#include "base/room.h"
#include "format/head.h"
#include "run/members.h"

#include <stdlib.h>
#include <string.h>

struct found {
	struct sb_file_header head;
	size_t file;
	uint64_t bytes;
};

struct reading {
	struct found *all;
	size_t count, room;
	size_t file;
	bool no_memory;
};

void sb_rank_briefs_done(struct sb_rank_briefs *b)
{
	for (size_t i = 0; i < b->count; i++)
		sb_recording_paths_done(&b->all[i].files);
	free(b->all);
	sb_recording_paths_done(&b->others);
	memset(b, 0, sizeof *b);
}

static void take_head(const struct sb_file_header *head, void *context)
{
	struct reading *r = context;

	if (!SB_MAKE_ROOM(r->all, r->count, r->room)) {
		r->no_memory = true;
		return;
	}
	r->all[r->count++] = (struct found){ *head, r->file,
		head->header_bytes + (uint64_t)head->chunk_count * head->chunk_bytes };
}

static int read_heads(const struct sb_recording_paths *files, struct reading *r)
{
	for (r->file = 0; r->file < files->count; r->file++) {
		size_t before = r->count;
		uint64_t bytes = 0;

		sb_head_read(files->paths[r->file], SB_INFILE_LISTED, take_head, r, &bytes);
		if (r->count == before + 1) /* not of a file with many recordings */
			r->all[before].bytes = bytes;
	}
	return r->no_memory ? sb_fail(STROBE_ENOMEM, "no memory to list ranks") : 0;
}

/* A file that is there already, as the last, has many recordings in it. */
static int add_file(struct sb_recording_paths *to, const char *path)
{
	if (to->count && !strcmp(to->paths[to->count - 1], path))
		return 0;
	return sb_recording_paths_add(to, path);
}

static struct sb_rank_brief *rank_of(struct sb_rank_briefs *b, int32_t rank)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->all[i].brief.rank == rank)
			return &b->all[i];
	return NULL;
}

static int add_leader(struct sb_rank_briefs *b, size_t *room, const struct found *f)
{
	if (!SB_MAKE_ROOM(b->all, b->count, *room))
		return sb_fail(STROBE_ENOMEM, "no memory to list ranks");
	b->all[b->count++] = (struct sb_rank_brief){ .brief = sb_run_brief_of(&f->head) };
	return 0;
}

static int add_member(struct sb_rank_briefs *b, const struct sb_member *m, const struct found *f,
	uint32_t attempt, const char *path)
{
	struct sb_rank_brief *rank = m->attempt == attempt && m->of_rank >= 0 ? rank_of(b, m->of_rank) : NULL;

	if (!rank)
		return m->of_rank < 0 ? add_file(&b->others, path) : 0;
	rank->brief.bytes += f->bytes;
	rank->brief.live |= m->live;
	sb_run_brief_extend(&rank->brief, &f->head);
	return add_file(&rank->files, path);
}

static int by_rank(const void *a, const void *b)
{
	const struct sb_rank_brief *x = a, *y = b;

	return x->brief.rank < y->brief.rank ? -1 : x->brief.rank > y->brief.rank;
}

static int share_out(const struct sb_recording_paths *files, const struct reading *r,
	struct sb_member *members, struct sb_rank_briefs *b)
{
	size_t room = 0;
	uint32_t attempt;
	int err = 0;

	for (size_t i = 0; i < r->count; i++)
		members[i] = sb_member_of(&r->all[i].head, sb_member_is_tool(files->paths[r->all[i].file]));
	if (!sb_members_settle(members, r->count))
		return sb_fail(STROBE_ENOMEM, "no memory to list ranks");
	attempt = sb_members_attempt(members, r->count);
	for (size_t i = 0; attempt && i < r->count && !err; i++)
		if (members[i].leader && members[i].attempt == attempt)
			err = add_leader(b, &room, &r->all[i]);
	if (b->count)
		qsort(b->all, b->count, sizeof *b->all, by_rank);
	for (size_t i = 0; b->count && i < r->count && !err; i++)
		err = add_member(b, &members[i], &r->all[i], attempt, files->paths[r->all[i].file]);
	return err;
}

int sb_rank_briefs_read(const char *folder, struct sb_rank_briefs *out_briefs)
{
	struct sb_recording_paths files = { 0 };
	struct sb_rank_briefs b = { 0 };
	struct sb_member *members = NULL;
	struct reading r = { 0 };
	int err = sb_catalogue_recordings(folder, &files);

	if (!err)
		err = read_heads(&files, &r);
	if (!err && !(members = calloc(r.count + 1, sizeof *members)))
		err = sb_fail(STROBE_ENOMEM, "no memory to list ranks");
	if (!err)
		err = share_out(&files, &r, members, &b);
	free(members);
	free(r.all);
	sb_recording_paths_done(&files);
	if (err) {
		sb_rank_briefs_done(&b);
		return err;
	}
	*out_briefs = b;
	return 0;
}
