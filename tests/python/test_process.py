"""Exit, fork, spawn: the recording is there whatever the process does."""
import os
import struct

import pytest



def test_the_end_of_the_program_ends_the_session(program):
    done = program("""
        import strobe
        strobe.start("no-stop")
        with strobe.section("work"):
            pass
    """)
    assert done.recordings[0].counts() == {("work",): 1}


def test_an_uncaught_exception_keeps_its_own_words(program):
    done = program("""
        import strobe
        strobe.start()
        with strobe.section("work"):
            raise SystemError("mine")
    """, check=False)
    assert done.returncode == 1 and "SystemError: mine" in done.stderr
    assert done.recordings[0].named("work")[0].attrs == {"error": "SystemError"}


def closed_of(done):
    """The word in the header that says how the recording was closed: 1 in order, 2 its process failed then."""
    with open(done.recordings[0].path, "rb") as file:
        return struct.unpack_from("<I", file.read(1024), 888)[0]


@pytest.mark.parametrize("end, closed", [("", 1), ("sys.exit(0)", 1), ("sys.exit(3)", 2), ("raise ValueError", 2)])
def test_how_the_program_ended_is_in_its_recording(program, end, closed):
    done = program("""
        import sys, strobe
        strobe.start()
        with strobe.section("work"):
            pass
        %s
    """ % end, check=False)
    assert closed_of(done) == closed


def test_a_program_that_failed_and_is_killed_while_it_ends_did_not_end_in_order(program):
    """As torchrun does with the other ranks."""
    done = program("""
        import atexit, os, signal
        atexit.register(os.kill, os.getpid(), signal.SIGTERM)  # after strobe's own
        import strobe
        strobe.start()
        raise ValueError
    """, check=False)
    assert done.returncode == -15 and closed_of(done) == 2


def test_a_forked_child_that_fails_is_not_the_program(program):
    done = program("""
        import ctypes, os, strobe
        strobe.start()
        child = os.fork()
        if not child:
            ctypes.CDLL(None).exit(4)
        os.waitpid(child, 0)
    """)
    assert closed_of(done) == 1


def test_a_killed_program_leaves_its_zones(program):
    done = program("""
        import os, signal, strobe
        strobe.start()
        with strobe.section("work"):
            with strobe.section("done"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
    """, check=False)
    assert done.returncode == -9
    assert done.recordings[0].counts() == {("work",): 1, ("work", "done"): 1}


def test_fork_in_the_middle_of_a_section(program):
    done = program("""
        import os, strobe
        strobe.start()
        with strobe.section("parent"):
            child = os.fork()
            if not child:
                for _ in range(100):
                    with strobe.section("child"):
                        pass
                strobe.stop()
                os._exit(0)
            os.waitpid(child, 0)
            with strobe.section("after"):
                pass
    """)
    parent, child = done.recordings
    assert parent.counts() == {("parent",): 1, ("parent", "after"): 1}
    assert child.counts()["child",] == 100


def test_fork_inside_asyncio_tasks(program):
    done = program("""
        import asyncio, os, strobe
        strobe.start()
        async def work():
            with strobe.section("task"):
                await asyncio.sleep(0)
                child = os.fork()
                if not child:
                    with strobe.section("child"):
                        pass
                    strobe.stop()
                    os._exit(0)
                os.waitpid(child, 0)
        asyncio.run(work())
    """)
    parent, child = done.recordings
    assert parent.counts() == {("task",): 1} and child.counts()["child",] == 1


POOL = """
    import multiprocessing, sys, strobe

    @strobe.profile("worker")
    def worker(x):
        return x * 2

    if __name__ == "__main__":
        strobe.start()
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            assert pool.map(worker, range(20)) == [x * 2 for x in range(20)]
            pool.close()
            pool.join()
        strobe.stop()
"""


def zones_of(recordings, name):
    return sum(len(recording.named(name)) for recording in recordings)


def test_a_forked_pool_records_in_the_same_run(program):
    assert zones_of(program(POOL, "fork").recordings, "worker") == 20


def test_a_spawned_pool_records_in_the_same_run(program):
    assert zones_of(program(POOL, "spawn").recordings, "worker") == 20


def test_the_environment_is_as_it_was_after_stop(program):
    program("""
        import os, strobe
        before = dict(os.environ)
        strobe.start()
        assert os.environ["STROBE_ENABLED"] == "1"
        strobe.stop()
        assert dict(os.environ) == before
    """)


def test_switched_off_by_the_environment(program):
    done = program("""
        import strobe
        strobe.start()
        assert not strobe.recording()
        with strobe.section("off"):
            pass
        strobe.stop()
    """, env={"STROBE_ENABLED": "0"})
    assert done.run_dir is None


def test_a_folder_that_cannot_be_made_is_one_warning(program):
    done = program("""
        import strobe, warnings
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            strobe.start(output_dir="/proc/nowhere")
        assert len(seen) == 1 and "records nothing" in str(seen[0].message), seen
        with strobe.section("on"):
            pass
    """, env={"STROBE_OUTPUT_DIR": "/proc/nowhere"})
    assert done.run_dir is None


def test_the_package_is_inert_where_the_extension_cannot_load(program, tmp_path):
    import shutil
    import strobe
    copy = tmp_path / "copy" / "strobe"
    shutil.copytree(os.path.dirname(strobe.__file__), copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    done = program("""
        import asyncio, strobe
        strobe.start()
        @strobe.profile
        def f(): return 1
        with strobe.section("a", x=1) as s:
            s.set(y=2)
            assert f() == 1
        assert list(strobe.steps([1, 2])) == [1, 2]
        with strobe.generation(frames=1): pass
        strobe.event("e"); strobe.snapshot("s"); strobe.frames(1); strobe.cache("c", "hit")
        strobe.stop()
    """, env={"PYTHONPATH": str(tmp_path / "copy")})
    assert "strobe records nothing" in done.stderr


def test_sub_interpreters_have_their_own_state(program):
    done = program("""
        import strobe, sys
        strobe.start()
        # One that shares the GIL: with a GIL of its own the package is inert, with a warning.
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
            inner = interpreters.create("legacy")
        else:
            import _xxsubinterpreters as interpreters
            inner = interpreters.create(isolated=False)
        path = repr(sys.path)
        interpreters.run_string(inner, "import sys; sys.path[:] = %s\\nimport strobe\\n"
                                "with strobe.section('inner', n=1): pass" % path)
        interpreters.destroy(inner)
        with strobe.section("outer"):
            pass
        strobe.stop()
    """)
    assert done.recordings[0].counts() == {("inner",): 1, ("outer",): 1}


