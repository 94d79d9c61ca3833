"""The walks of docs/adding-to-the-report.md, taken on a copy of the tree: the diffs apply, it builds, the keys are everywhere. And a
toy in every other room of CONTRIBUTING.md (rooms.py), in the files that are promised there."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import rooms

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
WALK = SOURCE / "docs/adding-to-the-report.md"
MADE = ["docs/report.schema.json", "docs/report-keys.md", "web/src/report-types.ts"]
PARTS = ["CMakeLists.txt", "cmake", "include", "src", "cli", "tools", "docs", "web/src", "web/tsconfig.json", "README.md", "tests",
         "python/strobe/auto/frameworks"]


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def walks():
    """Each walk's diffs: of the field, of the panel."""
    text = WALK.read_text()
    field, panel = re.split(r"(?m)^## A panel", text)
    return ["".join(re.findall(r"(?ms)^```diff\n(.*?)^```", part)) for part in (field, panel)]


def build(tree):
    """Unoptimized and without ccache: what is tested is that it compiles, not how fast it is."""
    folder = tree / "build"
    environment = {**os.environ, "CCACHE_DISABLE": "1", "CMAKE_C_COMPILER_LAUNCHER": ""}
    run("cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DSTROBE_TESTS=OFF", "-DSTROBE_PYTHON=OFF",
        "-DSTROBE_WERROR=OFF", "--log-level=ERROR", env=environment)
    run("cmake", "--build", folder, "--target", "strobe", "generate_fields", env=environment)
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    copy = tmp_path_factory.mktemp("walk") / "strobe"
    for name in PARTS:
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, copy / name, ignore=shutil.ignore_patterns("node_modules"))
        else:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, copy / name)
    for diff in walks():
        assert diff.count("+++ ") >= 3
        run("patch", "-p1", "--forward", "--no-backup-if-mismatch", "--fuzz=0", cwd=copy, input=diff)
    rooms.add(copy)
    build(copy)
    return copy


def test_the_walks_touch_what_they_promise():
    field, panel = ([name.removeprefix("b/") for name in re.findall(r"(?m)^\+\+\+ (\S+)", diff)] for diff in walks())
    assert len(field) == 3  # the member, its computation, its line
    places = {"struct": r"src/analyze/model", "analysis": r"src/analyze/(tracks|analyses)\.c", "text": r"src/report/panels/", "page": r"web/"}
    for name in panel:
        assert sum(bool(re.match(place, name)) for place in places.values()) == 1, name


def test_pages_and_tests_that_were_forgotten_are_named(tree):
    assert run(SOURCE / "tools/check", "named") == "tools/check: ok\n"
    done = subprocess.run([tree / "tools/check", "named"], capture_output=True, text=True)
    missed = set(re.findall(r"(?m)^(.*?) does not name (.*?): see", done.stdout))
    assert missed == {
        ("README.md", "the command 'toy'"), ("docs/toy.md", "the command 'toy'"), ("tests/cli/toy/*.case", "the command 'toy'"),
        ("docs/export.md", "the exporter 'toy'"), ("tests/cli/export/*.case", "the exporter 'toy'"),
        ("docs/monitors.md", "the GPU vendor 'toy'"), ("cli/doctor_gpu.c", "the GPU vendor 'toy'"), ("tests/unit/*_test.c", "the GPU vendor 'toy'"),
        ("docs/monitors.md", "the monitor 'toys'"), ("tests/unit/*_test.c", "the monitor 'toys'"),
        ("docs/advice.md", "the finding 'toy'"), ("tests/planted/*.py or tests/unit/*_test.c", "the finding 'toy'")}


def test_what_is_made_from_the_tables_is_missed_and_mended(tree):
    before = subprocess.run([tree / "tools/generate", tree / "build", "--check"], capture_output=True, text=True)
    assert before.returncode == 1
    for name in MADE:
        assert f"{name} is not what the tables of fields say: run make generate" in before.stdout
    run(tree / "tools/generate", tree / "build")
    run(tree / "tools/generate", tree / "build", "--check")
    schema, reference, types = ((tree / name).read_text() for name in MADE)
    assert "zones_per_s" in json.loads(schema)["$defs"]["Recording"]["properties"]
    assert json.loads(schema)["properties"]["tracks"]["items"] == {"$ref": "#/$defs/Track"}
    assert "| `zones_per_s` | per second | " in reference and "### Track\n" in reference
    assert re.search(r"(?m)^  zones_per_s\?: number; ", types) and re.search(r"(?m)^  tracks\?: Track\[\]; ", types)


def test_the_report_holds_them(tree, tmp_path):
    run(BUILD / "tests/make_recordings", tmp_path)
    strobe = tree / "build/strobe"
    report = json.loads(run(strobe, "report", tmp_path / "rich.strobe", "--format", "json"))
    recording = report["recording"]
    assert recording["zones_per_s"] == pytest.approx(recording["zones"] / report["session_info"]["duration_s"])
    assert any(track.get("main") for track in report["tracks"])
    assert "\nTracks\n" in run(strobe, "report", tmp_path / "rich.strobe")


def test_the_page_compiles_with_the_panel(tree):
    packages = BUILD / "web/node_modules"
    if not packages.exists():
        pytest.skip("the page's packages are not installed")
    run(tree / "tools/generate", tree / "build")
    (tree / "web/node_modules").symlink_to(packages)
    run("node", packages / "typescript/bin/tsc", "--noEmit", "-p", tree / "web")


def test_a_command_is_two_files(tree):
    strobe = tree / "build/strobe"
    assert run(strobe, "toy", "--loud") == "HELLO\n"
    assert "say it louder" in run(strobe, "toy", "--help") and "say hello" in run(strobe, "--help")


def test_an_exporter_is_a_file_and_a_line(tree, tmp_path):
    run(BUILD / "tests/make_recordings", tmp_path)
    shown = run(tree / "build/strobe", "export", "--help")
    assert "toy, " in shown and re.search(r"(?m)^toy +names of zones$", shown)
    run(tree / "build/strobe", "export", tmp_path / "rich.strobe", "-o", tmp_path / "zones.txt")  # by its ending
    assert "vae_decode\n" in (tmp_path / "zones.txt").read_text()
    assert "vae_decode\n" in run(tree / "build/strobe", "export", tmp_path / "rich.strobe", "--to", "toy", "-o", "-")


def test_a_finding_is_a_row_a_name_and_its_check(tree, tmp_path):
    run(BUILD / "tests/make_recordings", tmp_path)
    report = json.loads(run(tree / "build/strobe", "report", tmp_path / "rich.strobe", "--format", "json"))
    [found] = [f for f in report["recommendations"] if f["id"] == "toy"]
    assert found["issue"] == "a toy finding" and found["threshold_key"] == "toy_count"


def test_a_gpu_vendor_is_a_file_and_a_word(tree, tmp_path):
    run(tree / "build/strobe", "run", "-o", tmp_path / "run", "--", "true")
    devices = json.loads(run(tree / "build/strobe", "report", tmp_path / "run", "--format", "json"))["gpu_metrics"]["devices"]
    assert "Toy 1" in [device["name"] for device in devices]


def test_a_monitor_is_a_file_and_a_word(tree, tmp_path):
    run(tree / "build/strobe", "run", "-o", tmp_path / "run", "--", "true")
    table = run(tree / "build/strobe", "export", tmp_path / "run", "--to", "csv", "-o", "-")
    assert re.search(r"(?m)^sample,.*,toys toy_percent,42,", table)


def test_a_record_type_is_read_and_shared(tree, tmp_path):
    run(tree / "build/strobe", "run", "-o", tmp_path / "run", "--", "true")
    run(tree / "build/strobe", "share", tmp_path / "run", "-o", tmp_path / "run.html")
    for recorded in ("run", "run.html"):
        table = run(tree / "build/strobe", "export", tmp_path / recorded, "--to", "csv", "-o", "-")
        assert re.search(r"(?m)^counter,.*,toy_record,21,", table)


def test_a_framework_is_a_file_and_its_name(tmp_path):
    package = tmp_path / "strobe"
    shutil.copytree(BUILD / "python/strobe", package, symlinks=False)
    folder = package / "auto/frameworks"
    (folder / "toyvideo.py").write_text(rooms.FRAMEWORK)
    table, row = (folder / "__init__.py").read_text(), '    "comfyui": ('
    assert table.count(row) == 1
    (folder / "__init__.py").unlink()
    (folder / "__init__.py").write_text(table.replace(row, '    "toyvideo": ("toyvideo",),\n' + row))
    (tmp_path / "toyvideo.py").write_text("def generate():\n    return 1\n")
    (tmp_path / "program.py").write_text("import toyvideo\n\ntoyvideo.generate()\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "STROBE_HOOK_DIR": str(package / "hook")}
    run(BUILD / "strobe", "run", "-o", tmp_path / "runs", "--", sys.executable, tmp_path / "program.py", env=environment)
    report = json.loads(run(BUILD / "strobe", "report", "last", "--format", "json", cwd=tmp_path, env={**os.environ, "STROBE_OUTPUT_DIR": "runs"}))
    assert [g["name"] for g in report["generations"]["items"]] == ["toyvideo"]
