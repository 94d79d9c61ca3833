#!/usr/bin/env python3
"""What scrapes of 64 live ranks cost: `strobe serve` beside ranks that record all the time. usage: fleet_bench.py BUILD"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

import rows

BUILD = pathlib.Path(sys.argv[1]).resolve()
RANKS, SCRAPES, PERIOD_S = 64, 5, 15


def start_rank(folder, rank):
    env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank % 8), WORLD_SIZE=str(RANKS), TORCHELASTIC_RUN_ID="fleet", MASTER_PORT="1")
    one = subprocess.Popen([BUILD / "tests/live_recorder", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
    one.stdout.readline()
    return one


def cpu_s(pid):
    """CPU seconds of the server and of the process that reads runs for it."""
    spent = 0
    for one in [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(") ", 1)[1].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / os.sysconf("SC_CLK_TCK")


def machine():
    """Ticks that other machines took of this one's processors, and all ticks."""
    ticks = list(map(int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return ticks[7], sum(ticks)


def scrape(address):
    begin = time.monotonic()
    body = urllib.request.urlopen(address + "metrics", timeout=60).read()
    assert body.count(b"strobe_run_info{") >= RANKS
    return time.monotonic() - begin


def main():
    with tempfile.TemporaryDirectory() as folder:
        ranks = [start_rank(folder, rank) for rank in range(RANKS)]
        server = subprocess.Popen([BUILD / "strobe", "serve", folder, "--port", "0"], stdout=subprocess.PIPE, text=True)
        address = server.stdout.readline().split(" at ")[1].split()[0]
        scrape(address)
        before, spent, walls = machine(), cpu_s(server.pid), []
        begin = time.monotonic()
        for _ in range(SCRAPES):
            time.sleep(PERIOD_S)
            walls.append(scrape(address))
        taken, spent, after = time.monotonic() - begin, cpu_s(server.pid) - spent, machine()
        server.terminate()
        for one in ranks:
            one.stdin.close()
        for one in [server, *ranks]:
            one.wait()
    stolen = (after[0] - before[0]) / (after[1] - before[1])
    rows.head("Scrapes of %d live ranks every %d s, load %.1f on %d cores, %.0f %% stolen" % (RANKS, PERIOD_S, os.getloadavg()[0], os.cpu_count(), 100 * stolen))
    rows.row("a scrape by the clock, median", sorted(walls)[SCRAPES // 2], "s", 0.2)
    rows.row("a scrape by the clock, worst", max(walls), "s")
    rows.row("the server, CPU time of a core", 100 * spent / taken, "%", 2)


main()
