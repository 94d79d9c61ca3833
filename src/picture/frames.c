/* Which format a file is in, and what all formats share. */
#include "picture/frames.h"

#include "base/error.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct sb_frames_format *const by_magic[] = { &sb_frames_y4m, &sb_frames_ppm, &sb_frames_pgm,
	&sb_frames_png, &sb_frames_npy, NULL };

/* ---- pictures -------------------------------------------------------------- */

static int resize_plane(struct sb_plane *p, uint32_t width, uint32_t height)
{
	uint8_t *samples;

	if (p->samples && p->width == width && p->height == height)
		return 0;
	samples = realloc(p->samples, (size_t)width * height + 1);
	if (!samples)
		return sb_fail(STROBE_ENOMEM, "no memory for a picture of %u x %u", width, height);
	*p = (struct sb_plane){ width, height, samples };
	return 0;
}

int sb_picture_resize(struct sb_picture *p, enum sb_picture_colour colour, uint32_t width, uint32_t height,
	uint32_t down_x, uint32_t down_y)
{
	int err = 0;

	p->colour = colour;
	p->plane_count = colour == SB_PICTURE_GREY ? 1 : 3;
	for (uint32_t i = 0; i < p->plane_count && !err; i++)
		err = resize_plane(&p->planes[i], i ? (width + down_x - 1) / down_x : width,
			i ? (height + down_y - 1) / down_y : height);
	return err;
}

void sb_picture_done(struct sb_picture *p)
{
	for (int i = 0; i < 3; i++)
		free(p->planes[i].samples);
	*p = (struct sb_picture){ 0 };
}

size_t sb_picture_bytes(const struct sb_picture *p)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < p->plane_count; i++)
		bytes += (size_t)p->planes[i].width * p->planes[i].height;
	return bytes;
}

/* ---- for the formats ------------------------------------------------------- */

int sb_frames_damaged(const struct sb_frames *f, const char *what)
{
	return sb_fail(STROBE_EFORMAT, "'%s', frame %lld: %s", f->path, (long long)f->index, what);
}

/* Of a file its head may claim more than it has; of a pipe the size is not known. */
static bool has_bytes(const struct sb_frames *f, size_t size)
{
	struct stat st;

	return !f->file || fstat(fileno(f->file), &st) || !S_ISREG(st.st_mode) ||
	       (uint64_t)st.st_size >= size;
}

uint8_t *sb_frames_scratch(struct sb_frames *f, size_t size)
{
	bool there = size <= 65536 || has_bytes(f, size);
	uint8_t *row = size <= f->row_size ? f->row : there ? realloc(f->row, size) : NULL;

	if (!there) {
		sb_frames_damaged(f, "it is cut off");
		return NULL;
	}
	if (!row) {
		sb_fail(STROBE_ENOMEM, "no memory to read '%s'", f->path);
		return NULL;
	}
	f->row_size = size > f->row_size ? size : f->row_size;
	return f->row = row;
}

/* ---- which one ------------------------------------------------------------- */

static const struct sb_frames_format *format_of(FILE *file)
{
	char head[16] = { 0 };
	size_t size = fread(head, 1, sizeof head, file);

	rewind(file);
	for (const struct sb_frames_format *const *f = by_magic; *f; f++)
		if (size >= strlen((*f)->magic) && !memcmp(head, (*f)->magic, strlen((*f)->magic)))
			return *f;
	return NULL;
}

static int choose(struct sb_frames *f)
{
	struct stat st;

	if (stat(f->path, &st))
		return sb_fail_errno("cannot read '%s'", f->path);
	if (S_ISDIR(st.st_mode)) {
		f->format = &sb_frames_folder;
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return sb_fail(STROBE_EINVAL, "'%s' is not a file", f->path);
	f->file = fopen(f->path, "rbe");
	if (!f->file)
		return sb_fail_errno("cannot read '%s'", f->path);
	f->format = format_of(f->file);
	if (!f->format)
		f->format = f->source.pixel_format ? &sb_frames_raw : &sb_frames_ffmpeg;
	return 0;
}

int sb_frames_open(const struct sb_picture_source *source, struct sb_frames **out_frames)
{
	struct sb_frames *f = calloc(1, sizeof *f);
	int err;

	if (f)
		f->path = strdup(source->path);
	if (!f || !f->path) {
		free(f);
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", source->path);
	}
	f->source = *source;
	f->down_x = f->down_y = f->sample_bytes = 1;
	err = choose(f);
	if (!err)
		err = f->format->open(f);
	f->source.path = f->path;
	f->source.pixel_format = NULL;
	if (err) {
		sb_frames_close(f);
		return err;
	}
	*out_frames = f;
	return 0;
}

int sb_frames_next(struct sb_frames *f, struct sb_picture *out_picture)
{
	int found = f->format->next(f, out_picture);

	f->index += found == 1;
	return found;
}

void sb_frames_close(struct sb_frames *f)
{
	if (!f)
		return;
	if (f->file)
		fclose(f->file);
	if (f->child > 0) { /* it may have more to say than was read */
		kill(f->child, SIGKILL);
		waitpid(f->child, NULL, 0);
	}
	for (size_t i = 0; i < f->name_count; i++)
		free(f->names[i]);
	free(f->names);
	free(f->row);
	free(f->path);
	free(f);
}
