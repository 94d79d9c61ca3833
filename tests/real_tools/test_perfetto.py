"""`export --to perfetto`, decoded with the protobufs of the official package. Its trace_processor is a program that the
package fetches from elsewhere, and is not run here."""
import collections
import json
import subprocess

import pytest
from conftest import TOOL
from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def unknown(message):
    """Fields that the official definition does not have, of the message and those inside."""
    found = [(message.DESCRIPTOR.name, field.field_number) for field in unknown_fields.UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if isinstance(value, collections.abc.Sequence) else [value]:
                found += unknown(inner)
    return found


def events(path):
    """The trace's events: (event, name, the name of its track's parent, texts attached)."""
    trace = Trace.FromString(path.read_bytes())
    assert not unknown(trace)
    names, keys, found = {}, {}, []
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    for packet in trace.packet:
        names.update({n.iid: n.name for n in packet.interned_data.event_names})
        keys.update({n.iid: n.name for n in packet.interned_data.debug_annotation_names})
        if packet.HasField("track_event"):
            event = packet.track_event
            track = tracks[event.track_uuid]
            parent = tracks[track.parent_uuid].name if track.parent_uuid else None
            texts = {a.name or keys[a.name_iid]: a.string_value for a in event.debug_annotations}
            found.append((event, event.name or names.get(event.name_iid), parent, texts))
    return found


@pytest.mark.parametrize("run", ["rich", "traced", "blocks", "killed", "imports"])
def test_zones_counters_flows_and_findings_are_fields_of_the_format(runs, tmp_path, run):
    path = tmp_path / "trace.pftrace"
    subprocess.run([TOOL, "export", runs / run, "--to", "perfetto", "-o", path], check=True, capture_output=True)
    found = events(path)
    kinds = collections.Counter(event.type for event, *_ in found)
    assert kinds[TrackEvent.TYPE_SLICE_BEGIN] == kinds[TrackEvent.TYPE_SLICE_END] > 0
    assert all(name for event, name, *_ in found if event.type == TrackEvent.TYPE_SLICE_BEGIN)
    report = json.loads(subprocess.run([TOOL, "report", runs / run, "--format", "json"], check=True, capture_output=True, text=True).stdout)
    marked = {(name, texts["issue"]) for _, name, parent, texts in found if parent == "findings" and name}
    assert marked == {(finding["id"], finding["issue"]) for finding in report["recommendations"]}
    if run == "rich":
        assert kinds[TrackEvent.TYPE_COUNTER] == 6994 and marked
    if run == "traced":
        starts = {flow for event, *_ in found for flow in event.flow_ids}
        assert starts and starts == {flow for event, *_ in found for flow in event.terminating_flow_ids}
