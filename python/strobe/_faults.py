"""Faults of strobe itself: counted and kept quiet, said once at the session's end
("not recorded"), at once when STROBE_DEBUG=1 asks."""
import os
import sys

counts = {}
_LOSES = {"when CUDA came up": "GPU time of sections"}  # else what was being done


def count(where):
    """Call inside an except block."""
    counts[where] = counts.get(where, 0) + 1
    if os.environ.get("STROBE_DEBUG") == "1":
        import traceback
        sys.stderr.write("strobe: fault %s\n" % where)
        traceback.print_exc()


def say(native):
    """At a session's end."""
    for where, times in counts.items():
        native.missing(_LOSES.get(where, where), "a fault of strobe itself %s%s" % (
            where, "" if times == 1 else ", %d times" % times), "STROBE_DEBUG=1 shows it")
    counts.clear()
