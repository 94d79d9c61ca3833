/* Arrays that numpy.save() wrote: frames as [frames,] height, width[, channels], or with the channels before the
 * height. Floats are pictures of 0 to 1, -1 to 1 or 0 to 255, whichever their values fit. */
#include "picture/frames.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_MOST 4096
#define DIMENSIONS_MOST 8

static double half(uint16_t bits)
{
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	double value = exponent == 31 ? (fraction ? NAN : INFINITY)
		       : exponent     ? ldexp(1024 + fraction, exponent - 25)
				      : ldexp(fraction, -24);

	return bits & 0x8000 ? -value : value;
}

static double element(const struct sb_frames *f, const uint8_t *at)
{
	union {
		uint16_t h;
		float f;
		double d;
	} v;

	if (f->npy.type == 'u')
		return *at;
	memcpy(&v, at, f->npy.bytes);
	return f->npy.bytes == 2 ? half(v.h) : f->npy.bytes == 4 ? (double)v.f : v.d;
}

static int take_type(struct sb_frames *f, const char *head)
{
	const char *descr = strstr(head, "'descr': '"), *type = descr ? descr + 10 : "";

	if (!strncmp(type, "|u1'", 4) || !strncmp(type, "<u1'", 4))
		f->npy = (struct sb_npy){ .type = 'u', .bytes = 1, .high = 255 };
	else if (type[0] == '<' && type[1] == 'f' && strchr("248", type[2]) && type[3] == '\'')
		f->npy = (struct sb_npy){ .type = 'f', .bytes = (uint32_t)(type[2] - '0') };
	else
		return sb_fail(STROBE_ENOTSUP, "'%s' holds '%.*s'; uint8 and floats are read", f->path,
			(int)strcspn(type, "'"), type);
	if (!strstr(head, "'fortran_order': False"))
		return sb_fail(STROBE_ENOTSUP, "'%s' is stored in Fortran order, which strobe does not read",
			f->path);
	return 0;
}

static bool is_channels(long long n)
{
	return n == 1 || n == 3 || n == 4;
}

static int take_shape(struct sb_frames *f, const char *head)
{
	const char *text = strstr(head, "'shape': (");
	long long shape[DIMENSIONS_MOST] = { 0 }, frames = 1, height, width, channels = 1;
	int n = 0, at;
	char *end;

	for (text = text ? text + 10 : ""; n < DIMENSIONS_MOST && *text >= '0' && *text <= '9'; n++) {
		shape[n] = strtoll(text, &end, 10);
		text = end + strspn(end, ", ");
	}
	at = n; /* what is left of the dimensions, from the right */
	f->npy.channels_last = n >= 3 && is_channels(shape[n - 1]);
	if (f->npy.channels_last)
		channels = shape[--at];
	width = at > 0 ? shape[--at] : 0;
	height = at > 0 ? shape[--at] : 0;
	if (!f->npy.channels_last && at > 0 && is_channels(shape[at - 1]))
		channels = shape[--at];
	while (at > 0 && frames <= 100000000)
		frames *= shape[--at];
	if (width <= 0 || height <= 0 || frames < 0 || width > SB_PICTURE_SIDE_MAX ||
		height > SB_PICTURE_SIDE_MAX)
		return sb_fail(STROBE_ENOTSUP, "the shape of '%s' is not one of frames", f->path);
	f->width = (uint32_t)width;
	f->height = (uint32_t)height;
	f->npy.channels = (uint32_t)channels;
	f->npy.frames = frames;
	f->colour = channels == 1 ? SB_PICTURE_GREY : SB_PICTURE_RGB;
	return 0;
}

/* What the floats range over: of all of them, since one frame can be dark. */
static int find_range(struct sb_frames *f)
{
	long start = ftell(f->file);
	double low = INFINITY, high = -INFINITY;
	uint8_t *part = sb_frames_scratch(f, 65536);
	size_t size;

	if (!part)
		return STROBE_ENOMEM;
	while ((size = fread(part, f->npy.bytes, 65536 / f->npy.bytes, f->file)))
		for (size_t i = 0; i < size; i++) {
			double v = element(f, part + i * f->npy.bytes);

			low = v < low ? v : low;
			high = v > high ? v : high;
		}
	/* a little beyond the ends is overshoot, not another range */
	f->npy.low = high <= 1.5 && low < -0.25 ? -1 : 0;
	f->npy.high = high <= 1.5 ? 1 : 255;
	return fseek(f->file, start, SEEK_SET) ? sb_fail_errno("cannot read '%s'", f->path) : 0;
}

static int open_npy(struct sb_frames *f)
{
	uint8_t start[12];
	char head[HEAD_MOST + 1];
	uint32_t size, before = 10;
	int err;

	if (fread(start, 1, 10, f->file) != 10)
		return sb_frames_damaged(f, "its head is cut off");
	size = (uint32_t)start[8] | (uint32_t)start[9] << 8;
	if (start[6] > 1) {
		if (fread(start + before, 1, 2, f->file) != 2)
			return sb_frames_damaged(f, "its head is cut off");
		size |= (uint32_t)start[10] << 16 | (uint32_t)start[11] << 24;
	}
	if (size > HEAD_MOST || fread(head, 1, size, f->file) != size)
		return sb_frames_damaged(f, "its head is cut off");
	head[size] = 0;
	err = take_type(f, head);
	if (!err)
		err = take_shape(f, head);
	return err || f->npy.type == 'u' ? err : find_range(f);
}

static uint8_t sample(const struct sb_frames *f, const uint8_t *at)
{
	double v;

	if (f->npy.type == 'u')
		return *at;
	v = (element(f, at) - f->npy.low) / (f->npy.high - f->npy.low) * 255 + 0.5;
	return (uint8_t)(v > 0 ? v < 255 ? v : 255 : 0); /* NaN is black */
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	size_t count = (size_t)f->width * f->height, channels = f->npy.channels, bytes = f->npy.bytes;
	uint8_t *all;
	int err;

	if (f->index >= f->npy.frames)
		return 0;
	all = sb_frames_scratch(f, count * channels * bytes);
	err = all ? sb_picture_resize(out, f->colour, f->width, f->height, 1, 1) : STROBE_ENOMEM;
	if (err)
		return err;
	if (fread(all, channels * bytes, count, f->file) != count)
		return sb_frames_damaged(f, "it is cut off");
	for (size_t c = 0; c < out->plane_count; c++)
		for (size_t i = 0; i < count; i++)
			out->planes[c].samples[i] = sample(
				f, all + bytes * (f->npy.channels_last ? i * channels + c : c * count + i));
	return 1;
}

const struct sb_frames_format sb_frames_npy = { "npy", "\x93NUMPY", open_npy, next };
