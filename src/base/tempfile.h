/* A file without a name, for what does not fit into memory. It is gone when its descriptor is closed. */
#ifndef SB_BASE_TEMPFILE_H
#define SB_BASE_TEMPFILE_H

/* Open for reading and writing, close-on-exec. */
int sb_tempfile_open(const char *folder, int *out_fd);

#endif
