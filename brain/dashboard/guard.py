"""Who may ask the dashboard what. It is meant for loopback; these rules hold anywhere.

* Pages of other sites can neither read (Host must be an address or a name of this machine, so that
  a rebound DNS name does not get in) nor write (POST wants the page's own Origin).
* Writing wants the brain's token; without one configured, nothing can be written.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Refused(Exception):
    """``status`` is the HTTP status; the message is for the reader."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def check_host(headers: Mapping[str, str]) -> None:
    name = urlsplit(f"//{headers.get('Host', '')}").hostname or ""
    if name in _own_names():
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise Refused(
            403, f"{name!r} is not a name of this machine: use its address or localhost"
        ) from None


def check_same_origin(headers: Mapping[str, str]) -> None:
    origin = headers.get("Origin", "")
    if not origin or urlsplit(origin).netloc != headers.get("Host", ""):
        raise Refused(403, "requests from other pages are not taken")
    if headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "the body must be application/json")


def check_token(headers: Mapping[str, str], expected: str | None) -> None:
    if not expected:
        raise Refused(
            403, "this dashboard only reads: set brain.scheduler.token to allow applying plans"
        )
    given = headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not hmac.compare_digest(expected.encode(), given.encode()):
        raise Refused(401, "the token is missing or wrong")


def _own_names() -> set[str]:
    return {"localhost", socket.gethostname().lower(), socket.getfqdn().lower()}
