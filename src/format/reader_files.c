/* The open files of a run's readers: the oldest is closed first. */
#include "format/reader_files.h"

#include "base/folder.h"

#include <fcntl.h>
#include <unistd.h>

static void take_place(struct sb_reader_files *files, struct sb_reader *r)
{
	struct sb_reader **place = &files->open[files->next];

	files->next = (files->next + 1) % SB_READER_FILES_MAX;
	if (*place) {
		close((*place)->fd);
		(*place)->fd = -1;
	}
	*place = r;
}

void sb_reader_files_add(struct sb_reader_files *files, struct sb_reader *r)
{
	struct sb_folder id = sb_folder_of(r->fd);

	if (r->packed)
		return;
	r->files = files;
	r->device = id.device;
	r->inode = id.inode;
	take_place(files, r);
}

void sb_reader_files_remove(struct sb_reader *r)
{
	for (unsigned i = 0; r->files && i < SB_READER_FILES_MAX; i++)
		if (r->files->open[i] == r)
			r->files->open[i] = NULL;
	r->files = NULL;
}

int sb_reader_fd(struct sb_reader *r)
{
	struct sb_folder id;
	int fd;

	if (r->fd >= 0 || !r->files)
		return r->fd;
	fd = sb_folder_read(AT_FDCWD, r->path);
	if (fd < 0)
		return -1;
	id = sb_folder_of(fd);
	if (id.device != r->device || id.inode != r->inode) {
		close(fd);
		return -1;
	}
	r->fd = fd;
	take_place(r->files, r);
	return fd;
}
