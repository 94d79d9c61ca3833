/* gzip, as browsers unpack it natively. */
#ifndef SB_REPORT_PAGE_GZIP_H
#define SB_REPORT_PAGE_GZIP_H

#include "base/buf.h"

/* Appends the packed bytes to out; STROBE_ENOTSUP in a build without zlib. */
int sb_gzip(const void *bytes, size_t size, struct sb_buf *out);

#endif
