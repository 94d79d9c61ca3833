"""Every file that strobe writes: whose it is, and that its folder is made."""
import os
import stat
import subprocess

import pytest

from conftest import BUILD, LIMIT_S, TOOL


def modes(folder):
    return {str(p.relative_to(folder)): stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*") if not p.is_symlink()}


def typed(strobe, *arguments):
    """As typed in a shell whose umask lets everybody read."""
    done = subprocess.run(["sh", "-c", 'umask 022; exec "$@"', "sh", TOOL, *arguments], cwd=strobe.folder,
                          env=strobe.environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done


def test_all_that_is_written_is_the_owners_only(strobe):
    home = strobe.folder / "home"
    home.mkdir()
    strobe.environment.update(HOME=str(home), XDG_DATA_HOME=str(home / "data"), XDG_STATE_HOME=str(home / "state"))
    pipeline = str(BUILD / "examples" / "video_pipeline")
    typed(strobe, "run", "-q", "--", pipeline)
    typed(strobe, "run", "-q", "--", pipeline)
    made = strobe.folder / "made"
    made.mkdir()
    typed(strobe, "report", "--format", "json", "-o", "made/report.json")
    typed(strobe, "report", "--format", "all", "-o", "made/all")
    typed(strobe, "diff", "last~1", "last", "--format", "html", "-o", "made/diff.html")
    typed(strobe, "diff", "last~1", "last", "--format", "json", "-o", "made/diff.json")
    typed(strobe, "aggregate", "last~1", "last", "--format", "html", "-o", "made/aggregate.html")
    typed(strobe, "export", "last", "--to", "chrome", "-o", "made/trace.json")
    typed(strobe, "export", "last", "--to", "perfetto", "-o", "made/trace.pftrace")
    typed(strobe, "export", "last", "--to", "packed", "-o", "made/packed")
    typed(strobe, "import", "made/trace.json", "-o", "made/imported")
    wrong = {}
    for top in (made, strobe.last(), home):
        for name, mode in modes(top).items():
            if mode & 0o077 and not (top / name).is_dir():
                wrong[str(top / name)] = oct(mode)
    assert wrong == {}
    for folder in ("all", "packed", "imported"):
        assert stat.S_IMODE((made / folder).stat().st_mode) == 0o700, folder
    assert any(p.name == "history.db" for p in home.rglob("*")) or "history" not in strobe("--help").stdout


def test_a_file_that_was_made_readable_stays_so(strobe):
    strobe.run("-q", "--", "true")
    report = strobe.folder / "report.json"
    report.write_text("old")
    report.chmod(0o640)
    typed(strobe, "report", "--format", "json", "-o", str(report))
    assert report.read_text().startswith("{")
    assert stat.S_IMODE(report.stat().st_mode) == 0o640


@pytest.mark.parametrize("more", [("--format", "all"), ("--format", "json", "--write")])
def test_reports_make_their_folder(strobe, more):
    strobe.run("-q", "--", "true")
    done = typed(strobe, "report", *more, "-o", "not/there/yet")
    assert done.stdout == "reports written to not/there/yet\n"
    assert (strobe.folder / "not/there/yet/profiling_report.json").exists()
