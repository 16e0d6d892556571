"""One root for all errors that a user may see; each says what, where and how to mend it."""

from __future__ import annotations


class StormbrainError(Exception):
    """A problem that is told to the user in one line, with a hint where there is one.

    ``exit_code`` is what the CLI exits with: 1 for something that failed, 2 for input that
    cannot be meant.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(StormbrainError):
    """The user's input is malformed; ``where`` names the path of the wrong field or the file."""

    exit_code = 2

    def __init__(self, where: str, message: str, hint: str | None = None) -> None:
        super().__init__(f"{where}: {message}", hint)
        self.where = where
