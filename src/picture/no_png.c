/* PNG in a build without zlib: said, not read. */
#include "picture/png.h"

#include "base/error.h"

static int open_png(struct sb_frames *f)
{
	return sb_fail(
		STROBE_ENOTSUP, "'%s' is a PNG, which this build cannot read: it has no zlib", f->path);
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	return 0;
}

int sb_png_write(const struct sb_picture *picture, struct sb_buf *out)
{
	return sb_fail(STROBE_ENOTSUP, "this build cannot write PNG: it has no zlib");
}

const struct sb_frames_format sb_frames_png = { "PNG", "\x89PNG", open_png, next };
