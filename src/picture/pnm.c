/* Binary PPM and PGM; a file may hold several pictures, one after another. */
#include "picture/frames.h"

#include "base/error.h"

/* A number after blanks and comments; 0: none. */
static uint32_t read_number(FILE *file)
{
	uint32_t value = 0;
	bool comment = false;
	int c = getc(file);

	while (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#') {
		while (c == '#' || (comment && c != '\n' && c != EOF)) {
			comment = true;
			c = getc(file);
		}
		comment = false;
		c = c == EOF ? c : getc(file);
	}
	for (; c >= '0' && c <= '9' && value < 1000000; c = getc(file))
		value = 10 * value + (uint32_t)(c - '0');
	return value; /* the one blank after it has been read */
}

static int open_pnm(struct sb_frames *f)
{
	return 0;
}

static int read_samples(struct sb_frames *f, struct sb_picture *p, uint32_t most)
{
	uint32_t width = p->planes[0].width, bytes = most > 255 ? 2 : 1, channels = p->plane_count;
	size_t size = (size_t)width * channels * bytes;
	uint8_t *row = sb_frames_scratch(f, size);

	if (!row)
		return STROBE_ENOMEM;
	for (uint32_t y = 0; y < p->planes[0].height; y++) {
		if (fread(row, 1, size, f->file) != size)
			return sb_frames_damaged(f, "it is cut off");
		for (size_t i = 0; i < (size_t)width * channels; i++) {
			uint32_t v = bytes == 2 ? (uint32_t)row[2 * i] << 8 | row[2 * i + 1] : row[i];

			p->planes[i % channels].samples[(size_t)y * width + i / channels] =
				(uint8_t)(most == 255 ? v : (255 * v + most / 2) / most);
		}
	}
	return 0;
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	int c = getc(f->file), kind, err;
	uint32_t width, height, most;

	while (c == '\n')
		c = getc(f->file);
	if (c == EOF)
		return 0;
	kind = getc(f->file);
	if (c != 'P' || (kind != '5' && kind != '6'))
		return sb_frames_damaged(f, "it does not begin with P5 or P6");
	width = read_number(f->file);
	height = read_number(f->file);
	most = read_number(f->file);
	if (!width || !height || width > SB_PICTURE_SIDE_MAX || height > SB_PICTURE_SIDE_MAX || !most ||
		most > 65535)
		return sb_frames_damaged(f, "its head has no width, height and range");
	err = sb_picture_resize(out, kind == '5' ? SB_PICTURE_GREY : SB_PICTURE_RGB, width, height, 1, 1);
	if (!err)
		err = read_samples(f, out, most);
	return err ? err : 1;
}

const struct sb_frames_format sb_frames_ppm = { "PPM", "P6", open_pnm, next };
const struct sb_frames_format sb_frames_pgm = { "PGM", "P5", open_pnm, next };
