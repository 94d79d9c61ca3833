"""Training loops: backward passes and optimizer steps as stages, the turns of a loop as iterations."""
import pytest

from conftest import both_ways, inside


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return both_ways(tmp_path_factory.mktemp("training"), "program_training.py")


def test_the_result_is_bit_equal_and_the_graphs_are_the_same(found):
    assert found[0] == found[1]
    assert found[0]["graphs"] >= 2


@pytest.mark.parametrize("stage", ["backward", "optimizer", "vae_encode"])
def test_every_outermost_call_is_a_stage(found, stage):
    _, watched, run = found
    assert len(run.recording.named(stage)) == watched["counts"][stage]


def test_a_checkpoint_calls_no_model_twice(found):
    """What the backward pass computes once more is in the backward pass."""
    _, _, run = found
    assert not run.recording.named("Block")
    assert {child.name for zone in run.recording.named("backward") for child in inside(zone)
            if not child.name.startswith("strobe: ")} == set()


def test_backward_passes_of_a_closure_are_inside_the_step(found):
    _, watched, run = found
    within = [zone for outer in run.recording.named("optimizer") for zone in inside(outer) if zone.name == "backward"]
    assert len(within) == watched["counts"]["inside"] > 1


def test_a_step_that_raised_is_over_when_a_model_is_called(found):
    _, _, run = found
    outside = [zone for zone in run.recording.named("Net")
               if not any(zone in inside(step) for step in run.recording.named("optimizer"))]
    assert len(run.recording.named("Net")) - len(outside) == found[1]["counts"]["inside"]


def test_a_turn_of_the_loop_is_an_iteration_and_no_stage(found):
    _, watched, run = found
    report = run.report()
    turns, = [loop for loop in report["iterations"] if loop["name"] == "training_step"]
    assert (turns["role"], turns["count"]) == ("iteration", watched["counts"]["training_step"])
    assert {"backward", "optimizer"} < {stage["name"] for stage in report["stage_analysis"]["stages"]}
    assert "training_step" not in {stage["name"] for stage in report["stage_analysis"]["stages"]}
