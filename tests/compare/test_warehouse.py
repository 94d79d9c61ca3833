"""The warehouse, against a real clickhouse-server on loopback that the test starts itself."""
import http.server
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import threading
import urllib.parse

import pytest
import tls
from alike import differences
from clickhouse_server import SERVER, Server, free_port

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", SOURCE / "build"))
TOOL = BUILD / "strobe"

pytestmark = pytest.mark.skipif(not SERVER, reason="no clickhouse-server here")


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    ports = [(free_port(), free_port()) for _ in range(2)]
    folder = tmp_path_factory.mktemp("clickhouse")
    both = [Server(folder / str(i), *ports[i], [tcp for _, tcp in ports]) for i in range(2)]
    for server in both:
        server.start()
    yield both
    for server in both:
        server.kill()


RANKS = 1024


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """RANKS ranks, of which 3 is slow and 5 is missing."""
    folder = tmp_path_factory.mktemp("ranks") / "job"
    subprocess.run([BUILD / "tests" / "make_ranks", folder, str(RANKS), "800", "3", "4", "40"], check=True)
    shutil.rmtree(folder / "rank_5")
    return folder


def strobe(*args, code=0, **env):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    done = subprocess.run([TOOL, *map(str, args)], env={**kept, "STROBE_HISTORY": "off", "NO_COLOR": "1", **env},
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def aggregated(where):
    return json.loads(strobe("aggregate", where, "--format", "json").stdout)


def check_same(local, remote):
    assert remote["missing_ranks"] == local["missing_ranks"] == [5]
    assert [r["rank"] for r in remote["reports_summary"] if r["straggler"]] == [3]
    assert remote["reports_summary"][3]["slow_stage"] == "forward"
    for key, extent in local["metrics"].items():
        assert remote["metrics"][key] == pytest.approx(extent, rel=1e-9), key
    assert local["collective_count"] == 200 and local["reports_summary"][3]["last_count"] > 150
    assert any(abs(r["clock"]["offset_s"]) > 1e-3 for r in local["reports_summary"])
    for key in ("collective_count", "clock_residual_s", "straggler_count", "wait_s"):
        assert remote[key] == pytest.approx(local[key], rel=1e-6, abs=1e-6), key
    for ours, theirs in zip(local["reports_summary"], remote["reports_summary"]):
        assert theirs["last_count"] == ours["last_count"] and theirs["clock"]["method"] == ours["clock"]["method"]
        assert theirs["clock"]["collective_count"] == ours["clock"]["collective_count"]
        for key in ("offset_s", "residual_s"):
            assert theirs["clock"][key] == pytest.approx(ours["clock"][key], abs=1e-6), key
        assert theirs["caused_wait_s"] == pytest.approx(ours["caused_wait_s"], rel=1e-4, abs=1e-3)
    assert remote["heat_map"]["ranks"] == local["heat_map"]["ranks"]
    for ours, theirs in zip(local["heat_map"]["stages"], remote["heat_map"]["stages"]):
        assert theirs["name"] == ours["name"] and theirs["total_s"] == pytest.approx(ours["total_s"], rel=1e-9)
    assert [s["name"] for s in remote["stages"]] == [s["name"] for s in local["stages"]]
    for ours, theirs in zip(local["stages"], remote["stages"]):
        assert theirs["total_s"] == pytest.approx(ours["total_s"], rel=1e-9)
        assert theirs["self_s"] == pytest.approx(ours["self_s"], rel=1e-9)
        for quantile in ("call_p50_s", "call_p95_s", "call_p99_s"):
            assert theirs[quantile] == pytest.approx(ours[quantile], rel=local["percentile_error_ratio"])


def test_the_engine_adds_up_as_the_local_path_does(servers, job):
    url = servers[0].url("whole?job=a")
    assert strobe("export", job, "--to", url).stdout.startswith(f"{RANKS - 1} runs, ")
    check_same(aggregated(job), aggregated(url))
    assert servers[0].ask("SELECT count() > 0 FROM whole.samples") == "1"
    assert servers[0].ask("SELECT count() FROM whole.steps WHERE kind = 'step'") == str((RANKS - 1) * 200)


def test_tenants_do_not_see_each_other(servers, job):
    urls = [servers[0].url("shared?job=a&tenant=" + name) for name in ("red", "red-hot")]
    for url, ranks in zip(urls, ((0, 1), (0, 1, 2))):
        for rank in ranks:
            strobe("export", job / f"rank_{rank}", "--to", url)
    assert [aggregated(url)["rank_count"] for url in urls] == [2, 3]
    assert servers[0].ask("SELECT groupUniqArray(job) = ['red/a', 'red-hot/a'] OR groupUniqArray(job) = ['red-hot/a', 'red/a'] "
                          "FROM shared.runs") == "1"
    seen = json.loads(strobe("history", "trend", "wall_s", "--from", servers[0].url("shared?tenant=red"), "--format", "json").stdout)
    assert "red/a" in json.dumps(seen) and "red-hot/a" not in json.dumps(seen)


def test_ranks_without_a_jobs_id_are_one_job(servers, tmp_path):
    for name in "ab":  # as mp.spawn and mpirun leave them; a rank that comes again is the next job's
        subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / name, "3", "80"], check=True)
    strobe("export", tmp_path / "a", "--to", servers[0].url("unnamed"))
    assert servers[0].ask("SELECT uniqExact(job), count() FROM unnamed.runs") == "1\t3"
    strobe("export", tmp_path / "b", "--to", servers[0].url("unnamed"))
    name = servers[0].ask("SELECT any(job) FROM unnamed.runs")
    assert aggregated(servers[0].url("unnamed?job=" + name))["rank_count"] == 3


def test_runs_of_other_times_without_a_jobs_id_are_jobs_of_their_own(servers, tmp_path):
    # rank 0 of one launch and rank 1 of another a day later: nothing says that they belong together
    for name, skew_ms in (("first", "0"), ("second", str(86400 * 1000))):
        subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / name, "2", "80", "-1", "2", skew_ms], check=True)
    both = tmp_path / "both"
    both.mkdir()
    (tmp_path / "first" / "rank_0").rename(both / "a")
    (tmp_path / "second" / "rank_1").rename(both / "b")
    strobe("export", both, "--to", servers[0].url("apart"))
    assert servers[0].ask("SELECT uniqExact(job), count() FROM apart.runs") == "2\t2"


def test_a_diff_of_two_jobs_in_the_engine_is_that_of_their_folders(servers, job, tmp_path):
    other = tmp_path / "other"
    subprocess.run([BUILD / "tests" / "make_ranks", other, "16", "800", "7", "4", "40"], check=True)
    urls = [servers[0].url("jobs?job=" + name) for name in "ab"]
    for folder, url in zip((job, other), urls):
        strobe("export", folder, "--to", url)
    local, remote = (json.loads(strobe("diff", *sides, "--format", "json").stdout) for sides in ((job, other), urls))
    assert len(local["stages"]) > 2 and local["jobs"]["stragglers"]
    for side in (local, remote):
        del side["base"], side["new"]  # what they are called
    assert list(differences(local, remote, but=("label",))) == []


def test_every_number_of_a_job_comes_back(servers, tmp_path):
    folder, url = tmp_path / "job", servers[0].url("every?job=a")
    subprocess.run([BUILD / "tests" / "make_ranks", folder, "16", "800", "7", "4", "40"], check=True)
    strobe("export", folder, "--to", url)
    local, remote = aggregated(folder), aggregated(url)
    assert local["rank_lanes"]["stage_names"] and any(s["call_p95_s"] > s["call_p50_s"] for s in local["stages"])
    assert list(differences(local, remote, but=("run", "job"))) == []


def test_a_database_of_schema_3_is_read_and_gets_the_columns(servers, tmp_path):
    """As it was left: a collective's group, root, hidden time and bytes in its name, no settings, no machine's clock."""
    folder, url = tmp_path / "job", servers[0].url("third?job=a")
    subprocess.run([BUILD / "tests" / "make_ranks", folder, "4", "800", "3", "2", "40"], check=True)
    strobe("export", folder, "--to", url)
    for table, columns in {"runs": "session clock gpu collective_total pair_scope pair_key pair_value lane_name lane", "stages": "parent_key",
                           "meetings": "place root hidden_s bytes late_end apart_s"}.items():
        servers[0].ask(f"ALTER TABLE third.{table} " + ", ".join("DROP COLUMN " + c for c in columns.split()))
    servers[0].ask("DROP TABLE third.strobe_schema")
    servers[0].ask("CREATE TABLE third.strobe_schema (version UInt32, made DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY version")
    servers[0].ask("INSERT INTO third.strobe_schema (version) VALUES (3)")
    local, old = aggregated(folder), aggregated(url)
    assert list(differences(local["stages"], old["stages"])) == []
    assert list(differences(local["metrics"], old["metrics"])) == []
    strobe("export", folder, "--to", url)
    assert list(differences(local, aggregated(url), but=("run", "job"))) == []


@pytest.mark.skipif(not tls.OPENSSL, reason="no openssl here")
def test_through_tls_the_engine_says_the_same(servers, job, tmp_path):
    cert = tls.certificate(tmp_path / "tls")
    with tls.Server(cert, behind=f"http://127.0.0.1:{servers[0].http}") as server:
        url = server.url("tls?job=a")
        trusting = {"STROBE_CLICKHOUSE_CA": str(cert), "no_proxy": "127.0.0.1"}
        assert strobe("export", job, "--to", url, **trusting).stdout.startswith(f"{RANKS - 1} runs, ")
        check_same(aggregated(job), json.loads(strobe("aggregate", url, "--format", "json", **trusting).stdout))


def test_loading_again_changes_nothing(servers, job):
    url = servers[0].url("again?job=a")
    for _ in range(3):
        strobe("export", job, "--to", url)
    check_same(aggregated(job), aggregated(url))


def test_a_server_that_dies_in_the_middle_loses_and_doubles_nothing(servers, job):
    server, url = servers[1], servers[1].url("killed?job=a")
    strobe("export", job / "rank_0", "--to", url)  # the tables are there
    done = []
    loads = threading.Thread(target=lambda: done.append(strobe("export", job, "--to", url)))
    count = "SELECT count() FROM killed.stages"
    before = server.ask(count)
    loads.start()
    while loads.is_alive() and server.ask(count) == before:
        pass
    server.kill()  # after the first batch: the load meets a dead server, waits, and goes on
    server.start()
    loads.join()
    assert done and done[0].stdout.startswith(f"{RANKS - 1} runs")
    strobe("export", job, "--to", url)
    check_same(aggregated(job), aggregated(url))


def test_half_a_load_is_not_seen(servers, job):
    server, url = servers[0], servers[0].url("half?job=a")
    strobe("export", job, "--to", url)
    # what a load leaves that died before its row in `runs`
    columns = "start, rank, place, parent, stage_key, name, code, depth, role, state, calls, self_s, min_s, max_s, bucket, bucket_calls"
    server.ask(f"INSERT INTO half.stages (job, run, version, total_s, {columns}) "
               f"SELECT job, run, version + 1, total_s * 100, {columns} FROM half.stages")
    server.ask("OPTIMIZE TABLE half.stages FINAL")
    check_same(aggregated(job), aggregated(url))


def test_two_servers_answer_as_one(servers, job, tmp_path):
    for i, server in enumerate(servers):
        part = tmp_path / f"part{i}"
        part.mkdir()
        for rank in job.iterdir():
            if int(rank.name[5:]) % 2 == i:
                (part / rank.name).symlink_to(rank)
        strobe("export", part, "--to", server.url("fleet?job=a&cluster=fleet"))
    for server in servers:
        assert len(aggregated(server.url("fleet?job=a"))["reports_summary"]) < RANKS - 1
        check_same(aggregated(job), aggregated(server.url("fleet?job=a&cluster=fleet")))


def test_a_database_of_schema_1_is_still_read(servers, job):
    strobe("export", job / "rank_0", "--to", servers[0].url("older?job=a"))
    servers[0].ask("DROP TABLE older.meetings")
    assert aggregated(servers[0].url("older?job=a"))["collective_count"] == 0


STEPS = """
import strobe
with strobe.session(name="many"):
    for i in strobe.steps(range(5003)):
        sum(range(i % 50))
"""


def test_steps_weigh_what_they_stand_for(servers, tmp_path):
    subprocess.run(["/usr/bin/python3", "-c", STEPS], check=True, cwd=tmp_path, env={
        **os.environ, "PYTHONPATH": str(BUILD / "python"), "STROBE_OUTPUT_DIR": str(tmp_path / "runs"), "STROBE_HISTORY": "off"})
    run = next(p for p in (tmp_path / "runs").iterdir() if p.is_dir() and not p.is_symlink())
    strobe("export", run, "--to", servers[0].url("many?job=a"))
    loop = next(i for i in json.loads(strobe("report", run, "--format", "json").stdout)["iterations"] if i["role"] == "step")
    rows, weight, total, median, last = servers[0].ask(
        "SELECT count(), sum(weight), sum(sum_s), quantileExactWeighted(0.5)(duration_s, weight), max(step_index) "
        "FROM many.steps WHERE kind = 'step'").split("\t")
    assert int(rows) <= 2000 and int(weight) == loop["count"] == 5003 and int(last) > 5000 - 4
    assert float(total) == pytest.approx(loop["mean_s"] * 5003, rel=1e-6)
    assert float(median) == pytest.approx(loop["median_s"], rel=0.1)


def test_a_database_of_schema_2_gets_the_weights(servers, job):
    for sql in ("CREATE DATABASE second",
                "CREATE TABLE second.strobe_schema (version UInt32, made DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY version",
                "INSERT INTO second.strobe_schema (version) VALUES (2)",
                "CREATE TABLE second.steps (job String, run String, version UInt64, start DateTime, rank Int32, kind String, "
                "step_index UInt32, duration_s Float64) ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) "
                "ORDER BY (job, run, version, kind, step_index)",
                "INSERT INTO second.steps VALUES ('old', 'r', 1, now(), 0, 'step', 0, 0.25)"):
        servers[0].ask(sql)
    for _ in range(2):
        strobe("export", job / "rank_0", "--to", servers[0].url("second?job=a"))
    assert servers[0].ask("SELECT weight, sum_s FROM second.steps WHERE job = 'old'") == "1\t0.25"
    assert servers[0].ask("SELECT sum(weight) = 2 * 200 FROM second.steps WHERE job = 'a' AND kind = 'step'") == "1"


def test_trends_come_from_the_engine(servers, job):
    for name in ("monday", "tuesday"):
        strobe("export", job, "--to", servers[0].url(f"trend?job={name}"))
    points = json.loads(strobe("history", "trend", "wall_s", "--from", servers[0].url("trend"), "--format", "json").stdout)["points"]
    assert [p["name"] for p in points] == ["monday", "tuesday"] or [p["name"] for p in points] == ["tuesday", "monday"]
    slowest = aggregated(job)["metrics"]["wall_s"]["max_value"]
    assert all(p["point_value"] == pytest.approx(slowest) for p in points)


def test_credentials_come_from_the_environment_or_a_file_only(servers, job, tmp_path):
    url = servers[0].url("secret?job=a")
    rank = job / "rank_0"
    (tmp_path / "wrong").write_text("loader\nguess\n")
    (tmp_path / "right").write_text("loader\nopen sesame\n")
    strobe("export", rank, "--to", url, STROBE_CLICKHOUSE_USER="loader", STROBE_CLICKHOUSE_PASSWORD="open sesame")
    strobe("export", rank, "--to", url, STROBE_CLICKHOUSE_FILE=str(tmp_path / "right"))
    refused = strobe("export", rank, "--to", url, STROBE_CLICKHOUSE_FILE=str(tmp_path / "wrong"), code=2)
    assert "does not accept user 'loader'" in refused.stderr and "guess" not in refused.stderr
    inside = strobe("export", rank, "--to", "clickhouse://loader:x@127.0.0.1/db", code=2)
    assert "do not belong in the address" in inside.stderr


def test_a_newer_schema_and_a_missing_job_are_said(servers, job):
    strobe("export", job / "rank_0", "--to", servers[0].url("newer?job=a"))
    assert "no job 'b'" in strobe("aggregate", servers[0].url("newer?job=b"), code=2).stderr
    servers[0].ask("INSERT INTO newer.strobe_schema (version) VALUES (99)")
    assert "newer strobe" in strobe("export", job / "rank_0", "--to", servers[0].url("newer"), code=2).stderr


def test_nobody_there_is_said_after_the_retries():
    url = f"clickhouse://127.0.0.1:{free_port()}/db?job=a"
    assert "cannot connect" in strobe("aggregate", url, code=2, STROBE_CLICKHOUSE_RETRY_S="0.3").stderr
    assert "clickhouse://HOST:PORT/DATABASE" in strobe("aggregate", "clickhouse://nowhere", code=2).stderr


def test_stages_have_trends_and_since_counts(servers, job):
    url = servers[0].url("stage_trend")
    strobe("export", job, "--to", servers[0].url("stage_trend?job=monday"))
    (point,) = json.loads(strobe("history", "trend", "forward", "--from", url, "--format", "json").stdout)["points"]
    forward = next(s for s in aggregated(job)["stages"] if s["name"] == "forward")
    assert point["point_value"] == pytest.approx(forward["total_s"]["median_value"])
    (point,) = json.loads(strobe("history", "trend", "wall_s", "--from", url, "--since", "5000d", "--format", "json").stdout)["points"]
    assert "no job in the warehouse with 'wall_s' began in the last 1m: the newest one began 20" in strobe(
        "history", "trend", "wall_s", "--from", url, "--since", "1m", code=2).stderr
    assert "no job in the warehouse has 'nosuch'" in strobe("history", "trend", "nosuch", "--from", url, "--since", "1m", code=2).stderr


def test_an_operator_applies_the_printed_schema_and_loaders_make_nothing(servers, job):
    url = servers[0].url("printed?job=a")
    text = strobe("export", "--to", url, "--print-schema=18.16").stdout
    assert "LowCardinality" not in text and "CODEC" not in text
    for statement in text.split(";\n"):
        statement = "\n".join(line for line in statement.splitlines() if not line.startswith("--"))
        if statement.strip():
            servers[0].ask(statement)
    before = servers[0].ask("SELECT name, create_table_query FROM system.tables WHERE database = 'printed' ORDER BY name")
    strobe("export", job / "rank_0", "--to", url)
    assert servers[0].ask("SELECT name, create_table_query FROM system.tables WHERE database = 'printed' ORDER BY name") == before
    assert servers[0].ask("SELECT count(), max(version) FROM printed.strobe_schema") == "1\t4"
    assert len(aggregated(url)["reports_summary"]) == 1


def test_the_schema_for_a_cluster_of_today():
    text = strobe("export", "--to", "clickhouse://host/db?cluster=fleet&replicated=1", "--print-schema",
                  STROBE_CLICKHOUSE_TTL_DAYS="90").stdout
    assert text.count(" ON CLUSTER fleet") == 14 and text.count("ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/db/") == 6
    assert "job LowCardinality(String)" in text and text.count("TTL start + INTERVAL 90 DAY") == 6
    assert text.count("ENGINE = Distributed(fleet, db, ") == 6
    assert "--to clickhouse://" in strobe("export", "--print-schema", code=2).stderr


class Engine:
    """Stands in for a server that has the tables: answer(query, body) gives status and text of an insert."""

    def __init__(self, answer):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append(self.path)
                query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)["query"][0]
                status, text = answer(query, body) if query.startswith("INSERT") else (200, b"2\n" if "count()" in query else b"4\n")
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"clickhouse://127.0.0.1:{self.server.server_port}/db?job=a"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self.url

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


KEYS = {"steps": ("sI", "dId"), "samples": ("sisd", "d"), "meetings": ("sI", "QddIiddBd")}  # of the key; behind it (struct's letters, s: text)


def keys_of(table, body):
    """The keys of a table's rows in RowBinary, as they come."""
    at, keys = 0, []
    while at < len(body):
        values = []
        for letter in "ssQIi" + "".join(KEYS[table]):
            size = body[at] if letter == "s" else struct.calcsize("<" + letter)
            at += letter == "s"
            values.append(body[at:at + size] if letter == "s" else struct.unpack_from("<" + letter, body, at)[0])
            at += size
        keys.append((*values[:3], *values[5:5 + len(KEYS[table][0])]))
    return keys


def test_rows_come_in_the_order_of_the_keys(tmp_path):
    """The server sorts a batch that is not."""
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "job", "12", "80", "3", "4", "40"], check=True)
    seen = {}

    def take(query, body):
        seen[query.split()[2].split(".")[1]] = body
        return 200, b""

    with Engine(take) as url:
        strobe("export", tmp_path / "job", "--to", url)
    assert list(seen) == ["stages", "steps", "samples", "meetings", "runs"]
    for table in KEYS:
        keys = keys_of(table, seen[table])
        assert len({run for _, run, *_ in keys}) == 12 and keys == sorted(keys), table


def test_a_batch_that_is_refused_ends_the_load(job):
    asked = []

    def refuse(query, _):
        asked.append(query)
        return 500, b"Code: 60. DB::Exception: Table db.steps doesn't exist."

    with Engine(refuse) as url:
        assert "Table db.steps doesn't exist" in strobe("export", job, "--to", url, code=2).stderr
    assert len(asked) == 1  # of several batches


def test_what_is_said_on_a_terminal_takes_the_progress_away_first(tmp_path):
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "job", "3", "80", "3", "4", "40"], check=True)
    for recording in (tmp_path / "job" / "rank_1").glob("*.strobe"):
        recording.write_bytes(b"no recording")
    ours, theirs = pty.openpty()
    with Engine(lambda *_: (200, b"")) as url:
        done = subprocess.run([TOOL, "export", tmp_path / "job", "--to", url], env=dict(os.environ, STROBE_HISTORY="off"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=theirs, timeout=120)
    os.close(theirs)
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 1 and "1/3" in said, said  # the bar was there
    before, _, _ = said.partition("strobe export: ")
    assert before.endswith("\r\033[K") and before != said, said


def test_too_many_parts_are_tried_again(job):
    inserts = []

    def busy_at_first(query, _):
        inserts.append(query)
        return (500, b"Code: 252. DB::Exception: Too many parts (300)") if len(inserts) == 1 else (200, b"")

    engine = Engine(busy_at_first)
    with engine as url:
        assert "after 1 retries" in strobe("export", job / "rank_0", "--to", url).stdout
    assert not any(path.startswith(("CREATE", "ALTER"), path.index("query=") + 6) for path in engine.asked)  # the tables are there
    assert all("wait_end_of_query=1" in path for path in engine.asked)
