"""Generations that an error ends."""
import strobe
from test_auto import start_hooked

WORK = """
    import strobe
    def fail(text):
        raise RuntimeError(text)
    def ended(make):
        with strobe.section("around"):
            try:
                with strobe.generation():
                    make()
            except (RuntimeError, ValueError):
                pass
"""


def stages(folder, source):
    """Of its generations, as the report has them; None: it names no stage."""
    done = start_hooked(folder, WORK + source)
    return [item.get("error_stage") for item in strobe.report(done.run_dir).data["generations"]["items"]]


def test_a_generation_that_fails_says_what_where_and_in_which_stage(tmp_path):
    done = start_hooked(tmp_path, """
        import strobe
        def work(text):
            with strobe.section("denoise"), strobe.section("transformer"):
                raise RuntimeError(text)
        def one(text, inside):
            with strobe.generation():
                try:
                    work("a retry")
                except RuntimeError:
                    pass
                if inside:
                    work(text)
                raise ValueError(text)
        for inside in (True, False):
            try:
                one("two  lines\\n" + "x" * 400, inside)
            except (RuntimeError, ValueError):
                pass
        with strobe.generation():
            pass
    """)
    first, second, third = [zone.attrs for zone in done.recordings[0].named("generation")]
    assert first["error"] == "RuntimeError"
    assert first["error_message"].startswith("two lines xxx") and len(first["error_message"]) == 300
    assert first["error_file"].endswith(".py") and first["error_line"] == 5
    assert second["error"] == "ValueError" and second["error_line"] == 14
    assert not [key for key in third if key.startswith("error")]
    items = strobe.report(done.run_dir).data["generations"]["items"]
    assert [item.get("error_stage") for item in items] == ["transformer", None, None]  # the second's is not where it retried
    assert items[0]["failure"].endswith("program.py:5) in transformer") and items[0]["error_place"].endswith("program.py:5")


def test_of_two_errors_of_one_class_and_line_the_second_has_the_stage(tmp_path):
    """The first one is caught and freed; the second may well lie where it lay."""
    assert stages(tmp_path, """
    def make():
        for stage in "text_encode", "denoise":
            try:
                with strobe.section(stage):
                    fail("no")
            except RuntimeError:
                if stage == "denoise":
                    raise
    ended(make)
    ended(make)
    """) == ["denoise", "denoise"]


def test_an_interrupt_at_the_jump_back_of_a_loop_comes_from_its_line(tmp_path):
    """On CPython 3.11 the jump has no line, and it is where signals are seen."""
    done = start_hooked(tmp_path, """
        import strobe
        import signal
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        def turns(values):
            while True:
                for value in values:
                    if value:
                        values[0] = value
        try:
            with strobe.generation():
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                turns([0, 1])
        except KeyboardInterrupt:
            pass
    """)
    [generation] = [zone.attrs for zone in done.recordings[0].named("generation")]
    assert generation["error"] == "KeyboardInterrupt" and 6 <= generation["error_line"] <= 9


def test_what_a_finally_block_does_is_not_where_the_error_comes_from(tmp_path):
    assert stages(tmp_path, """
    def make():
        with strobe.section("denoise"):
            try:
                with strobe.section("transformer"):
                    fail("no")
            finally:
                with strobe.section("clean_up"):
                    pass
    ended(make)
    """) == ["denoise"]


def test_a_turn_of_a_loop_that_an_error_leaves_has_it_too(tmp_path):
    assert stages(tmp_path, """
    def make():
        for step in strobe.steps(range(3)):
            with strobe.section("transformer"):
                if step == 1:
                    fail("no")
    def inside():
        with strobe.steps(range(3)) as loop:
            for step in loop:
                with strobe.section("vae"):
                    fail("no")
    def alone():
        for block in strobe.blocks(range(3)):
            fail("no")
    def caught():
        for step in strobe.steps(range(3)):
            try:
                with strobe.section("transformer"):
                    fail("no")
            except RuntimeError:
                break
        raise ValueError("later")
    for one in make, inside, alone, caught:
        ended(one)
    """) == ["transformer", "vae", "block", None]


def test_what_is_around_a_loop_whose_iterator_is_kept_has_the_error_too(program):
    done = program("""
        import strobe
        strobe.start("test")
        def one(kept):
            with strobe.generation():
                with strobe.section("inner"):
                    pass
                for step in kept:
                    with strobe.section("inner"):
                        pass
                    break
                raise ValueError("later")
        for _ in range(2):
            try:
                one(strobe.steps(3))
            except ValueError as error:
                last = error
        with strobe.section("outer"):
            for turn in (kept := strobe.iterations(3)):
                with strobe.section("inner"):
                    pass
                break
        with strobe.section("after"):
            next(kept)
        strobe.stop()
        """)
    recording, = done.recordings
    for zone in recording.named("generation"):
        assert (zone.attrs["error"], zone.attrs["error_message"]) == ("ValueError", "later")
        assert [child.name for child in zone.children] == ["inner", "denoise"] and "error_message" not in zone.children[1].attrs
    outer, after = recording.named("outer") + recording.named("after")
    assert [child.name for child in outer.children] == ["iteration"] and "error" not in outer.attrs
    assert [child.name for child in outer.children[0].children] == ["inner"]
    assert [child.name for child in after.children] == ["iteration"] and all(zone.closed for zone in recording.zones)


def test_a_generator_that_ends_does_not_end_the_turn_around_it(program):
    done = program("""
        import strobe
        strobe.start("test")
        def frames():
            with strobe.section("decode"):
                yield 1
                yield 2
        for video in strobe.iterations(range(3)):
            reader = frames()  # the one of the turn before ends here
            for step in strobe.steps(range(2)):
                next(reader)
            with strobe.section("export"):
                pass
        strobe.stop()
        """)
    recording, = done.recordings
    turns = recording.named("iteration")
    assert [[child.name for child in turn.children] for turn in turns] == [["denoise", "denoise", "export"]] * 3
    assert not any("error" in zone.attrs for zone in recording.zones)


def test_an_error_that_becomes_another_one_comes_from_where_that_was_raised(tmp_path):
    assert stages(tmp_path, """
    def make():
        with strobe.section("denoise"):
            try:
                with strobe.section("transformer"):
                    fail("no")
            except RuntimeError as error:
                raise ValueError("no shape") from error
    ended(make)
    """) == ["denoise"]


def test_what_a_program_gives_to_exit_is_taken_as_it_is(tmp_path):
    assert stages(tmp_path, """
    def make():
        zone = strobe.section("denoise")
        for given in (RuntimeError("no"), None), ("no exception", 3):
            zone.__enter__()
            zone.__exit__(RuntimeError, *given)
        with strobe.section("next"):
            pass
        fail("no")
    ended(make)
    """) == [None]


def test_what_cannot_be_loaded_does_not_replace_the_programs_exception(program):
    """As where no file can be opened any more."""
    done = program("""
        import sys, strobe
        for name in "_failed", "_report", "_memory.growth", "_memory.out_of_memory":
            sys.modules["strobe." + name] = None
        def one():
            with strobe.session("one"), strobe.generation():
                raise ValueError("the program's own")
        for _ in range(2):
            try:
                one()
            except ValueError as error:
                print(error, error.__context__)
    """, env={"STROBE_DEBUG": "0"})
    assert done.stdout.splitlines() == ["the program's own None"] * 2
