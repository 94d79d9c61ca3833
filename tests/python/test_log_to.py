"""strobe.log_to with a stand-in for mlflow; tests/real_tools has the real one."""
import subprocess
import sys
import types

import pytest

import strobe


class Client:
    def __init__(self):
        self.metrics, self.tags, self.texts, self.batches = [], {}, {}, []

    def log_batch(self, run_id, metrics):
        assert len(metrics) <= 1000
        self.batches.append(run_id)
        self.metrics += metrics

    def set_tag(self, run_id, key, value):
        self.tags[key] = value

    def log_text(self, run_id, text, path):
        self.texts[path] = text

    def log_dict(self, run_id, value, path):
        self.texts[path] = value


@pytest.fixture
def mlflow(monkeypatch):
    module, entities, client = types.ModuleType("mlflow"), types.ModuleType("mlflow.entities"), Client()
    module.client, module.active = client, None
    module.MlflowClient = lambda: client
    module.active_run = lambda: module.active
    entities.Metric = lambda key, value, timestamp, step: (key, value, step)
    module.entities = entities
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    return module


def run_of(identifier):
    return types.SimpleNamespace(info=types.SimpleNamespace(run_id=identifier))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log_to")
    program = folder / "p.py"
    program.write_text("import strobe\nstrobe.start(output_dir='runs', tags={'model': 'wan', 'seed': 7})\n"
                       "for _ in strobe.steps(range(5)):\n    pass\nwith strobe.section('a: b<c>|d'):\n    pass\nstrobe.stop()\n")
    subprocess.run([sys.executable, "p.py"], cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return folder / "runs" / "last"


def test_metrics_tags_and_artifacts(mlflow, recorded):
    assert strobe.log_to(run_of("r1"), recorded) == "r1"
    metrics = {key: value for key, value, step in mlflow.client.metrics if step == 0}
    data = strobe.report(recorded).data
    assert metrics["strobe.wall_s"] == data["summary"]["wall_s"] and metrics["strobe.stage.a_ b_c__d.count"] == 1
    steps = [(step, value) for key, value, step in mlflow.client.metrics if key.startswith("strobe.iteration.")]
    assert [step for step, _ in steps] == list(range(5))
    assert mlflow.client.tags["strobe.tag.model"] == "wan" and mlflow.client.tags["strobe.tag.seed"] == "7"
    assert mlflow.client.texts["strobe/report.md"].startswith("# strobe: ") and "<html" in mlflow.client.texts["strobe/profiling_report.html"]
    assert mlflow.client.texts["strobe/profiling_report.json"]["schema"] == "strobe.report/1"
    assert all(isinstance(value, float) for _, value, _ in mlflow.client.metrics)


def test_the_active_run_is_the_default_and_ids_are_taken(mlflow, recorded):
    with pytest.raises(ValueError, match="no MLflow run is active"):
        strobe.log_to(report=recorded)
    mlflow.active = run_of("active")
    assert strobe.log_to(report=strobe.report(recorded), artifacts=False) == "active"
    assert strobe.log_to("by-id", recorded, artifacts=False) == "by-id"
    assert not mlflow.client.texts and set(mlflow.client.batches) == {"active", "by-id"}


def test_no_report_and_no_mlflow_are_said(mlflow, recorded, tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="cannot open run"):
        strobe.log_to("r", tmp_path / "nowhere")
    with pytest.raises(TypeError, match="run is an MLflow run or its id, not 5"):
        strobe.log_to(5, recorded)
    assert not mlflow.client.metrics
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match="pip install mlflow"):
        strobe.log_to("r", recorded)
