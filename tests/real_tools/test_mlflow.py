"""strobe.log_to with the real MLflow, on a local store."""
import json

import mlflow
import strobe


def test_a_run_is_logged_and_read_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        strobe.start(tags={"model": "wan-1.3b"}, output_dir="runs")
        with strobe.generation(frames=16):
            for _ in strobe.steps(range(5)):
                with strobe.section("vae: decode"):
                    pass
        strobe.log_to(report=strobe.stop())
    client = mlflow.MlflowClient()
    stored = client.get_run(run.info.run_id).data
    assert stored.metrics["strobe.frames"] == 16 and stored.metrics["strobe.steps"] == 5 and stored.metrics["strobe.wall_s"] > 0
    assert stored.metrics["strobe.stage.vae_ decode.count"] == 5
    assert stored.tags["strobe.tag.model"] == "wan-1.3b"
    [history] = [k for k in stored.metrics if k.startswith("strobe.iteration.")]
    assert [m.step for m in client.get_metric_history(run.info.run_id, history)] == list(range(5))
    files = {a.path for a in client.list_artifacts(run.info.run_id, "strobe")}
    assert files == {"strobe/report.md", "strobe/profiling_report.json", "strobe/profiling_report.html"}
    report = json.loads(mlflow.artifacts.load_text(run.info.artifact_uri + "/strobe/profiling_report.json"))
    assert report["summary"]["frames"] == 16
    assert {p.name for p in tmp_path.iterdir()} <= {"mlruns", "runs"}
