"""Generations that an error ends."""
from test_auto import start_hooked


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
    assert first["error"] == "RuntimeError" and first["error_stage"] == "transformer"
    assert first["error_message"].startswith("two lines xxx") and len(first["error_message"]) == 300
    assert first["error_file"].endswith(".py") and first["error_line"] == 5
    assert second["error"] == "ValueError" and second["error_line"] == 14 and "error_stage" not in second  # not where it retried
    assert not [key for key in third if key.startswith("error")]
