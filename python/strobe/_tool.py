"""Where the strobe command is: beside the package, in the build folder above it,
or on PATH."""
import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def path():
    """The command's path; None: not found."""
    candidates = (os.environ.get("STROBE_TOOL"), os.path.join(_HERE, "bin", "strobe"),
                  os.path.join(_HERE, os.pardir, os.pardir, "strobe"))
    for candidate in candidates:
        if candidate and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    import shutil
    return shutil.which("strobe")
