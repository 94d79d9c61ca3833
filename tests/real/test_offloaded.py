"""Where the weights of a real Wan pipeline lie, by its own tensors and by what the recording says, with model offload (on fake
tensors) and with sequential offload."""
import json
import os
import subprocess
import sys

import pytest

from conftest import HERE, TOOL, both_ways, environment


def events(folder):
    """Of the run's trace: (name, begin, end, arguments)."""
    subprocess.run([TOOL, "export", "runs/last", "--to", "chrome", "-q", "-o", "t.json"], cwd=folder, check=True, env=environment())
    with open(os.path.join(folder, "t.json")) as file:
        trace = json.load(file)
    rows = trace["traceEvents"] if isinstance(trace, dict) else trace
    return [(row["name"], row["ts"], row["ts"] + row.get("dur", 0), row.get("args", {})) for row in rows if "ts" in row]


def lying(moves, until):
    """Where weights lay at a moment, as the program says it: "vae cuda:0" -> bytes."""
    held = {}
    for at, facts in sorted(moves, key=lambda move: move[0]):
        if at <= until:
            place = "cpu" if facts["device"] < 0 else "cuda:%d" % facts["device"]
            held["%s %s" % (facts["component"].replace("weights of ", ""), place), facts["dtype"]] = facts["bytes"]
    found = {}
    for (key, _), size in held.items():
        found[key] = found.get(key, 0) + size
    return {key: size for key, size in found.items() if size}


@pytest.fixture(scope="module")
def fetched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("offloaded")
    alone, truth, run = both_ways(folder, "program_offloaded.py")
    assert alone == truth
    return truth, events(folder)


def test_after_each_call_the_models_lie_where_the_recording_says(fetched):
    truth, seen = fetched
    moves = [(begin, facts) for name, begin, _, facts in seen if name == "strobe.resident" and facts["at"] == "move"]
    ends = {name: max(end for of, _, end, _ in seen if of == name) for name in ("text_encoder", "transformer", "vae_decode")}
    ends["end"] = max(end for _, _, end, _ in seen)
    checked = {name for name, _ in truth[1:]}
    assert checked == set(ends)
    known = set()
    for name, expected in truth[1:]:
        known.add({"vae_decode": "vae"}.get(name, name))  # a model that never moved is in the lists alone
        assert lying(moves, ends[name]) == {key: size for key, size in expected.items() if key.split()[0] in known or name == "end"}


def test_a_zone_says_where_its_weights_come_from_and_go_to(fetched):
    ways = [(name[8:], facts["from"], facts["to"], facts["dtype"]) for name, _, _, facts in sorted(fetched[1], key=lambda row: row[1])
            if name.startswith("offload:")]
    there, back = ("cpu", "cuda:0", "float32"), ("cuda:0", "cpu", "float32")
    assert ways == [("text_encoder", *there), ("transformer", *there), ("text_encoder", *back), ("vae", *there), ("transformer", *back)]


SEQUENTIAL = """
import sys
sys.path.insert(0, %r)
import accelerate
import torch
import tiny
from strobe._memory import out_of_memory
encoder = tiny.umt5(d_model=64, d_ff=8192)
size = sum(tensor.numel() * tensor.element_size() for tensor in {id(one): one for one in encoder.parameters()}.values())
accelerate.cpu_offload(encoder, torch.device("cpu"))
assert all(tensor.device.type == "meta" for tensor in encoder.parameters())
print(out_of_memory.module_weights(torch) == [("weights of UMT5EncoderModel", size, "float32", None)])
"""


def test_what_a_sequential_offload_keeps_on_the_host_is_listed_there(tmp_path):
    (tmp_path / "program.py").write_text(SEQUENTIAL % HERE)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(environment(), PYTHONPATH=os.path.dirname(os.path.dirname(TOOL)) + "/build/python"))
    assert done.stdout.split() == ["True"], done.stdout + done.stderr[-2000:]
