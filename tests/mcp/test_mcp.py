"""strobe mcp with a plain JSON-RPC client: every tool, what is masked, what is refused, what is bounded."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


class Client:
    def __init__(self, folder):
        self.server = subprocess.Popen([BUILD / "strobe", "mcp", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
        self.number = 0

    def raw(self, message):
        """What answers a line of bytes."""
        self.server.stdin.write(message + b"\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def ask(self, method, params=None):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, **({} if params is None else {"params": params})}
        answer = self.raw(json.dumps(message).encode())
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.number
        return answer

    def call(self, tool, **arguments):
        """What a tool answers."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer["result"]
        assert not result["isError"], result
        [content] = result["content"]
        assert content["type"] == "text" and len(content["text"]) <= 48 << 10
        return json.loads(content["text"])

    def refused(self, tool, arguments):
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" not in answer and answer["error"]["code"] == -32602
        return answer["error"]["message"]

    def end(self):
        out, err = self.server.communicate(timeout=60)
        return out, err, self.server.returncode


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp")
    subprocess.run([BUILD / "tests" / "make_recordings", folder], check=True)
    for recording in sorted(folder.glob("*.strobe")):
        (folder / "runs" / recording.stem).mkdir(parents=True)
        shutil.move(recording, folder / "runs" / recording.stem / "run.strobe")
    (folder / "outside.strobe").write_bytes((folder / "runs/rich/run.strobe").read_bytes())
    return folder / "runs"


@pytest.fixture
def client(runs):
    c = Client(runs)
    yield c
    assert c.end() == (b"", b"", 0)


def test_handshake_and_list_of_tools(client):
    hello = client.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    assert hello["result"]["protocolVersion"] == "2025-06-18" and hello["result"]["serverInfo"]["name"] == "strobe"
    client.server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n')  # neither is answered
    assert client.ask("ping")["result"] == {}
    tools = client.ask("tools/list")["result"]["tools"]
    assert [t["name"] for t in tools] == ["runs", "report", "findings", "stage", "steps", "kernels", "memory", "diff", "timeline", "series", "ranks"]
    for tool in tools:
        schema = tool["inputSchema"]
        assert schema["additionalProperties"] is False and tool["annotations"]["readOnlyHint"] and tool["description"]
        assert all(p["type"] in ("string", "number", "integer") and p["description"] for p in schema["properties"].values())


def test_a_version_that_is_not_known_gets_the_newest(client):
    assert client.ask("initialize", {"protocolVersion": "1999-01-01"})["result"]["protocolVersion"] == "2025-11-25"
    assert client.ask("initialize")["result"]["protocolVersion"] == "2025-11-25"


def test_requests_without_a_handshake(client):
    found = client.ask("server/discover", {"_meta": META})["result"]
    assert "2026-07-28" in found["supportedVersions"] and found["resultType"] == "complete"
    assert client.ask("tools/list", {"_meta": META})["result"]["cacheScope"] == "private"
    error = client.ask("tools/list", {"_meta": {**META, next(iter(META)): "2099-01-01"}})["error"]
    assert error["code"] == -32022 and "2026-07-28" in error["data"]["supported"]


def test_runs(client, runs):
    listed = client.call("runs")["runs"]
    assert {r["id"] for r in listed} == {p.name for p in runs.iterdir()}
    assert {r["state"] for r in listed} == {"ended", "killed"}
    assert [r["id"] for r in client.call("runs", name="trac")["runs"]] == ["traced"]
    some = client.call("runs", limit=2)
    assert len(some["runs"]) == 2 and some["left_out_count"] == len(listed) - 2
    assert not {"host", "path", "pid"} & set().union(*listed)


def test_the_other_commands_take_the_ids(client, runs):
    """An id is a run for every command, where the runs are those of the output folder."""
    for r in client.call("runs")["runs"]:
        for environment, cwd in (({"STROBE_OUTPUT_DIR": str(runs)}, "/"), ({}, runs.parent)):
            if not environment and not (runs.parent / "strobe-runs").exists():
                (runs.parent / "strobe-runs").symlink_to(runs)
            done = subprocess.run([BUILD / "strobe", "report", r["id"], "--format", "json"], capture_output=True, cwd=cwd,
                                  env={**{k: v for k, v in os.environ.items() if k != "STROBE_OUTPUT_DIR"}, **environment})
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["session_info"]["name"] == r["name"]
    done = subprocess.run([BUILD / "strobe", "report", "no-such-run"], capture_output=True, cwd=runs.parent)
    assert done.returncode == 2 and b"cannot open run 'no-such-run'" in done.stderr


def test_every_tool_says_what_the_report_says(client, runs):
    shown = subprocess.run([BUILD / "strobe", "report", runs / "rich", "--format", "json"], check=True, capture_output=True)
    report = json.loads(shown.stdout)
    found = client.call("findings", run="rich", limit=3)
    assert [f["id"] for f in found["recommendations"]] == [f["id"] for f in report["recommendations"]][:3]
    assert found["recommendations"][0]["evidence"] and found["verdict"] == report["verdict"]
    assert found["left_out_count"] == len(report["recommendations"]) - 3
    [step] = client.call("stage", run="rich", name="step")["found"]
    assert step["stage"] == next(s for s in report["stage_analysis"]["stages"] if s["name"] == "step")
    assert [s["name"] for s in step["inside"]] == ["transformer"]
    stages = client.call("stage", run="rich")
    assert stages["wall_s"] == report["stage_analysis"]["wall_s"]
    assert sum(p["part_s"] for p in stages["parts"]) == pytest.approx(stages["wall_s"])
    steps = client.call("steps", run="rich")
    assert steps["iterations"][0]["count"] == 50 and steps["diffusion_analysis"]["fps"] == report["diffusion_analysis"]["fps"]
    memory = client.call("memory", run="rich")["memory"]
    assert memory["peak_mb"] == report["memory"]["peak_mb"] and "timeline" not in memory
    kernels = client.call("kernels", run="traced", limit=2)["gpu_trace"]
    assert len(kernels["top_kernels"]) == 2 and kernels["copies"][0]["gb_per_s"] > 0
    assert "--gpu-trace" in client.call("kernels", run="rich")["not_recorded"]
    text = client.call("report", run="rich")["markdown"]
    assert text.startswith("# strobe: rich") and "steps_many" in text and text.count("\n") <= 200


def test_a_code_names_a_stage_too(client):
    assert client.call("stage", run="rich", name="5")["found"][0]["stage"]["state"] == "skipped"


def test_timeline_of_a_range(client):
    part = client.call("timeline", run="traced", from_s=0.1, to_s=0.2)
    assert (part["from_s"], part["to_s"]) == (0.1, 0.2) and part["zones"]
    for zone in part["zones"]:
        assert zone["t_s"] < 0.2 and zone["t_s"] + zone["duration_s"] > 0.1
        assert "gpu_index" in zone or zone["t_s"] >= 0.1  # GPU work is not cut at the border
    assert [z["t_s"] for z in part["zones"]] == sorted(z["t_s"] for z in part["zones"])
    assert any("gpu_index" in z for z in part["zones"]) and any(z.get("state") == "cut" for z in part["zones"])
    three = client.call("timeline", run="traced", limit=3)
    everything = client.call("timeline", run="traced", limit=300)["zones"]
    assert three["left_out_count"] == len(everything) - 3
    assert sorted(z["duration_s"] for z in three["zones"]) == sorted(z["duration_s"] for z in everything)[-3:]


def test_series_of_a_metric(client):
    metrics = client.call("series", run="rich")["metrics"]
    assert any(m["source"] == "gpu" and m["metric"] == "power_w" for m in metrics)
    some = client.call("series", run="rich", limit=2)
    assert some["metrics"] == metrics[:2] and some["left_out_count"] == len(metrics) - 2
    whole = client.call("series", run="rich", metric="power_w", source="gpu", device=0, limit=500)
    assert len(whole["t_s"]) == len(whole["power_w"]) == whole["row_count"]
    few = client.call("series", run="rich", metric="power_w", limit=5)
    assert len(few["t_s"]) == len(few["min_power_w"]) == len(few["max_power_w"]) == 5
    assert max(few["max_power_w"]) == max(whole["power_w"]) and min(few["min_power_w"]) == min(whole["power_w"])
    part = client.call("series", run="rich", metric="power_w", from_s=10, to_s=12)
    assert part["t_s"][0] >= 10 and part["t_s"][-1] <= 12


def test_diff(client):
    changed = client.call("diff", base="rich", new="traced")
    assert changed["total"]["base_value"] == pytest.approx(131.4) and changed["explanations"] and "runs" not in changed
    assert client.call("diff", base="rich", new="rich")["total"]["verdict"] == "same"


def test_last_is_counted_from_the_newest(client, runs):
    newest = [r["id"] for r in client.call("runs")["runs"]]
    assert client.call("report") == client.call("report", run="last") == client.call("report", run=newest[0])
    assert client.call("report", run="last~1") == client.call("report", run=newest[1])
    assert "no run" in client.refused("report", {"run": f"last~{len(newest)}"})


def test_commands_tags_hosts_and_paths_are_masked(tmp_path):
    done = subprocess.run([BUILD / "strobe", "run", "-o", tmp_path / "runs", "--tag", "prompt=a secret cat", "--",
                           BUILD / "tests" / "recorded", "hush-hush"], capture_output=True, cwd=tmp_path)
    if not (tmp_path / "runs").exists():
        pytest.fail(done.stderr.decode())
    client = Client(tmp_path / "runs")
    said = "".join(json.dumps(client.ask("tools/call", {"name": tool, "arguments": arguments})) for tool, arguments in [
        ("runs", {}), ("report", {}), ("findings", {}), ("stage", {}), ("steps", {}), ("kernels", {}), ("memory", {}),
        ("diff", {"base": "last"}), ("timeline", {}), ("series", {})])
    text = client.call("report")["markdown"]
    assert "Command: \\*\\*\\*\n" in text and "prompt=\\*\\*\\*" in text
    for private in ("secret cat", "hush-hush", str(tmp_path), str(BUILD), os.uname().nodename):
        assert private not in said
    assert client.end()[2] == 0


BAD_ARGUMENTS = [
    ("report", {"run": "../outside.strobe"}), ("report", {"run": "/etc/passwd"}), ("report", {"run": "rich/run.strobe"}),
    ("report", {"run": ""}), ("report", {"run": "."}), ("report", {"run": ".."}), ("report", {"run": "rich\0"}),
    ("report", {"run": "last~-1"}), ("report", {"run": "last~99999999999999999999"}), ("report", {"run": 7}),
    ("report", {"run": ["rich"]}), ("report", {"path": "rich"}), ("report", []), ("report", "rich"),
    ("runs", {"limit": 0}), ("runs", {"limit": -1}), ("runs", {"limit": 1.5}), ("runs", {"limit": 1e300}), ("runs", {"limit": "2"}),
    ("stage", {"run": "rich", "name": "no such stage"}), ("series", {"run": "rich", "metric": "../power_w"}),
    ("series", {"run": "rich", "metric": "power_w", "device": 99}), ("timeline", {"run": "rich", "from_s": 5, "to_s": 5}),
    ("timeline", {"run": "rich", "from_s": -1}), ("diff", {}), ("diff", {"base": "rich", "new": "gone"}),
]


@pytest.mark.parametrize("tool, arguments", BAD_ARGUMENTS, ids=lambda v: json.dumps(v)[:40])
def test_bad_arguments_get_an_error_and_the_server_goes_on(client, runs, tool, arguments):
    message = client.refused(tool, arguments)
    assert "\n" not in message and str(runs) not in message
    assert client.ask("ping")["result"] == {}


BAD_MESSAGES = [
    (b"{", -32700), (b"nonsense", -32700), (b"\xff\xfe", -32700), (b"[" * 5000, -32700), (b'{"a":' * 600, -32700),
    (b"[]", -32600), (b"null", -32600), (b"17", -32600), (b'"ping"', -32600), (b"{}", -32600),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":17}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":{}}}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (2 << 20) + b'"}', -32600),
]


@pytest.mark.parametrize("message, code", BAD_MESSAGES, ids=[m[:30].decode(errors="replace") for m, _ in BAD_MESSAGES])
def test_bad_messages_get_an_error_and_the_server_goes_on(client, message, code):
    assert client.raw(message)["error"]["code"] == code
    assert client.ask("ping")["result"] == {}


def test_a_damaged_run_is_an_error_of_the_tool(tmp_path, runs):
    (tmp_path / "runs/broken").mkdir(parents=True)
    whole = (runs / "rich/run.strobe").read_bytes()
    (tmp_path / "runs/broken/run.strobe").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    client = Client(tmp_path / "runs")
    answer = client.ask("tools/call", {"name": "report", "arguments": {"run": "broken"}})
    assert ("error" in answer or answer["result"]["content"]) and str(tmp_path) not in json.dumps(answer)
    assert client.ask("ping")["result"] == {}
    assert client.end()[2] == 0


def test_an_empty_folder_has_no_runs(tmp_path):
    client = Client(tmp_path)
    assert client.call("runs") == {"runs": []}
    assert client.refused("report", {}) == "there are no runs here yet"
    assert client.end()[2] == 0


def test_the_last_message_may_lack_its_line_end(runs):
    done = subprocess.run([BUILD / "strobe", "mcp", runs], input=b'{"jsonrpc":"2.0","id":"a","method":"ping"}', capture_output=True)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": "a", "result": {}} and done.returncode == 0


def test_nothing_is_written(runs):
    before = sorted((p, p.stat().st_mtime_ns) for p in runs.rglob("*"))
    client = Client(runs)
    for tool in ("report", "stage", "timeline", "series"):
        client.call(tool, run="rich")
    assert client.end()[2] == 0
    assert sorted((p, p.stat().st_mtime_ns) for p in runs.rglob("*")) == before


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Two jobs of four ranks; rank 2 of the second is slow."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, straggler in (("even", "-1"), ("slow", "2")):
        subprocess.run([BUILD / "tests" / "make_ranks", folder / name, "4", "800", straggler, "2"], check=True)
    return folder


def test_a_job_has_ranks_a_report_and_a_diff(jobs):
    client = Client(jobs)
    assert {"even", "slow", "slow.rank_2"} <= {run["id"] for run in client.call("runs")["runs"]}
    ranks = client.call("ranks", run="slow", limit=2)
    whole = json.loads(subprocess.run([BUILD / "strobe", "aggregate", jobs / "slow", "--format", "json"], check=True, stdout=subprocess.PIPE).stdout)
    slow = next(one for one in whole["reports_summary"] if one["rank"] == 2)
    assert ranks["ranks"][0] == {key: slow[key] for key in ranks["ranks"][0]} and ranks["ranks"][0]["slow_stage"] == "forward"
    assert (len(ranks["ranks"]), ranks["left_out_count"], ranks["straggler_count"]) == (2, 2, 1)
    assert "rank 2: " in client.call("report", run="slow")["markdown"]
    stragglers = client.call("diff", base="even", new="slow")["jobs"]["stragglers"]
    assert [(one["rank"], one["change"]) for one in stragglers] == [(2, "came")]
    assert "node0" not in json.dumps([ranks, client.call("report", run="slow"), client.call("diff", base="even", new="slow")])
    assert "slow.rank_0" in client.refused("findings", {"run": "slow"})
    assert "not a job" in client.refused("ranks", {"run": "slow.rank_0"})
    assert client.call("stage", run="slow.rank_2")
    client.end()


def test_last_is_the_job_not_one_of_its_ranks(jobs):
    client = Client(jobs)
    assert client.call("ranks")["rank_count"] == 4
    client.end()


def test_ranks_in_a_launchers_one_folder_have_ids(tmp_path):
    launcher = 'for r in 0 1; do RANK=$r WORLD_SIZE=2 TORCHELASTIC_RUN_ID=j "$0" 3; done'
    subprocess.run([BUILD / "strobe", "run", "-q", "-o", tmp_path, "--name", "t", "--", "sh", "-c", launcher, BUILD / "tests" / "marked"], check=True,
                   env={**os.environ, "STROBE_HISTORY": "off"})
    client = Client(tmp_path)
    job, *ranks = client.call("runs")["runs"]
    assert (job["rank_count"], [(r["id"], r["rank"], r["job"]) for r in ranks]) == (2, [(f"{job['id']}.rank_{n}", n, job["id"]) for n in (0, 1)])
    assert client.call("ranks", run="last")["rank_count"] == 2
    assert client.call("stage", run=ranks[1]["id"])
    assert ranks[0]["id"] in client.refused("findings", {"run": job["id"]})
    client.end()
    for name in (ranks[1]["id"], str(tmp_path / ranks[1]["id"])):  # every other command takes the id, too
        report = subprocess.run([BUILD / "strobe", "report", name, "--format", "json"], check=True, stdout=subprocess.PIPE,
                                env={**os.environ, "STROBE_OUTPUT_DIR": str(tmp_path)}).stdout
        assert json.loads(report)["session_info"]["rank"] == 1
