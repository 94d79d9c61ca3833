"""What harm_chance recorded, against what it says it did."""
import pathlib
import shutil
import subprocess

from conftest import BUILD, LIMIT_S, quiet_environment, report


def round_of(seed, folder, build="chance_scheduled"):
    """Runs one seed in a folder of its own; returns (certain, found, lost, tried), or raises."""
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ran = subprocess.run([str(BUILD / "tests" / f"harm_{build}"), str(seed)], cwd=folder, text=True, timeout=LIMIT_S,
                         env=quiet_environment(), capture_output=True)
    assert ran.returncode == 0, f"seed {seed}: ended with {ran.returncode}: {ran.stdout}{ran.stderr}"
    certain, tried = map(int, ran.stdout.split())
    found = lost = 0
    for run in (folder / "strobe-runs").iterdir():
        if not run.is_symlink():
            recording = report(run)["recording"]
            found += recording["zones"]
            lost += recording["dropped_count"]
    assert found + lost // 2 >= certain, f"seed {seed}: {certain} zones, {found} found, {lost} words counted as lost"
    assert found <= tried, f"seed {seed}: {found} zones found of {tried}"
    return certain, found, lost, tried
