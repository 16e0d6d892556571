"""A report as blocks, and the two forms that it is written in."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` and **bold** as in Markdown."""

    text: str


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    """So many first columns are words; the others are numbers and stand to the right."""


@dataclass(frozen=True)
class Figure:
    path: Path
    caption: str


Block = Heading | Text | Bullets | Table | Figure


def table(head: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> Table:
    return Table(tuple(head), tuple(tuple(str(c) for c in row) for row in rows), left)


def to_markdown(blocks: Sequence[Block], at: Path) -> str:
    """``at`` is where the page will lie, so that figures are linked from there."""
    parts = []
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"{'#' * level} {text}")
            case Text(text):
                parts.append(text)
            case Bullets(items):
                parts.append("\n".join(f"- {item}" for item in items))
            case Table():
                parts.append(markdown_table(block))
            case Figure(path, caption):
                parts.append(f"![{caption}]({_relative(path, at)})")
    return "\n\n".join(parts) + "\n"


def markdown_table(block: Table) -> str:
    line = ["---" if i < block.left else "---:" for i in range(len(block.head))]
    rows = [block.head, tuple(line), *block.rows]
    return "\n".join("| " + " | ".join(_cell(c) for c in row) + " |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def to_html(title: str, blocks: Sequence[Block], at: Path) -> str:
    body = []
    for block in blocks:
        match block:
            case Heading(text, level):
                body.append(f"<h{level}>{_inline(text)}</h{level}>")
            case Text(text):
                body.append(f"<p>{_inline(text)}</p>")
            case Bullets(items):
                body.append("<ul>" + "".join(f"<li>{_inline(i)}</li>" for i in items) + "</ul>")
            case Table():
                body.append(_html_table(block))
            case Figure(path, caption):
                words = html.escape(caption, quote=True)
                source = html.escape(_relative(path, at), quote=True)
                body.append(
                    f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption>'
                    "</figure>"
                )
    return _PAGE.format(title=html.escape(title), body="\n".join(body))


def _html_table(block: Table) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        out = []
        for i, cell in enumerate(cells):
            side = "" if i < block.left else ' class="n"'
            out.append(f"<{tag}{side}>{_inline(cell)}</{tag}>")
        return "<tr>" + "".join(out) + "</tr>"

    rows = "".join(row(r, "td") for r in block.rows)
    return f"<table><thead>{row(block.head, 'th')}</thead><tbody>{rows}</tbody></table>"


def _inline(text: str) -> str:
    safe = html.escape(text)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return re.sub(r"\[([^\]]+)\]\((?!javascript)([^)\s]+)\)", r'<a href="\2">\1</a>', safe)


def _relative(path: Path, at: Path) -> str:
    import os

    return Path(os.path.relpath(path, at.parent)).as_posix()


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c2833; background: #fff; }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #d5d8dc; text-align: left; }}
th {{ border-bottom: 2px solid #808b96; }}
.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
code {{ background: #f2f3f4; padding: 0 .2rem; }}
figure {{ margin: 1rem 0; }} img {{ max-width: 100%; height: auto; }}
figcaption {{ color: #566573; font-size: .9rem; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #17202a; color: #eaecee; }}
  code {{ background: #273746; }} th, td {{ border-color: #566573; }} img {{ background: #fff; }} }}
</style></head><body>
{body}
</body></html>
"""
