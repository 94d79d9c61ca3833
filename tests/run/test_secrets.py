"""Credentials on the command line and in tags reach no file that strobe writes."""
import json
import subprocess

import pytest

from conftest import BUILD, LIMIT_S, PYTHON

SECRET = b"s3cretW0rd"


def files_with_secret(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*")
                  if p.is_file() and not p.is_symlink() and SECRET in p.read_bytes())


@pytest.mark.parametrize("arguments", [
    ("--token", "s3cretW0rd"), ("--hf-token=s3cretW0rd",), ("API_KEY=s3cretW0rd",),
    ("postgres://me:s3cretW0rd@db/x",), ("https://s/x?sig=s3cretW0rd&a=1",), ("hf_s3cretW0rdabcdefghijk",),
    ("--password", "a $b s3cretW0rd"), ("--password=a;b s3cretW0rd",), ("-H", "Authorization: Bearer s3cretW0rd"),
    ("--header", "X-Api-Key: s3cretW0rd"), ("Proxy-Authorization: Basic s3cretW0rd",), ("mysql", "-ps3cretW0rd"),
    ("postgres://me:a/s3cretW0rd@db/x",), ("curl", "-u", "me:s3cretW0rd"), ("FAL_KEY=s3cretW0rd",)])
def test_credentials_of_the_command_line_are_masked(strobe, arguments):
    home = strobe.folder / "home"
    strobe.environment.update(HOME=str(home), XDG_DATA_HOME=str(home / "data"), XDG_STATE_HOME=str(home / "state"))
    done = strobe.run("--", "true", "--steps", "50", *arguments)
    assert done.returncode == 0, done.stderr
    assert files_with_secret(strobe.folder) == []
    command = strobe.recorded().meta("run", "command")
    assert command.startswith("true --steps 50 ") and "***" in command


def test_a_credential_in_the_name_of_a_run_is_in_no_folder(strobe):
    done = strobe.run("--name", "try-hf_s3cretW0rdabcdefghijk", "--", "true")
    assert done.returncode == 0, done.stderr
    assert files_with_secret(strobe.folder / "strobe-runs") == []
    names = [p.name for p in (strobe.folder / "strobe-runs").iterdir()]
    assert any(name.startswith("try-___-") for name in names) and SECRET.decode() not in str(names)


def test_what_an_error_says_is_masked(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    script = strobe.script(
        "import strobe\n"
        "word = 's3cretW' + '0rd'\n"
        "for text in ('401 for https://h/x?token=%s&n=1', 'sent Bearer %s', 'no user me:%s@db.example.org', 'password=%s'):\n"
        "    try:\n"
        "        with strobe.generation():\n"
        "            raise RuntimeError(text % word)\n"
        "    except RuntimeError:\n"
        "        pass\n"
        "strobe.output('rtmp://me:%s@live/x' % word)\n")
    done = strobe.run("--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    assert files_with_secret(strobe.folder / "strobe-runs") == []
    report = json.loads((strobe.folder / "strobe-runs" / "last" / "profiling_report.json").read_text())
    failures = [item["failure"] for item in report["generations"]["items"]]
    assert len(failures) == 4 and all("***" in failure for failure in failures)


def test_credentials_in_tags_are_masked(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    script = strobe.script("import strobe\nstrobe.start(tags={'password': 's3cretW' + '0rd', 'max_tokens': 77})\n")
    done = strobe.run("-t", "hub=https://u:s3cretW0rd@hub/x", "-t", "auth_token=s3cretW0rd", "-t", "model=wan", "--",
                      PYTHON, script)
    assert done.returncode == 0, done.stderr
    assert files_with_secret(strobe.folder / "strobe-runs") == []
    tags = strobe.recorded().metas["tag"]
    assert tags == {"hub": "https://u:***@hub/x", "auth_token": "***", "model": "wan", "password": "***",
                    "max_tokens": "77"}


def test_the_session_profilers_own_report_masks_tags_too(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    script = strobe.script(
        "from strobe.compat import InferixProfiler, ProfilingConfig\n"
        "profiler = InferixProfiler(ProfilingConfig(enabled=True, output_dir='out', report_format='json'))\n"
        "word = 's3cretW' + '0rd'\n"
        "profiler.start_session('s', {'password': word, 'hub': 'https://u:%s@hub/x' % word, 'auth_token': 4711,\n"
        "                             'max_tokens': 77, 'fast': True})\n"
        "profiler.end_session()\n")
    done = subprocess.run([PYTHON, script], cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    written = next((strobe.folder / "out").glob("profiling_report_*.json"))
    assert json.loads(written.read_text())["session_info"]["tags"] == {
        "password": "***", "hub": "https://u:***@hub/x", "auth_token": "***", "max_tokens": 77, "fast": True}
    assert files_with_secret(strobe.folder / "out") == []
