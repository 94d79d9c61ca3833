"""What a real pipeline does beside its models has a name, without being asked for."""
import os
import sys

from conftest import HERE


def test_the_function_that_a_generation_spends_its_time_in_is_named(run):
    done = run(sys.executable, os.path.join(HERE, "program_unattributed.py"), "result.json")
    report = done.report()
    named = report["unattributed"]["after_steps"]
    assert named["unattributed_ratio"] > 0.05 and named["sample_count"] > 0
    assert "generations" not in report["unattributed"]
    first = named["functions"][0]
    assert first["function"] == "program_unattributed.wait_for_the_device"
    assert first["file"].endswith("program_unattributed.py") and first["line"] > 0
    assert "% of it in wait_for_the_device (program_unattributed.py:" in done.stderr  # the first screen
    assert report["summary"]["startup_end_s"] > 0
