#!/usr/bin/env python3
"""strobe serve under load, on loopback: 1 000 slow clients, many page loads and hostile recordings at
once. What is asserted are counts and outcomes; what it took is printed.

usage: tests/serve/load.py BUILD
       tests/serve/load.py BUILD --rate=500 --seconds=20: page loads at a fixed rate, whatever the server
       does; prints how many were answered, and how soon the owner's page was (tests assert no duration)
"""
import asyncio
import multiprocessing
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

from run import PATIENCE_S, Recorder, Server, until

SLOW = 1000
PROCESSES = 4  # that make the page loads of a fixed rate
PROBE_S = 0.1  # between two looks at the owner's page
LOADERS, LOADS = 8, 60
HOSTILE = 16
MEMORY_BYTES = 256 << 20


def allow_sockets():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SLOW + 200
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if hard > 0 else wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= wanted


def make_hostile(source, folder, seed):
    """A copy of a run with bytes changed: in the header, in chunk headers, in words; or cut, or a pipe."""
    chance = random.Random(seed)
    target = pathlib.Path(folder, f"hostile-{seed}")
    target.mkdir()
    if seed % 8 == 7:
        os.mkfifo(target / "run.strobe")
        return target.name
    for file in source.glob("*.strobe"):
        data = bytearray(file.read_bytes())
        for _ in range(1 << seed % 8):
            at = chance.randrange(12, len(data))
            data[at] = chance.randrange(256)
        if seed % 8 == 6:
            del data[chance.randrange(len(data)):]
        (target / file.name).write_bytes(data)
    return target.name


def resident(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass  # between two workers
    return 0


class Watch(threading.Thread):
    """The most memory that server and worker had together."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.most, self.ended = server, 0, threading.Event()

    def now(self):
        pid = self.server.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return resident(pid) + sum(resident(child) for child in children)

    def run(self):
        while not self.ended.wait(0.01):
            self.most = max(self.most, self.now())


class Loader(threading.Thread):
    def __init__(self, server, paths, count):
        super().__init__(daemon=True)
        self.server, self.paths, self.count = server, paths, count
        self.outcomes, self.seconds = [], []

    def run(self):
        for i in range(self.count):
            path = self.paths[i % len(self.paths)]
            begin = time.monotonic()
            try:
                outcome = self.server.get(path).status
            except OSError as error:
                outcome = repr(error)
            self.seconds.append(time.monotonic() - begin)
            self.outcomes.append((path, outcome))


async def load_page(port, path, results):
    begin = time.monotonic()
    status, size = "refused", 0
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), PATIENCE_S)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        head = await asyncio.wait_for(reader.readline(), PATIENCE_S)
        status = int(head.split()[1]) if len(head.split()) > 1 else "closed"
        while data := await asyncio.wait_for(reader.read(1 << 18), PATIENCE_S):
            size += len(data)
        writer.close()
    except (OSError, asyncio.TimeoutError):
        pass
    results.append((path, status, time.monotonic() - begin, size))


async def load_at(port, paths, rate, seconds):
    """One after the other by the clock, not by the answers."""
    results, tasks, begin = [], [], time.monotonic()
    for i in range(int(rate * seconds)):
        wait = begin + i / rate - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(load_page(port, paths[i % len(paths)], results)))
    await asyncio.gather(*tasks)
    return results


def load_in_process(port, paths, rate, seconds, pipe):
    pipe.send(asyncio.run(load_at(port, paths, rate, seconds)))


def load_from_processes(port, paths, rate, seconds):
    """All page loads, and those of a probe that does nothing else than look at the first page."""
    plans = [(paths[i:] + paths[:i], rate / PROCESSES) for i in range(PROCESSES)] + [(paths[:1], 1 / PROBE_S)]
    started = []
    for own, own_rate in plans:
        here, there = multiprocessing.Pipe()
        process = multiprocessing.Process(target=load_in_process, args=(port, own, own_rate, seconds, there))
        process.start()
        started.append((process, here))
    results = []
    for process, here in started:
        results.append(here.recv())
        process.join()
    return [one for part in results[:-1] for one in part], results[-1]


def figures(results):
    seconds = sorted(s for _, status, s, _ in results if status == 200)
    counts = {}
    for _, status, _, _ in results:
        counts[status] = counts.get(status, 0) + 1
    if not seconds:
        return f"{counts}"
    return (f"{counts}, median {seconds[len(seconds) // 2] * 1e3:.0f} ms, 99 % {seconds[len(seconds) * 99 // 100] * 1e3:.0f} ms, "
            f"longest {seconds[-1] * 1e3:.0f} ms, {sum(s <= 1 for s in seconds)} of {len(results)} within a second")


class Load(unittest.TestCase):
    @unittest.skipUnless(allow_sockets(), "this machine allows too few descriptors")
    def test_slow_clients_page_loads_and_hostile_recordings_at_once(self):
        with tempfile.TemporaryDirectory(prefix="strobe-load-") as folder:
            ended, live, hostile = self.record(folder)
            server = Server(folder)
            watch = Watch(server)
            try:
                self.press(server, watch, live, ended, hostile)
            finally:
                watch.ended.set()
                live.stop()
                self.assertEqual(server.stop(signal.SIGTERM), 0)

    def record(self, folder):
        """A run that ended, one that is being recorded, and damaged copies of the first."""
        ended = Recorder(folder)
        for _ in range(200):
            ended.zones()
        ended.stop()
        live = Recorder(folder)
        return ended, live, [make_hostile(pathlib.Path(folder, ended.run), folder, seed) for seed in range(HOSTILE)]

    def press_at_rate(self, folder, rate, seconds):
        ended, live, hostile = self.record(folder)
        server = Server(folder)
        watch = Watch(server)
        paths = self.pages(live, ended)
        for path in paths:
            server.get(path)
        before, memory_before = self.descriptors(server), watch.now()
        watch.start()
        slow = self.come_slowly(server, paths[0])
        strangers = [Loader(server, [f"/runs/{name}" for name in hostile], max(len(hostile), int(2 * seconds)))]
        strangers[0].start()
        pages, probe = load_from_processes(server.port, paths, rate, seconds)
        for s in slow:
            s.close()
        until("descriptors to be given back", lambda: self.descriptors(server) <= before)
        watch.ended.set()
        live.stop()
        until("memory to be given back", lambda: watch.now() <= memory_before + (24 << 20))
        print(f"{rate:g} page loads a second for {seconds:g} s beside {SLOW} slow clients and {len(hostile)} hostile recordings:\n"
              f"  page loads: {figures(pages)}; {sum(size for *_, size in pages) >> 20} MiB\n  the owner's page: {figures(probe)}\n"
              f"  memory {memory_before >> 20} -> {watch.most >> 20} -> {watch.now() >> 20} MiB; {len(server.said())} lines in the log")
        return server.stop(signal.SIGTERM) == 0 and watch.most <= MEMORY_BYTES and all(o[1] == 200 for o in probe)

    def pages(self, live, ended):
        return [f"/runs/{urllib.parse.quote(live.run)}", "/", "/metrics", f"/api/runs/{urllib.parse.quote(ended.run)}/report.json",
                f"/api/runs/{urllib.parse.quote(ended.run)}/timeline"]

    def descriptors(self, server):
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def press(self, server, watch, live, ended, hostile):
        owner = self.pages(live, ended)
        for path in owner:
            self.assertEqual(server.get(path).status, 200, path)
        until("quiet", lambda: self.descriptors(server) < 20)
        before, memory_before = self.descriptors(server), watch.now()
        watch.start()
        slow = self.come_slowly(server, owner[0])
        loaders = [Loader(server, owner[i % 2:] + owner[:i % 2], LOADS) for i in range(LOADERS)]
        strangers = [Loader(server, [f"/runs/{name}" for name in hostile], len(hostile)),
                     Loader(server, [f"/diff?base={name}&new={ended.run}" for name in hostile[:4]], 4)]
        begin = time.monotonic()
        for thread in loaders + strangers:
            thread.start()
        for thread in loaders + strangers:
            thread.join(PATIENCE_S)
            self.assertFalse(thread.is_alive(), "somebody still waits")
        took = time.monotonic() - begin
        bad = [o for t in loaders for o in t.outcomes if o[1] != 200]
        self.assertEqual(bad, [], "the owner's pages")
        for thread in strangers:
            for path, outcome in thread.outcomes:
                self.assertIn(outcome, (200, 404, 500), path)
        self.assertEqual(server.get("/metrics").status, 200)
        for s in slow:
            s.close()
        until("descriptors to be given back", lambda: self.descriptors(server) <= before)
        self.assertLessEqual(watch.most, MEMORY_BYTES)
        until("memory to be given back", lambda: watch.now() <= memory_before + (24 << 20))
        self.assertLessEqual(len(server.said()), 12, "lines in the log")
        seconds = sorted(s for t in loaders for s in t.seconds)
        print(f"\n{len(seconds)} of the owner's pages in {took:.1f} s beside {SLOW} slow clients: median {seconds[len(seconds) // 2] * 1e3:.0f} ms, "
              f"99 % {seconds[len(seconds) * 99 // 100] * 1e3:.0f} ms, longest {seconds[-1] * 1e3:.0f} ms; memory {memory_before >> 20} -> "
              f"{watch.most >> 20} -> {watch.now() >> 20} MiB; {len(server.said())} lines in the log")

    def come_slowly(self, server, page):
        """Half a head, nothing at all, and a whole request whose answer is never read."""
        ways = [b"GET / HTTP/1.1\r\nHost: local", b"", f"GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()]
        slow = []
        for i in range(SLOW):
            s = server.connect()
            slow.append(s)
            try:
                s.sendall(ways[i % 3])
            except OSError:
                pass  # thrown out already: that is what the limit is for
        return slow


def option(name):
    return next((float(a.split("=", 1)[1]) for a in sys.argv if a.startswith(f"--{name}=")), 0)


if __name__ == "__main__":
    if option("rate"):
        allow_sockets()
        with tempfile.TemporaryDirectory(prefix="strobe-load-") as folder:
            sys.exit(0 if Load().press_at_rate(folder, option("rate"), option("seconds") or 20) else 1)
    unittest.main(verbosity=2)
