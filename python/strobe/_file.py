"""A file that appears whole or not at all, as the C side's reports do."""
import os


def _new(path, flags):
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o666)


def no_link(path, flags):
    """opener= of a file in a run's folder, which is the user's alone."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def replace(path, write):
    """Calls write(file) with a new file beside path, flushes it to the disk, then renames it to path."""
    path = os.fspath(path)
    partial = "%s.%d.partial" % (path, os.getpid())
    try:
        with open(partial, "w", opener=_new) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        try:
            os.unlink(partial)
        except OSError:
            pass
        raise
