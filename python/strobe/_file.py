"""A file that appears whole or not at all, as the C side's reports do."""
import os


def replace(path, write):
    """write(file) fills a new file beside path; it is on the disk before it has its name."""
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
