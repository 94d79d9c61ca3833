/* Small pictures: every n-th sample of a frame, and where two frames differ, four times as strong as it is. */
#include "picture/thumbnail.h"

#include "base/error.h"
#include "picture/png.h"

#include <stdlib.h>
#include <string.h>

#define STRENGTH 4

static uint8_t clamp(int v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* The sample of a plane at a place of the picture. */
static int at(const struct sb_picture *p, int plane, uint32_t x, uint32_t y)
{
	const struct sb_plane *from = &p->planes[plane], *whole = &p->planes[0];
	size_t px = (size_t)x * from->width / whole->width, py = (size_t)y * from->height / whole->height;

	return from->samples[py * from->width + px];
}

static void colour_at(const struct sb_picture *p, uint32_t x, uint32_t y, uint8_t *out)
{
	int a = at(p, 0, x, y), u, v;

	if (p->colour == SB_PICTURE_GREY) {
		out[0] = out[1] = out[2] = (uint8_t)a;
		return;
	}
	u = at(p, 1, x, y);
	v = at(p, 2, x, y);
	if (p->colour == SB_PICTURE_RGB) {
		out[0] = (uint8_t)a;
		out[1] = (uint8_t)u;
		out[2] = (uint8_t)v;
		return;
	}
	a = 298 * (a - 16); /* BT.601, the short range */
	out[0] = clamp((a + 409 * (v - 128) + 128) >> 8);
	out[1] = clamp((a - 100 * (u - 128) - 208 * (v - 128) + 128) >> 8);
	out[2] = clamp((a + 516 * (u - 128) + 128) >> 8);
}

static char *uri_of(const struct sb_picture *p)
{
	struct sb_buf png = { 0 }, text = { 0 };
	char *uri = NULL;

	if (sb_png_write(p, &png) || sb_buf_failed(&png)) {
		sb_buf_done(&png);
		return NULL;
	}
	sb_buf_puts(&text, "data:image/png;base64,");
	sb_buf_put_base64(&text, png.data, png.size);
	if (!sb_buf_failed(&text))
		uri = strdup(sb_buf_text(&text));
	sb_buf_done(&png);
	sb_buf_done(&text);
	return uri;
}

static void take(const struct sb_picture *base, const struct sb_picture *now, struct sb_picture *small,
	uint32_t x, uint32_t y, uint32_t step)
{
	size_t to = (size_t)y * small[0].planes[0].width + x;
	uint8_t a[3], b[3];

	colour_at(base, x * step, y * step, a);
	colour_at(now, x * step, y * step, b);
	for (int c = 0; c < 3; c++) {
		small[0].planes[c].samples[to] = a[c];
		small[1].planes[c].samples[to] = b[c];
		small[2].planes[c].samples[to] = clamp(STRENGTH * abs(a[c] - b[c]));
	}
}

int sb_thumbnails(const struct sb_picture *base, const struct sb_picture *now, char **out_base,
	char **out_now, char **out_difference)
{
	uint32_t width = base->planes[0].width, height = base->planes[0].height;
	uint32_t step = (width + SB_THUMBNAIL_WIDTH - 1) / SB_THUMBNAIL_WIDTH;
	struct sb_picture small[3] = { 0 };
	char *uris[3] = { NULL };
	int err = 0;

	for (int i = 0; i < 3 && !err; i++)
		err = sb_picture_resize(&small[i], SB_PICTURE_RGB, (width + step - 1) / step,
			(height + step - 1) / step, 1, 1);
	for (uint32_t y = 0; !err && y * step < height; y++)
		for (uint32_t x = 0; x * step < width; x++)
			take(base, now, small, x, y, step);
	for (int i = 0; i < 3 && !err; i++) {
		uris[i] = uri_of(&small[i]);
		err = uris[i] ? 0 : STROBE_ENOTSUP;
	}
	for (int i = 0; i < 3; i++) {
		sb_picture_done(&small[i]);
		if (err)
			free(uris[i]);
	}
	if (err)
		return err;
	*out_base = uris[0];
	*out_now = uris[1];
	*out_difference = uris[2];
	return 0;
}
