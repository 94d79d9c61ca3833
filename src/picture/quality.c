/* PSNR over all samples, and SSIM of the luma in overlapping windows of 8 x 8, as ffmpeg and x264 measure it. */
#include "picture/quality.h"

#include "base/error.h"
#include "picture/thumbnail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define APART 8 /* frames between two of the worst: neighbours show the same */

/* ---- one frame --------------------------------------------------------------- */

static uint64_t squared_error(const struct sb_plane *a, const struct sb_plane *b)
{
	size_t count = (size_t)a->width * a->height;
	uint64_t sum = 0;

	for (size_t from = 0; from < count; from += 4096) {
		size_t to = from + 4096 < count ? from + 4096 : count;
		uint32_t part = 0; /* 4096 * 255 * 255 fits */

		for (size_t i = from; i < to; i++) {
			int d = a->samples[i] - b->samples[i];

			part += (uint32_t)(d * d);
		}
		sum += part;
	}
	return sum;
}

static double psnr_of(double squared, double count)
{
	return squared > 0 ? 10 * log10(255.0 * 255.0 * count / squared) : INFINITY;
}

/* Sums over a block of 4 x 4. */
struct block {
	uint32_t a, b, squares, product;
};

static struct block block_at(const uint8_t *a, const uint8_t *b, size_t stride)
{
	struct block s = { 0 };

	for (int y = 0; y < 4; y++, a += stride, b += stride)
		for (int x = 0; x < 4; x++) {
			s.a += a[x];
			s.b += b[x];
			s.squares += (uint32_t)(a[x] * a[x] + b[x] * b[x]);
			s.product += (uint32_t)(a[x] * b[x]);
		}
	return s;
}

static double ssim_of(struct block s)
{
	const double c1 = 0.01 * 0.01 * 255 * 255 * 64, c2 = 0.03 * 0.03 * 255 * 255 * 64 * 63;
	double a = s.a, b = s.b;
	double variances = 64.0 * s.squares - a * a - b * b, covariance = 64.0 * s.product - a * b;

	return (2 * a * b + c1) * (2 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2));
}

static struct block sum_of(const struct block *above, const struct block *below, size_t x)
{
	struct block s = above[x];
	const struct block *more[] = { &above[x + 1], &below[x], &below[x + 1] };

	for (int i = 0; i < 3; i++) {
		s.a += more[i]->a;
		s.b += more[i]->b;
		s.squares += more[i]->squares;
		s.product += more[i]->product;
	}
	return s;
}

/* rows: room for twice width / 4 blocks. NAN: the picture is smaller than a window. */
static double ssim_plane(
	const uint8_t *a, const uint8_t *b, uint32_t width, uint32_t height, struct block *rows)
{
	size_t across = width / 4, down = height / 4;
	struct block *above = rows, *below = rows + across, *swap;
	double sum = 0;

	if (across < 2 || down < 2)
		return NAN;
	for (size_t y = 0; y < down; y++) {
		for (size_t x = 0; x < across; x++)
			below[x] = block_at(a + 4 * y * width + 4 * x, b + 4 * y * width + 4 * x, width);
		for (size_t x = 0; y && x + 1 < across; x++)
			sum += ssim_of(sum_of(above, below, x));
		swap = above;
		above = below;
		below = swap;
	}
	return sum / (double)((across - 1) * (down - 1));
}

/* ---- all of them ------------------------------------------------------------- */

struct measuring {
	struct sb_frames *frames[2];
	struct sb_picture pictures[2];
	struct block *rows;
	uint8_t *luma[2]; /* of RGB */
	double squared, samples, ssim;
	int64_t ssim_frames;
	bool want_pictures;
	struct sb_quality *q;
};

static bool alike(const struct sb_picture *a, const struct sb_picture *b)
{
	bool same = a->colour == b->colour && a->plane_count == b->plane_count;

	for (uint32_t i = 0; same && i < a->plane_count; i++)
		same = a->planes[i].width == b->planes[i].width && a->planes[i].height == b->planes[i].height;
	return same;
}

static const char *colour_words(const struct sb_picture *p)
{
	return p->colour == SB_PICTURE_RGB ? "RGB" : p->colour == SB_PICTURE_GREY ? "grey" : "YUV";
}

static int refuse(const struct sb_picture *a, const struct sb_picture *b)
{
	return sb_fail(STROBE_EINVAL, "%u x %u %s and %u x %u %s cannot be compared", a->planes[0].width,
		a->planes[0].height, colour_words(a), b->planes[0].width, b->planes[0].height,
		colour_words(b));
}

/* Room for the first frame's size; frames of a folder can change it. */
static int make_room(struct measuring *m)
{
	const struct sb_plane *p = &m->pictures[0].planes[0];
	struct block *rows = realloc(m->rows, (p->width / 4 * 2 + 1) * sizeof *rows);

	m->rows = rows ? rows : m->rows;
	for (int i = 0; rows && i < 2; i++) {
		uint8_t *luma = realloc(m->luma[i], (size_t)p->width * p->height + 1);

		m->luma[i] = luma ? luma : m->luma[i];
		if (!luma)
			rows = NULL;
	}
	return rows ? 0 : sb_fail(STROBE_ENOMEM, "no memory to compare pictures");
}

static const uint8_t *luma_of(struct measuring *m, int side)
{
	const struct sb_picture *p = &m->pictures[side];
	size_t count = (size_t)p->planes[0].width * p->planes[0].height;

	if (p->colour != SB_PICTURE_RGB)
		return p->planes[0].samples;
	for (size_t i = 0; i < count; i++)
		m->luma[side][i] = (uint8_t)((77 * p->planes[0].samples[i] + 150 * p->planes[1].samples[i] +
						     29 * p->planes[2].samples[i] + 128) >>
					     8);
	return m->luma[side];
}

static void forget(struct sb_worst_frame *w)
{
	free(w->base_picture);
	free(w->now_picture);
	free(w->difference_picture);
	*w = (struct sb_worst_frame){ 0 };
}

/* Where the frame goes among the worst; -1: nowhere. Of neighbours only the worst stays. */
static int place_for(struct sb_quality *q, int64_t index, double psnr_db)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->worst_count; i++)
		if (index - q->worst[i].index < APART && q->worst[i].psnr_db <= psnr_db)
			return -1;
	for (size_t i = 0; i < q->worst_count; i++)
		if (index - q->worst[i].index < APART)
			forget(&q->worst[i]);
		else
			q->worst[kept++] = q->worst[i];
	q->worst_count = kept;
	if (q->worst_count < SB_QUALITY_WORST)
		return (int)q->worst_count++;
	if (psnr_db >= q->worst[SB_QUALITY_WORST - 1].psnr_db)
		return -1;
	forget(&q->worst[SB_QUALITY_WORST - 1]);
	return SB_QUALITY_WORST - 1;
}

static int by_psnr(const void *a, const void *b)
{
	const struct sb_worst_frame *x = a, *y = b;

	return x->psnr_db < y->psnr_db ? -1 : x->psnr_db > y->psnr_db;
}

static int consider(struct measuring *m, double psnr_db, double ssim)
{
	struct sb_quality *q = m->q;
	int at = isinf(psnr_db) ? -1 : place_for(q, q->compared_frames, psnr_db), err = 0;

	if (at < 0)
		return 0;
	q->worst[at] = (struct sb_worst_frame){
		.index = q->compared_frames, .psnr_db = psnr_db, .ssim_ratio = ssim
	};
	if (m->want_pictures)
		err = sb_thumbnails(&m->pictures[0], &m->pictures[1], &q->worst[at].base_picture,
			&q->worst[at].now_picture, &q->worst[at].difference_picture);
	qsort(q->worst, q->worst_count, sizeof q->worst[0], by_psnr);
	return err == STROBE_ENOTSUP ? 0 : err; /* without zlib there are numbers, but no pictures */
}

static int measure_frame(struct measuring *m)
{
	const struct sb_picture *a = &m->pictures[0], *b = &m->pictures[1];
	double squared = 0, samples = (double)sb_picture_bytes(a), ssim;
	int err;

	if (!alike(a, b))
		return refuse(a, b);
	err = make_room(m);
	if (err)
		return err;
	for (uint32_t i = 0; i < a->plane_count; i++)
		squared += (double)squared_error(&a->planes[i], &b->planes[i]);
	ssim = squared > 0 ? ssim_plane(luma_of(m, 0), luma_of(m, 1), a->planes[0].width, a->planes[0].height,
				     m->rows)
			   : 1;
	if (!isnan(ssim)) {
		m->ssim += ssim;
		m->ssim_frames++;
	}
	m->squared += squared;
	m->samples += samples;
	err = consider(m, psnr_of(squared, samples), ssim);
	m->q->different_frames += squared > 0;
	m->q->compared_frames++;
	return err;
}

static int measure_all(struct measuring *m)
{
	int found[2] = { 1, 1 }, err = 0;

	while (!err && (found[0] || found[1])) {
		for (int i = 0; i < 2 && !err; i++) {
			found[i] = found[i] ? sb_frames_next(m->frames[i], &m->pictures[i]) : 0;
			err = found[i] < 0 ? found[i] : 0;
		}
		if (err)
			break;
		m->q->base_frames += found[0];
		m->q->now_frames += found[1];
		if (found[0] && found[1])
			err = measure_frame(m);
	}
	return err;
}

int sb_quality_measure(const struct sb_picture_source *base, const struct sb_picture_source *now,
	bool pictures, struct sb_quality *out_quality)
{
	struct sb_quality q = { 0 };
	struct measuring m = { .want_pictures = pictures, .q = &q };
	int err = sb_frames_open(base, &m.frames[0]);

	if (!err)
		err = sb_frames_open(now, &m.frames[1]);
	if (!err)
		err = measure_all(&m);
	if (!err && !q.compared_frames)
		err = sb_fail(STROBE_EINVAL, "'%s' holds no frame", q.base_frames ? now->path : base->path);
	q.psnr_db = psnr_of(m.squared, m.samples);
	q.ssim_ratio = m.ssim_frames ? m.ssim / (double)m.ssim_frames : NAN;
	for (int i = 0; i < 2; i++) {
		sb_frames_close(m.frames[i]);
		sb_picture_done(&m.pictures[i]);
		free(m.luma[i]);
	}
	free(m.rows);
	if (err) {
		sb_quality_done(&q);
		return err;
	}
	*out_quality = q;
	return 0;
}

void sb_quality_done(struct sb_quality *q)
{
	for (size_t i = 0; i < q->worst_count; i++)
		forget(&q->worst[i]);
	*q = (struct sb_quality){ 0 };
}
