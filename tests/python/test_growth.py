"""Memory that grows with every generation, and what holds it."""
import strobe
from strobe import _growth


def generate(count, keep, made=lambda: bytearray(b"x") * (8 << 20)):
    kept = []
    for _ in range(count):
        with strobe.generation():
            latents = made()
        if keep:
            kept.append(latents)
    return kept


def grown(monkeypatch, each):
    """Generations that each leave so much behind, whatever the process really does."""
    total = [0]

    def left():
        total[0] += each
        return total[0]
    monkeypatch.setattr(_growth, "_host_bytes", left)
    told = []
    monkeypatch.setattr(_growth, "native", type("Native", (), {"event": staticmethod(lambda name, **facts: told.append((name, facts)))}))
    _growth.forget()
    return told


def test_what_keeps_the_memory_is_named_with_its_line(record, monkeypatch):
    told = grown(monkeypatch, 8 << 20)
    generate(8, keep=True)
    assert len(told) == 1
    name, facts = told[0]
    assert (name, facts["of"], facts["bytes"]) == ("memory_grows", "host", 8 << 20)
    assert facts["holder"].startswith("the list `kept` (test_growth.py:")
    assert "kept.append(latents)" in facts["holder"]
    assert facts["file"] == __file__


def test_growth_that_nothing_holds_is_told_without_a_name(record, monkeypatch):
    told = grown(monkeypatch, 8 << 20)
    generate(8, keep=False)
    assert [facts.get("holder") for _, facts in told] == [None]


def test_memory_that_stays_is_no_growth(record, monkeypatch):
    told = grown(monkeypatch, 0)
    generate(8, keep=True)
    assert told == []
