/* Frames of every format that is read without help, and what differs between two of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "close_within.h"
#include "picture/png.h"
#include "picture/quality.h"
#include "root_folder.h"
#include "strobe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char name[2][300];

static const char *write_bytes(int side, const char *ending, const struct sb_buf *b)
{
	FILE *file;

	snprintf(name[side], sizeof name[side], "%s/%d%s", root, side, ending);
	file = fopen(name[side], "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
	fclose(file);
	return name[side];
}

/* A video whose sample at (frame, place) is known; `plus` is added to those of one frame, or of all (-1). */
static uint8_t sample(int frame, size_t at, int plus, int only)
{
	return (uint8_t)(16 + (frame * 7 + (int)at * 3) % 200 + (only < 0 || only == frame ? plus : 0));
}

static const char *y4m(int side, const char *chroma, int frames, int plus, int only)
{
	size_t luma = 24 * 16, all = !strcmp(chroma, "mono")  ? luma
				     : !strcmp(chroma, "444") ? 3 * luma
							      : luma * 3 / 2;
	struct sb_buf b = { 0 };
	const char *path;

	sb_buf_printf(&b, "YUV4MPEG2 W24 H16 F8:1 Ip C%s\n", chroma);
	for (int f = 0; f < frames; f++) {
		sb_buf_puts(&b, "FRAME\n");
		for (size_t i = 0; i < all; i++)
			sb_buf_putc(&b, (char)sample(f, i, plus, only));
	}
	path = write_bytes(side, ".y4m", &b);
	sb_buf_done(&b);
	return path;
}

static int measure(const char *a, const char *b, struct sb_quality *q)
{
	return sb_quality_measure(
		&(struct sb_picture_source){ .path = a }, &(struct sb_picture_source){ .path = b }, false, q);
}

static void a_difference_of_one_everywhere_is_48_dB(void **state)
{
	static const char *const chromas[] = { "420jpeg", "444", "mono" };

	for (int i = 0; i < 3; i++) {
		struct sb_quality q;

		y4m(0, chromas[i], 5, 0, -1);
		y4m(1, chromas[i], 5, 1, -1);
		assert_int_equal(measure(name[0], name[1], &q), 0);
		close_within(q.psnr_db, 20 * log10(255), 1e-9);
		assert_int_equal(q.compared_frames, 5);
		assert_int_equal(q.different_frames, 5);
		assert_true(q.ssim_ratio > 0.999 && q.ssim_ratio < 1);
		sb_quality_done(&q);
	}
}

static void equal_files_have_no_worst_frame(void **state)
{
	struct sb_quality q;

	y4m(0, "420", 3, 0, -1);
	y4m(1, "420", 3, 0, -1);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_true(isinf(q.psnr_db) && q.ssim_ratio == 1);
	assert_int_equal(q.different_frames, 0);
	assert_int_equal(q.worst_count, 0);
}

static void the_frame_that_differs_is_named(void **state)
{
	struct sb_quality q;

	y4m(0, "420", 30, 0, -1);
	y4m(1, "420", 30, 10, 17);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.different_frames, 1);
	assert_int_equal(q.worst_count, 1);
	assert_int_equal(q.worst[0].index, 17);
	close_within(q.worst[0].psnr_db, 20 * log10(25.5), 1e-9);
	close_within(q.psnr_db, 20 * log10(25.5) + 10 * log10(30), 1e-9); /* of all frames together */
	sb_quality_done(&q);
}

static void of_neighbours_only_the_worst_is_shown(void **state)
{
	struct sb_quality q;
	struct sb_buf b = { 0 };

	y4m(0, "mono", 40, 0, -1);
	sb_buf_puts(&b, "YUV4MPEG2 W24 H16 Cmono\n");
	for (int f = 0; f < 40;
		f++) { /* the further, the worse, up to frame 20; then equal but for the last */
		sb_buf_puts(&b, "FRAME\n");
		for (size_t i = 0; i < 24 * 16; i++)
			sb_buf_putc(&b, (char)sample(f, i, f <= 20 ? f : f == 39 ? 5 : 0, -1));
	}
	write_bytes(1, ".y4m", &b);
	sb_buf_done(&b);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.worst_count, 2);
	assert_int_equal(q.worst[0].index, 20);
	assert_int_equal(q.worst[1].index, 39);
	sb_quality_done(&q);
}

static void missing_frames_are_counted(void **state)
{
	struct sb_quality q;

	y4m(0, "420", 8, 0, -1);
	y4m(1, "420", 5, 0, -1);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.base_frames, 8);
	assert_int_equal(q.now_frames, 5);
	assert_int_equal(q.compared_frames, 5);
	assert_int_equal(q.different_frames, 0);
}

static void ten_bits_are_read_by_their_upper_eight(void **state)
{
	struct sb_quality q;
	struct sb_buf b = { 0 };

	y4m(0, "mono", 1, 0, -1);
	sb_buf_puts(&b, "YUV4MPEG2 W24 H16 Cmono10\nFRAME\n");
	for (size_t i = 0; i < 24 * 16; i++) {
		int v = sample(0, i, 0, -1) << 2 | 3;

		sb_buf_putc(&b, (char)(v & 255));
		sb_buf_putc(&b, (char)(v >> 8));
	}
	write_bytes(1, ".y4m", &b);
	sb_buf_done(&b);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.different_frames, 0);
}

static void ppm(struct sb_buf *b, int plus)
{
	sb_buf_puts(b, "P6\n# a comment\n24 16\n255\n");
	for (size_t i = 0; i < 24 * 16 * 3; i++)
		sb_buf_putc(b, (char)sample(0, i, plus, -1));
}

/* The same RGB picture in every format: PPM, PNG, an array, raw. */
static void every_format_holds_the_same_picture(void **state)
{
	static const char *const head = "{'descr': '%s', 'fortran_order': False, 'shape': (1, 16, 24, 3), }";
	struct sb_buf p = { 0 }, npy = { 0 }, floats = { 0 }, raw = { 0 }, png = { 0 };
	struct sb_picture picture = { 0 };
	struct sb_frames *f;
	struct sb_quality q;

	ppm(&p, 0);
	write_bytes(0, ".ppm", &p);
	sb_buf_add(&npy, "\x93NUMPY\x01\x00\x80\x00", 10);
	sb_buf_add(&floats, npy.data, 10);
	sb_buf_printf(&npy, head, "|u1");
	sb_buf_printf(&floats, head, "<f4");
	while (npy.size < 10 + 128)
		sb_buf_putc(&npy, ' ');
	while (floats.size < 10 + 128)
		sb_buf_putc(&floats, ' ');
	for (size_t i = 0; i < 24 * 16 * 3; i++) {
		float v = (float)sample(0, i, 0, -1) / 255 * 2 - 1;

		sb_buf_putc(&npy, (char)sample(0, i, 0, -1));
		sb_buf_putc(&raw, (char)sample(0, i, 0, -1));
		sb_buf_add(&floats, &v, sizeof v);
	}
	write_bytes(1, ".npy", &npy);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.different_frames, 0);
	write_bytes(1, ".float.npy", &floats);
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.different_frames, 0);
	write_bytes(1, ".rgb", &raw);
	assert_int_equal(sb_quality_measure(&(struct sb_picture_source){ .path = name[0] },
				 &(struct sb_picture_source){ name[1], 24, 16, "rgb24" }, false, &q),
		0);
	assert_int_equal(q.different_frames, 0);
	assert_int_equal(sb_frames_open(&(struct sb_picture_source){ .path = name[0] }, &f), 0);
	assert_int_equal(sb_frames_next(f, &picture), 1);
	sb_frames_close(f);
	if (!sb_png_write(&picture, &png)) { /* not in a build without zlib */
		write_bytes(1, ".png", &png);
		assert_int_equal(measure(name[0], name[1], &q), 0);
		assert_int_equal(q.different_frames, 0);
	}
	sb_picture_done(&picture);
	sb_buf_done(&p);
	sb_buf_done(&npy);
	sb_buf_done(&floats);
	sb_buf_done(&raw);
	sb_buf_done(&png);
}

static void a_folder_is_a_video_in_the_order_of_numbers(void **state)
{
	struct sb_quality q;

	for (int side = 0; side < 2; side++) {
		char path[400];

		snprintf(path, sizeof path, "%s/frames%d", root, side);
		assert_int_equal(mkdir(path, 0700), 0);
		for (int i = 1; i <= 10; i++) {
			struct sb_buf p = { 0 };

			ppm(&p, side && i == 10 ? 9 : 0);
			snprintf(path, sizeof path, "%s/frames%d/f_%d.ppm", root, side, i);
			assert_int_equal(sb_buf_write_file(&p, path, 0600), 0);
			sb_buf_done(&p);
		}
		snprintf(name[side], sizeof name[side], "%s/frames%d", root, side);
	}
	assert_int_equal(measure(name[0], name[1], &q), 0);
	assert_int_equal(q.compared_frames, 10);
	assert_int_equal(q.worst[0].index, 9);
	sb_quality_done(&q);
}

static void other_sizes_are_refused_with_both(void **state)
{
	struct sb_buf b = { 0 };
	struct sb_quality q;

	y4m(0, "mono", 1, 0, -1);
	sb_buf_puts(&b, "P5 2 2 255\n1234");
	write_bytes(1, ".pgm", &b);
	sb_buf_done(&b);
	assert_int_equal(measure(name[0], name[1], &q), STROBE_EINVAL);
	assert_string_equal(strobe_error(), "24 x 16 grey and 2 x 2 grey cannot be compared");
}

static void a_file_that_is_cut_off_is_damaged(void **state)
{
	struct sb_quality q;
	struct stat st;

	y4m(0, "420", 3, 0, -1);
	y4m(1, "420", 3, 0, -1);
	assert_int_equal(stat(name[1], &st), 0);
	assert_int_equal(truncate(name[1], st.st_size - 10), 0);
	assert_int_equal(measure(name[0], name[1], &q), STROBE_EFORMAT);
	assert_non_null(strstr(strobe_error(), "frame 2: it is cut off"));
}

static void without_ffmpeg_a_video_says_so(void **state)
{
	struct sb_buf b = { 0 };
	struct sb_quality q;

	setenv("STROBE_FFMPEG", "/nowhere/ffmpeg", 1);
	sb_buf_puts(&b, "some video");
	write_bytes(0, ".mp4", &b);
	sb_buf_done(&b);
	assert_int_equal(measure(name[0], name[0], &q), STROBE_ENOTSUP);
	assert_non_null(strstr(strobe_error(), "needs ffmpeg, which is not on this machine"));
}

static void pictures_of_the_worst_are_small_PNGs(void **state)
{
	struct sb_quality q;
	struct sb_buf probe = { 0 };
	struct sb_picture one = { 0 };
	bool have_png;

	assert_int_equal(sb_picture_resize(&one, SB_PICTURE_GREY, 1, 1, 1, 1), 0);
	*one.planes[0].samples = 0;
	have_png = !sb_png_write(&one, &probe);
	sb_buf_done(&probe);
	sb_picture_done(&one);
	y4m(0, "420", 2, 0, -1);
	y4m(1, "420", 2, 3, 1);
	assert_int_equal(sb_quality_measure(&(struct sb_picture_source){ .path = name[0] },
				 &(struct sb_picture_source){ .path = name[1] }, true, &q),
		0);
	assert_int_equal(q.worst_count, 1);
	if (have_png) {
		assert_int_equal(
			strncmp(q.worst[0].base_picture, "data:image/png;base64,iVBORw0KGgo", 33), 0);
		assert_string_not_equal(q.worst[0].base_picture, q.worst[0].now_picture);
	}
	sb_quality_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_of_one_everywhere_is_48_dB),
		cmocka_unit_test(equal_files_have_no_worst_frame),
		cmocka_unit_test(the_frame_that_differs_is_named),
		cmocka_unit_test(of_neighbours_only_the_worst_is_shown),
		cmocka_unit_test(missing_frames_are_counted),
		cmocka_unit_test(ten_bits_are_read_by_their_upper_eight),
		cmocka_unit_test(every_format_holds_the_same_picture),
		cmocka_unit_test(a_folder_is_a_video_in_the_order_of_numbers),
		cmocka_unit_test(other_sizes_are_refused_with_both),
		cmocka_unit_test(a_file_that_is_cut_off_is_damaged),
		cmocka_unit_test(without_ffmpeg_a_video_says_so),
		cmocka_unit_test(pictures_of_the_worst_are_small_PNGs),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
