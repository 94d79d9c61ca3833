"""Imports of packages as stages: each once, and ended."""
from test_auto import start_hooked


def test_what_a_package_imports_of_itself_later_is_its_import_too(tmp_path):
    """Packages such as transformers import most of themselves when a name is asked for."""
    package = tmp_path / "lazy"
    package.mkdir()
    (package / "__init__.py").write_text("import importlib\ndef __getattr__(name): return importlib.import_module('lazy.' + name)\n")
    (package / "heavy.py").write_text("from lazy import inner\n")
    (package / "inner.py").write_text("")
    done = start_hooked(tmp_path, """
        import lazy, strobe
        with strobe.generation():
            lazy.heavy
    """, path=str(tmp_path))
    counts = done.recordings[0].counts()
    assert counts["import lazy",] == 1
    (path,) = [path for path in counts if path[-1] == "import lazy" and len(path) == 2]  # in the generation, once
    assert counts[path] == 1 and not any("import lazy" in path[:-1] for path in counts)


def test_a_package_that_imports_itself_again_ends(tmp_path):
    """cv2 takes its Python part out of sys.modules and imports its native one by the same name."""
    package = tmp_path / "twice"
    package.mkdir()
    (package / "__init__.py").write_text("import sys\nif not hasattr(sys, 'once'):\n    sys.once = sys.modules.pop('twice')\n    import twice\n")
    done = start_hooked(tmp_path, """
        import twice, strobe
        with strobe.section("after"):
            pass
    """, path=str(tmp_path))
    assert done.recordings[0].counts()["import twice",] == 1
    assert done.recordings[0].counts()["after",] == 1  # not inside the import


def test_what_strobe_imports_itself_is_no_stage(tmp_path):
    """torch's counter of operations imports tabulate where that is installed."""
    (tmp_path / "asked_by_strobe.py").write_text("")
    (tmp_path / "asked_by_program.py").write_text("")
    done = start_hooked(tmp_path, """
        from strobe._native import own_section
        with own_section("counting FLOPs"):
            import asked_by_strobe
        import asked_by_program
    """, path=str(tmp_path))
    counts = done.recordings[0].counts()
    assert counts["strobe: counting FLOPs",] == counts["import asked_by_program",] == 1
    assert not any("import asked_by_strobe" in path for path in counts)
