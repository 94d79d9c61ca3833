/* Samples without a head, as `ffmpeg -f rawvideo` and tensor.tofile() leave them: the program that names
 * the output gives its size. */
#include "picture/frames.h"

#include "base/error.h"

#include <string.h>

static const struct {
	const char *name;
	enum sb_picture_colour colour;
	uint32_t down_x, down_y;
} kinds[] = { { "rgb24", SB_PICTURE_RGB, 1, 1 }, { "gray", SB_PICTURE_GREY, 1, 1 },
	{ "yuv420p", SB_PICTURE_YUV, 2, 2 }, { "yuv422p", SB_PICTURE_YUV, 2, 1 },
	{ "yuv444p", SB_PICTURE_YUV, 1, 1 } };

static int open_raw(struct sb_frames *f)
{
	const struct sb_picture_source *s = &f->source;

	if (s->width <= 0 || s->height <= 0 || s->width > SB_PICTURE_SIDE_MAX ||
		s->height > SB_PICTURE_SIDE_MAX)
		return sb_fail(
			STROBE_EINVAL, "'%s' is raw: name its width and height with the output", f->path);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(s->pixel_format, kinds[i].name)) {
			f->width = (uint32_t)s->width;
			f->height = (uint32_t)s->height;
			f->colour = kinds[i].colour;
			f->down_x = kinds[i].down_x;
			f->down_y = kinds[i].down_y;
			return 0;
		}
	return sb_fail(STROBE_ENOTSUP, "'%s' is raw '%s'; rgb24, gray, yuv420p, yuv422p and yuv444p are read",
		f->path, s->pixel_format);
}

static int read_rgb(struct sb_frames *f, struct sb_picture *p)
{
	size_t count = (size_t)f->width * f->height;
	uint8_t *mixed = sb_frames_scratch(f, 3 * count);

	if (!mixed)
		return STROBE_ENOMEM;
	if (fread(mixed, 3, count, f->file) != count)
		return sb_frames_damaged(f, "it is cut off");
	for (size_t i = 0; i < count; i++)
		for (int c = 0; c < 3; c++)
			p->planes[c].samples[i] = mixed[3 * i + (size_t)c];
	return 0;
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	int c = getc(f->file), err;

	if (c == EOF)
		return 0;
	ungetc(c, f->file);
	err = sb_picture_resize(out, f->colour, f->width, f->height, f->down_x, f->down_y);
	if (!err && f->colour == SB_PICTURE_RGB)
		err = read_rgb(f, out);
	else
		for (uint32_t i = 0; i < out->plane_count && !err; i++) {
			size_t count = (size_t)out->planes[i].width * out->planes[i].height;

			if (fread(out->planes[i].samples, 1, count, f->file) != count)
				err = sb_frames_damaged(f, "it is cut off");
		}
	return err ? err : 1;
}

const struct sb_frames_format sb_frames_raw = { "raw", NULL, open_raw, next };
