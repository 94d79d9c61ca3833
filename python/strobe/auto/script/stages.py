"""Stages by name: pkg.mod:Class.method = 4c VAE encode, for code that is not edited. The
script itself is __main__, or what it would be called if it were imported."""
import atexit
import os
import sys

from ... import _profile
from ..._imports import when_imported
from . import main_module
from ..wrapping import guard, wrap

STAGE = "_strobe_stage"  # its own mark: a framework that is known wraps a function that is a stage too
_CODE = r"(?s)\s*(?:\[([^\]]*)\]\s*|([0-9][0-9a-z.]{0,7})(?:\s+|$))(.*)"
_ESCAPED = "%(3B|3D|0A|25)"
_pending = {}  # target -> why it is not there yet
_in_main = {}  # target -> (module, path, code, name), of those that the script may define
_of_the_run = set()  # targets that `strobe run` asked for: it says itself what no process had
_watching_main = False


def parse(text):
    """'pkg.mod:Class.method=4c VAE encode' -> (module, path, code, name)"""
    target, _, label = text.partition("=")
    module, colon, path = target.strip().partition(":")
    if not colon or not module or not path:
        raise ValueError("a stage is 'pkg.mod:Class.method = 4c name', not %r" % text)
    label = label.strip().strip("'\"")
    import re  # only where there are stages
    found = re.match(_CODE, label)
    code, name = (found.group(1) or found.group(2), found.group(3)) if found else (None, label)
    return module, path, _unescape(code or "") or None, _unescape(name.strip()) or path.rpartition(".")[2]


def _unescape(text):
    """'a%3B b' -> 'a; b': what separates stages may stand inside a name."""
    import re
    return re.sub(_ESCAPED, lambda code: chr(int(code.group(1), 16)), text)


def add_all(stages, before_the_script=False):
    """From STROBE_STAGES (separated by ';' or lines), or a configuration's list or dict."""
    if isinstance(stages, str):
        stages = [part for part in stages.replace("\n", ";").split(";") if part.strip()]
    elif isinstance(stages, dict):
        stages = ["%s=%s" % item for item in stages.items()]
    for stage in stages:
        if isinstance(stage, dict):
            stage = ";".join("%s=%s" % item for item in stage.items())
        add(stage, before_the_script)


def add(text, before_the_script=False):
    try:
        module, path, code, name = parse(text)
    except ValueError as error:
        sys.stderr.write("strobe: %s\n" % error)
        return
    target = "%s:%s" % (module, path)
    if before_the_script and os.environ.get("STROBE_STAGES_SEEN"):
        _of_the_run.add(target)
    elif not _pending.keys() - _of_the_run:
        atexit.register(_say_what_was_never_found)
    _missing(target, "no script was run" if module == "__main__" else "its module was never imported", "?")
    if module != "__main__":
        when_imported(module, lambda found: _wrap(found, target, path, code, name))
    if target in _pending:
        _in_main[target] = (module, path, code, name)
        _look_in_script(before_the_script)


def _look_in_script(before_it):
    """Before the script has begun its lines are watched; later it is what it is."""
    global _watching_main
    script = sys.modules.get("__main__")
    if not before_it:
        _look_in_main(script, main_module.stem_of(getattr(script, "__file__", None) or ""))
    elif not _watching_main:
        _watching_main = guard(main_module.watch, _look_in_main)


def _names_of(script, stem):
    """What a stage may call the script: __main__, b for `python b.py`, pkg.b for `python -m pkg.b`."""
    spec = getattr(script, "__spec__", None)
    name = getattr(spec, "name", None) or ""
    return {"__main__", stem, name, name.rpartition(".__main__")[0]} - {""}


def _look_in_main(script, stem):
    """Wraps what the script has defined by now; True: there is no more to look for."""
    names = _names_of(script, stem)
    for target, (module, path, code, name) in list(_in_main.items()):
        if target not in _pending or module not in names:
            _in_main.pop(target, None)
        elif _find(script, path) is not None:
            _in_main.pop(target, None)
            guard(_wrap, script, target, path, code, name)
        else:
            _missing(target, "the script has no %s" % path)
    return not _in_main


def _find(module, path):
    """(owner, last name) of what is there under that path; None: nothing is."""
    owner, (*inner, last) = module, path.split(".")
    try:
        for step in inner:
            owner = getattr(owner, step)
        getattr(owner, last)
    except AttributeError:
        return None
    return owner, last


def _wrap(module, target, path, code, name):
    found = _find(module, path)
    if found is None:
        _missing(target, "its module has no %s" % path)
        return
    owner, last = found
    options = {"code": code} if code else {}
    if isinstance(owner, type) and last not in vars(owner):  # inherited: wrap it here, not in the base
        inherited = getattr(owner, last)
        replacement = _profile.profile(inherited, name=name, **options)
        setattr(replacement, STAGE, inherited)
        setattr(owner, last, replacement)
    elif not wrap(owner, last, lambda original: _profile.profile(original, name=name, **options), STAGE):
        _missing(target, "%s is no function that can be wrapped" % path)
        return
    _pending.pop(target, None)
    _tell_run("+", target, "")


def _missing(target, why, kind="-"):
    if _pending.get(target) != why:
        _pending[target] = why
        _tell_run(kind, target, why)


def _tell_run(kind, target, why):
    """"+target": found; "-target<tab>why"; "?target<tab>why": not looked for yet."""
    if target not in _of_the_run:
        return
    try:
        seen = os.open(os.environ["STROBE_STAGES_SEEN"], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (KeyError, OSError):  # the run has ended
        return
    try:
        os.write(seen, ("%s%s\t%s\n" % (kind, target, why)).encode())
    finally:
        os.close(seen)


def _say_what_was_never_found():
    for target, why in _pending.items():
        if target in _of_the_run:
            continue
        sys.stderr.write("strobe: the stage %s was not recorded: %s\n" % (target, why))
