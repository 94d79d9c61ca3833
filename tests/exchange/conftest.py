"""The command as a user types it, and its results read by independent readers."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data"


class Strobe:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def __call__(self, *args, code=0, both=False):
        done = subprocess.run([BUILD / "strobe", *map(str, args)], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", env={**os.environ, "NO_COLOR": "1", "TMPDIR": str(self.folder)})
        assert done.returncode == code, (args, done.stdout, done.stderr)
        return done.stdout + done.stderr if both else done.stdout if code == 0 else done.stderr

    def write(self, name, content):
        path = self.folder / name
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def imported(self, source):
        """The run folder of an imported file or of given content."""
        self.count += 1
        if not isinstance(source, pathlib.Path):
            source = self.write(f"in{self.count}.json", source)
        folder = self.folder / f"run{self.count}"
        self("import", "-q", source, "-o", folder)
        return folder

    def rows(self, run, *more):
        """The run's events by way of the CSV export."""
        path = self.folder / "rows.csv"
        self("export", run, "--to", "csv", "-o", path, "-q", *more)
        with open(path, newline="") as f:
            rows = list(csv.DictReader(f))
        for row in rows:
            for key in ("start_ns", "duration_ns", "self_ns", "depth"):
                row[key] = int(row[key]) if row[key] else None
            row["attributes"] = json.loads(row["attributes"]) if row["attributes"] else {}
        return rows

    def zones(self, run, *more):
        return [r for r in self.rows(run, *more) if r["kind"] in ("zone", "span", "open")]

    def report(self, run, *more):
        return json.loads(self("report", run, "--format", "json", *more))


@pytest.fixture
def strobe(tmp_path):
    return Strobe(tmp_path)


@pytest.fixture
def kineto(tmp_path):
    def make(name="kineto.json", *args):
        path = tmp_path / name
        subprocess.run([sys.executable, HERE / "make_kineto.py", path, *map(str, args)], check=True)
        return path
    return make
