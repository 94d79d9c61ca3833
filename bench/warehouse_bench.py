#!/usr/bin/env python3
"""How fast a job of many ranks goes into ClickHouse and comes back as a report: Debian's server on the loopback, on the same
cores as the tool. usage: warehouse_bench.py BUILD"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import rows
from rows import run

BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "compare"))
import clickhouse_server  # noqa: E402

STROBE = BUILD / "strobe"
RANKS, ZONES, ROUNDS = 1024, 1000, 5
TABLES = ("runs", "stages", "steps", "samples", "gpu_kernels", "meetings")


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(server, job, name):
    """Rows, wall seconds, CPU seconds of the tool and of the server. Each load is a job of its own: none replaces another."""
    before = cpu_s(server.process.pid)
    own, wall, _ = run(STROBE, "export", job, "-q", "--to", server.url(f"bench?job={name}"))
    its = cpu_s(server.process.pid) - before
    return sum(int(server.ask(f"SELECT count() FROM bench.{table} WHERE job = '{name}'")) for table in TABLES), wall, own, its


def floor(server, name):
    """The server alone: the CPU seconds that it takes for the rows of a load, already sorted, in one insert for each table."""
    bodies = {}
    for table in TABLES:
        server.ask(f"CREATE TABLE IF NOT EXISTS floor.{table} AS bench.{table}")
        key = server.ask(f"SELECT sorting_key FROM system.tables WHERE database = 'bench' AND name = '{table}'")
        sql = f"SELECT * FROM bench.{table} WHERE job = '{name}' ORDER BY {key} FORMAT RowBinary"
        bodies[table] = urllib.request.urlopen(f"http://127.0.0.1:{server.http}/", data=sql.encode()).read()
    before = cpu_s(server.process.pid)
    for table, body in bodies.items():
        if body:
            sql = urllib.parse.quote(f"INSERT INTO floor.{table} FORMAT RowBinary")
            urllib.request.urlopen(f"http://127.0.0.1:{server.http}/?query={sql}", data=body).read()
    return cpu_s(server.process.pid) - before


def measure(server, folder):
    job = folder / "job"
    subprocess.run([BUILD / "tests/make_ranks", job, str(RANKS), str(ZONES), "17", "128", "3"], check=True)
    server.ask("CREATE DATABASE bench")
    load(server, job, "first")  # makes the tables
    loads = [load(server, job, f"load{i}") for i in range(ROUNDS)]
    rows.head("%d ranks into ClickHouse %s, %d rows, load %.1f on %d cores" % (
        RANKS, server.ask("SELECT version()"), loads[0][0], os.getloadavg()[0], os.cpu_count()))
    rates = sorted(count / wall / 1000 for count, wall, _, _ in loads)
    rows.row("thousand rows a second by the clock, median", rates[ROUNDS // 2], "k/s", 200, ">=")
    rows.row("thousand rows a second by the clock, worst", rates[0], "k/s")
    rates = sorted(count / (own + its) / 1000 for count, _, own, its in loads)
    rows.row("thousand rows a second of CPU, tool and server, median", rates[ROUNDS // 2], "k/s", 100, ">=")
    rows.row("thousand rows a second of CPU, tool and server, worst", rates[0], "k/s")
    rows.row("thousand rows a second of CPU, the tool alone, median", sorted(count / own / 1000 for count, _, own, _ in loads)[ROUNDS // 2], "k/s")
    server.ask("CREATE DATABASE floor")
    alone = sorted(floor(server, f"load{i}") for i in range(ROUNDS))[ROUNDS // 2]
    rows.row("thousand rows a second of CPU, the server alone", sorted(count / its / 1000 for count, _, _, its in loads)[ROUNDS // 2], "k/s")
    rows.row("... with the same rows sorted, one insert for each table", loads[0][0] / alone / 1000, "k/s")
    walls = sorted(run(STROBE, "aggregate", server.url("bench?job=load0"))[1] for _ in range(ROUNDS))
    rows.row("aggregate of them from the server, median", walls[ROUNDS // 2], "s")
    rows.row("aggregate of them from the server, worst", walls[-1], "s")


def main():
    if not clickhouse_server.SERVER:
        print("\nRanks into ClickHouse\n  not measured: no clickhouse-server (Debian: clickhouse-server)")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        server = clickhouse_server.Server(folder / "server", clickhouse_server.free_port(), clickhouse_server.free_port(), [])
        server.start()
        try:
            measure(server, folder)
        finally:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait()


main()
