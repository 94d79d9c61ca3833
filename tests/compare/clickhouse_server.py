"""A clickhouse-server on loopback, for the tests of the warehouse."""
import os
import shutil
import signal
import socket
import subprocess
import threading
import urllib.request

SERVER = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")

CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>information</level><console>1</console></logger>
  <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>5368709</mark_cache_size>
  <remote_servers><fleet>
    {shards}
  </fleet></remote_servers>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
  <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
  <loader><password>open sesame</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
    <quota>default</quota></loader>
</users></yandex>
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, folder, http, tcp, shards):
        self.folder, self.http, self.process = folder, http, None
        for name in ("data", "tmp"):
            (folder / name).mkdir(parents=True)
        text = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in shards)
        (folder / "config.xml").write_text(CONFIG.format(folder=folder, http=http, tcp=tcp, shards=text))
        (folder / "users.xml").write_text(USERS)

    def start(self):
        self.process = subprocess.Popen([SERVER, f"--config-file={self.folder}/config.xml"], cwd=self.folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        ready, said = threading.Event(), []
        threading.Thread(target=self.listen, args=(self.process.stdout, ready, said), daemon=True).start()
        assert ready.wait(60) and self.ask("SELECT 1") == "1", "clickhouse-server does not answer: " + "".join(said[-5:])

    @staticmethod
    def listen(log, ready, said):
        """Reads what the server says, to the end; it is ready when it says so, or has ended."""
        for line in log:
            said.append(line)
            if "Ready for connections" in line:
                ready.set()
        ready.set()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, sql):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.http}/", data=sql.encode(), timeout=30).read().decode().strip()

    def url(self, rest):
        return f"clickhouse://127.0.0.1:{self.http}/{rest}"
