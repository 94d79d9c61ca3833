"""The keys of `profiling:` are the same in C, in Python and on their page."""
import pathlib
import re

import pytest

import strobe
from strobe import _config

SOURCE = pathlib.Path(__file__).parents[2]
INTERNAL = {"monitor"}  # strobe run's, for the processes below it
NOT_A_SETTING = {"preset"}  # of C: it chooses values of all of them


def keys_of_c():
    text = (SOURCE / "src/record/settings.c").read_text()
    table = text[text.index("sb_setting_table[]"):]
    return set(re.findall(r'(?m)^\t\{ "(\w+)", SB_', table)) | set(re.findall(r"TOGGLE\((\w+),", table))


def test_python_knows_every_key_of_c():
    assert set(_config.KEYS) - NOT_A_SETTING == keys_of_c() - INTERNAL


def test_the_page_lists_every_key():
    page = set(re.findall(r"(?m)^\| `(\w+)`", (SOURCE / "docs/config.md").read_text()))
    assert keys_of_c() - INTERNAL <= page


def test_a_dict_can_name_the_run(tmp_path):
    strobe.start(config={"name": "wan", "generate_final_report": False}, output_dir=tmp_path)
    folder = pathlib.Path(strobe.run_dir()).name
    strobe.stop()
    assert folder.startswith("wan-")


def test_an_internal_key_is_unknown():
    with pytest.raises(strobe.ConfigError, match="unknown key 'monitor'"):
        strobe.start(config={"monitor": False})
