"""XML with line numbers, by expat: small, and closed to document types and entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat


@dataclass
class Element:
    """An element, its attributes, its children, and the line it begins on."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]


class XmlFault(ValueError):
    """The text is not XML that we read."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def parse_xml(text: str) -> Element:
    """The root element. Document types are refused: with them come entities that explode."""
    parser = expat.ParserCreate()
    open_elements: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        if data.strip():
            raise XmlFault(parser.CurrentLineNumber, f"text {data.strip()!r} has no place here")

    def doctype(*_: object) -> None:
        raise XmlFault(parser.CurrentLineNumber, "a document type is not allowed")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text, True)
    except expat.ExpatError as fault:
        raise XmlFault(fault.lineno, f"not well-formed: {expat.ErrorString(fault.code)}") from None
    return roots[0]
