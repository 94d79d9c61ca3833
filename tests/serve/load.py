#!/usr/bin/env python3
"""strobe serve under load, on loopback: 1 000 slow clients, many page loads and hostile recordings at
once. What is asserted are counts and outcomes; what it took is printed.

usage: tests/serve/load.py BUILD
"""
import os
import pathlib
import random
import resource
import shutil
import signal
import tempfile
import threading
import time
import unittest
import urllib.parse

from run import PATIENCE_S, Recorder, Server, until

SLOW = 1000
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


class Load(unittest.TestCase):
    @unittest.skipUnless(allow_sockets(), "this machine allows too few descriptors")
    def test_slow_clients_page_loads_and_hostile_recordings_at_once(self):
        with tempfile.TemporaryDirectory(prefix="strobe-load-") as folder:
            ended = Recorder(folder)
            for _ in range(200):
                ended.zones()
            ended.stop()
            live = Recorder(folder)
            hostile = [make_hostile(pathlib.Path(folder, ended.run), folder, seed) for seed in range(HOSTILE)]
            server = Server(folder)
            watch = Watch(server)
            try:
                self.press(server, watch, live, ended, hostile)
            finally:
                watch.ended.set()
                live.stop()
                self.assertEqual(server.stop(signal.SIGTERM), 0)

    def descriptors(self, server):
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def press(self, server, watch, live, ended, hostile):
        owner = [f"/runs/{urllib.parse.quote(live.run)}", "/", "/metrics", f"/api/runs/{urllib.parse.quote(ended.run)}/report.json",
                 f"/api/runs/{urllib.parse.quote(ended.run)}/timeline"]
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
