#!/usr/bin/env python3
"""strobe serve with a token, as where others can reach it.

usage: tests/serve/tokens.py BUILD
"""
import os
import subprocess
import sys
import tempfile
import unittest

from server import BUILD, Server

del sys.argv[1]  # what is left is unittest's
TOKEN = "0123456789abcdefXYZ"


class Token(unittest.TestCase):
    def test_beyond_loopback_needs_a_token(self):
        refused = subprocess.run([BUILD / "strobe", "serve", "/tmp", "--address", "0.0.0.0", "--port", "0"],
                                 capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "STROBE_SERVE_TOKEN"})
        self.assertEqual(refused.returncode, 2)
        self.assertIn("token", refused.stderr)

    def test_short_tokens_are_refused(self):
        refused = subprocess.run([BUILD / "strobe", "serve", "/tmp", "--port", "0"], capture_output=True, text=True,
                                 env={**os.environ, "STROBE_SERVE_TOKEN": "short"})
        self.assertEqual(refused.returncode, 2)

    def test_the_token_opens_once_as_address_then_as_cookie(self):
        with tempfile.TemporaryDirectory(prefix="strobe-serve-") as folder:
            server = Server(folder, "--address", "0.0.0.0", env={"STROBE_SERVE_TOKEN": TOKEN})
            try:
                self.assertEqual(server.get("/").status, 401)
                self.assertEqual(server.get("/metrics").status, 401)
                self.assertEqual(server.get("/healthz").status, 200)
                self.assertEqual(server.get("/?token=wrong-wrong-wrong-wrong").status, 401)
                moved = server.get(f"/?token={TOKEN}")
                self.assertEqual((moved.status, moved.headers["Location"]), (302, "/"))
                moved = server.get(f"/diff?base=a%20b&token={TOKEN}&new=c")
                self.assertEqual((moved.status, moved.headers["Location"]), (302, "/diff?base=a%20b&new=c"))
                cookie = moved.headers["Set-Cookie"]
                self.assertIn("HttpOnly", cookie)
                self.assertIn("SameSite=Strict", cookie)
                self.assertEqual(server.get("/", Cookie=cookie.split(";")[0]).status, 200)
                self.assertEqual(server.get("/metrics", Authorization=f"Bearer {TOKEN}").status, 200)
                self.assertEqual(server.get("/metrics", Authorization=f"Bearer {TOKEN}x").status, 401)
            finally:
                server.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
