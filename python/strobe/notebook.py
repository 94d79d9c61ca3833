"""%%strobe: records one notebook cell and shows its report.

    %load_ext strobe
    %%strobe --name denoise
    pipe(prompt)
"""
import argparse
import shlex

from . import _session
from ._core import native

try:
    from IPython.core.error import UsageError  # shown as one line, without a traceback
except ImportError:
    class UsageError(Exception):
        """Stands in for IPython's where there is none."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError("%s: %s; it takes %s" % (self.prog, message, _USAGE))


_USAGE = "--name NAME, --output-dir DIR, --preset development|production, --text"


def _options(line):
    parser = _Parser(prog="%%strobe", add_help=False)
    parser.add_argument("--name", default="cell")
    parser.add_argument("--output-dir", default=None)
    parser.add_argument("--preset", default=None)
    parser.add_argument("--text", action="store_true", help="show the text report, not the page")
    try:
        words = shlex.split(line)
    except ValueError as error:  # a quotation that is not closed
        parser.error(str(error))
    return parser.parse_args(words)


def _start(options):
    if native.recording():
        raise UsageError("%%%%strobe: a session is open already, in %s; end it with strobe.stop()" % native.run_dir())
    try:
        _session.start(options.name, output_dir=options.output_dir, preset=options.preset)
    except _session.ConfigError as error:
        raise UsageError("%%%%strobe: %s" % error) from None


def strobe(line, cell, run_cell=None):
    """The magic itself; run_cell(source) runs the cell."""
    options = _options(line)
    _start(options)
    try:
        result = run_cell(cell)
    finally:
        report = _session.stop()
    error = getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None)
    if error is not None:
        return None  # the notebook has shown it
    if options.text:
        print(report)
        return None
    return report


def register(ipython):
    def magic(line, cell):
        return strobe(line, cell, ipython.run_cell)
    ipython.register_magic_function(magic, "cell", "strobe")
