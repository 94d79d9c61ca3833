"""The C extension where it loads, else an inert stand-in and one warning: a
program never fails because of the interpreter or machine it was moved to. It
imports leaves of the package alone."""
import sys

from ._own import own_work

try:
    from ._strobe import *  # noqa: F401,F403
    from . import _strobe as native
    loaded = True
except ImportError as error:  # wrong machine, free-threaded interpreter, damaged installation
    if not ("subinterpreters" in str(error) and hasattr(sys.modules[__package__], "_by_hook")):
        import warnings
        warnings.warn("strobe records nothing: %s" % error, RuntimeWarning, stacklevel=4)
    from . import _inert as native
    from ._inert import *  # noqa: F401,F403
    loaded = False

(ROLE_STAGE, ROLE_GENERATION, ROLE_ITERATION, ROLE_STEP, ROLE_BLOCK, ROLE_LAYER, ROLE_IMPORT, ROLE_LOAD,
 ROLE_COMPILE, ROLE_OFFLOAD, ROLE_WARMUP, ROLE_FORWARD, ROLE_COLLECTIVE,
 ROLE_DENOISE, ROLE_VAE_DECODE, ROLE_VAE_ENCODE, ROLE_TEXT_ENCODE, ROLE_DATA, ROLE_EXPORT,
 ROLE_PROFILER) = range(20)


def own_section(name):
    """What strobe does itself inside the program: a stage, so that its cost is seen, and never a bottleneck."""
    return own_work(native.section("strobe: " + name, gpu=False, **{"strobe.role": ROLE_PROFILER}))
