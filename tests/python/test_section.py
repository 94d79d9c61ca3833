"""strobe.section: what a with block becomes."""
import contextlib
import gc
import sys
import threading

import pytest

import strobe
import strobe_file


def test_sections_nest_as_they_are_entered(record):
    with strobe.section("outer"):
        with strobe.section("inner"):
            pass
        with strobe.section("inner"):
            pass
    assert record().counts() == {("outer",): 1, ("outer", "inner"): 2}


def test_a_section_may_be_entered_inside_itself(record):
    one = strobe.section("again")
    with one, one, one:
        pass
    assert record().counts() == {("again",): 1, ("again",) * 2: 1, ("again",) * 3: 1}


def test_attributes_keep_their_types(record):
    with strobe.section("decode", frames=16, ratio=0.5, mode="tiled", big=1 << 50, flag=True, nothing=None) as section:
        section.set(tiles=12)
    zone, = record().named("decode")
    assert zone.attrs == {"frames": 16, "ratio": 0.5, "mode": "tiled", "big": 1 << 50, "flag": 1, "tiles": 12}


def test_the_stage_code_belongs_to_the_name(record):
    with strobe.section("VAE encode", code="4c"):
        pass
    with strobe.section("VAE encode"):
        pass
    assert [zone.code for zone in record().named("VAE encode")] == ["4c", None]


def test_an_exception_passes_through_and_is_recorded(record):
    with pytest.raises(ZeroDivisionError):
        with strobe.section("fails"):
            1 / 0
    zone, = record().named("fails")
    assert zone.closed and zone.attrs == {"error": "ZeroDivisionError"}


def test_an_exception_storm_leaves_a_clean_tree(record):
    def dive(depth):
        with strobe.section("dive"):
            if depth:
                dive(depth - 1)
            raise ValueError

    for _ in range(500):
        with contextlib.suppress(ValueError):
            dive(9)
    with strobe.section("after"):
        pass
    done = record()
    assert len(done.named("dive")) == 5000
    assert done.counts()["after",] == 1 and done.counts()[("dive",) * 10] == 500
    assert all(zone.closed for zone in done.zones) and not done.unmatched_ends


def test_nothing_is_recorded_while_no_session_is_open():
    assert not strobe.recording()
    with strobe.section("off", frames=1) as section:
        section.set(x=1)
    strobe.event("off")
    strobe.frames(1)


def test_a_session_may_start_and_stop_inside_a_section(tmp_path):
    with strobe.section("across"):
        strobe.start("inside", output_dir=tmp_path, config={"generate_final_report": False})
        with strobe.section("inside"):
            pass
    with strobe.section("across the end"):
        strobe.stop()
    import strobe_file
    done = strobe_file.read(strobe.run_dir())[0]
    assert done.counts()["inside",] == 1


def test_a_section_works_in_an_exit_stack(record):
    with contextlib.ExitStack() as stack:
        stack.enter_context(strobe.section("stacked"))
        stack.enter_context(strobe.section("with attributes", n=1))
    assert record().counts() == {("stacked",): 1, ("stacked", "with attributes"): 1}


def test_a_section_decorates(record):
    @strobe.section("decorated", frames=2)
    def work(x):
        return x + 1

    assert work(1) == 2 and work.__name__ == "work"
    zone, = record().named("decorated")
    assert zone.attrs == {"frames": 2}


@pytest.mark.parametrize("wrong", [(), ("a", "b"), (1,), (None,)])
def test_a_wrong_call_is_a_type_error(wrong):
    with pytest.raises(TypeError):
        strobe.section(*wrong)


def test_names_made_at_run_time_and_odd_ones(record):
    for i in range(1000):
        with strobe.section("chunk_%d" % (i % 10)):
            pass
    for name in ("", "ünïcode ☃", "x" * 5000):
        with strobe.section(name):
            pass
    assert len(record().zones) == 1003


class Unfriendly:
    def __str__(self):
        raise RuntimeError("no text for you")


class Tensorish:
    """A tensor on a device: reading it would wait."""
    shape, dtype, is_cpu = (2, 3), "torch.float16", False

    def item(self):
        raise AssertionError("waited for the GPU")

    __float__ = __int__ = __index__ = __bool__ = item


def test_any_value_may_be_an_attribute(record):
    numpy = pytest.importorskip("numpy")
    with strobe.section("values", bad=Unfriendly(), tensor=Tensorish(), i=numpy.int64(7), f=numpy.float32(0.5),
                        a=numpy.zeros((4, 2)), path=__import__("pathlib").Path("/a/b"), shape=(1, 2),
                        huge=1 << 100, nan=float("nan")):
        pass
    attrs = record().named("values")[0].attrs
    assert attrs.pop("nan") != 0
    assert attrs == {"tensor": "float16 2x3", "i": 7, "f": 0.5, "a": "float64 4x2", "path": "/a/b", "shape": "[1, 2]",
                     "huge": (1 << 63) - 1}


def test_no_object_leaks():
    name = "".join(["leak", "-", "check"])
    with strobe.section(name, value=name):
        pass

    def churn(n):
        for i in range(n):
            with strobe.section(name):
                pass
            with strobe.section(name, value=name, i=i):
                pass
            strobe.event("e", v=i)
            for _ in strobe.steps([1, 2]):
                pass

    churn(200)
    gc.collect()
    before, objects = sys.getrefcount(name), len(gc.get_objects())
    churn(2000)
    gc.collect()
    assert sys.getrefcount(name) == before
    assert len(gc.get_objects()) <= objects + 20


def test_no_object_leaks_while_recording(record):
    test_no_object_leaks()


def resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def test_a_million_sections_in_eight_threads(record):
    def work():
        section = strobe.section
        with section("thread"):
            for _ in range(1250):
                with section("outer"):
                    for _ in range(99):
                        with section("inner"):
                            pass

    before = resident_kib()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grown = resident_kib() - before
    counts = record().counts()
    assert counts == {("thread",): 8, ("thread", "outer"): 10000, ("thread", "outer", "inner"): 990000}
    assert grown < 32 * 1024, "%d KiB" % grown


def test_sections_that_were_folded_still_count(tmp_path):
    strobe.start("small", output_dir=tmp_path / "runs", config={"generate_final_report": False, "max_trace_bytes": "1 MiB"})
    with strobe.section("outer"):
        for _ in range(200000):
            with strobe.section("inner"):
                pass
    folder = strobe.run_dir()
    strobe.stop()
    recording = strobe_file.read(folder)[0]
    assert recording.folded["outer", "inner"] > 0
    assert recording.counts() == {("outer",): 1, ("outer", "inner"): 200000}


def test_sections_that_differ_only_in_gpu_are_made_once_each(record):
    plain, yes, no = (strobe.section("timed", **options) for options in ({}, {"gpu": True}, {"gpu": False}))
    assert yes is strobe.section("timed", gpu=True) is strobe.section("timed", gpu=1)
    assert no is strobe.section("timed", gpu=False)
    assert plain is strobe.section("timed", gpu=None)
    assert len({id(plain), id(yes), id(no)}) == 3
    with plain, yes, no:
        pass
    assert record().counts() == {("timed",): 1, ("timed",) * 2: 1, ("timed",) * 3: 1}


def test_a_call_with_one_keyword_is_not_taken_for_another_one(record):
    """The names of a call's keywords are remembered by where they lie, when they are gpu alone."""
    def made(**keywords):
        return strobe.section("told apart", **keywords)

    for _ in range(2):
        yes, code, no = made(gpu=True), made(code="4c"), made(gpu=False)
        assert yes is made(gpu=True) and no is made(gpu=False) and yes is not no
        assert code not in (yes, no, made())
    with yes, code, no, made(frames=3):
        pass
    assert [zone.code for zone in record().named("told apart")] == [None, "4c", None, None]


def test_a_keyword_that_is_not_interned_is_understood(record):
    with strobe.section("timed", **{"".join(["g", "pu"]): True, "".join(["co", "de"]): "4c"}):
        pass
    zone, = record().named("timed")
    assert (zone.code, zone.attrs) == ("4c", {})


def test_a_truth_that_cannot_be_told_is_the_callers_error(record):
    class Unclear:
        def __bool__(self):
            raise ValueError("unclear")
    with pytest.raises(ValueError):
        strobe.section("timed", gpu=Unclear())
    with pytest.raises(TypeError):
        strobe.section(7, gpu=True)


def test_a_name_of_a_subclass_of_str_works_with_attributes(record):
    class Stage(str):
        pass
    with strobe.section(Stage("decode"), gpu=True, frames=3):
        pass
    zone, = record().named("decode")
    assert zone.attrs == {"frames": 3}


def test_names_made_on_the_fly_are_let_go_of(record):
    before = sys.getallocatedblocks()
    for i in range(3000):
        with strobe.section("%s" % "same", gpu=True):
            pass
    gc.collect()
    assert sys.getallocatedblocks() - before < 1000
    assert record().counts() == {("same",): 3000}


def test_a_name_that_is_no_utf_8_is_escaped_not_raised(record):
    with strobe.section("video-\udcff.mp4"):
        strobe.event("loaded \udcff", n=1)
    with strobe.section("with code \udcff", code="4c"):
        pass
    assert set(record().counts()) == {("video-\\udcff.mp4",), ("with code \\udcff",)}


@pytest.mark.parametrize("call, says", [
    (lambda: strobe.section("a", code=5), "a stage code must be a str such as '4c', not 5"),
    (lambda: strobe.section(5, code="4c"), "a name must be a str"),
    (lambda: strobe.start(5), "a session's name must be a str, not 5"),
    (lambda: strobe.start(tags=[1]), "tags is a dict")])
def test_wrong_types_say_what_is_wanted(call, says):
    with pytest.raises(TypeError, match=says):
        call()
