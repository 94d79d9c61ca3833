/* A file without a name, for what does not fit into memory: it is gone with its descriptor. */
#ifndef SB_BASE_TEMPFILE_H
#define SB_BASE_TEMPFILE_H

/* Open for reading and writing, close-on-exec. */
int sb_tempfile_open(const char *folder, int *out_fd);

#endif
