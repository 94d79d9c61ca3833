"""Credentials on the command line and in tags reach no file that strobe writes."""
import pytest

from conftest import BUILD, PYTHON

SECRET = b"s3cretW0rd"


def files_with_secret(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*")
                  if p.is_file() and not p.is_symlink() and SECRET in p.read_bytes())


@pytest.mark.parametrize("arguments", [
    ("--token", "s3cretW0rd"), ("--hf-token=s3cretW0rd",), ("API_KEY=s3cretW0rd",),
    ("postgres://me:s3cretW0rd@db/x",), ("https://s/x?sig=s3cretW0rd&a=1",), ("hf_s3cretW0rdabcdefghijk",)])
def test_credentials_of_the_command_line_are_masked(strobe, arguments):
    home = strobe.folder / "home"
    strobe.environment.update(HOME=str(home), XDG_DATA_HOME=str(home / "data"), XDG_STATE_HOME=str(home / "state"))
    done = strobe.run("--", "true", "--steps", "50", *arguments)
    assert done.returncode == 0, done.stderr
    assert files_with_secret(strobe.folder) == []
    command = strobe.recorded().meta("run", "command")
    assert command.startswith("true --steps 50 ") and "***" in command


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
