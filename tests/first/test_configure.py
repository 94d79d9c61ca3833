"""What `make test` runs on a machine where `make demo` came first, and what it says it left out."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def environment(**more):
    # CMake's own variables name tools (a compiler's launcher) that a fresh machine lacks.
    kept = {k: v for k, v in os.environ.items() if k not in ("CI", "MAKEFLAGS", "MAKELEVEL", "MFLAGS") and not k.startswith("CMAKE_")}
    return dict(kept, STROBE_SETUP="off", **more)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A PATH with the tools of a fresh machine: no clang, no pytest; and no library pkg-config would find."""
    folder = tmp_path_factory.mktemp("bare")
    for tool in ("cmake", "ctest", "ninja", "make", "cc", "gcc", "ld", "ar", "ranlib", "nm", "objcopy", "objdump", "strip",
                 "readelf", "addr2line", "as", "sh", "env", "python3", "rm", "mkdir", "pkg-config"):
        found = subprocess.run(["/bin/sh", "-c", "command -v " + tool], capture_output=True, text=True).stdout.strip()
        if found:
            (folder / tool).symlink_to(found)
    (folder / "nothing").mkdir()
    return environment(PATH=str(folder), PKG_CONFIG_LIBDIR=str(folder / "nothing"))


def make(target, build, env):
    return subprocess.run(["make", "-s", "-C", ROOT, target, f"BUILD={build}"], env=env, capture_output=True, text=True)


def names_of(build):
    listed = subprocess.run(["ctest", "-N", "--test-dir", build], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"Test +#\d+: (\S+)", listed))


def test_what_was_installed_after_the_first_configuration_is_found(tmp_path, bare):
    early, whole = tmp_path / "early", tmp_path / "whole"
    assert make("configure", early, bare).returncode == 0
    few = names_of(early)
    assert not any(name.startswith("unit/") for name in few)
    assert "unit: no cmocka here" in (early / "tests/left_out.txt").read_text()
    assert make("configure", early, environment()).returncode == 0
    assert make("configure", whole, environment()).returncode == 0
    assert names_of(early) == names_of(whole) > few
    assert (early / "tests/left_out.txt").read_text() == (whole / "tests/left_out.txt").read_text()


def test_the_tool_builds_where_no_library_is_installed(tmp_path, bare):
    made = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                           "-DCMAKE_C_FLAGS_DEBUG=-O0 -g0", "-DSTROBE_WERROR=OFF", "--log-level=NOTICE"], env=bare, capture_output=True, text=True)
    assert made.returncode == 0 and "no sqlite3 here: 'strobe history' is switched off" in made.stderr, made.stderr
    built = subprocess.run(["cmake", "--build", tmp_path, "--target", "strobe"], env=bare, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-3000:]
    told = subprocess.run([tmp_path / "strobe", "history"], capture_output=True, text=True)
    assert told.returncode != 0 and "built without SQLite" in told.stderr
    golden = next((ROOT / "tests/golden").glob("v*-recorder*.strobe"))
    assert subprocess.run([tmp_path / "strobe", "report", golden], capture_output=True).returncode == 0


def a_build(tmp_path, left_out, *tests):
    """A folder of tests for tools/test, without the build: (name, shell command) each."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "left_out.txt").write_text(left_out)
    lines = []
    for name, command in tests:
        lines.append(f'add_test({name} /bin/sh -c "{command}")')
        lines.append(f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)")
    (tmp_path / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
    return tmp_path


def run_tests(build, **more):
    return subprocess.run([ROOT / "tools/test", build], env=environment(**more), capture_output=True, text=True)


def closing(done):
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines[-1], next(line for line in lines if "tests passed" in line)


def test_the_last_line_names_what_the_configuration_and_the_run_left_out(tmp_path):
    build = a_build(tmp_path, "unit: no cmocka here\n", ("cli/one", "true"), ("page/two", "echo skipped: no chromium here; exit 77"))
    done = run_tests(build)
    assert closing(done) == ("strobe: left out: page (page/two: no chromium here), unit (no cmocka here)",
                             "100% tests passed, 0 tests failed out of 2")
    assert done.returncode == 0
    done = run_tests(build, CI="true")
    assert done.returncode != 0
    assert closing(done)[1] == "100% tests passed, 0 tests failed out of 2"


def test_many_tests_with_one_reason_are_counted(tmp_path):
    skip = "echo strobe: no frameworks here; exit 77"
    done = run_tests(a_build(tmp_path, "", ("cli/one", "true"), ("real/a", skip), ("real/b", skip), ("real/c", skip)))
    assert closing(done)[0] == "strobe: left out: real (3 tests: no frameworks here)"


def test_real_gpu_and_comfyui_may_be_left_out_in_ci(tmp_path):
    skip = "echo skipped: none here; exit 77"
    build = a_build(tmp_path, "real: no diffusers here\n", ("cli/one", "true"), ("gpu/prove", skip), ("comfyui/run", skip))
    done = run_tests(build, CI="true")
    assert done.returncode == 0
    assert closing(done)[0] == ("strobe: left out: comfyui (comfyui/run: none here), gpu (gpu/prove: none here), "
                                "real (no diffusers here)")


def test_no_other_group_may_be_left_out_in_ci(tmp_path):
    build = a_build(tmp_path, "slurm: no Slurm here\n", ("cli/one", "true"), ("uv/run", "echo skipped: no uv here; exit 77"))
    done = run_tests(build, CI="true")
    assert done.returncode != 0 and closing(done)[0] == "strobe: left out: slurm (no Slurm here), uv (uv/run: no uv here)"


def test_nothing_left_out_is_said_too_and_a_failure_fails(tmp_path):
    assert closing(run_tests(a_build(tmp_path, "", ("cli/one", "true")), CI="true"))[0] == "strobe: no group of tests was left out"
    (tmp_path / "second").mkdir()
    assert run_tests(a_build(tmp_path / "second", "", ("cli/one", "false"))).returncode != 0


def test_a_file_of_skipped_tests_has_checked_nothing(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "test_all.py").write_text("import pytest\ndef test_one():\n    pytest.skip('not here')\n")
    (tmp_path / "test_some.py").write_text("import pytest\ndef test_one():\n    pytest.skip('not here')\ndef test_two():\n    pass\n")

    def run(name):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / name]
        return subprocess.run(command, capture_output=True, text=True, env=environment())

    done = run("test_all.py")
    assert done.returncode == 5 and done.stdout.strip().splitlines()[-1] == "skipped: not here"
    assert run("test_some.py").returncode == 0


@pytest.fixture
def debian(tmp_path):
    """A Debian on which all is installed but npm; what it would install is written down."""
    for tool in ("sh", "grep", "mktemp", "rm", "tail"):
        (tmp_path / tool).symlink_to(subprocess.run(["/bin/sh", "-c", "command -v " + tool], capture_output=True, text=True).stdout.strip())
    for tool, does in {"id": "echo 0", "dpkg-query": 'case "$*" in *" npm") exit 1 ;; *) echo installed ;; esac',
                       "apt-get": 'echo "$@" >> "$0.asked"'}.items():
        (tmp_path / tool).write_text("#!/bin/sh\n" + does + "\n")
        (tmp_path / tool).chmod(0o755)
    return tmp_path


def installed(debian, *sets):
    subprocess.run([ROOT / "tools/setup", *sets], env={"PATH": str(debian)}, check=True)
    asked = debian / "apt-get.asked"
    return asked.read_text().splitlines()[-1].split()[-1] if asked.exists() else None


def test_npm_is_installed_for_the_tests_of_the_page(debian):
    assert installed(debian, "build") is None
    assert installed(debian, "build", "test") == "npm"


def test_an_npm_from_elsewhere_is_kept(debian):
    (debian / "npm").symlink_to("/bin/true")
    assert installed(debian, "build", "test") is None
