# strobe mcp against a plain JSON-RPC client; tests/real_tools has the official one.
strobe_pytest(mcp mcp/test_mcp.py 300)
