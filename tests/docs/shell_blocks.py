"""The shell commands of the documentation: fenced ``sh`` blocks, line by line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")])

_BLOCK = re.compile(r"^[ ]*```(?P<info>sh[^\n]*)\n(?P<body>.*?)^[ ]*```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    info: str
    body: str

    @property
    def runs(self) -> bool:
        """Marked ``sh test``: quick, self-contained, and to be run as it stands."""
        return self.info.split() == ["sh", "test"]

    @property
    def label(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in _BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page, line, found["info"].strip(), found["body"])


def commands(block: Block) -> Iterator[list[str]]:
    """Each simple command of a block as words, without prompts, comments and redirections."""
    for line in block.body.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>")
        lexer.commenters = "#"
        lexer.whitespace_split = True
        words: list[str] = []
        skip_next = False
        for token in lexer:
            if set(token) <= set("|&;"):
                yield from _real(words)
                words = []
            elif set(token) <= set("<>&"):
                skip_next = True
            elif skip_next:
                skip_next = False
            else:
                words.append(token)
        yield from _real(words)


def _real(words: list[str]) -> Iterator[list[str]]:
    while words and (re.fullmatch(r"[A-Za-z_]+=.*", words[0]) or words[0] == "sudo"):
        words = words[1:]
        while words and words[0] in ("-u", "--user"):
            words = words[2:]
    if words:
        yield words
