"""A topology's options: a dataclass whose fields are set from text."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from brain.errors import BadInput

_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True} | {
    "false": False, "no": False, "off": False, "0": False
}  # fmt: skip


@dataclass(frozen=True)
class OptionField:
    kind: type
    default: Any
    meaning: str


def option_fields(options_class: type) -> dict[str, OptionField]:
    """The options in the order of their definition, inherited ones first."""
    hints = get_type_hints(options_class)
    meanings = _meanings(options_class)
    return {
        field.name: OptionField(
            hints[field.name],
            field.default,
            meanings.get(field.name) or field.metadata.get("meaning", ""),
        )
        for field in dataclasses.fields(options_class)
        if field.init
    }


def make_options(options_class: type, given: Mapping[str, str], where: str) -> Any:
    """An instance with the given values; what is wrong is told with the name of the option."""
    known = option_fields(options_class)
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in known:
            raise unknown_option(where, name, known)
        values[name] = _parse(name, text, known[name], where)
    try:
        return options_class(**values)
    except (TypeError, ValueError) as e:
        raise BadInput(where, str(e)) from e


def unknown_option(where: str, name: str, known: Mapping[str, OptionField]) -> BadInput:
    shown = ", ".join(f"{key}={field.default}" for key, field in known.items())
    return BadInput(
        where,
        f"has no option {name}",
        f"its options and their defaults: {shown}; a Storm setting has a dot in its name"
        if known
        else "it has no options at all; a Storm setting has a dot in its name",
    )


def _parse(name: str, text: str, field: OptionField, where: str) -> Any:
    try:
        if field.kind is bool:
            return _BOOLEANS[text.lower()]
        return field.kind(text)
    except (KeyError, ValueError, TypeError) as e:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(
            field.kind, field.kind.__name__
        )
        hint = f"default: {field.default}"
        raise BadInput(
            where, f"option {name} must be {kind}, not {text!r}", f"{hint}; {field.meaning}"
        ) from e


def _meanings(options_class: type) -> dict[str, str]:
    """The strings that stand below the fields in the source."""
    found: dict[str, str] = {}
    for cls in reversed(options_class.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError):  # made at run time: there is no source to read
            continue
        definition = tree.body[0]
        if not isinstance(definition, ast.ClassDef):
            continue
        for field, below in zip(definition.body, definition.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                found[field.target.id] = " ".join(below.value.value.split())
    return found
