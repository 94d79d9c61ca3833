"""A TLS server on loopback with a certificate of its own, for the tests of https:// warehouses."""
import http.server
import shutil
import ssl
import subprocess
import threading
import urllib.parse
import urllib.request

OPENSSL = shutil.which("openssl")


def certificate(folder, names="IP:127.0.0.1,DNS:localhost"):
    """A self-signed certificate: its own authority. Returns its file; the key lies beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=strobe-test", "-addext", f"subjectAltName={names}", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    return folder / "cert.pem"


class Server(http.server.ThreadingHTTPServer):
    """Answers by answer(query, body, headers) -> text; without one, as the plain HTTP server at `behind` does."""

    def __init__(self, cert, answer=None, behind=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.behind = answer, behind
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, cert.with_name("key.pem"))
        # each connection's own thread shakes hands: a stray client keeps no other waiting
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a client that does not accept the certificate ends the handshake

    def url(self, rest):
        return f"https://127.0.0.1:{self.server_port}/{rest}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.behind:
            with urllib.request.urlopen(self.server.behind + self.path, data=body, timeout=60) as answer:
                text = answer.read()
        else:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query", [body.decode(errors="replace")])[0]
            text = self.server.answer(query, body, self.headers).encode()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (text, b"") if text else (b"",):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def log_message(self, *_):
        pass
