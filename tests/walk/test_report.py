"""The walks of docs/adding-to-the-report.md, taken on a copy of the tree: the diffs apply, it builds, the keys are everywhere."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
WALK = SOURCE / "docs/adding-to-the-report.md"
MADE = ["docs/report.schema.json", "docs/report-keys.md", "web/src/report-types.ts"]
PARTS = ["CMakeLists.txt", "cmake", "include", "src", "cli", "tools", "docs", "web/src", "web/tsconfig.json"]


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
    build(copy)
    return copy


def test_the_walks_touch_what_they_promise():
    field, panel = ([name.removeprefix("b/") for name in re.findall(r"(?m)^\+\+\+ (\S+)", diff)] for diff in walks())
    assert len(field) == 3  # the member, its computation, its line
    places = {"struct": r"src/analyze/model", "analysis": r"src/analyze/(tracks|analyses)\.c", "text": r"src/report/panels/", "page": r"web/"}
    for name in panel:
        assert sum(bool(re.match(place, name)) for place in places.values()) == 1, name


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
