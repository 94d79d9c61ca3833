"""The live display of a program below `strobe run`: the tool has the monitors, so the tool shows it. The file that it
watches takes a line "SECONDS<tab>LABEL"; 0 seconds: no longer."""
import os

_asked = False


def wanted(settings):
    """Seconds between two blocks as these settings ask for them; None: they do not."""
    return float(settings.get("display_interval") or 5.0) if settings.get("real_time_display") else None


def ask(interval_s, label):
    """Asks the tool for the display. Where that fails the program runs on without it."""
    global _asked
    path = os.environ.get("STROBE_DISPLAY_ASKED")
    if not path:
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        os.write(file, ("%.3f\t%s\n" % (interval_s, " ".join(str(label).split())[:127])).encode())
        _asked = interval_s > 0
    except OSError:
        pass
    finally:
        os.close(file)


def end():
    if _asked:
        ask(0, "")
