"""strobe mcp with the official client library, by handshake and without one."""
import asyncio
import json

import mcp
import pytest
from conftest import TOOL


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_official_client_uses_every_tool(runs, mode):
    async def talk():
        server = mcp.StdioServerParameters(command=str(TOOL), args=["mcp", str(runs)])
        async with mcp.Client(mcp.stdio_client(server), mode=mode) as client:
            listed = (await client.list_tools()).tools
            answers = {}
            for tool in listed:
                if tool.name == "ranks":  # of jobs; tests/mcp has one
                    with pytest.raises(mcp.MCPError, match="not a job"):
                        await client.call_tool("ranks", {"run": "traced"})
                    continue
                arguments = {"base": "rich", "new": "traced"} if tool.name == "diff" else {} if tool.name == "runs" else {"run": "traced"}
                answers[tool.name] = await client.call_tool(tool.name, arguments)
            with pytest.raises(mcp.MCPError, match="no run"):
                await client.call_tool("report", {"run": "/etc/passwd"})
            with pytest.raises(mcp.MCPError, match="takes no"):
                await client.call_tool("report", {"path": "x"})
            again = await client.call_tool("steps", {"run": "traced"})
            return listed, answers, again

    listed, answers, again = asyncio.run(talk())
    assert all(tool.annotations.read_only_hint for tool in listed)
    found = {name: json.loads(answer.content[0].text) for name, answer in answers.items() if not answer.is_error}
    assert len(found) == len(listed) - 1 == 10
    assert {r["id"] for r in found["runs"]["runs"]} == {p.name for p in runs.iterdir()}
    assert found["kernels"]["gpu_trace"]["kernel_count"] == 41 and found["timeline"]["zones"] and "# strobe" in found["report"]["markdown"]
    assert json.loads(again.content[0].text) == found["steps"]
