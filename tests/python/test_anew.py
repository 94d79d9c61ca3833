"""Pipelines that are made anew for each video: what strobe finds out once, and how often it looks again."""
import json
import os
import subprocess
import sys
import types

from test_auto import FAKES

TOOL = os.environ.get("STROBE_TOOL", "")


def test_pipelines_that_are_made_anew_are_read_as_often_as_half_a_percent_of_the_time_allows(monkeypatch):
    from strobe import _share
    from strobe.auto.frameworks import diffusers

    class Pipeline:
        components = {}
    told, now = [], [1000.0]
    monkeypatch.setattr(_share, "time", types.SimpleNamespace(monotonic=lambda: now[0], thread_time=lambda: now[0]))
    monkeypatch.setattr(diffusers, "_telling", _share.Share(200))
    monkeypatch.setattr(diffusers, "_pipelines", 0)
    monkeypatch.setattr(diffusers.asked, "tell_versions", lambda: None)

    def tell(components):
        told.append(number)
        now[0] += 0.002
    monkeypatch.setattr(diffusers.asked, "tell", tell)
    for number in range(1, 41):
        diffusers._tell_asked(Pipeline())
        now[0] += 0.1
    assert told == [*range(1, 9), 12, 16, 20, 24, 28, 32, 36, 40]


def test_a_pipeline_made_anew_of_the_same_classes_is_known():
    from strobe.auto.frameworks import diffusers

    class Pipeline:
        def __init__(self, part):
            self.part = part
    assert [diffusers._is_known(Pipeline(part)) for part in (1, 2, "other", 3)] == [False, True, False, True]


def test_parts_of_a_component_are_named_when_one_is_asked_for(torch):
    from strobe._models import components
    whole = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    components.set_name_with_parts(whole, "transformer")
    assert id(whole[0]) not in components._name_of
    assert components.name(whole) == "transformer" and id(whole[0]) not in components._name_of
    assert components.name(whole[0]) == "transformer" and components.name(torch.nn.ReLU()) == "ReLU"
    keys = {id(one) for one in whole.modules()}
    del whole
    assert not keys & set(components._name_of) and not components._closed


TWO_SESSIONS = """
import sys
import strobe
from strobe import auto
auto.install()
import torch
from diffusers import TinyVideoPipeline

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x)

model, pipeline = Model(), TinyVideoPipeline()
for number in "12":
    strobe.start("request", output_dir=sys.argv[1] + number, config={"generate_final_report": False})
    model(torch.zeros(1, 2))
    pipeline("a cat", num_inference_steps=2)
    strobe.stop()
"""


def test_each_session_of_a_process_has_what_its_models_were_asked_to_be(tmp_path):
    """A server with a session for each request: the recordings after the first one had no versions, types and switches."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join((FAKES, os.environ["PYTHONPATH"])))
    subprocess.run([sys.executable, "-c", TWO_SESSIONS, str(tmp_path / "session")], env=environment, check=True, timeout=120)
    said = []
    for number in "12":
        report = subprocess.run([TOOL, "report", str(tmp_path / ("session" + number) / "last"), "--format", "json"], check=True, capture_output=True)
        said.append(sorted((e["name"], e["attributes"].get("component", "")) for e in json.loads(report.stdout)["events"] if e["name"].startswith("torch.")))
    assert said[0] == said[1] and ("torch.asked", "Model") in said[0] and ("torch.versions", "") in said[0], said
