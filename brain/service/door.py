"""The Thrift door: a bounded, framed server for the Brain service.

One thread a connection, up to a limit; more are closed at once. Frames are bounded, an idle or
stalled peer is dropped, a decoder that chokes closes only its own connection.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from typing import Any, Protocol

from thriftpy2.thrift import TApplicationException, TMessageType

from brain.idl import wire
from brain.idl.checked import NotValid, message_reader, require, writer
from brain.service.framing import Disconnected, FrameTooLarge, read_frame, write_frame
from brain.service.tls import ServerTls, refusal

log = logging.getLogger(__name__)

IDLE_SECS = 120.0
"""Shims come every few seconds, workers each window; a peer silent for longer is gone."""
HANDSHAKE_SECS = 10.0
TELL_SECS = 1.0
"""Between two log lines about broken connections."""


class Handler(Protocol):
    """What the door calls; see service Brain in the IDL."""

    def schedule(self, state: Any) -> Any: ...
    def report(self, report: Any) -> None: ...
    def status(self, token: str) -> Any: ...
    def ask(self, token: str, question: str, arguments: str) -> str: ...


class Door:
    def __init__(
        self,
        handler: Handler,
        host: str,
        port: int,
        max_connections: int,
        max_frame_bytes: int,
        tls: ServerTls | None = None,
    ) -> None:
        self._handler = handler
        self._max_frame_bytes = max_frame_bytes
        self._tls = tls
        self._places = threading.Semaphore(max_connections)
        self._listener = socket.create_server((host, port), backlog=128)
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._told_at = -TELL_SECS
        self._untold = 0
        self.counters = {"connections": 0, "refused_connections": 0, "broken_requests": 0}
        self._thread = threading.Thread(target=self._accept, name="door", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._connections:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(timeout=5)

    def open_connections(self) -> int:
        with self._lock:
            return len(self._connections)

    def _accept(self) -> None:
        while not self._closed:
            try:
                sock, peer = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                log.exception("accept failed")
                continue
            if not self._places.acquire(blocking=False):
                self.counters["refused_connections"] += 1
                sock.close()
                continue
            self.counters["connections"] += 1
            sock.settimeout(IDLE_SECS)
            with self._lock:
                self._connections.add(sock)
            threading.Thread(
                target=self._serve, args=(sock, peer), name=f"door-{peer[1]}", daemon=True
            ).start()

    def _serve(self, sock: socket.socket, peer: Any) -> None:
        try:
            sock = self._secured(sock)
            while True:
                answer = self._answer(read_frame(sock, self._max_frame_bytes))
                if answer:
                    write_frame(sock, answer)
        except (Disconnected, TimeoutError, ConnectionError, ssl.SSLEOFError):
            pass
        except ssl.SSLError as e:
            self._broken(peer, refusal(e))
        except FrameTooLarge as e:
            self._broken(peer, e.message)
        except Exception as e:
            # Whatever the bytes were, they end this connection and nothing else.
            self._broken(peer, f"{type(e).__name__}: {e}")
        finally:
            with self._lock:
                self._connections.discard(sock)
            sock.close()
            self._places.release()

    def _secured(self, sock: socket.socket) -> socket.socket:
        """With TLS configured: the same connection after the handshake, which may not take long."""
        if self._tls is None:
            return sock
        wrapped = self._tls.wrap(sock)
        with self._lock:
            self._connections.discard(sock)
            self._connections.add(wrapped)
        wrapped.settimeout(HANDSHAKE_SECS)
        try:
            wrapped.do_handshake()
        except BaseException:
            with self._lock:
                self._connections.discard(wrapped)
            wrapped.close()
            raise
        wrapped.settimeout(IDLE_SECS)
        return wrapped

    def _broken(self, peer: Any, message: str) -> None:
        """Told, but not so often that a stranger could fill the disk with it."""
        with self._lock:
            self.counters["broken_requests"] += 1
            now = time.monotonic()
            if now - self._told_at < TELL_SECS:
                self._untold += 1
                return
            untold, self._untold, self._told_at = self._untold, 0, now
        more = f" ({untold} more since the last of these lines)" if untold else ""
        log.warning("connection of %s closed: %s%s", peer, message[:300], more)

    def _answer(self, frame: bytes) -> bytes:
        """Decodes a call, makes it, and encodes the answer (empty for a oneway call)."""
        call = message_reader(frame)
        name, kind, sequence = call.read_message_begin()
        if kind not in (TMessageType.CALL, TMessageType.ONEWAY):
            raise NotValid(f"message type {kind} is not a call")
        if name not in wire.Brain.thrift_services:
            unknown = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"no {name!r}")
            return _message(name, TMessageType.EXCEPTION, sequence, unknown)
        args = getattr(wire.Brain, f"{name}_args")()
        args.read(call)
        require(args, all_fields=True)
        result = getattr(wire.Brain, f"{name}_result")()
        try:
            values = [getattr(args, spec[1]) for _, spec in sorted(args.thrift_spec.items())]
            result.success = getattr(self._handler, name)(*values)
        except Exception as e:
            if not _declared(e, result):
                log.exception("%s failed", name)
                failed = TApplicationException(
                    TApplicationException.INTERNAL_ERROR, f"{name} failed, see the brain's log"
                )
                return _message(name, TMessageType.EXCEPTION, sequence, failed)
        if kind == TMessageType.ONEWAY or result.oneway:
            return b""
        return _message(name, TMessageType.REPLY, sequence, result)


def _declared(error: Exception, result: Any) -> bool:
    """Puts an exception that the IDL declares for this call into its result."""
    for spec in result.thrift_spec.values():
        if spec[1] != "success" and isinstance(error, spec[2]):
            setattr(result, spec[1], error)
            return True
    return False


def _message(name: str, kind: int, sequence: int, body: Any) -> bytes:
    out, buffer = writer()
    out.write_message_begin(name, kind, sequence)
    body.write(out)
    out.write_message_end()
    return bytes(buffer.getvalue())
