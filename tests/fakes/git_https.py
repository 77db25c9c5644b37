"""A git server by https with a certificate that it signed itself, which asks for a name and a token."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class GitServer:
    """One that runs."""

    port: int
    certificate: Path
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Paths that were asked for, and what was said to be let in."""

    def url(self, name: str, user: str = "") -> str:
        return f"https://{f'{user}@' if user else ''}localhost:{self.port}/{name}"


@contextmanager
def git_server(root: Path, *, token: str, folder: Path) -> Iterator[GitServer]:
    """Serves the repositories below `root`; `/moved/…` leads elsewhere. `folder` is for the certificate."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    making = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate))
    subprocess.run([*making.split(), *names], check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    running = GitServer(server.server_address[1], certificate)
    own = {"root": root, "token": token, "running": running, "backend": _backend()}
    server.RequestHandlerClass = type("Handler", (_Handler,), own)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers as `git http-backend` does, once it knows who asks."""

    protocol_version = "HTTP/1.1"
    root: Path
    token: str
    running: GitServer
    backend: str

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        said = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        self.running.seen.append((path, said))
        if path.startswith("/moved/"):
            self.send_response(302)
            place = self.path.removeprefix("/moved/")
            self.send_header("Location", f"https://localhost:{self.running.port}/{place}")
            self._end()
        elif said.partition(":")[2] != self.token:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self._end()
        else:
            self._answer(path, query)

    def do_POST(self) -> None:
        self.do_GET()

    def _answer(self, path: str, query: str) -> None:
        body = self._body()
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "me",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        out = subprocess.run([self.backend], input=body, env=environment, capture_output=True, check=True).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(lines.pop("Status", "200").split()[0]))
        for name, value in lines.items():
            self.send_header(name, value)
        self._end(content)

    def _end(self, content: bytes = b"") -> None:
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


def _backend() -> str:
    found = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True).stdout.strip()
    return f"{found}/git-http-backend"
