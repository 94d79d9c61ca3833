"""Faults of strobe itself: counted and kept quiet, said once at the end or when
STROBE_DEBUG=1 asks."""
import os
import sys

counts = {}


def count(where):
    """Call inside an except block."""
    counts[where] = counts.get(where, 0) + 1
    if os.environ.get("STROBE_DEBUG") == "1":
        import traceback
        sys.stderr.write("strobe: fault %s\n" % where)
        traceback.print_exc()
