/* Everything else, decoded by the ffmpeg program where it is installed: STROBE_FFMPEG or IMAGEIO_FFMPEG_EXE names
 * it, else it is looked for on the PATH. Its output is read as y4m. */
#include "picture/frames.h"

#include "base/error.h"
#include "base/filename.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program(void)
{
	const char *given = secure_getenv("STROBE_FFMPEG");

	if (!given)
		given = secure_getenv("IMAGEIO_FFMPEG_EXE");
	return given && *given ? given : "ffmpeg";
}

static int start(struct sb_frames *f, int write_fd)
{
	char input[4096];
	char *argv[] = { (char *)program(), "-v", "quiet", "-nostdin", "-i", input, "-map", "0:v:0",
		"-strict", "-1", "-f", "yuv4mpegpipe", "-", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int err;

	/* "file:" so that a name with a colon is no protocol */
	if ((size_t)snprintf(input, sizeof input, "file:%s", f->path) >= sizeof input)
		return sb_fail(STROBE_EINVAL, "the name of '%.60s...' is too long", f->path);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, write_fd, STDOUT_FILENO);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err == ENOENT)
		return sb_fail(STROBE_ENOTSUP, "reading '%s' needs ffmpeg, which is not on this machine",
			sb_filename_of(f->path));
	if (err) {
		errno = err;
		return sb_fail_errno("cannot start '%s'", argv[0]);
	}
	f->child = pid;
	return 0;
}

static int open_ffmpeg(struct sb_frames *f)
{
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return sb_fail_errno("cannot make a pipe to ffmpeg");
	err = start(f, fds[1]);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		return err;
	}
	fclose(f->file);
	f->file = fdopen(fds[0], "rb");
	if (!f->file) {
		close(fds[0]);
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", f->path);
	}
	if (sb_frames_y4m.open(f))
		return sb_fail(STROBE_ENOTSUP, "ffmpeg finds no video in '%s'", f->path);
	return 0;
}

static int next(struct sb_frames *f, struct sb_picture *out)
{
	return sb_frames_y4m.next(f, out);
}

const struct sb_frames_format sb_frames_ffmpeg = { "ffmpeg", NULL, open_ffmpeg, next };
