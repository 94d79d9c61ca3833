"""Steps handed in with their durations: nothing is said of what ran in them."""
import json

from conftest import BUILD, PYTHON

STEPS = """
import strobe, time
strobe.start("direct")

def run_steps():
    begun = time.perf_counter()
    for s in range(4):
        t = time.perf_counter()
        time.sleep(0.03)
        strobe.step_record(s, seconds=time.perf_counter() - t, block_size=10)
    return time.perf_counter() - begun

"""
SCRIPT = STEPS + """
with strobe.generation(frames=30):
    for b in range(3):
        strobe.block_record(b, frames=10, seconds=run_steps())
"""
HELD_UP = STEPS + """
for b in range(3):
    took = run_steps()
    resumed = time.perf_counter() + 0.01
    while time.perf_counter() < resumed:  # another program has the CPU
        pass
    strobe.block_record(b, frames=10, seconds=took)
"""


def test_steps_are_in_their_blocks_also_where_the_program_was_held_up(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    assert strobe.run("--", PYTHON, strobe.script(HELD_UP)).returncode == 0
    stages = json.loads(next(strobe.folder.rglob("profiling_report.json")).read_text())["stage_analysis"]["stages"]
    step, = [s for s in stages if s["count"] == 12]
    assert stages[step["parent_index"]]["name"] == "block"


def test_the_model_is_not_said_to_wait_for_what_ran_in_its_own_steps(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    done = strobe.run("--sample=200", "--", PYTHON, strobe.script(SCRIPT))
    assert done.returncode == 0, done.stderr
    report = json.loads(next(strobe.folder.rglob("profiling_report.json")).read_text())
    assert report["function_samples"]["sample_count"] > 10
    assert "python_between_steps" not in [r["id"] for r in report["recommendations"]]
    shares = [part["wall_ratio"] for part in report["diffusion_analysis"]["split"] if part["part"] != "overlap"]
    assert shares and all(0 <= share <= 1.00001 for share in shares)
