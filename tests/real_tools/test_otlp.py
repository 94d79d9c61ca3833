"""`export --to otlp`, decoded with the official protobufs."""
import base64
import json
import subprocess

from conftest import TOOL
from google.protobuf import json_format
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

IDS = ("traceId", "spanId", "parentSpanId")


def as_protobuf_json(message):
    """OTLP writes ids in hex where protobuf's own JSON has base64."""
    if isinstance(message, list):
        return [as_protobuf_json(m) for m in message]
    if not isinstance(message, dict):
        return message
    return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in IDS else as_protobuf_json(v) for k, v in message.items()}


def test_every_line_is_a_message_of_the_protocol(runs, tmp_path):
    for run in sorted(runs.iterdir()):
        path = tmp_path / f"{run.name}.otlp.jsonl"
        subprocess.run([TOOL, "export", run, "--to", "otlp", "-o", path], check=True, capture_output=True)
        spans, points = [], []
        for line in path.read_text().splitlines():
            message = json.loads(line)
            kind = TracesData if "resourceSpans" in message else MetricsData
            decoded = json_format.ParseDict(as_protobuf_json(message), kind())  # an unknown field is an error
            if kind is TracesData:
                spans += [s for r in decoded.resource_spans for scope in r.scope_spans for s in scope.spans]
            else:
                points += [m for r in decoded.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
        assert all(len(s.trace_id) == 16 and len(s.span_id) == 8 and s.end_time_unix_nano >= s.start_time_unix_nano for s in spans)
        assert len({s.span_id for s in spans}) == len(spans)
        if run.name == "rich":
            assert len(spans) == 321 and {m.name for m in points} >= {"strobe.gpu.power_w", "strobe.cpu.usage_percent"}
            [pipeline] = [s for s in spans if s.name == "WanPipeline"]
            assert {a.key: a.value.int_value for a in pipeline.attributes}["frames"] == 81
            assert sum(m.gauge.data_points[0].as_double for m in points if m.name == "strobe.gpu.power_w") > 0
