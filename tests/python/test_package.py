"""The package as it is shipped: its types, its oldest Python, its wheel."""
import ast
import glob
import importlib.util
import os
import subprocess
import sys
import zipfile

import pytest

import strobe

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.dirname(os.path.abspath(strobe.__file__))
BUILD = os.path.dirname(os.path.dirname(PACKAGE))


def sources():
    return glob.glob(os.path.join(ROOT, "python", "strobe", "**", "*.py"), recursive=True)


@pytest.mark.parametrize("path", sources(), ids=lambda path: os.path.relpath(path, ROOT))
def test_every_file_is_python_3_9(path):
    with open(path) as file:
        ast.parse(file.read(), path, feature_version=(3, 9))


def test_the_types_name_everything_that_is_exported():
    with open(os.path.join(ROOT, "python", "strobe", "__init__.pyi")) as file:
        tree = ast.parse(file.read())
    typed = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert typed == set(strobe.__all__)
    assert all(hasattr(strobe, name) for name in strobe.__all__)
    assert os.path.exists(os.path.join(PACKAGE, "py.typed"))


def test_every_module_is_there_compiled_and_copying_does_not_make_it_stale():
    modules = glob.glob(os.path.join(PACKAGE, "**", "*.py"), recursive=True)
    assert len(modules) > 20
    for path in modules:
        with open(importlib.util.cache_from_source(path), "rb") as file:
            head = file.read(16)
        with open(path, "rb") as file:
            source = file.read()
        assert head[:4] == importlib.util.MAGIC_NUMBER
        assert int.from_bytes(head[4:8], "little") == 3, "checked by its hash, not by its time: " + path
        assert head[8:] == importlib.util.source_hash(source), path


def test_what_few_programs_use_is_loaded_when_it_is_named():
    code = """import sys, strobe
later = ["strobe._" + name for name in ("arguments", "dynamo", "memory.caches", "memory.growth", "memory.history", "memory.residency",
                                        "mlflow", "models.computed", "models.flops", "models.kinds", "profile", "report")]
print([name for name in later if name in sys.modules])
import importlib.util
print([name for name in later if importlib.util.find_spec(name) is None])
print(all(callable(getattr(strobe, name)) for name in strobe.__all__ if name not in ("ConfigError",)))
print(strobe.profile.__module__, strobe.Report.__module__, vars(strobe)["report"] is strobe.report)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines() == ["[]", "[]", "True", "strobe._profile strobe._report True"]


def test_importing_strobe_imports_nothing_heavy():
    code = "import sys, strobe; print(sorted(set(sys.modules) & {'torch', 'numpy', 'yaml', 'asyncio', 'subprocess'}))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "[]"




def test_the_extension_needs_the_stable_abi_only():
    done = subprocess.run(["nm", "-D", "--undefined-only", os.path.join(PACKAGE, "_strobe.abi3.so")],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        pytest.skip("nm is not installed")
    needed = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    private = {name for name in needed if name.startswith("_Py")}
    assert private <= {"_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_Py_Dealloc", "_PyObject_New",
                       "_PyObject_GC_New", "_PyArg_ParseTuple_SizeT", "_PyObject_CallFunction_SizeT",
                       "_PyObject_CallMethod_SizeT", "_Py_BuildValue_SizeT"}, private
    newer = {"PyModule_AddObjectRef", "Py_NewRef", "PyObject_Vectorcall", "PyType_GetName", "PyErr_GetRaisedException"}
    assert not needed & newer


@pytest.fixture
def backend():
    spec = importlib.util.spec_from_file_location("strobe_build", os.path.join(ROOT, "python/packaging/strobe_build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_wheel_works_from_where_it_is_unpacked(backend, tmp_path):
    name = backend.write_wheel(BUILD, str(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as wheel:
        listed = wheel.read("strobe_video-%s.dist-info/RECORD" % strobe.__version__).decode().splitlines()
        assert {line.split(",")[0] for line in listed} == set(wheel.namelist())
        wheel.extractall(tmp_path / "site")
        modes = {entry.filename: entry.external_attr >> 16 & 0o111 for entry in wheel.infolist()}
    assert modes["strobe/bin/strobe"] and modes["strobe_video-%s.data/scripts/strobe" % strobe.__version__]
    os.chmod(tmp_path / "site" / "strobe" / "bin" / "strobe", 0o755)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("STROBE_", "PYTHON"))}
    env["PYTHONPATH"] = str(tmp_path / "site")
    code = "import strobe; print(strobe.__file__, strobe._tool.path()); strobe.start(); print(strobe.recording())"
    done = subprocess.run([sys.executable, "-c", "from strobe import _tool\n" + code], stdout=subprocess.PIPE, text=True,
                          env=dict(env, STROBE_OUTPUT_DIR=str(tmp_path / "runs"), STROBE_GENERATE_FINAL_REPORT="0"),
                          check=True)
    site = str(tmp_path / "site" / "strobe")
    doctor = subprocess.run([site + "/bin/strobe", "doctor"], stdout=subprocess.PIPE, text=True, env=env)
    assert site + "/lib/libstrobe.so" in doctor.stdout and site + "/hook" in doctor.stdout, doctor.stdout
    assert done.stdout.split() == [site + "/__init__.py", site + "/bin/strobe", "True"]


def test_the_wheels_second_copy_of_the_library_joins_the_first(backend, tmp_path):
    with zipfile.ZipFile(tmp_path / backend.write_wheel(BUILD, str(tmp_path))) as wheel:
        wheel.extractall(tmp_path / "site")
    source = """
import ctypes, os, strobe
second = ctypes.CDLL(os.path.join(os.path.dirname(strobe.__file__), "lib", "libstrobe.so"))
strobe.start("two", config={"generate_final_report": False})
with strobe.section("python"):
    second.strobe_zone_begin(b"second")
    second.strobe_zone_end()
strobe.stop()
print(strobe.run_dir())
"""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("STROBE_", "PYTHON"))}
    env.update(PYTHONPATH=str(tmp_path / "site"), STROBE_OUTPUT_DIR=str(tmp_path / "runs"))
    done = subprocess.run([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=env, check=True)
    import strobe_file
    recording, = strobe_file.read(done.stdout.strip())  # one file; the copies are writers of their own in it
    assert sorted(zone.name for zone in recording.zones) == ["python", "second"]


def test_metadata_agrees_with_the_header(backend, tmp_path):
    info = backend.prepare_metadata_for_build_wheel(str(tmp_path))
    text = (tmp_path / info / "METADATA").read_text()
    assert "Version: %s\n" % strobe.__version__ in text and "Requires-Python: >=3.9" in text


SLOW_TO_LOAD = {"inspect", "json", "re", "shutil", "difflib", "base64", "subprocess", "typing", "dataclasses", "ast",
                "torch", "numpy", "contextlib", "importlib.util", "weakref", "strobe.auto.modules", "strobe.auto.vocabulary"}


def test_the_import_loads_nothing_that_takes_long():
    package = os.path.dirname(os.path.dirname(strobe.__file__))
    code = "import sys; sys.path.insert(0, %r); import strobe; print(*sys.modules)" % package
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert not SLOW_TO_LOAD & set(done.stdout.split())


def test_nor_does_the_start_up_hook(tmp_path):
    hook = os.path.join(os.path.dirname(strobe.__file__), "hook")
    code = "import sys; sys.path.insert(0, %r); import sitecustomize; print(*sys.modules)" % hook
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, STROBE_ENABLED="1", STROBE_RUN_DIR=str(tmp_path)))
    assert "strobe.auto" in done.stdout and not SLOW_TO_LOAD & set(done.stdout.split())


def test_the_packages_that_bring_a_framework_are_those_it_waits_for():
    from strobe.auto import frameworks
    for name, packages in frameworks.TABLE.items():
        waits_for = importlib.import_module("strobe.auto.frameworks." + name).WAITS_FOR
        assert {module.partition(".")[0] for module in waits_for} == set(packages), name


def test_a_wheel_for_an_old_c_library_or_this_machines_own(backend, tmp_path, monkeypatch, capsys):
    built = []
    monkeypatch.setattr(backend, "cmake_build", lambda folder, *flags, environment=None: built.append((folder, flags, environment)) or folder)

    def no_index(*_):
        raise backend.old_glibc.Unreachable("no index")
    monkeypatch.setattr(backend.old_glibc, "zig", no_index)
    monkeypatch.setattr(backend.old_glibc, "debian_root", lambda arch: str(tmp_path))
    foreign = "aarch64" if backend.HERE == "x86_64" else "x86_64"
    assert backend.build_for(foreign, str(tmp_path)) is None
    assert backend.build_for(backend.HERE, str(tmp_path)) == str(tmp_path / "here")
    assert capsys.readouterr().out == "strobe: no wheel for %s: no index\nstrobe: not built for glibc 2.28: no index\n" % foreign
    (tmp_path / "usr/include/python3.11").mkdir(parents=True)
    monkeypatch.setattr(backend.old_glibc, "zig", lambda: "/zig")
    assert backend.build_for(foreign, str(tmp_path)) == str(tmp_path / foreign)
    folder, flags, environment = built[-1]
    assert "-DCMAKE_SYSTEM_PROCESSOR=" + foreign in flags and environment["PKG_CONFIG_SYSROOT_DIR"] == str(tmp_path)
    assert "-target %s-linux-gnu.2.28" % foreign in (tmp_path / "programs" / "cc").read_text()


def test_half_of_what_is_fetched_is_never_left(backend, tmp_path):
    def torn(fresh):
        open(os.path.join(fresh, "half"), "w").close()
        raise backend.old_glibc.Unreachable("cut off")
    with pytest.raises(backend.old_glibc.Unreachable):
        backend.old_glibc.once(str(tmp_path / "root"), torn)
    assert os.listdir(tmp_path) == []
    whole = backend.old_glibc.once(str(tmp_path / "root"), lambda fresh: open(os.path.join(fresh, "all"), "w").close())
    assert os.listdir(whole) == ["all"] and os.listdir(tmp_path) == ["root"]


def test_the_tag_says_the_oldest_c_library(backend, monkeypatch):
    sections = {"tool": " (NEEDED) Shared library: [libc.so.6]\n (NEEDED) Shared library: [libutil.so.1]\n GLIBC_2.17 GLIBC_2.28",
                "odd": " (NEEDED) Shared library: [libfyaml.so.0]\n GLIBC_2.17"}
    monkeypatch.setattr(backend, "dynamic_section", sections.get)
    assert backend.platform_tag(["tool"], "aarch64") == "manylinux_2_28_aarch64"
    assert backend.platform_tag(["tool", "odd"], "x86_64") == "linux_x86_64"
