/* Sums by path and class. Classes are few, and of most paths there are only some of them:
 * so a map finds the sums, not a matrix. */
#include "analyze/gpu/families.h"

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES_MAX 255u
#define BY_SHAPE "by launch shape"

struct sum {
	uint32_t path, class;
	int64_t count, total_ns;
};

struct sb_gpu_families {
	struct sb_run *run;
	struct sb_kernel_class classes[CLASSES_MAX];
	uint32_t class_count;
	uint8_t *class_of; /* by run name: class + 1; 0: not looked up yet */
	uint32_t name_room;
	struct sb_map sum_of; /* path << 8 | class -> index of sums */
	struct sb_vec sums; /* struct sum */
};

int sb_gpu_families_new(struct sb_run *run, struct sb_gpu_families **out_families)
{
	struct sb_gpu_families *f = calloc(1, sizeof *f);

	if (!f)
		return sb_fail(STROBE_ENOMEM, "no memory for the kernel families");
	f->run = run;
	*out_families = f;
	return 0;
}

void sb_gpu_families_free(struct sb_gpu_families *f)
{
	if (!f)
		return;
	free(f->class_of);
	sb_map_done(&f->sum_of);
	sb_vec_done(&f->sums);
	free(f);
}

/* ---- classes ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The number of a class; the last one takes what is too much. */
static uint32_t number_of(struct sb_gpu_families *f, struct sb_kernel_class c)
{
	for (uint32_t i = 0; i < f->class_count; i++)
		if (f->classes[i].family == c.family && same_text(f->classes[i].kind, c.kind) &&
			same_text(f->classes[i].precision, c.precision))
			return i;
	if (f->class_count == CLASSES_MAX)
		return CLASSES_MAX - 1;
	f->classes[f->class_count] = c;
	return f->class_count++;
}

static bool make_room(struct sb_gpu_families *f, uint32_t name)
{
	uint32_t room = name * 2 + 256;
	uint8_t *more;

	if (name < f->name_room)
		return true;
	more = realloc(f->class_of, room);
	if (!more)
		return false;
	memset(more + f->name_room, 0, room - f->name_room);
	f->class_of = more;
	f->name_room = room;
	return true;
}

/* Blocks with much shared memory multiply tiles; flat grids without any go element by element. */
static struct sb_kernel_class by_shape(uint32_t flags)
{
	enum sb_kernel_family family = flags & SB_GPU_TILED  ? SB_KERNEL_GEMM
				       : flags & SB_GPU_FLAT ? SB_KERNEL_ELEMENTWISE
							     : SB_KERNEL_UNRECOGNISED;

	return (struct sb_kernel_class){ family, family ? BY_SHAPE : NULL, NULL, -1 };
}

static uint32_t class_of(struct sb_gpu_families *f, uint32_t name, uint32_t flags)
{
	uint32_t number;

	if (!f->class_of[name])
		f->class_of[name] = (uint8_t)(number_of(f, sb_kernel_classify(f->run->names[name].text)) + 1);
	number = f->class_of[name] - 1u;
	return f->classes[number].family == SB_KERNEL_UNRECOGNISED ? number_of(f, by_shape(flags)) : number;
}

int sb_gpu_families_class(struct sb_gpu_families *f, uint32_t name, uint32_t flags, uint32_t *out_class)
{
	if (!make_room(f, name))
		return sb_fail(STROBE_ENOMEM, "no memory for the kernel families");
	*out_class = class_of(f, name, flags);
	return 0;
}

uint32_t sb_gpu_families_class_count(const struct sb_gpu_families *f)
{
	return f->class_count;
}

struct sb_kernel_class sb_gpu_families_class_at(const struct sb_gpu_families *f, uint32_t class)
{
	return f->classes[class];
}

/* ---- sums ---- */

static struct sum *sum_at(struct sb_gpu_families *f, uint32_t path, uint32_t class)
{
	uint64_t key = (uint64_t)path << 8 | class;
	uint32_t index;
	struct sum *s;

	if (sb_map_get(&f->sum_of, key, &index))
		return (struct sum *)f->sums.items + index;
	index = (uint32_t)f->sums.count;
	s = sb_vec_push(&f->sums, sizeof *s);
	if (!s || !sb_map_put(&f->sum_of, key, index))
		return NULL;
	s->path = path;
	s->class = class;
	return s;
}

static int add_sum(struct sb_gpu_families *f, uint32_t path, uint32_t class, int64_t count, int64_t total_ns)
{
	struct sum *s = sum_at(f, path, class);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory for the kernel families");
	s->count += count;
	s->total_ns += total_ns;
	return 0;
}

int sb_gpu_families_add(
	struct sb_gpu_families *f, uint32_t path, uint32_t name, uint32_t flags, int64_t duration_ns)
{
	uint32_t class = 0;
	int err = sb_gpu_families_class(f, name, flags, &class);

	return err ? err : add_sum(f, path, class, 1, duration_ns);
}

/* ---- into the model ---- */

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

/* One row per class, in the order of the classes until they are sorted. */
static struct sb_kernel_share *rows_of_run(struct sb_gpu_families *f, struct sb_model *model)
{
	struct sb_kernel_share *rows = sb_model_alloc(model, (f->class_count + 1) * sizeof *rows);
	const struct sum *sums = f->sums.items;

	for (uint32_t i = 0; rows && i < f->class_count; i++)
		rows[i] = (struct sb_kernel_share){ .family = sb_kernel_family_name(f->classes[i].family),
			.kind = f->classes[i].kind,
			.precision = f->classes[i].precision };
	for (size_t i = 0; rows && i < f->sums.count; i++) {
		rows[sums[i].class].count += sums[i].count;
		rows[sums[i].class].total_s += seconds(sums[i].total_ns);
	}
	return rows;
}

/* What a zone's children launched is the zone's too. */
static int add_to_parents(struct sb_gpu_families *f)
{
	uint32_t path_count = sb_run_path_count(f->run), index;
	int err = 0;

	for (uint32_t path = path_count; path-- > 1 && !err;) {
		uint32_t parent = sb_run_path(f->run, path)->parent;

		for (uint32_t c = 0; parent && c < f->class_count && !err; c++)
			if (sb_map_get(&f->sum_of, (uint64_t)path << 8 | c, &index)) {
				struct sum s = ((const struct sum *)f->sums.items)[index];

				err = add_sum(f, parent, c, s.count, s.total_ns);
			}
	}
	return err;
}

static int by_path(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

static void fill_paths(struct sb_gpu_families *f, struct sb_model *model)
{
	struct sb_path_kernels *p = &model->gpu.path_kernels;
	const struct sum *sums = f->sums.items;
	uint32_t path_count = sb_run_path_count(f->run), path = 0;

	p->all = sb_model_alloc(model, (f->sums.count + 1) * sizeof *p->all);
	p->at = sb_model_alloc(model, (path_count + 1) * sizeof *p->at);
	if (!p->all || !p->at) {
		p->at = NULL;
		return;
	}
	p->path_count = path_count;
	for (size_t i = 0; i < f->sums.count; i++) {
		while (path <= sums[i].path && path < path_count)
			p->at[path++] = (uint32_t)i;
		p->all[i] = (struct sb_path_kernel){ sums[i].class, sums[i].count,
			seconds(sums[i].total_ns) };
	}
	while (path <= path_count)
		p->at[path++] = (uint32_t)f->sums.count;
}

int sb_gpu_families_fill(struct sb_gpu_families *f, struct sb_model *model)
{
	struct sb_kernel_share *rows = rows_of_run(f, model);
	size_t kept = 0;
	int err = add_to_parents(f);

	if (err || !rows)
		return err;
	if (f->sums.count)
		qsort(f->sums.items, f->sums.count, sizeof(struct sum), by_path);
	fill_paths(f, model);
	model->gpu.classes = rows;
	model->gpu.class_count = f->class_count;
	model->gpu.families = sb_model_alloc(model, (f->class_count + 1) * sizeof *rows);
	for (uint32_t i = 0; model->gpu.families && i < f->class_count; i++)
		if (rows[i].count)
			model->gpu.families[kept++] = rows[i];
	model->gpu.family_count = kept;
	sb_kernel_shares_sort(model->gpu.families, kept);
	model->gpu.unclassified_ratio = sb_kernel_shares_of_s(model->gpu.families, kept,
						sb_kernel_family_name(SB_KERNEL_UNRECOGNISED)) /
					sb_kernel_shares_total_s(model->gpu.families, kept);
	return 0;
}
