"""https:// warehouses, against a TLS server on loopback that the test starts itself."""
import http.server
import os
import pathlib
import socket
import socketserver
import subprocess
import threading

import pytest
import tls

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", SOURCE / "build"))

pytestmark = pytest.mark.skipif(not tls.OPENSSL, reason="no openssl here")


def strobe(*args, code=0, **env):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_") and not k.lower().endswith("_proxy")}
    # a refusal that were tried again would outlast this test's time limit
    kept.update({"STROBE_HISTORY": "off", "NO_COLOR": "1", "STROBE_CLICKHOUSE_RETRY_S": "3600"})
    done = subprocess.run([BUILD / "strobe", *map(str, args)], env={**kept, **{k: str(v) for k, v in env.items()}},
                          capture_output=True, text=True, timeout=60)
    if "needs libcurl" in done.stderr and "STROBE_CURL_PATH" not in env:
        pytest.skip("no libcurl here")
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "job"
    subprocess.run([BUILD / "tests" / "make_ranks", folder, "1", "800", "3", "4", "40"], check=True)
    return folder / "rank_0"


@pytest.fixture
def warehouse(tmp_path):
    """A server that takes every statement and remembers it, and the certificate to trust it by."""
    asked = []

    def answer(query, body, headers):
        asked.append((query, body, headers))
        return "2\n" if query.startswith("SELECT max(version)") else ""

    cert = tls.certificate(tmp_path / "tls")
    with tls.Server(cert, answer) as server:
        server.asked, server.cert = asked, cert
        yield server


def test_a_run_goes_through_tls_whole(run, warehouse):
    done = strobe("export", run, "--to", warehouse.url("db?job=a"), STROBE_CLICKHOUSE_CA=warehouse.cert,
                  STROBE_CLICKHOUSE_USER="loader", STROBE_CLICKHOUSE_PASSWORD="open sesame")
    assert done.stdout.startswith("1 run, ")
    inserts = {query.split()[2]: body for query, body, _ in warehouse.asked if query.startswith("INSERT INTO db.") and body}
    assert inserts.keys() >= {"db.runs", "db.stages", "db.steps"} and b"train@" in inserts["db.runs"]
    assert all(headers["X-ClickHouse-User"] == "loader" and headers["X-ClickHouse-Key"] == "open sesame"
               for _, _, headers in warehouse.asked)


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(run, warehouse):
    refused = strobe("export", run, "--to", warehouse.url("db"), STROBE_CLICKHOUSE_PASSWORD="open sesame", code=2)
    assert "is not accepted" in refused.stderr and "STROBE_CLICKHOUSE_CA" in refused.stderr
    assert not warehouse.asked, "nothing was said to a server that could be anybody"


def test_a_certificate_of_another_host_is_refused(run, tmp_path):
    cert = tls.certificate(tmp_path / "other", "DNS:warehouse.example")
    with tls.Server(cert, lambda *_: "") as server:
        refused = strobe("export", run, "--to", server.url("db"), STROBE_CLICKHOUSE_CA=cert, code=2)
    assert "is not accepted" in refused.stderr


def test_a_missing_file_of_authorities_is_named(run, warehouse, tmp_path):
    refused = strobe("export", run, "--to", warehouse.url("db"), STROBE_CLICKHOUSE_CA=tmp_path / "none.pem", code=2)
    assert f"{tmp_path}/none.pem" in refused.stderr and not warehouse.asked


def test_without_libcurl_one_line_says_so(run):
    refused = strobe("export", run, "--to", "https://127.0.0.1:1/db", STROBE_CURL_PATH="/nonexistent/libcurl.so", code=2)
    assert refused.stderr.count("\n") == 1 and "needs libcurl" in refused.stderr and "clickhouse://" in refused.stderr


def test_every_command_that_takes_a_warehouse_takes_https(warehouse):
    for words in (["aggregate", warehouse.url("db?job=a")], ["history", "trend", "fps", "--from", warehouse.url("db")]):
        said = strobe(*words, STROBE_CLICKHOUSE_CA=warehouse.cert, code=2).stderr
        assert "no job" in said or "no run" in said, said
        assert warehouse.asked
        warehouse.asked.clear()


def test_https_to_a_plain_port_is_said_at_once():
    class Plain(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        said = strobe("aggregate", f"https://127.0.0.1:{server.server_port}/db?job=a", code=2).stderr
    finally:
        server.shutdown()
        server.server_close()
    assert "speaks plain HTTP, not TLS" in said and f"clickhouse://127.0.0.1:{server.server_port}/" in said


def test_plain_http_to_a_tls_port_is_said_at_once():
    class Alert(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(bytes.fromhex("15030100020246"))  # alert: protocol_version

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Alert) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        said = strobe("aggregate", f"clickhouse://127.0.0.1:{server.server_address[1]}/db?job=a", code=2).stderr
        server.shutdown()
    assert "speaks TLS: use https://" in said


def test_what_is_no_address_is_said():
    for url in ("https://", "https://host", "https:///db", "ch", ""):
        assert "a warehouse is clickhouse://HOST:PORT/DATABASE, or https://" in strobe(
            "history", "trend", "fps", "--from", url, code=2).stderr


def test_an_error_in_the_middle_of_an_answer_is_no_row(tmp_path):
    cert = tls.certificate(tmp_path / "tls")
    with tls.Server(cert, lambda *_: "Code: 241, e.displayText() = DB::Exception: Memory limit exceeded\n") as server:
        for words in (["aggregate", server.url("db?job=a")], ["history", "trend", "fps", "--from", server.url("db")]):
            said = strobe(*words, STROBE_CLICKHOUSE_CA=cert, code=2).stderr
            assert "answer is incomplete: Code: 241" in said, said


def test_a_warehouse_that_does_not_answer_is_named_while_it_waits():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        where = "127.0.0.1:%d" % silent.getsockname()[1]
        said = strobe("aggregate", f"clickhouse://{where}/db?job=a", code=2, STROBE_CLICKHOUSE_RETRY_S="4").stderr.splitlines()
    assert said[0] == f"strobe aggregate: the warehouse at {where} has not answered yet; waiting for 4 s at most (STROBE_CLICKHOUSE_RETRY_S)"
    assert len(said) == 2
