/* What the layers of a picture of memory hold together, and which are drawn as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/memory/residency.h"

#include <stdlib.h>

enum { MOMENTS = 2, LAYERS_MOST = 9 };

struct drawn {
	struct sb_model *model;
	struct sb_memory_picture picture;
	struct sb_memory_layer layers[LAYERS_MOST];
	double mb[LAYERS_MOST][MOMENTS];
};

/* Layer i holds 10 * (i + 1) MB, then half of it. */
static void draw(struct drawn *d, size_t layers)
{
	*d = (struct drawn){ .model = calloc(1, sizeof *d->model) };
	assert_non_null(d->model);
	for (size_t i = 0; i < layers; i++) {
		d->mb[i][0] = 10.0 * (double)(i + 1);
		d->mb[i][1] = 5.0 * (double)(i + 1);
		d->layers[i] =
			(struct sb_memory_layer){ .component = "one", .mb = d->mb[i], .count = MOMENTS };
	}
	d->picture =
		(struct sb_memory_picture){ .count = MOMENTS, .layers = d->layers, .layer_count = layers };
	d->model->memory_pictures = (struct sb_memory_pictures_panel){ .all = &d->picture, .count = 1 };
	assert_true(sb_memory_pictures_join_small(d->model));
}

static void as_many_layers_as_colours_stay_apart(void **state)
{
	struct drawn d;

	draw(&d, 6);
	assert_null(d.picture.small_mb);
	assert_true(d.layers[5].most_mb == 60 && !d.layers[0].small);
	assert_true(d.picture.sum_mb[0] == 210 && d.picture.sum_mb[1] == 105);
	sb_model_free(d.model);
}

static void beyond_them_all_but_the_five_largest_are_one(void **state)
{
	struct drawn d;

	draw(&d, 9);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(d.layers[i].small, i < 4);
	assert_int_equal(d.picture.small_moments, MOMENTS);
	assert_true(d.picture.small_mb[0] == 100 && d.picture.small_mb[1] == 50);
	assert_true(d.picture.sum_mb[0] == 450 && d.picture.sum_mb[1] == 225);
	sb_model_free(d.model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_layers_as_colours_stay_apart),
		cmocka_unit_test(beyond_them_all_but_the_five_largest_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
