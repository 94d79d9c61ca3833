#ifndef SB_RUN_FOLDER_FILES_H
#define SB_RUN_FOLDER_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* What the program's source said: a report may be made where it is not at hand. */
#define SB_SOURCE_LINES_FILE "source_lines.json"
#define SB_SOURCE_LINES_FILE_MOST (8u << 20)

/* A file of the folder that 'strobe report FILE' may read, traces and reports first. False: there is none. */
bool sb_folder_readable(const char *path, char *out_name, size_t size);

#endif
