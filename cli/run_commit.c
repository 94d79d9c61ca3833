/* Reads .git by hand: git itself may be missing, slow, or refuse a tree of another owner. */
#include "run_commit.h"

#include "base/infile.h"
#include "format/run_keys.h"
#include "format/wire.h"
#include "record/put.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEX_MOST 64 /* SHA-256 */
#define HEX_LEAST 40

/* The owner of a folder above may have put a pipe or a device there. */
static FILE *open_file(const char *folder, const char *name)
{
	char path[PATH_MAX];
	FILE *file;
	int fd;

	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
		sb_infile_open(path, SB_INFILE_NAMED, &fd))
		return NULL;
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static bool first_line(const char *folder, const char *name, char *out_line, size_t size)
{
	FILE *file = open_file(folder, name);
	bool found;

	if (!file)
		return false;
	found = fgets(out_line, (int)size, file) != NULL;
	fclose(file);
	if (found)
		out_line[strcspn(out_line, "\r\n")] = '\0';
	return found;
}

static bool is_commit(const char *text, size_t length)
{
	return length >= HEX_LEAST && length <= HEX_MOST && strspn(text, "0123456789abcdef") >= length;
}

static bool take(const char *text, size_t length, char *out_commit, size_t size)
{
	if (!is_commit(text, length) || length >= size)
		return false;
	snprintf(out_commit, size, "%.*s", (int)length, text);
	return true;
}

/* "HEX refs/heads/main", a line each */
static bool packed_ref(const char *git, const char *ref, char *out_commit, size_t size)
{
	FILE *file = open_file(git, "packed-refs");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof line, file)) {
		char *space = strchr(line, ' ');

		line[strcspn(line, "\r\n")] = '\0';
		found = space && !strcmp(space + 1, ref) &&
			take(line, (size_t)(space - line), out_commit, size);
	}
	if (file)
		fclose(file);
	return found;
}

/* git: the folder with HEAD. Branches of a linked worktree are in the folder that "commondir" names. */
static bool head_of(const char *git, char *out_commit, size_t size)
{
	char line[PATH_MAX], common[PATH_MAX], shared[2 * PATH_MAX];
	const char *ref = line + 5;

	if (!first_line(git, "HEAD", line, sizeof line))
		return false;
	if (strncmp(line, "ref: ", 5))
		return take(line, strlen(line), out_commit, size);
	snprintf(shared, sizeof shared, "%s", git);
	if (first_line(git, "commondir", common, sizeof common))
		snprintf(shared, sizeof shared, "%s%s%s", *common == '/' ? "" : git,
			*common == '/' ? "" : "/", common);
	return (first_line(shared, ref, common, sizeof common) &&
		       take(common, strlen(common), out_commit, size)) ||
	       packed_ref(shared, ref, out_commit, size);
}

/* .git is a folder, or a file that names one: "gitdir: PATH". */
static bool commit_in(const char *folder, char *out_commit, size_t size)
{
	char git[PATH_MAX], line[PATH_MAX], named[2 * PATH_MAX];

	if (snprintf(git, sizeof git, "%s/.git", folder) >= (int)sizeof git)
		return false;
	if (!first_line(folder, ".git", line, sizeof line) || strncmp(line, "gitdir: ", 8))
		return head_of(git, out_commit, size);
	snprintf(named, sizeof named, "%s%s%s", line[8] == '/' ? "" : folder, line[8] == '/' ? "" : "/",
		line + 8);
	return head_of(named, out_commit, size);
}

bool run_commit_of(const char *folder, char *out_commit, size_t size)
{
	char at[PATH_MAX], *slash;

	if (!realpath(folder, at))
		return false;
	while (*at) {
		char git[PATH_MAX + 8];

		snprintf(git, sizeof git, "%s/.git", at);
		if (!access(git, F_OK))
			return commit_in(at, out_commit, size);
		slash = strrchr(at, '/');
		*slash = '\0';
	}
	return false;
}

void run_record_commit(void)
{
	char commit[HEX_MOST + 1];

	if (run_commit_of(".", commit, sizeof commit))
		sb_keep_meta_string(SB_META_RUN, SB_RUN_COMMIT, commit);
}
