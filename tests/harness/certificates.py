"""Certificates made on the fly with openssl, as an operator would make them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True)
class Files:
    ca: Path
    cert: Path
    key: Path

    def settings(self) -> dict[str, str]:
        return {
            "brain.scheduler.tls.ca": str(self.ca),
            "brain.scheduler.tls.cert": str(self.cert),
            "brain.scheduler.tls.key": str(self.key),
        }


class Authority:
    """A certificate authority of its own in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key, self.cert = folder / f"{name}.key", folder / f"{name}.pem"
        _openssl("req", "-x509", *_NEW_KEY, "-keyout", self._key, "-out", self.cert,
                 "-days", "2", "-subj", f"/CN={name}")  # fmt: skip

    def issue(self, name: str, hosts: str = "IP:127.0.0.1,DNS:localhost", days: int = 2) -> Files:
        """A certificate for these hosts; one that ended before it began, with days below 0."""
        key, request, cert = (self._folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={hosts}\n")
        _openssl("req", *_NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        _openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self._key, "-days",
                 days, "-CAcreateserial", "-extfile", extensions, "-out", cert)  # fmt: skip
        return Files(self.cert, cert, key)


def _openssl(*arguments: object) -> None:
    command = ["openssl", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
