"""Which rises of memory are searched for what holds it, and when."""
import os

import strobe
from strobe._memory import growth


def rising(monkeypatch):
    """What is searched for, a clock, and rise(bytes, readings): a fifth of a second each; the last one is there at a generation's end."""
    searched, now, value = [], [0.0], [1 << 20]
    monkeypatch.setattr(growth, "_search", lambda kind, risen: searched.append((kind, risen >> 20)))
    monkeypatch.setattr(growth.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(growth.native, "readings_now", lambda: growth.read(value[0], 0))
    growth.forget()

    def rise(by_mb, readings=20):
        begun = value[0]
        for number in range(1, readings + 1):
            value[0] = begun + (by_mb << 20) * number // readings
            now[0] += 0.2
            growth.read(value[0], 0)
    return searched, rise


def test_what_rises_in_a_generation_is_searched_for_when_it_has_ended(record, monkeypatch):
    """A search stopped a step for a tenth of a second, two seconds after a healthy program had begun to load its libraries."""
    searched, rise = rising(monkeypatch)
    with strobe.generation():
        rise(400, 40)
        assert searched == []
    assert [kind for kind, _ in searched] == ["host"]
    with strobe.generation():
        rise(400, 40)
        assert len(searched) == 1
        rise(200)  # it is a long one
        assert len(searched) == 2
    rise(800, 80)
    assert len(searched) == 3  # in none
    growth.forget()


def test_a_warm_up_is_not_searched_through(record, monkeypatch):
    """A search of more than a second followed the first video of a healthy run, whose weights and libraries had come to stay."""
    searched, rise = rising(monkeypatch)
    with strobe.generation():
        rise(900)
        rise(0)
        rise(2000)  # its frames, which are given back
        rise(-2000, 1)
    for _ in range(3):
        with strobe.generation():
            rise(0)
            rise(2000)
            rise(-1990, 1)
    assert searched == []
    growth.forget()


def test_a_warm_up_that_stays_is_not_searched_through(record, monkeypatch):
    """The host's memory, in MB, of a Wan's first video on an H200, four readings a second: libraries, and the decoder's in the end."""
    searched, rise = rising(monkeypatch)
    readings = [529, 530, 530, 533, 550, 693, 785, 1061, 1141, 1227, 1237, 1242] + 4 * [1244] + 6 * [1250] + 6 * [1403] + [1406]

    def go_through(readings):
        for before, after in zip(readings, readings[1:]):
            rise(after - before, 1)
    go_through([1] + readings[:6])
    with strobe.generation():
        go_through(readings[5:])
    for _ in range(3):
        with strobe.generation():
            rise(4, 16)
    assert searched == []
    growth.forget()


def test_what_rises_until_the_first_model_is_called_is_not_searched_through(record, monkeypatch):
    """A search of a tenth of a second stopped a step of a program whose libraries and weights had come just before."""
    searched, rise = rising(monkeypatch)
    rise(700, 14)
    growth.first_call()
    rise(200, 14)
    assert searched == []
    rise(800, 80)  # and on
    assert {kind for kind, _ in searched} == {"host"}
    growth.forget()


def test_weights_that_are_made_are_not_searched_through(record, monkeypatch):
    searched, rise = rising(monkeypatch)
    made = {"rise": rise}
    exec(compile("def __init__(by, readings):\n    rise(by, readings)", os.path.join("site", "torch", "nn", "modules", "linear.py"), "exec"), made)
    made["__init__"](2000, 200)
    assert searched == []
    rise(800, 80)
    assert {kind for kind, _ in searched} == {"host"}
    growth.forget()


def test_what_every_generation_leaves_is_searched_for_once_it_goes_on(record, monkeypatch):
    searched, rise = rising(monkeypatch)
    for left in 300, 30, 30, 30, 30, 30:
        with strobe.generation():
            rise(left + 200, 2)
            rise(-200, 1)
    assert searched == []
    for _ in range(8):
        with strobe.generation():
            rise(400, 2)
            rise(-250, 1)
    assert [kind for kind, _ in searched] == ["host"]
    growth.forget()
