"""Questions of the page: answered by this brain, or by the leader if that is another one."""

from __future__ import annotations

import json
from typing import Any

from brain.cli.connection import call_brain
from brain.errors import StormbrainError
from brain.idl import wire
from brain.service.inspect import Inspector
from brain.service.json_text import json_text
from brain.service.tls import TlsFiles

FORWARD_SECS = 90.0


class Answers:
    def __init__(
        self, inspector: Inspector, token: str | None, tls: TlsFiles | None = None
    ) -> None:
        self._inspector = inspector
        self._token = token or ""
        self._tls = tls

    def ask(self, question: str, arguments: dict[str, Any]) -> tuple[int, str]:
        """HTTP status and JSON text; errors are ``{"error": …, "field": …}``."""
        text = json.dumps(arguments)
        try:
            return 200, self._inspector.answer(question, text)
        except wire.NotLeader as e:
            return self._ask_leader(e.leader, question, text)
        except wire.BadRequest as e:
            return 400, json_text({"error": e.message, "field": e.field})
        except wire.Overloaded as e:
            return 503, json_text({"error": e.message})

    def brain(self) -> dict[str, Any]:
        return self._inspector.brain()

    def _ask_leader(self, leader: str | None, question: str, arguments: str) -> tuple[int, str]:
        standby = {"error": "no brain leads just now", "brain": self.brain()}
        if not leader:
            return 503, json_text(standby)
        try:
            answer: str = call_brain(
                leader, "ask", self._token, question, arguments, timeout=FORWARD_SECS, tls=self._tls
            )
        except StormbrainError as e:
            return 503, json_text({**standby, "error": e.message})
        return 200, answer
