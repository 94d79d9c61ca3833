"""A current ClickHouse (chdb embeds one): the schema that strobe prints, jobs loaded into it, and trends and diffs by its SQL."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import urllib.parse

import pytest
from chdb import session

from conftest import BUILD, TOOL

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "compare"))
from alike import differences  # noqa: E402

RANKS = 4
NAMES_OF_RUNS = ("run", "job")  # folders, and what the warehouse calls them


class Engine(http.server.BaseHTTPRequestHandler):
    """ClickHouse's HTTP interface in front of the embedded engine: what does not run there is an error here."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        sql = asked.get("query", "").encode() + b" " + self.read_body()
        status, answer = 200, b""
        try:
            with self.server.lock:
                answer = self.server.engine.query(sql, "TSV").bytes() or b""
        except Exception as error:  # the server says it in words, too
            status, answer = 500, str(error).encode()
            self.server.refused.append((sql[:300], str(error)[:300]))
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_):
        pass


def strobe(*words, **more):
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=900,
                          env={**os.environ, "NO_COLOR": "1", "STROBE_HISTORY": "off", **more})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def engine():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    server.engine, server.lock, server.refused = session.Session(), threading.Lock(), []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.url = f"clickhouse://127.0.0.1:{server.server_address[1]}/"
    yield server
    server.shutdown()
    server.engine.close()


@pytest.fixture(scope="module")
def jobs(engine, tmp_path_factory):
    """(their folders, their addresses in the engine); in the second one rank 2 is slow."""
    top = tmp_path_factory.mktemp("chdb")
    folders = [top / "even", top / "slow"]
    for folder, straggler in zip(folders, (-1, 2)):
        subprocess.run([BUILD / "tests" / "make_ranks", folder, str(RANKS), "400", str(straggler)], check=True, stdout=subprocess.DEVNULL)
    urls = [f"{engine.url}db?job={folder.name}" for folder in folders]
    for folder, url in zip(folders, urls):
        assert strobe("export", folder, "--to", url).startswith(f"{RANKS} runs, ")
    yield folders, urls
    assert engine.refused == []


def statements(text):
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [s.strip() for s in "\n".join(lines).split(";\n") if s.strip()]


@pytest.mark.parametrize("options", ["", "?cluster=fleet&replicated=1", "?tenant=a"])
@pytest.mark.parametrize("days", ["", "30"])
def test_the_printed_schema_is_taken_by_a_current_engine(engine, options, days):
    version = engine.engine.query("SELECT version()", "TSV").bytes().decode().strip()
    printed = statements(strobe("export", "--to", f"clickhouse://host:1/printed{options}", f"--print-schema={version}",
                                **({"STROBE_CLICKHOUSE_TTL_DAYS": days} if days else {})))
    assert len(printed) > 5 and any("TTL" in s for s in printed) == bool(days)
    for statement in printed:
        engine.engine.query("EXPLAIN AST " + statement)
        if "CLUSTER" not in statement:
            engine.engine.query(statement)


def test_aggregate_says_the_same_from_the_engine(jobs):
    for folder, url in zip(*jobs):
        local, remote = (json.loads(strobe("aggregate", where, "--format", "json")) for where in (folder, url))
        assert local["rank_count"] == RANKS and local["collective_count"] > 20
        assert list(differences(local, remote, but=NAMES_OF_RUNS)) == []


def test_diff_of_two_jobs_says_the_same_from_the_engine(jobs):
    local, remote = (json.loads(strobe("diff", *sides, "--format", "json")) for sides in jobs)
    for side in (local, remote):
        del side["base"], side["new"]  # what they are called
    assert list(differences(local, remote, but=("label",))) == []


@pytest.mark.parametrize("metric", ["wall_s", "rss_peak_bytes", "work"])
def test_a_trend_says_the_same_from_the_engine(engine, tmp_path, metric):
    history = {"STROBE_HISTORY": str(tmp_path / "history.db")}
    ranks = "for r in 0 1; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 TORCHELASTIC_RUN_ID=$1 $2 3; done"
    for job in ("first", "second"):
        strobe("run", "-q", "-o", tmp_path / job, "--", "sh", "-c", ranks, "sh", job, BUILD / "tests" / "marked", **history)
        strobe("export", tmp_path / job / "last", "--to", f"{engine.url}{metric}?job={job}")

    def trend(*where, **more):
        points = json.loads(strobe("history", "trend", metric, *where, "--format", "json", **more))["points"]
        return [(p["start_s"], pytest.approx(p["point_value"], rel=1e-9)) for p in points]
    local = trend(**history)
    assert len(local) == 2 and trend("--from", engine.url + metric) == local
