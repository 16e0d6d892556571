"""The HTTP server of the dashboard: a fixed set of paths, bounded in threads and sizes.

==================  ======================================================
GET /               the page; GET /assets/… its scripts and styles
GET /api/picture    live state (``?topology=ID`` for the details of one)
GET /api/explain    ``?topology=…&executor=…``
GET /api/about      this brain, and whether plans may be applied from here
POST /api/plan      a dry run; POST /api/whatif likewise
POST /api/apply     puts a shown plan in force; wants the token
GET /metrics        for Prometheus; GET /healthz for a supervisor
==================  ======================================================
"""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from brain import __version__
from brain.algorithms import registry
from brain.dashboard.answers import Answers
from brain.dashboard.guard import (
    HEADERS,
    Refused,
    check_host,
    check_same_origin,
    check_token,
)
from brain.dashboard.metrics import metrics_text
from brain.errors import StormbrainError
from brain.service.json_text import json_text
from brain.service.runtime import BrainRuntime

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 64
MAX_BODY_BYTES = 64 * 1024
IDLE_SECS = 30.0
GZIP_FROM_BYTES = 8 * 1024
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css",
         ".svg": "image/svg+xml"}  # fmt: skip
JSON = "application/json; charset=utf-8"


class Dashboard:
    """``start`` returns when it serves; ``stop`` ends it. ``url`` says where."""

    def __init__(
        self, runtime: BrainRuntime, host: str, port: int, token: str | None = None
    ) -> None:
        self.runtime = runtime
        self.token = token
        self.answers = Answers(runtime.inspector, token, runtime.tls)
        self.assets = _load_assets()
        try:
            self._server = _Server((host, port), self)
        except OSError as e:
            raise StormbrainError(
                f"the dashboard cannot listen on {host}:{port}: {e.strerror or e}",
                "choose another address with --dashboard, or `--dashboard off`",
            ) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.2,), name="dashboard", daemon=True
        )

    @property
    def url(self) -> str:
        host, port = str(self._server.server_address[0]), self._server.server_address[1]
        if host in ("0.0.0.0", "::"):  # every address of this machine: its name is one to click on
            host = socket.gethostname()
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()
        self._thread.join(timeout=5)


def _load_assets() -> dict[str, tuple[str, bytes]]:
    """Path → type and bytes, read once: there is no way to any other file."""
    found = {}
    for asset in (files("brain.dashboard") / "assets").iterdir():
        kind = TYPES.get("." + asset.name.rpartition(".")[2])
        if kind is not None:
            path = "/" if asset.name == "index.html" else f"/assets/{asset.name}"
            found[path] = (f"{kind}; charset=utf-8", asset.read_bytes())
    return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 32

    def __init__(self, address: tuple[str, int], dashboard: Dashboard) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self.dashboard = dashboard
        self._places = threading.Semaphore(MAX_CONNECTIONS)
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._open.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.discard(request)
            self._places.release()

    def hang_up(self) -> None:
        """Ends the connections that browsers keep open, so that they notice at once."""
        for request in list(self._open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("dashboard: connection of %s broke", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECS
    server: _Server

    def version_string(self) -> str:
        return f"stormbrain/{__version__}"

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("dashboard: " + format, *args)

    def do_GET(self) -> None:
        self._guarded(self._get)

    def do_HEAD(self) -> None:
        self._guarded(self._get)

    def do_POST(self) -> None:
        self._guarded(self._post)

    def _guarded(self, handle: Any) -> None:
        try:
            handle()
        except Refused as e:
            self.close_connection = True  # a body may be left unread
            self._send(e.status, JSON, json_text({"error": e.message}).encode())
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception:
            log.exception("dashboard: %s failed", self.path[:200])
            self.close_connection = True
            with contextlib.suppress(OSError):
                self._send(500, JSON, b'{"error": "failed; see the brain\'s log"}')

    # ------------------------------------------------------------ reading

    def _get(self) -> None:
        url = urlsplit(self.path)
        dashboard = self.server.dashboard
        if url.path == "/metrics":
            self._send(200, "text/plain; version=0.0.4; charset=utf-8", self._metrics().encode())
            return
        if url.path == "/healthz":
            self._send(200, JSON, json_text(dashboard.answers.brain()).encode())
            return
        check_host(self.headers)  # type: ignore[arg-type]
        query = dict(parse_qsl(url.query))
        if url.path == "/api/about":
            about = {
                "brain": dashboard.answers.brain(),
                "can_apply": bool(dashboard.token),
                "algorithms": registry.names(),
            }
            self._send(200, JSON, json_text(about).encode())
        elif url.path in ("/api/picture", "/api/explain"):
            status, text = dashboard.answers.ask(url.path.rpartition("/")[2], query)
            self._send(status, JSON, text.encode())
        elif url.path in dashboard.assets:
            kind, body = dashboard.assets[url.path]
            self._send(200, kind, body)
        else:
            raise Refused(404, "there is no such page")

    def _metrics(self) -> str:
        dashboard = self.server.dashboard
        brain = dashboard.answers.brain()
        picture = None
        if brain["leading"]:
            status, text = dashboard.answers.ask("picture", {})
            picture = json.loads(text) if status == 200 else None
        return metrics_text(brain, picture, dashboard.runtime.door.counters)

    # ------------------------------------------------------------ asking for work

    def _post(self) -> None:
        path = urlsplit(self.path).path
        if path not in ("/api/plan", "/api/whatif", "/api/apply"):
            raise Refused(404, "there is no such page")
        check_host(self.headers)  # type: ignore[arg-type]
        check_same_origin(self.headers)  # type: ignore[arg-type]
        if path == "/api/apply":
            check_token(self.headers, self.server.dashboard.token)  # type: ignore[arg-type]
        status, text = self.server.dashboard.answers.ask(path.rpartition("/")[2], self._body())
        self._send(status, JSON, text.encode())

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refused(411, "the length of the body is missing")
        if int(length) > MAX_BODY_BYTES:
            raise Refused(413, f"more than {MAX_BODY_BYTES} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)) or b"{}")
        except (ValueError, RecursionError):
            raise Refused(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refused(400, "the body must be a JSON object")
        return body

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        small = len(body) < GZIP_FROM_BYTES
        if not small and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, 1)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
