"""The start-up hook: `strobe run` puts this folder first on PYTHONPATH, so every
Python the program starts comes by here. It loads strobe, then runs the user's
own sitecustomize. It never raises, on any version of Python."""
import os
import sys

try:  # importlib.util's and importlib.machinery's own, without the nine modules that those load
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder, spec_from_file_location
except ImportError:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec, spec_from_file_location

_HERE = os.path.dirname(os.path.abspath(__file__))


def _own(path):
    try:
        return os.path.realpath(path or os.curdir) == os.path.realpath(_HERE)
    except Exception:
        return False


def _found(name):
    specs = (finder.find_spec(name, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return next((spec for spec in specs if spec is not None), None)


def _strobe_name():
    """"strobe", unless the program has another package of that name."""
    try:
        origin = getattr(_found("strobe"), "origin", None)
    except Exception:
        return "strobe"
    if not origin or os.path.exists(os.path.join(os.path.dirname(origin), "auto", "__init__.py")):
        return "strobe"
    return "_strobe_of_the_recorder"


def _spec(name):
    package = os.path.dirname(_HERE)
    return spec_from_file_location(name, os.path.join(package, "__init__.py"), submodule_search_locations=[package])


def _load():
    """The package this hook belongs to, without adding anything to sys.path."""
    name = _strobe_name()
    if name not in sys.modules:
        spec = _spec(name)
        module = module_from_spec(spec)
        module._by_hook = True
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
    __import__(name + ".auto")
    sys.modules[name + ".auto"].install()


def _users_own():
    """The sitecustomize that would have run without us."""
    rest = [path for path in sys.path if not _own(path)]
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _Inert:
    """Finds the package when the program asks for it and has none of its own: a program that
    imports strobe runs on where nothing is recorded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return _spec(name) if name == "strobe" else None


def _start():
    if os.environ.get("STROBE_HOOK", "1") == "0" or sys.version_info < (3, 9):
        return
    if os.environ.get("STROBE_ENABLED", "1") == "0":
        sys.meta_path.append(_Inert)
        return
    try:
        _load()
    except BaseException as error:
        if os.environ.get("STROBE_DEBUG") == "1":
            sys.stderr.write("strobe: the start-up hook failed: %r\n" % (error,))


_start()
# Children find the hook through the environment; this program's own imports shall not see its folder.
sys.path[:] = [path for path in sys.path if not _own(path)]
_users_own()
