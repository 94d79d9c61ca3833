"""A finished (or running) recording as a Python object: its folder, its report as
text, JSON and, in a notebook, as the page itself."""
import os

from . import _tool


class ReportError(RuntimeError):
    pass


class Report:
    """What `strobe report` says about a run. Nothing is computed until it is asked for."""

    def __init__(self, run="last"):
        self.path = os.fspath(run)
        self._json = None

    def _ask(self, form, *options):
        import subprocess
        tool = _tool.path()
        if tool is None:
            raise ReportError("the strobe command was not found: put it on PATH or set STROBE_TOOL")
        done = subprocess.run([tool, "report", self.path, "--format", form, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(os.environ, STROBE_ENABLED="0"))
        if done.returncode:
            raise ReportError(done.stderr.decode(errors="replace").strip() or "strobe report failed")
        return done.stdout.decode(errors="replace")

    @property
    def text(self):
        """The text report."""
        return self._ask("text")

    @property
    def markdown(self):
        """The account to paste, at most 200 lines."""
        return self._ask("md")

    @property
    def data(self):
        """profiling_report.json as a dict."""
        if self._json is None:
            import json
            self._json = json.loads(self._ask("json"))
        return self._json

    @property
    def html(self):
        """The page, one self-contained document."""
        return self._ask("html", "-o", "-")  # else it would be a file in the run folder

    @property
    def stages(self):
        """The stages by name."""
        return {stage["name"]: stage for stage in self.data.get("stage_analysis", {}).get("stages", [])}

    def __repr__(self):
        return "<strobe.Report %s>" % self.path

    def __str__(self):
        try:
            return self.text
        except (ReportError, OSError) as error:
            return "%r: %s" % (self, error)

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))  # IPython in a terminal

    def _repr_html_(self):
        try:
            import base64
            page = base64.b64encode(self.html.encode()).decode()
        except (ReportError, OSError):
            return "<pre>%s</pre>" % str(self).replace("&", "&amp;").replace("<", "&lt;")
        return ('<iframe src="data:text/html;base64,%s" style="width:100%%;height:640px;border:1px solid #ccc">'
                "</iframe>" % page)


def report(run="last"):
    """The report of a run: a folder, a .strobe file, "last", "last~1"."""
    return Report(run)
