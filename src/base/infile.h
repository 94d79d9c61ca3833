/* A file opened to be read. Opening never waits, and what is not a regular file is
 * refused: a FIFO, a device, a folder. */
#ifndef SB_BASE_INFILE_H
#define SB_BASE_INFILE_H

enum sb_infile_from {
	SB_INFILE_LISTED, /* found in a folder: a symbolic link is refused */
	SB_INFILE_NAMED, /* named by the user: a symbolic link is followed */
	SB_INFILE_STREAM /* the same; also /dev/stdin and /dev/fd/N, whatever they are */
};

/* The descriptor is close-on-exec. */
int sb_infile_open(const char *path, enum sb_infile_from from, int *out_fd);

#endif
