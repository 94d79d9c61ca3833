/* PNG out: small pictures for a page. A build without zlib has no_png.c instead. */
#ifndef SB_PICTURE_PNG_H
#define SB_PICTURE_PNG_H

#include "base/buf.h"
#include "picture/frames.h"

/* Appends an RGB or grey picture as a PNG file; STROBE_ENOTSUP without zlib. */
int sb_png_write(const struct sb_picture *picture, struct sb_buf *out);

#endif
