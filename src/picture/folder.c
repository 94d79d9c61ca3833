/* A folder of pictures, in the order of their names: frame_2.png before frame_10.png. */
#include "picture/frames.h"

#include "base/error.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define PICTURES_MOST 1000000

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int add(struct sb_frames *f, const char *name, size_t *room)
{
	if (f->name_count == *room) {
		char **more = realloc(f->names, (*room ? 2 * *room : 64) * sizeof *more);

		if (!more)
			return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", f->path);
		f->names = more;
		*room = *room ? 2 * *room : 64;
	}
	if (asprintf(&f->names[f->name_count], "%s/%s", f->path, name) < 0)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", f->path);
	f->name_count++;
	return 0;
}

static bool is_picture(const char *name)
{
	static const char *const endings[] = { ".png", ".ppm", ".pgm", ".jpg", ".jpeg", ".webp", ".npy" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && *name != '.' && i < sizeof endings / sizeof endings[0]; i++)
		if (!strcasecmp(dot, endings[i]))
			return true;
	return false;
}

static int open_folder(struct sb_frames *f)
{
	DIR *d = opendir(f->path);
	struct dirent *entry;
	size_t room = 0;
	int err = 0;

	if (!d)
		return sb_fail_errno("cannot read '%s'", f->path);
	while (!err && f->name_count < PICTURES_MOST && (entry = readdir(d)))
		if (is_picture(entry->d_name))
			err = add(f, entry->d_name, &room);
	closedir(d);
	if (!err && !f->name_count)
		err = sb_fail(STROBE_ENOTSUP, "there is no picture in '%s'", f->path);
	if (!err)
		qsort(f->names, f->name_count, sizeof *f->names, by_name);
	return err;
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	struct sb_picture_source one = { .path = (size_t)f->index < f->name_count ? f->names[f->index]
										  : NULL };
	struct sb_frames *picture = NULL;
	int found;

	if (!one.path)
		return 0;
	found = sb_frames_open(&one, &picture);
	if (!found)
		found = sb_frames_next(picture, out);
	sb_frames_close(picture);
	return found;
}

const struct sb_frames_format sb_frames_folder = { "folder", NULL, open_folder, next };
