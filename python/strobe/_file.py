"""A file that appears whole or not at all, as the C side's reports do."""
import os


def replace(path, write):
    """Calls write(file) with a new file beside path, flushes it to the disk, then renames it to path."""
    path = os.fspath(path)
    partial = "%s.%d.partial" % (path, os.getpid())
    try:
        with open(partial, "w") as file:
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
