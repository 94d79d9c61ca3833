"""Video models of transformers, real ones with small random weights: preprocess, vision encoder, prefill, decode."""
import sys

import pytest

from conftest import GENERATION, both_ways, inside, of_role

CHATS = ("qwen_vl", "qwen_vl_in_batches", "qwen_vl_streaming", "smolvlm", "encoder_decoder", "beams")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return both_ways(tmp_path_factory.mktemp("transformers"), "program_transformers.py")


@pytest.fixture(params=CHATS)
def chat(found, request):
    alone, counted, run = found
    generations = of_role(run.recording.zones, GENERATION)
    assert len(generations) == len(CHATS)
    return counted[request.param], generations[CHATS.index(request.param)]


def named(zone, name):
    return [child for child in inside(zone) if child.name == name]


def test_results_are_the_same_with_and_without(found):
    alone, counted, _ = found
    assert alone == counted


def test_every_forward_is_prefill_or_decode(chat):
    counted, generation = chat
    assert len(named(generation, "prefill")) == 1
    assert len(named(generation, "decode")) == counted["forwards"] - 1 > 0


def test_what_it_does_around_its_tokens_has_a_place(chat):
    """Between two parts of a generation there is always one phase, and nothing else."""
    counted, generation = chat
    parts = [child.name for child in generation.children]
    assert parts[0] == "before_steps" and parts[-1] == "between_steps"
    assert len(named(generation, "between_steps")) == counted["forwards"]
    assert all((one in ("before_steps", "between_steps")) != (two in ("before_steps", "between_steps")) for one, two in zip(parts, parts[1:]))


def test_the_vision_encoder_is_a_stage(chat):
    counted, generation = chat
    assert len(named(generation, "vision_encoder")) == counted["vision"]
    assert not any(zone.children for zone in named(generation, "vision_encoder"))


def test_tokens_and_the_time_to_the_first(chat):
    counted, generation = chat
    facts = generation.attrs
    assert facts["new_tokens"] == counted["batch"] * counted["new"] and facts["batch"] == counted["batch"]
    assert facts["time_to_first_token_s"] > 0 and facts["tokens_per_s"] > 0
    assert sum(zone.attrs["tokens"] for zone in named(generation, "decode")) == counted["batch"] * (counted["forwards"] - 1)


def test_input_frames(chat):
    counted, generation = chat
    assert generation.attrs.get("input_frames") == counted.get("frames")


FAILING = """
import torch
from transformers import LogitsProcessorList, T5Config, T5ForConditionalGeneration
torch.set_num_threads(1)
config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0, eos_token_id=1, pad_token_id=0)
model = T5ForConditionalGeneration(config).eval()


def chat(**options):
    try:
        model.generate(torch.tensor([[5, 6, 7, 1]]), max_new_tokens=6, min_new_tokens=6, do_sample=False, **options)
    except ZeroDivisionError:
        pass


def fails(after):
    def process(ids, scores):
        return scores if ids.shape[1] <= after else scores / (1 // 0)
    return LogitsProcessorList([process])


chat()
chat(logits_processor=fails(0))  # its first token is never there
chat(logits_processor=fails(3))
"""


def test_a_chat_that_fails_counts_as_far_as_it_came(run, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    done = run(sys.executable, "failing.py")
    whole, at_once, later = of_role(done.recording.zones, GENERATION)
    assert whole.attrs["new_tokens"] == 6 and not {"new_tokens", "tokens_per_s"} & {*at_once.attrs, *later.attrs}
    times = {"time_to_first_token_s", "time_after_first_token_s"}
    assert times <= set(whole.attrs) and times <= set(later.attrs) and not times & set(at_once.attrs)
    assert [len(named(one, "decode")) for one in (whole, at_once, later)] == [5, 0, 3]
    row, = done.report()["chat"]
    after_s = sum(one.attrs["time_after_first_token_s"] for one in (whole, later))
    assert row["call_count"] == 3 and row["new_token_count"] == 6 and row["tokens_per_s"] == pytest.approx(8 / after_s)


def test_the_report_tells_prefill_and_decode_apart(found):
    _, counted, run = found
    rows = {row["stage"]: row for row in run.report()["chat"]}
    cases = {"Qwen2VLForConditionalGeneration.generate": [name for name in CHATS if name.startswith(("qwen", "beams"))],
             "SmolVLMForConditionalGeneration.generate": ["smolvlm"], "T5ForConditionalGeneration.generate": ["encoder_decoder"]}
    assert set(rows) == set(cases)
    for stage, names in cases.items():
        row, mine = rows[stage], [counted[name] for name in names]
        assert row["call_count"] == len(mine) and row["new_token_count"] == sum(one["batch"] * one["new"] for one in mine)
        assert row.get("input_frame_count", 0) == sum(one.get("frames", 0) for one in mine)
        assert ("vision_s" in row) == any(one["vision"] for one in mine)
        assert row["prefill_s"] > 0 and row["decode_s"] > 0 and row["tokens_per_s"] > 0 and row["first_token_mean_s"] > 0
    assert rows["SmolVLMForConditionalGeneration.generate"]["prompt_token_count"] == counted["smolvlm"]["prompt"]


def test_all_tokens_are_counted(found):
    _, counted, run = found
    assert run.recording.counters["tokens"] == sum(counted[name]["batch"] * counted[name]["new"] for name in CHATS)


def test_videos_are_prepared(found):
    _, counted, run = found
    prepared = run.recording.named("preprocess")
    assert len(prepared) == sum(case["preprocesses"] for case in counted.values())
    assert [zone.attrs["frames"] for zone in prepared] == [8, 8, 8, 4, 8, 4]
    assert prepared[0].attrs["width"] == prepared[0].attrs["height"] == 40


def test_a_model_without_generate_is_a_stage(found):
    _, counted, run = found
    assert len(run.recording.named("VJEPA2Model")) == counted["vjepa2"]["forwards"]
