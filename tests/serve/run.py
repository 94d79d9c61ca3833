#!/usr/bin/env python3
"""strobe serve as its users meet it: curl, a browser elsewhere, Prometheus.

usage: tests/serve/run.py BUILD
"""
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from server import BUILD, PATIENCE_S, Recorder, Server, until

del sys.argv[1]  # what is left is unittest's
SOURCE = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "0123456789abcdefXYZ"


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="strobe-serve-")
        cls.recorder = Recorder(cls.folder)
        cls.server = Server(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.recorder.stop()
        assert cls.server.stop() == 0
        shutil.rmtree(cls.folder)

    def test_readers_who_leave_do_no_harm(self):
        for path in ("/metrics", f"/runs/{urllib.parse.quote(self.recorder.run)}", f"/api/runs/{urllib.parse.quote(self.recorder.run)}/events"):
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_S) as s:
                    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.assertEqual(self.server.get("/metrics").status, 200)

    def test_health(self):
        self.assertEqual(self.server.get("/healthz").body, b"ok\n")

    def test_the_list_names_the_live_run(self):
        runs = json.loads(self.server.get("/api/runs").body)["runs"]
        self.assertEqual([r["id"] for r in runs], [self.recorder.run])
        self.assertTrue(runs[0]["live"])
        self.assertIn(b'data-kind="runs"', self.server.get("/").body)

    def test_a_page_has_the_report_inside_and_may_ask_only_here(self):
        answer = self.server.get("/runs/" + urllib.parse.quote(self.recorder.run))
        self.assertEqual(answer.status, 200)
        self.assertIn(b"connect-src 'self'", answer.body)
        self.assertIn(b'data-kind="report"', answer.body)
        self.assertEqual(answer.headers["X-Frame-Options"], "DENY")

    def test_report_and_timeline_grow_with_the_recording(self):
        path = "/api/runs/" + urllib.parse.quote(self.recorder.run)
        def zones():
            return json.loads(self.server.get(path + "/report.json").body)["recording"]["zones"]
        first = zones()
        until("more zones", lambda: zones() > first)
        self.assertEqual(self.server.get(path + "/timeline").body[:2], b"\x1f\x8b")

    def test_strangers_are_refused(self):
        get = self.server.get
        self.assertEqual(get("/", Host="evil.example").status, 403)
        self.assertEqual(get("/metrics", Host="localhost.evil.example").status, 403)
        self.assertEqual(get("/", Origin="http://evil.example").status, 403)
        self.assertEqual(get("/", Origin="null").status, 403)
        self.assertEqual(get("/", Origin=f"http://127.0.0.1:{self.server.port}").status, 200)
        self.assertIn(get("/", method="POST").status, (405, 501))
        self.assertIn(get("/", method="DELETE").status, (405, 501))

    def test_no_path_leads_out(self):
        for path in ("/runs/../../etc/passwd", "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/runs/..", "/runs/.", "/runs/",
                     "/api/runs/../report.json", "/runs/" + self.recorder.run + "/../x", "/runs/%00", "//etc/passwd",
                     "/runs/" + self.recorder.run + "%2frun.strobe", "/etc/passwd"):
            with self.subTest(path=path):
                self.assertIn(self.server.get(path).status, (400, 404))

    def test_too_much_is_refused(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_S) as s:
            try:
                s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
                reply = s.recv(100)
            except ConnectionError:
                reply = b""
        self.assertNotIn(b" 200 ", reply)
        self.assertEqual(self.server.get("/healthz").status, 200)

    def test_events_keep_coming(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_S)
        connection.request("GET", f"/api/runs/{urllib.parse.quote(self.recorder.run)}/events")
        answer = connection.getresponse()
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        events = []
        while len(events) < 2:
            line = answer.readline().decode().rstrip("\n")
            if line == "event: report":
                events.append(line[7:])
        self.assertEqual(events, ["report", "report"])
        connection.close()

    def test_500_slow_clients_do_not_stop_it(self):
        slow = []
        try:
            for i in range(500):
                s = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE_S)
                s.sendall(b"GET /metrics HTTP/1.1\r\nHost: local" if i % 2 else b"G")
                slow.append(s)
            self.assertEqual(self.server.get("/healthz").status, 200)
            self.assertEqual(self.server.get("/metrics").status, 200)
        finally:
            for s in slow:
                s.close()

    def test_promtool_takes_the_metrics(self):
        until("a sample of the CPU", lambda: b"strobe_cpu_usage_ratio{" in self.server.get("/metrics").body)
        text = self.server.get("/metrics").body
        for wanted in (b"strobe_stage_duration_seconds_bucket{", b'le="+Inf"', b"strobe_run_live{", b"strobe_recording_dropped_total{",
                       b"strobe_frames_total{", b"strobe_cpu_"):
            self.assertIn(wanted, text)
        told = set(re.findall(r"^\| `(strobe_\w+)` \|", (SOURCE / "docs" / "serve.md").read_text(), re.M))
        given = set(re.findall(r"^# TYPE (\w+) ", text.decode(), re.M))
        self.assertEqual(given - told, set(), "metrics that docs/serve.md does not have")
        if not shutil.which("promtool"):
            self.skipTest("no promtool here")
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""), "promtool has something to say")

    def test_every_column_of_a_gpu_has_its_metric(self):
        recorded = set(re.findall(r'\] = \{ "(\w+)", SB_MERGE_', (SOURCE / "src/monitor/gpus_watched.c").read_text()))
        exposed = set(re.findall(r'"gpu(?:_counters)?", "(\w+)"', (SOURCE / "src/serve/metric_table.c").read_text()))
        self.assertGreater(len(recorded), 25)
        self.assertEqual(recorded - exposed, set(), "columns without a row in src/serve/metric_table.c")

    def test_open_metrics_only_for_those_who_ask(self):
        plain = self.server.get("/metrics")
        self.assertTrue(plain.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        self.assertNotIn(b"# EOF", plain.body)
        asked = self.server.get("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        self.assertTrue(asked.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
        self.assertTrue(asked.body.endswith(b"# EOF\n"))
        self.assertIn(b"# TYPE strobe_frames counter\nstrobe_frames_total{", asked.body)
        self.assertNotIn(b" # {", plain.body)
        exemplars = re.findall(rb'_bucket\{[^}]*stage="step"[^}]*,le="([^"]*)"\} \d+ # \{page="([^"]*)"\} (\S+) \S+\n', asked.body)
        self.assertTrue(exemplars)
        for bound, page, value in exemplars:
            self.assertLessEqual(float(value), float(bound.replace(b"+", b"")))
            self.assertRegex(page.decode(), f"^{re.escape(urllib.parse.quote(self.recorder.run))}#view=\\d+_\\d+$")
            self.assertEqual(self.server.get("/runs/" + page.decode().split("#")[0]).status, 200)

    def test_histograms_are_cumulative_and_add_up(self):
        last, seen = {}, 0
        for line in self.server.get("/metrics").body.decode().splitlines():
            if line.startswith("strobe_stage_duration_seconds_bucket{"):
                series, value = line.rsplit(" ", 1)
                stage = series.split(',le="')[0]
                self.assertGreaterEqual(float(value), last.get(stage, 0))
                last[stage] = float(value)
            if line.startswith("strobe_stage_duration_seconds_count{"):
                series, value = line.rsplit(" ", 1)
                key = series.replace("_count{", "_bucket{")[:-1]
                self.assertEqual(float(value), next(v for k, v in last.items() if k.startswith(key)))
                seen += 1
        self.assertGreaterEqual(seen, 2)

    def test_a_thousand_scrapes_cost_the_recorder_nothing_it_counts(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_S)
        before = self.recorder.zones()
        for _ in range(1000):
            connection.request("GET", "/metrics")
            self.assertEqual(connection.getresponse().read()[:6], b"# HELP")
        connection.close()
        self.assertGreater(self.recorder.zones(), before)
        report = json.loads(self.server.get(f"/api/runs/{urllib.parse.quote(self.recorder.run)}/report.json").body)
        self.assertEqual(report["recording"]["dropped_count"], 0)

    def test_a_real_prometheus_scrapes_it(self):
        if not shutil.which("prometheus"):
            self.skipTest("no prometheus here")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="strobe-prometheus-"))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: strobe\n  static_configs:\n"
            f"  - targets: ['127.0.0.1:{self.server.port}']\n")
        process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                    f"--web.listen-address=127.0.0.1:{port}", "--enable-feature=exemplar-storage"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def answer(address, nothing=()):
            try:
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                c.request("GET", address)
                return json.loads(c.getresponse().read())["data"]
            except (OSError, ValueError, KeyError):
                return nothing
            finally:
                c.close()

        def ask(expression, nothing=()):
            found = answer("/api/v1/query?query=" + urllib.parse.quote(expression), None)
            return nothing if found is None else found["result"]
        try:
            up = until("a scrape", lambda: ask('up{job="strobe"} == 1'))
            self.assertEqual(len(up), 1)
            until("a stage's histogram", lambda: ask('strobe_stage_duration_seconds_count{stage="step"} > 0'))
            now = time.time()
            kept = until("an exemplar", lambda: answer("/api/v1/query_exemplars?" + urllib.parse.urlencode(
                {"query": 'strobe_stage_duration_seconds_bucket{stage="step"}', "start": now - 3600, "end": now + 3600})))
            self.assertIn("#view=", kept[0]["exemplars"][0]["labels"]["page"])
            live = ask("strobe_run_live")
            self.assertEqual(live[0]["metric"]["run"], self.recorder.run)
            dashboard = json.loads((SOURCE / "docs" / "grafana-dashboard.json").read_text())
            rows = [inner for panel in dashboard["panels"] for inner in panel.get("panels", [])]
            for panel in [p for p in dashboard["panels"] if p["type"] != "row"] + rows:
                for target in panel["targets"]:
                    expression = re.sub(r"\$(run|job|rank)\b", ".*", target["expr"])
                    self.assertIsNotNone(ask(expression, None), f"{panel['title']}: Prometheus refuses {expression}")
            for title in ("Live runs", "Events lost", "Frames per second", "CPU", "Unattributed time"):
                expression = next(p for p in dashboard["panels"] if p["title"] == title)["targets"][0]["expr"]
                until(f"the panel '{title}' to have data", lambda: ask(re.sub(r"\$(run|job|rank)\b", ".*", expression)))
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)


class Packed(unittest.TestCase):
    def test_the_list_has_the_command_of_a_packed_run(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            def tool(*words):
                subprocess.run([BUILD / "strobe", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            tool("run", "-o", "runs", "--", "sh", "-c", "true")
            os.makedirs(os.path.join(folder, "packed", "folder"))
            tool("export", "runs", "--to", "packed", "-o", "packed/file.strobe")
            tool("export", "runs", "--to", "packed", "-o", "packed/folder/run.strobe")
            server = Server(os.path.join(folder, "packed"))
            self.assertEqual([r.get("command") for r in json.loads(server.get("/api/runs").body)["runs"]], ["sh -c true"] * 2)
            self.assertEqual(server.stop(), 0)


class Ending(unittest.TestCase):
    def test_events_end_with_the_recording(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            recorder = Recorder(folder)
            server = Server(folder)
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
            connection.request("GET", f"/api/runs/{urllib.parse.quote(recorder.run)}/events")
            answer = connection.getresponse()
            while not answer.readline().startswith(b"event: report"):
                pass
            recorder.stop()
            text = answer.read().decode()
            self.assertIn("event: end", text)
            connection.close()
            self.assertGreater(json.loads(server.get("/api/runs").body)["runs"][0]["duration_s"], 0)
            self.assertNotIn("strobe_run_live{", server.get("/metrics").body.decode())
            self.assertEqual(server.stop(), 0)


    def test_the_last_word_follows_a_long_report(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            shutil.copy(os.path.join(os.path.dirname(__file__), "..", "data", "kineto-h200.json.gz"), folder)
            server = Server(os.path.join(folder, "kineto-h200.json.gz"))
            run = json.loads(server.get("/api/runs").body)["runs"][0]["id"]
            events = server.get(f"/api/runs/{urllib.parse.quote(run)}/events").body.decode()
            self.assertGreater(len(events), 1 << 16)
            self.assertIn("event: end\n", events[-60:])
            self.assertEqual(server.stop(), 0)

    def test_a_killed_run_is_told_from_a_live_and_an_ended_one(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            ended, killed = Recorder(folder), Recorder(folder)
            ended.stop()
            server = Server(folder)
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
            connection.request("GET", f"/api/runs/{urllib.parse.quote(killed.run)}/events")
            answer = connection.getresponse()
            while answer.readline() != b"event: state\n":
                pass
            self.assertEqual(json.loads(answer.readline()[6:]), {"state": "live"})
            states = {r["id"]: r["state"] for r in json.loads(server.get("/api/runs").body)["runs"]}
            self.assertEqual(states, {ended.run: "ended", killed.run: "live"})
            killed.process.kill()
            killed.process.wait()
            last = answer.read().decode()
            self.assertTrue(last.endswith('event: end\ndata: {"state": "killed"}\n\n'), last[-200:])
            connection.close()
            until("the list to say so", lambda: "killed" in [r["state"] for r in json.loads(server.get("/api/runs").body)["runs"]])
            self.assertEqual(server.stop(), 0)
            killed.process.stdin.close()
            killed.process.stdout.close()


class Robust(unittest.TestCase):
    def test_a_worker_that_is_killed_is_replaced(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            server = Server(folder)
            self.assertEqual(server.get("/api/runs").status, 200)
            for i in range(3):
                os.kill(server.worker(), signal.SIGKILL)
                until("the next worker", lambda: server.get(f"/runs/none-{i}").status == 404)
            self.assertEqual(server.stop(signal.SIGTERM), 0)

    def test_out_of_descriptors_it_neither_stops_nor_fills_the_log(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            few = 40
            server = Server(folder, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)))
            slow = []
            try:
                for _ in range(10 * few):
                    s = server.connect()
                    s.sendall(b"GET / HT")
                    slow.append(s)
                for _ in range(3):
                    self.assertEqual(server.get("/healthz").status, 200)
                    self.assertEqual(server.get("/api/runs").status, 200)
            finally:
                for s in slow:
                    s.close()
            self.assertLessEqual(len(server.said()), 12)
            self.assertEqual(server.stop(signal.SIGTERM), 0)

    def test_head_has_no_body(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            server = Server(folder)
            for path in ("/", "/api/runs", "/metrics", "/healthz", "/nothing"):
                with server.connect() as s:
                    s.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                    text = b"".join(iter(lambda: s.recv(65536), b""))
                self.assertTrue(text.endswith(b"\r\n\r\n") and text.count(b"\r\n\r\n") == 1, (path, text[-200:]))
                self.assertRegex(text, rb"Content-Length: [1-9]")
            self.assertEqual(server.stop(), 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be somebody else")
    def test_another_user_of_this_machine_needs_the_token(self):
        def as_other(server, path, **headers):
            child = os.fork()
            if not child:
                status = 0
                try:
                    os.setuid(65534)
                    status = server.get(path, **headers).status
                finally:
                    os._exit(status // 100 * 20 + status % 100)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            return code // 20 * 100 + code % 20

        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            server = Server(folder)
            for path in ("/", "/api/runs", "/metrics", "/runs/x", "/api/runs/x/events", "/diff?base=a&new=b"):
                self.assertEqual(as_other(server, path), 401, path)
                self.assertNotEqual(server.get(path).status, 401, path)
            self.assertEqual(as_other(server, "/healthz"), 200)
            server.stop()
            server = Server(folder, env={"STROBE_SERVE_TOKEN": TOKEN})
            self.assertEqual(as_other(server, "/"), 401)
            self.assertEqual(as_other(server, "/", Authorization=f"Bearer {TOKEN}"), 200)
            server.stop()

    def test_a_pipe_among_the_recordings_holds_nobody_up(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            recorder = Recorder(folder)
            os.mkfifo(pathlib.Path(folder, recorder.run, "run.7.strobe"))
            server = Server(folder)
            self.assertEqual(server.get("/api/runs").status, 200)
            path = "/runs/" + urllib.parse.quote(recorder.run)
            with server.connect() as s: # whatever becomes of this one
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                self.assertEqual(server.get("/healthz").status, 200)
                self.assertEqual(server.stop(signal.SIGTERM), 0)
            recorder.stop()


class Jobs(unittest.TestCase):
    def test_a_job_has_a_page_of_its_own_and_is_compared_as_a_job(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            for job, straggler in (("before", "-1"), ("after", "2")):
                subprocess.run([BUILD / "tests" / "make_ranks", f"{folder}/{job}", "4", "400", straggler], check=True)
            server = Server(folder)
            try:
                listed = {r["id"]: r for r in json.loads(server.get("/api/runs").body)["runs"]}
                self.assertEqual(listed["after"]["rank_count"], 4)
                self.assertIn("after.rank_3", listed)
                report = json.loads(server.get("/api/runs/after/report.json").body)
                self.assertEqual((report["schema"], report["rank_count"]), ("strobe.aggregate/1", 4))
                self.assertIn(b'data-kind="aggregate"', server.get("/runs/after").body)
                self.assertIn(b'data-kind="report"', server.get("/runs/after.rank_3").body)
                self.assertIn(b'"change":"came"', server.get("/diff?base=before&new=after").body.replace(b'": "', b'":"'))
            finally:
                self.assertEqual(server.stop(), 0)

    def test_ranks_that_a_launcher_below_strobe_run_started_are_a_job_too(self):
        launcher = 'for r in 0 1; do RANK=$r WORLD_SIZE=2 TORCHELASTIC_RUN_ID=j "$0" 3 & done; wait'
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            subprocess.run([BUILD / "strobe", "run", "-q", "-o", folder, "--", "sh", "-c", launcher, BUILD / "tests" / "marked"], check=True,
                           env={**os.environ, "STROBE_HISTORY": "off"})
            server = Server(folder)
            try:
                job, *ranks = json.loads(server.get("/api/runs").body)["runs"]
                report = json.loads(server.get(f"/api/runs/{job['id']}/report.json").body)
                self.assertEqual((report["schema"], report["rank_count"]), ("strobe.aggregate/1", 2))
                self.assertEqual([(r["id"], r["rank"], r["job"]) for r in ranks], [(f"{job['id']}.rank_{n}", n, job["id"]) for n in (0, 1)])
                self.assertEqual((job["rank_count"], "rank" in job), (2, False))
                report = json.loads(server.get(f"/api/runs/{ranks[1]['id']}/report.json").body)
                self.assertEqual((report["schema"], report["session_info"]["rank"]), ("strobe.report/1", 1))
            finally:
                self.assertEqual(server.stop(), 0)

    def test_live_ranks_of_one_launcher_are_scraped_each_with_its_rank(self):
        launcher = '''rank() { RANK=$1 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=j "$0" <&3 & }
            exec 3<&0; rank 0; until [ -e "$1/go" ]; do sleep 0.05; done; rank 1; wait'''
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            live = subprocess.Popen([BUILD / "strobe", "run", "-q", "-o", folder, "--", "sh", "-c", launcher, BUILD / "tests" / "live_recorder", folder],
                                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, "STROBE_HISTORY": "off"})
            server = Server(folder)
            try:
                def steps():
                    text = server.get("/metrics").body.decode()
                    return sorted(set(re.findall(r'^strobe_frames_total\{[^}]*run="[^"]*\.rank_(\d)"', text, re.M))) == ["0", "1"] and text
                until("the first rank, which is a run so far", lambda: b"strobe_frames_total{" in server.get("/metrics").body)
                pathlib.Path(folder, "go").touch()
                text = until("both ranks to be scraped", steps)
                of_the_job = re.findall(r'^strobe_frames_total\{run="[^".]*"[^}]*\} (\S+)', text, re.M)
                self.assertEqual(sum(map(float, of_the_job)), 0)  # none is counted twice
                for rank in "01":
                    self.assertRegex(text, rf'strobe_frames_total\{{[^}}]*rank="{rank}"')
            finally:
                live.stdin.close()
                live.wait(PATIENCE_S)
                self.assertEqual(server.stop(), 0)


class Naming(unittest.TestCase):
    def test_a_log_is_imported_while_it_is_served(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            log = pathlib.Path(folder, "stages.txt")
            log.write_text("[4c] VAE encode (16 frames): 1.25s\n")
            server = Server(log, env={"TMPDIR": folder})
            [run] = json.loads(server.get("/api/runs").body)["runs"]
            self.assertIn(b"VAE encode", server.get("/runs/" + urllib.parse.quote(run["id"])).body)
            self.assertEqual(server.stop(), 0)
            self.assertEqual(os.listdir(folder), ["stages.txt"])

    def test_a_folder_that_is_not_there_is_refused(self):
        refused = subprocess.run([BUILD / "strobe", "serve", "/no/such/folder", "--port", "0"], capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("/no/such/folder", refused.stderr)

    def test_a_folder_of_folders_says_that_it_holds_no_run(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            os.mkdir(folder + "/more")
            for served, words in ((folder, f"only folders: strobe serve '{folder}/more'?"), (folder + "/more", "no run in")):
                server = subprocess.Popen([BUILD / "strobe", "serve", served, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertIn(words, server.stderr.readline())
                server.terminate()
                self.assertEqual((server.communicate(timeout=60)[1], server.returncode), ("", 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
