/* Bounds how many files the readers of one run hold open: a run of many processes has
 * more files than a process may have descriptors. */
#ifndef SB_FORMAT_READER_FILES_H
#define SB_FORMAT_READER_FILES_H

#include "format/reader.h"

enum { SB_READER_FILES_MAX = 64 };

/* Zero-initialised: no files. Used by one thread. */
struct sb_reader_files {
	struct sb_reader *open[SB_READER_FILES_MAX];
	unsigned next; /* the one to be closed next */
};

/* From now on the reader's file may be closed between two reads, to open another. Packed files stay open. */
void sb_reader_files_add(struct sb_reader_files *files, struct sb_reader *r);
void sb_reader_files_remove(struct sb_reader *r);
/* The reader's descriptor, opened again where it was closed; -1: the file is gone, or
 * another one has its name. */
int sb_reader_fd(struct sb_reader *r);

#endif
