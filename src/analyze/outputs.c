/* outputs: the files that the program named as its result. What they held when the run had ended is in outputs.json;
 * without it they are read here, and believed where they were not written since. */
#include "analyze/analysis.h"

#include "base/error.h"
#include "base/jsondom.h"
#include "base/vec.h"
#include "format/run_keys.h"
#include "run/content.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUTS_MOST 1000
#define READ_MOST (2ull << 30) /* what is larger is not read for its SHA-256 */
#define GRACE_NS 5000000000ull /* an encoder may end a little after the program that started it */
#define FILE_MOST (4u << 20)

struct outputs {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_vec all; /* struct sb_output */
	bool no_memory;
};

static const char *text_attr(struct outputs *o, const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_STRING && *a->s ? sb_model_text(o->model, a->s) : NULL;
}

static int64_t count_attr(const struct sb_event *e, const char *key)
{
	double v = sb_attr_number(e->attrs, e->attr_count, key);

	return v > 0 && v < 1e9 ? (int64_t)v : -1;
}

static struct sb_output *find(const struct outputs *o, const char *path)
{
	struct sb_output *all = o->all.items;

	for (size_t i = 0; i < o->all.count; i++)
		if (!strcmp(all[i].path, path))
			return &all[i];
	return NULL;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct outputs *o = self;
	const char *path;
	struct sb_output *one;

	if (strcmp(o->run->names[e->name].text, SB_EVENT_OUTPUT))
		return;
	path = text_attr(o, e, "path");
	if (!path || o->all.count == OUTPUTS_MOST)
		return;
	one = find(o, path);
	if (!one)
		one = sb_vec_push(&o->all, sizeof *one);
	if (!one) {
		o->no_memory = true;
		return;
	}
	*one = (struct sb_output){ .path = path,
		.bytes = NAN,
		.width = count_attr(e, "width"),
		.height = count_attr(e, "height"),
		.pixel_format = text_attr(o, e, "pixel_format") };
}

/* What another user's recording names may be any file of this user. */
static bool is_own(const struct sb_run *run)
{
	struct stat s;

	return !stat(run->folder ? run->folder : run->path, &s) && s.st_uid == geteuid();
}

/* ---- what it held ---------------------------------------------------------------- */

static void look(struct outputs *o, struct sb_output *one)
{
	uint64_t end_ns = o->run->start_real_ns + (uint64_t)o->run->wall_ns;
	struct sb_content c;

	if (!is_own(o->run)) {
		one->state = "not read";
		one->why = "the run is another user's";
		return;
	}
	if (o->run->live) {
		one->state = "being written";
		return;
	}
	if (sb_content_look(one->path, &c)) {
		one->state = "missing";
		return;
	}
	one->bytes = (double)c.bytes;
	one->modified_real_ns = c.modified_real_ns;
	if (c.modified_real_ns > end_ns + GRACE_NS) {
		one->state = "overwritten";
		return;
	}
	one->state = "not read";
	if (sb_content_read(one->path, READ_MOST, &c))
		one->why = sb_model_text(o->model, sb_error_message());
	else if (!*c.sha256)
		one->why = "larger than 2 GiB";
	else
		one->state = "written";
	one->sha256 = *c.sha256 ? sb_model_text(o->model, c.sha256) : NULL;
}

static void *take(void *model, size_t size)
{
	return sb_model_alloc(model, size);
}

/* Fills in what the file of the run's end says; it goes before what is there now. */
static void recall(struct outputs *o, const struct sb_output *then)
{
	struct sb_output *one = then->path ? find(o, then->path) : NULL;
	char kept[PATH_MAX], folder[PATH_MAX];

	if (!one || !then->state)
		return;
	*one = *then;
	one->path = sb_model_text(o->model, then->path);
	one->state = sb_model_text(o->model, then->state);
	one->why = sb_model_text(o->model, then->why);
	one->sha256 = sb_model_text(o->model, then->sha256);
	one->pixel_format = sb_model_text(o->model, then->pixel_format);
	one->kept = NULL;
	if (then->kept && !strchr(then->kept, '/') && realpath(o->run->folder, folder) &&
		(size_t)snprintf(kept, sizeof kept, "%s/outputs/%s", folder, then->kept) < sizeof kept)
		one->kept = sb_model_text(o->model, kept);
}

static void recall_all(struct outputs *o)
{
	struct sb_outputs_panel then = { 0 };
	struct sb_jsondom_doc *doc = NULL;
	char path[PATH_MAX];

	if (!o->run->folder || !is_own(o->run) ||
		(size_t)snprintf(path, sizeof path, "%s/" SB_OUTPUTS_FILE, o->run->folder) >= sizeof path ||
		sb_jsondom_read(path, FILE_MOST, &doc))
		return;
	sb_fields_read(&sb_outputs_file_fields, sb_jsondom_root(doc), take, o->model, &then);
	for (size_t i = 0; i < then.count; i++)
		recall(o, &then.all[i]);
	sb_jsondom_free(doc);
}

/* ---- the analysis ---------------------------------------------------------------- */

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct outputs *o = calloc(1, sizeof *o);

	if (!o)
		return sb_fail(STROBE_ENOMEM, "no memory for the outputs of '%s'", run->path);
	o->run = run;
	o->model = model;
	v->self = o;
	v->kinds = 1u << SB_EVENT_EVENT;
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct outputs *o = self;
	struct sb_outputs_panel *p = &model->outputs;
	struct sb_output *all = o->all.items;

	if (o->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the outputs of '%s'", run->path);
	if (!o->all.count)
		return 0;
	recall_all(o);
	p->all = sb_model_alloc(model, o->all.count * sizeof *p->all);
	for (size_t i = 0; p->all && i < o->all.count; i++) {
		if (!all[i].state)
			look(o, &all[i]);
		p->all[p->count++] = all[i];
	}
	return 0;
}

static void done(void *self)
{
	struct outputs *o = self;

	if (o)
		sb_vec_done(&o->all);
	free(o);
}

const struct sb_analysis sb_analysis_outputs = {
	.name = "outputs",
	.begin = begin,
	.finish = finish,
	.done = done,
};
