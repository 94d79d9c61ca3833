"""A run's report into an MLflow run: metrics, tags, and the report itself as artifacts."""
from ._report import Report

STAGES = 30  # those that took most of the time
STEPS = 1000  # values of the loop that is listed first
BATCH = 500  # metrics of one request: MLflow takes 1000
FOLDER = "strobe"  # of the artifacts


def _key(*parts):
    """A name that MLflow takes: letters, digits, _ - . / and blanks; at most 250 characters."""
    import re
    return re.sub(r"[^\w\-. /]", "_", ".".join(("strobe",) + parts), flags=re.ASCII)[:250]


def _numbers(values):
    return {key: value for key, value in values.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def _metrics(data):
    """(key, value, step) of everything worth a chart."""
    for key, value in _numbers(data.get("summary", {})).items():
        yield _key(key), value, 0
    stages = data.get("stage_analysis", {}).get("stages", [])
    for stage in sorted(stages, key=lambda s: s.get("total_s", 0), reverse=True)[:STAGES]:
        for key in ("total_s", "self_s", "mean_s", "count", "gpu_span_s", "gpu_busy_s"):
            if key in stage:
                yield _key("stage", stage["name"], key), stage[key], 0
    for loop in data.get("iterations", [])[:1]:
        for step, value in enumerate(loop.get("series_s", [])[:STEPS]):
            yield _key("iteration", loop["name"], "duration_s"), value, step


def _tags(data):
    session = data.get("session_info", {})
    tags = {_key("session"): session.get("id"), _key("state"): session.get("state"), _key("command"): session.get("command"),
            _key("bound_by"): data.get("verdict", {}).get("bound_by"),
            _key("findings"): ", ".join(finding["id"] for finding in data.get("recommendations", []))}
    for key, value in session.get("tags", {}).items():
        tags[_key("tag", key)] = value
    return {key: str(value)[:5000] for key, value in tags.items() if value not in (None, "")}


def _run_id(run, mlflow):
    if run is None:
        run = mlflow.active_run()
        if run is None:
            raise ValueError("no MLflow run is active: mlflow.start_run() begins one, or name a run")
    if isinstance(run, str):
        return run
    if not hasattr(getattr(run, "info", None), "run_id"):
        raise TypeError("run is an MLflow run or its id, not %r" % (run,))
    return run.info.run_id


def _log_metrics(client, run_id, metrics, entity):
    import time
    now_ms = int(time.time() * 1000)
    batch = []
    for key, value, step in metrics:
        batch.append(entity(key, float(value), now_ms, step))
        if len(batch) == BATCH:
            client.log_batch(run_id, metrics=batch)
            batch = []
    if batch:
        client.log_batch(run_id, metrics=batch)


def log_to(run=None, report="last", artifacts=True):
    """Logs a recorded run into an MLflow run: its numbers as metrics, its tags and findings as tags, and the
    report (Markdown, JSON, the page) as artifacts in the folder `strobe`.

    run: an MLflow run, its id, or None for the active one. report: what strobe.report() takes, or its result.
    Raises what MLflow raises, and ReportError where there is no report. Returns the MLflow run's id."""
    try:
        import mlflow
        from mlflow.entities import Metric
    except ImportError as error:
        raise ImportError("strobe.log_to() needs mlflow: pip install mlflow-skinny (%s)" % error) from error
    report = report if isinstance(report, Report) else Report(report)
    data = report.data
    run_id = _run_id(run, mlflow)
    client = mlflow.MlflowClient()
    _log_metrics(client, run_id, _metrics(data), Metric)
    for key, value in _tags(data).items():
        client.set_tag(run_id, key, value)
    if artifacts:
        client.log_text(run_id, report.markdown, FOLDER + "/report.md")
        client.log_dict(run_id, data, FOLDER + "/profiling_report.json")
        client.log_text(run_id, report.html, FOLDER + "/profiling_report.html")
    return run_id

