"""A running strobe serve, and a program that records while it is served. The build is the first argument of the command."""
import atexit
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
PATIENCE_S = 120


def until(what, test):
    """Waits for something another process does; the limit only ends a hang."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        value = test()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"gave up waiting for {what}")


class Server:
    def __init__(self, folder, *options, env=None, before=None):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [BUILD / "strobe", "serve", folder, "--port", "0", *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True, env={**os.environ, **(env or {})}, preexec_fn=before)
        atexit.register(self.process.kill)  # should a test fail before it stops the server
        line = self.process.stdout.readline()
        assert "http://" in line, line
        self.port = int(line.split("http://")[1].split("/")[0].rsplit(":", 1)[1])

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def said(self):
        """The lines on its standard error."""
        self.log.seek(0)
        return self.log.read().splitlines()

    def worker(self):
        """The process that reads recordings."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(until("a worker", lambda: children.read_text().split())[0])

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.log.close()
        return code


class Recorder:
    def __init__(self, folder):
        self.process = subprocess.Popen([BUILD / "tests" / "live_recorder", folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "STROBE_GENERATE_FINAL_REPORT": "false"})
        self.run = pathlib.Path(self.process.stdout.readline().strip()).name

    def zones(self):
        self.process.stdin.write(".")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def stop(self):
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()
