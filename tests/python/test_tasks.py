"""Zones stay with their task, however the event loop interleaves them."""
import asyncio
import collections
import contextvars
import threading

import strobe


def test_a_thousand_interleaved_tasks_keep_their_zones(record):
    async def work(i):
        with strobe.section("task"):
            for _ in range(3):
                with strobe.section("part", task=i):
                    await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*[work(i) for i in range(1000)])

    with strobe.section("main"):
        asyncio.run(main())
    done = record()
    assert done.counts() == {("main",): 1, ("task",): 1000, ("task", "part"): 3000}
    for root in done.named("task"):
        assert len({zone.attrs["task"] for zone in root.children}) == 1 and len(root.children) == 3
    assert all(zone.closed for zone in done.zones) and not done.unmatched_ends
    assert len({zone.track for zone in done.named("task")}) == 1000


def test_tracks_are_reused_when_their_task_is_gone(record):
    async def work():
        with strobe.section("short"):
            await asyncio.sleep(0)

    async def main():
        for _ in range(200):
            await asyncio.create_task(work())

    asyncio.run(main())
    done = record()
    assert len(done.named("short")) == 200
    assert len({zone.track for zone in done.named("short")}) <= 5


def test_a_context_run_without_a_task_stays_on_its_thread(record):
    def inside():
        with strobe.section("inside"):
            pass

    with strobe.section("outside"):
        contextvars.copy_context().run(inside)
    assert record().counts() == {("outside",): 1, ("outside", "inside"): 1}


def test_loops_in_several_threads(record):
    async def work(name):
        with strobe.section(name):
            await asyncio.sleep(0)
            with strobe.section("inner"):
                await asyncio.sleep(0)

    async def main(name):
        await asyncio.gather(*[work(name) for _ in range(20)])

    threads = [threading.Thread(target=lambda n=n: asyncio.run(main("loop%d" % n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = collections.Counter()
    for n in range(4):
        expected["loop%d" % n,] = expected["loop%d" % n, "inner"] = 20
    assert record().counts() == expected


def test_cancelled_tasks_close_their_zones(record):
    async def work():
        with strobe.section("cancelled"):
            await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with strobe.section("after"):
            pass

    asyncio.run(main())
    done = record()
    assert done.counts() == {("cancelled",): 1, ("after",): 1}
    assert done.named("cancelled")[0].attrs == {"error": "CancelledError"}


def test_a_span_ends_on_another_thread(record):
    span = strobe.span("request")
    thread = threading.Thread(target=lambda: span.end(frames=3))
    thread.start()
    thread.join()
    span.end()  # a second end is nothing
    import strobe_file
    spans = record().of(strobe_file.SPAN)
    assert [name for name, _ in spans] == ["request"]
