"""Faults of strobe itself, and of functions it was given: counted, and
reported once at the session's end ("not recorded"); STROBE_DEBUG=1 prints them at once."""
import os
import sys

counts = {}
_LOSES = {"when CUDA came up": "GPU time of sections"}  # else what was being done
_late = []  # what could not be printed at once: strobe's own threads have other descriptors than the program
_given = {}  # what a function of the program raised -> how often


def count(where):
    """Call inside an except block."""
    counts[where] = counts.get(where, 0) + 1
    if os.environ.get("STROBE_DEBUG") == "1":
        import traceback
        _print("strobe: fault %s\n%s" % (where, traceback.format_exc()))


def _print(text):
    try:
        sys.stderr.write(text)
    except OSError:
        if len(_late) < 100:
            _late.append(text)


def count_given(what, error):
    """A function of the program that strobe was given raised; call inside an except block."""
    key = (what, "%s: %s" % (type(error).__name__, error))
    if key in _given or len(_given) < 100:
        _given[key] = _given.get(key, 0) + 1
    if os.environ.get("STROBE_DEBUG") == "1":
        import traceback
        _print(traceback.format_exc())


def say(native):
    """At a session's end."""
    late, _late[:] = _late[:], []
    for text in late:
        _print(text)
    for (what, error), times in _given.items():
        native.missing(what, "the program's own function for it raised %s%s" % (
            error[:200], "" if times == 1 else ", %d times" % times), "STROBE_DEBUG=1 shows where")
    _given.clear()
    for where, times in counts.items():
        native.missing(_LOSES.get(where, where), "a fault of strobe itself %s%s" % (
            where, "" if times == 1 else ", %d times" % times), "STROBE_DEBUG=1 shows it")
    counts.clear()
