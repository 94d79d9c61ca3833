/* PNG: 8 and 16 bits, grey, colour and palettes, without interlacing. Alpha is left out. */
#include "picture/png.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_MOST (1u << 30)

enum { GREY = 0, COLOUR = 2, PALETTE = 3, GREY_ALPHA = 4, COLOUR_ALPHA = 6 };

struct png {
	uint32_t width, height;
	int depth, kind, channels;
	uint8_t palette[256][3];
	struct sb_buf packed; /* all IDAT */
	bool ended;
};

static uint32_t big32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int open_png(struct sb_frames *f)
{
	char magic[8];

	return fread(magic, 1, 8, f->file) == 8 ? 0 : sb_frames_damaged(f, "its head is cut off");
}

static int take_head(struct sb_frames *f, struct png *p, const uint8_t *b, uint32_t size)
{
	static const int channels[] = { 1, 0, 3, 1, 2, 0, 4 };

	if (size < 13)
		return sb_frames_damaged(f, "its head is cut off");
	p->width = big32(b);
	p->height = big32(b + 4);
	p->depth = b[8];
	p->kind = b[9];
	p->channels = p->kind <= COLOUR_ALPHA ? channels[p->kind] : 0;
	if (!p->width || !p->height || p->width > SB_PICTURE_SIDE_MAX || p->height > SB_PICTURE_SIDE_MAX ||
		!p->channels)
		return sb_frames_damaged(f, "its head is no PNG's");
	if ((p->depth != 8 && (p->depth != 16 || p->kind == PALETTE)) || b[12])
		return sb_fail(STROBE_ENOTSUP,
			"'%s' is a PNG of %d bits%s; 8 and 16 without interlacing are read", f->path,
			p->depth, b[12] ? ", interlaced" : "");
	return 0;
}

static int take_chunk(struct sb_frames *f, struct png *p, const char *type, const uint8_t *b, uint32_t size)
{
	if (!memcmp(type, "IHDR", 4))
		return take_head(f, p, b, size);
	if (!memcmp(type, "PLTE", 4))
		memcpy(p->palette, b, size < sizeof p->palette ? size : sizeof p->palette);
	else if (!memcmp(type, "IDAT", 4))
		sb_buf_add(&p->packed, b, size);
	else if (!memcmp(type, "IEND", 4))
		p->ended = true;
	return sb_buf_failed(&p->packed) ? sb_fail(STROBE_ENOMEM, "no memory to read '%s'", f->path) : 0;
}

static int read_chunks(struct sb_frames *f, struct png *p)
{
	uint8_t head[8], *body;
	int err = 0;

	while (!err && !p->ended) {
		uint32_t size;

		if (fread(head, 1, 8, f->file) != 8)
			return sb_frames_damaged(f, "it is cut off");
		size = big32(head);
		if (size > CHUNK_MOST)
			return sb_frames_damaged(f, "a part of it is too large");
		body = sb_frames_scratch(f, (size_t)size + 4);
		if (!body)
			return STROBE_ENOMEM;
		if (fread(body, 1, size + 4, f->file) != size + 4) /* and its check sum */
			return sb_frames_damaged(f, "it is cut off");
		err = take_chunk(f, p, (char *)head + 4, body, size);
	}
	return err ? err : p->width ? 0 : sb_frames_damaged(f, "it has no head");
}

static uint8_t paeth(int a, int b, int c)
{
	int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);

	return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

/* A row from its differences: to its left neighbour, the row above, or both. */
static bool unfilter(uint8_t *row, const uint8_t *above, size_t size, size_t step, int filter)
{
	for (size_t i = 0; i < size; i++) {
		int a = i >= step ? row[i - step] : 0, b = above ? above[i] : 0;
		int c = above && i >= step ? above[i - step] : 0;

		switch (filter) {
		case 0: break;
		case 1: row[i] = (uint8_t)(row[i] + a); break;
		case 2: row[i] = (uint8_t)(row[i] + b); break;
		case 3: row[i] = (uint8_t)(row[i] + (a + b) / 2); break;
		case 4: row[i] = (uint8_t)(row[i] + paeth(a, b, c)); break;
		default: return false;
		}
	}
	return true;
}

static void take_row(const struct png *p, const uint8_t *row, struct sb_picture *out, uint32_t y)
{
	size_t bytes = (size_t)p->depth / 8, step = (size_t)p->channels * bytes;

	for (uint32_t x = 0; x < p->width; x++)
		for (uint32_t c = 0; c < out->plane_count; c++)
			out->planes[c].samples[(size_t)y * p->width + x] =
				p->kind == PALETTE ? p->palette[row[x]][c] : row[x * step + c * bytes];
}

static int unpack(struct sb_frames *f, struct png *p, struct sb_picture *out)
{
	size_t step = (size_t)p->channels * (size_t)p->depth / 8, size = step * p->width;
	uint8_t *all = malloc((size + 1) * p->height), *above = NULL;
	uLongf unpacked = (size + 1) * p->height;
	int err = all ? 0 : sb_fail(STROBE_ENOMEM, "no memory to read '%s'", f->path);

	if (!err && (uncompress(all, &unpacked, (Bytef *)p->packed.data, p->packed.size) != Z_OK ||
			    unpacked != (size + 1) * p->height))
		err = sb_frames_damaged(f, "its pixels do not unpack");
	for (uint32_t y = 0; y < p->height && !err; y++) {
		uint8_t *row = all + (size + 1) * y;

		if (!unfilter(row + 1, above, size, step, *row))
			err = sb_frames_damaged(f, "a row of it has no known filter");
		else
			take_row(p, row + 1, out, y);
		above = row + 1;
	}
	free(all);
	return err;
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	struct png p = { 0 };
	int err;

	if (f->index)
		return 0;
	err = read_chunks(f, &p);
	if (!err)
		err = sb_picture_resize(out,
			p.kind == GREY || p.kind == GREY_ALPHA ? SB_PICTURE_GREY : SB_PICTURE_RGB, p.width,
			p.height, 1, 1);
	if (!err)
		err = unpack(f, &p, out);
	sb_buf_done(&p.packed);
	return err ? err : 1;
}

/* ---- out --------------------------------------------------------------------- */

static void put32(struct sb_buf *out, uint32_t v)
{
	sb_buf_add(
		out, (uint8_t[]){ (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v }, 4);
}

static void put_chunk(struct sb_buf *out, const char *type, const void *body, size_t size)
{
	uLong sum = crc32(crc32(0, NULL, 0), (const Bytef *)type, 4);

	if (size) /* crc32(…, NULL, 0) would begin anew */
		sum = crc32(sum, body, (uInt)size);
	put32(out, (uint32_t)size);
	sb_buf_add(out, type, 4);
	sb_buf_add(out, body, size);
	put32(out, (uint32_t)sum);
}

int sb_png_write(const struct sb_picture *picture, struct sb_buf *out)
{
	uint32_t width = picture->planes[0].width, height = picture->planes[0].height,
		 channels = picture->plane_count;
	size_t row = 1 + (size_t)width * channels, size = row * height;
	uLongf packed = compressBound(size);
	uint8_t *rows = calloc(1, size + 1), *to = malloc(packed), head[13] = { 0 };
	int err = rows && to ? 0 : sb_fail(STROBE_ENOMEM, "no memory for a picture");

	for (uint32_t y = 0; y < height && !err; y++)
		for (size_t i = 0; i < (size_t)width * channels; i++)
			rows[y * row + 1 + i] =
				picture->planes[i % channels].samples[(size_t)y * width + i / channels];
	if (!err && compress2(to, &packed, rows, size, 6) != Z_OK)
		err = sb_fail(STROBE_ENOMEM, "no memory for a picture");
	if (!err) {
		for (int i = 0; i < 4; i++) {
			head[i] = (uint8_t)(width >> (24 - 8 * i));
			head[4 + i] = (uint8_t)(height >> (24 - 8 * i));
		}
		head[8] = 8;
		head[9] = channels == 1 ? GREY : COLOUR;
		sb_buf_add(out, "\x89PNG\r\n\x1a\n", 8);
		put_chunk(out, "IHDR", head, sizeof head);
		put_chunk(out, "IDAT", to, packed);
		put_chunk(out, "IEND", "", 0);
	}
	free(rows);
	free(to);
	return err;
}

const struct sb_frames_format sb_frames_png = { "PNG", "\x89PNG", open_png, next };
