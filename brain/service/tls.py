"""Mutual TLS on the Thrift door: the PEM files of one side, and the contexts made from them.

Both sides show a certificate of an authority in ``brain.scheduler.tls.ca``; the plugin, the
workers and the command line check besides that the brain's is for the host that they dialled.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brain.errors import BadInput

KEYS = ("ca", "cert", "key")
ENVIRONMENT = {key: f"STORMBRAIN_TLS_{key.upper()}" for key in KEYS}
VERIFY_HOST_VARIABLE = "STORMBRAIN_TLS_VERIFY_HOST"


@dataclass(frozen=True)
class TlsFiles:
    """Paths that were given together; ``names`` are what they are called in errors."""

    ca: Path
    cert: Path
    key: Path
    verify_host: bool = True
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: Any) -> TlsFiles | None:
        """By ``brain.scheduler.tls.*``; None if none of them is set, BadInput if only some are."""
        names = {key: f"brain.scheduler.tls.{key}" for key in KEYS}
        given = {key: settings[f"tls.{key}"] for key in KEYS}
        return cls._made(given, names, bool(settings["tls.verify.host"]))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> TlsFiles | None:
        """By the variables of the command line, like its token's."""
        given = {key: environment.get(name) for key, name in ENVIRONMENT.items()}
        verify = environment.get(VERIFY_HOST_VARIABLE, "true").lower() != "false"
        return cls._made(given, ENVIRONMENT, verify)

    @classmethod
    def _made(
        cls, given: Mapping[str, str | None], names: Mapping[str, str], verify: bool
    ) -> TlsFiles | None:
        paths = {key: Path(path) for key, path in given.items() if path}
        if not paths:
            return None
        for key in KEYS:
            if key not in paths:
                raise BadInput(names[key], "is not set", f"{', '.join(names.values())} go together")
        return cls(paths["ca"], paths["cert"], paths["key"], verify, dict(names))

    def server_context(self) -> ssl.SSLContext:
        return self._context(ssl.PROTOCOL_TLS_SERVER)

    def client_context(self) -> ssl.SSLContext:
        context = self._context(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.verify_host
        return context

    def changed_ns(self) -> tuple[int, ...]:
        """Another value once a file has been replaced, as when a certificate is renewed."""
        try:
            return tuple(p.stat().st_mtime_ns for p in (self.ca, self.cert, self.key))
        except OSError:
            return ()

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        for key, path in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            try:
                path.read_bytes()
            except OSError as e:
                raise BadInput(self.names.get(key, key), f"{path} cannot be read: {e}") from None
        try:
            context.load_verify_locations(self.ca)
        except ssl.SSLError as e:
            raise BadInput(
                self.names.get("ca", "ca"), f"{self.ca} is no PEM file of certificates: {e.reason}"
            ) from None
        try:
            context.load_cert_chain(self.cert, self.key, password=lambda: "")
        except (ssl.SSLError, ValueError) as e:
            raise BadInput(
                self.names.get("cert", "cert"),
                f"{self.cert} and the key {self.key} cannot be used together: {e}",
                "both must be PEM, the key without a password and of that certificate",
            ) from None
        return context


class ServerTls:
    """Wraps accepted sockets; takes renewed files up without a restart."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._context = files.server_context()
        self._changed_ns = files.changed_ns()

    def wrap(self, sock: Any) -> ssl.SSLSocket:
        """The handshake is still to be done, by the connection's own thread."""
        now = self._files.changed_ns()
        if now and now != self._changed_ns:
            # Half written files: the old certificate serves until the new one is whole.
            with contextlib.suppress(BadInput):
                self._context, self._changed_ns = self._files.server_context(), now
        return self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)


def refusal(error: ssl.SSLError) -> str:
    """What a failed handshake means, for the log."""
    reason = error.reason or str(error)
    hints = {
        "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer showed no certificate",
        "WRONG_VERSION_NUMBER": "the peer speaks no TLS: set brain.scheduler.tls.* there, too",
        "HTTP_REQUEST": "the peer speaks HTTP without TLS",
        "CERTIFICATE_VERIFY_FAILED": getattr(error, "verify_message", "")
        or "the peer's certificate is of an unknown authority, or expired",
    }
    return f"TLS refused: {hints.get(reason, reason)}"
