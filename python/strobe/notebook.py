"""%%strobe: records one notebook cell and shows its report.

    %load_ext strobe
    %%strobe --name denoise
    pipe(prompt)
"""
import argparse
import shlex

from . import _session


def _options(line):
    parser = argparse.ArgumentParser(prog="%%strobe", add_help=False)
    parser.add_argument("--name", default="cell")
    parser.add_argument("--output-dir", default=None)
    parser.add_argument("--preset", default=None)
    parser.add_argument("--text", action="store_true", help="show the text report, not the page")
    return parser.parse_args(shlex.split(line))


def strobe(line, cell, run_cell=None):
    """The magic itself; run_cell(source) runs the cell."""
    options = _options(line)
    _session.start(options.name, output_dir=options.output_dir, preset=options.preset)
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
