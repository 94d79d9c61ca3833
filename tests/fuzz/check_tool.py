#!/usr/bin/env python3
"""tools/fuzz runs every target, whatever became of those before it, and its last line names the broken ones. usage: check_tool.py SOURCE"""
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1]).resolve()
GOOD = "#!/bin/sh\necho \"$@\" > {seen}\necho stat::number_of_executed_units: 42\n"
BAD = "#!/bin/sh\necho 'Test unit written to crash-1'\nexit 77\n"


def fake(path, text):
    path.write_text(text)
    path.chmod(0o755)


def main():
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / "fuzz").mkdir()
        (build / "tests").mkdir()
        (build / "fuzz/targets").write_text("request\nargs\nmcp\n")
        fake(build / "tests/request_fuzz", GOOD.format(seen=build / "seen"))
        fake(build / "tests/args_fuzz", BAD)
        fake(build / "tests/mcp_fuzz", GOOD.format(seen=build / "seen2"))
        done = subprocess.run([SOURCE / "tools/fuzz", folder, "7"], capture_output=True, text=True, timeout=300)
        lines = done.stdout.splitlines()
        assert done.returncode == 1, done
        assert lines[0].split() == ["request", "42", "inputs", "ok"], lines
        assert lines[1].split() == ["args", "0", "inputs", "BROKEN:", "crash-1"], lines
        assert lines[2].split() == ["mcp", "42", "inputs", "ok"], lines
        assert lines[3].startswith("threads") and "BROKEN" in lines[3], lines  # this folder has no program for them
        assert lines[-1].startswith("fuzz: 3 readers and the threads, 7 s each, 84 inputs, "), lines
        assert lines[-1].endswith("broken: args threads"), lines
        assert "-max_total_time=7 " in (build / "seen").read_text()
        assert "crash-1" in (build / "fuzz/args.log").read_text()


main()
