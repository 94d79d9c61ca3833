"""Two reports that shall say the same."""
import math


def differences(ours, theirs, but=(), where=""):
    """Every key and every number, but those keys; floats to their ninth digit."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs} - {*but}):
            if key in ours and key in theirs:
                yield from differences(ours[key], theirs[key], but, f"{where}.{key}")
            else:
                yield f"{where}.{key}: only in the {'first' if key in ours else 'second'}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, but, f"{where}[{i}]")
    elif isinstance(ours, float) and isinstance(theirs, (int, float)):
        if not math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{where}: {ours} != {theirs}"
    elif ours != theirs:
        yield f"{where}: {str(ours)[:200]} != {str(theirs)[:200]}"
