/* The descriptors that a driver's library holds. */
#include "monitor/driver_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void note(struct sb_driver_files *files, int number)
{
	struct stat s;

	if (files->count < SB_DRIVER_FILES_MAX && !fstat(number, &s))
		files->files[files->count++] =
			(struct sb_descriptor){ .number = number, .device = s.st_dev, .inode = s.st_ino };
}

void sb_driver_files_note(struct sb_driver_files *files, const char *path_begin)
{
	struct sb_descriptor file;
	DIR *folder = sb_descriptor_opendir(&file, "/proc/self/fd");
	struct dirent *entry;

	files->count = 0;
	while (folder && (entry = readdir(folder))) {
		char path[64];
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, path, sizeof path);

		if (n > 0 && (size_t)n >= strlen(path_begin) && !memcmp(path, path_begin, strlen(path_begin)))
			note(files, atoi(entry->d_name));
	}
	if (folder)
		sb_descriptor_closedir(&file, folder);
}

bool sb_driver_files_are_intact(const struct sb_driver_files *files)
{
	for (uint32_t i = 0; i < files->count; i++)
		if (!sb_descriptor_is_ours(&files->files[i]))
			return false;
	return true;
}
