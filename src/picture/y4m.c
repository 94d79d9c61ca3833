/* YUV4MPEG2: what ffmpeg's -f yuv4mpegpipe, mpv and x264 write. */
#include "picture/frames.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_MOST 512

/* One line without its end; -1: it is longer, or there is none. */
static int read_line(struct sb_frames *f, char *out, int size)
{
	int n = 0, c;

	while ((c = getc(f->file)) != EOF && c != '\n')
		if (n < size - 1)
			out[n++] = (char)c;
		else
			return -1;
	out[n] = 0;
	return c == EOF ? -1 : n;
}

struct chroma {
	const char *name;
	enum sb_picture_colour colour;
	uint32_t down_x, down_y;
};

static int take_chroma(struct sb_frames *f, const char *name)
{
	static const struct chroma all[] = { { "420", SB_PICTURE_YUV, 2, 2 }, { "422", SB_PICTURE_YUV, 2, 1 },
		{ "444", SB_PICTURE_YUV, 1, 1 }, { "411", SB_PICTURE_YUV, 4, 1 },
		{ "mono", SB_PICTURE_GREY, 1, 1 } };
	const char *deep;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (strncmp(name, all[i].name, strlen(all[i].name)))
			continue;
		if (!strncmp(name, "444alpha", 8))
			break;
		f->colour = all[i].colour;
		f->down_x = all[i].down_x;
		f->down_y = all[i].down_y;
		/* 420p10, mono16; 420paldv and 420jpeg have eight bits */
		deep = name + strlen(all[i].name);
		deep += *deep == 'p';
		f->significant_bits = *deep >= '1' && *deep <= '9' ? (uint32_t)atoi(deep) : 8;
		f->sample_bytes = f->significant_bits > 8 ? 2 : 1;
		if (f->significant_bits > 16)
			break;
		return 0;
	}
	return sb_fail(STROBE_ENOTSUP, "'%s' has the colour format 'C%s', which strobe does not read",
		f->path, name);
}

static int open_y4m(struct sb_frames *f)
{
	char head[HEAD_MOST], *word, *rest;
	int err = take_chroma(f, "420"); /* unless it says otherwise */

	if (read_line(f, head, sizeof head) < 0)
		return sb_frames_damaged(f, "its head is no YUV4MPEG2");
	strtok_r(head, " ", &rest);
	while (!err && (word = strtok_r(NULL, " ", &rest)))
		switch (*word) {
		case 'W': f->width = (uint32_t)strtoul(word + 1, NULL, 10); break;
		case 'H': f->height = (uint32_t)strtoul(word + 1, NULL, 10); break;
		case 'C': err = take_chroma(f, word + 1); break;
		default: break;
		}
	if (!err && (!f->width || !f->height || f->width > SB_PICTURE_SIDE_MAX ||
			    f->height > SB_PICTURE_SIDE_MAX))
		err = sb_frames_damaged(f, "its head has no width and height");
	return err;
}

static int read_plane(struct sb_frames *f, struct sb_plane *p)
{
	size_t count = (size_t)p->width * p->height;
	uint8_t *deep;

	if (f->sample_bytes == 1)
		return fread(p->samples, 1, count, f->file) == count ? 0
								     : sb_frames_damaged(f, "it is cut off");
	deep = sb_frames_scratch(f, 2 * count);
	if (!deep)
		return STROBE_ENOMEM;
	if (fread(deep, 2, count, f->file) != count)
		return sb_frames_damaged(f, "it is cut off");
	for (size_t i = 0; i < count; i++)
		p->samples[i] = (uint8_t)((deep[2 * i] | deep[2 * i + 1] << 8) >> (f->significant_bits - 8));
	return 0;
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	char head[HEAD_MOST];
	int c = getc(f->file), err;

	if (c == EOF)
		return 0;
	ungetc(c, f->file);
	if (read_line(f, head, sizeof head) < 0 || strncmp(head, "FRAME", 5))
		return sb_frames_damaged(f, "it does not begin with FRAME");
	err = sb_picture_resize(out, f->colour, f->width, f->height, f->down_x, f->down_y);
	for (uint32_t i = 0; i < out->plane_count && !err; i++)
		err = read_plane(f, &out->planes[i]);
	return err ? err : 1;
}

const struct sb_frames_format sb_frames_y4m = { "y4m", "YUV4MPEG2", open_y4m, next };
