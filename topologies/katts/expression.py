"""Expressions over variables: ``?max / ?min``, ``?factor > 2 and ?agency != "Energy"``.

Grammar, loosest binding first::

    or      := and ("or" and)*                  not  := "not" not | compare
    and     := not ("and" not)*                 compare := sum (("="|"!="|"<"|"<="|">"|">=") sum)?
    sum     := product (("+"|"-") product)*     product := unary (("*"|"/") unary)*
    unary   := "-" unary | value
    value   := number | "text" | 'text' | ?variable | function "(" or ("," or)* ")" | "(" or ")"

Functions: abs, min, max, round, floor, ceil, sqrt. ``&&``, ``||``, ``!`` and ``==`` are accepted
for and, or, not and =. The parser is a plain recursive descent into a tree of closures; nothing
of it can reach Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Value = float | int | str | bool
Bindings = Mapping[str, Any]
_Node = Callable[[Bindings], Value]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<variable>\?[A-Za-z]\w*)
      | (?P<word>[A-Za-z]\w*)
      | (?P<sign><=|>=|!=|==|&&|\|\||[-+*/()<>=!,])
    )""",
    re.VERBOSE,
)
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
}
_WORDS = {"&&": "and", "||": "or", "!": "not", "==": "="}
_DEEPEST = 100


class ExpressionError(ValueError):
    """The expression cannot be read; says where."""


class EvaluationError(ValueError):
    """The expression has no value for these bindings (a type, a division by zero)."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression: call ``value`` with bindings."""

    text: str
    variables: frozenset[str]
    _node: _Node

    def value(self, bindings: Bindings) -> Value:
        try:
            value = self._node(bindings)
            if isinstance(value, float) and not math.isfinite(value):
                raise EvaluationError(f"{self.text}: {value} is no number")
            return value
        except EvaluationError:
            raise
        except (TypeError, ValueError, ArithmeticError, KeyError) as problem:
            raise EvaluationError(f"{self.text}: {problem}") from None

    def holds(self, bindings: Bindings) -> bool:
        """Whether the condition is true; one that has no value does not hold (as in SPARQL)."""
        try:
            return bool(self.value(bindings))
        except EvaluationError:
            return False


def parse_expression(text: str) -> Expression:
    """Reads an expression; raises ``ExpressionError`` with the position of the fault."""
    parser = _Parser(text)
    node = parser.whole()
    return Expression(text, frozenset(parser.variables), node)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0
        self.variables: set[str] = set()

    def whole(self) -> _Node:
        node = self._or()
        if self._kind != "end":
            raise self._fault(f"{self._token!r} is one too many")
        return node

    def _or(self) -> _Node:
        node = self._and()
        while self._take("or"):
            node = _either(node, self._and())
        return node

    def _and(self) -> _Node:
        node = self._not()
        while self._take("and"):
            node = _both(node, self._not())
        return node

    def _not(self) -> _Node:
        if self._take("not"):
            with_depth = self._deeper(self._not)
            return lambda bindings: not with_depth(bindings)
        return self._compare()

    def _compare(self) -> _Node:
        left = self._sum()
        for sign in ("<=", ">=", "!=", "=", "<", ">"):
            if self._take(sign):
                return _comparison(sign, left, self._sum())
        return left

    def _sum(self) -> _Node:
        node = self._product()
        while (sign := self._token) in ("+", "-") and self._take(sign):
            node = _arithmetic(sign, node, self._product())
        return node

    def _product(self) -> _Node:
        node = self._unary()
        while (sign := self._token) in ("*", "/") and self._take(sign):
            node = _arithmetic(sign, node, self._unary())
        return node

    def _unary(self) -> _Node:
        if self._take("-"):
            node = self._deeper(self._unary)
            return lambda bindings: -_number(node(bindings))
        return self._value()

    def _value(self) -> _Node:
        kind, token = self._kind, self._token
        if kind == "number":
            self._at += 1
            number = float(token) if re.search(r"[.eE]", token) else int(token)
            return lambda bindings: number
        if kind == "text":
            self._at += 1
            return lambda bindings: token[1:-1]
        if kind == "variable":
            self._at += 1
            name = token[1:]
            self.variables.add(name)
            return lambda bindings: bindings[name]
        if kind == "word" and token in _FUNCTIONS:
            self._at += 1
            return self._call(token)
        if self._take("("):
            node = self._deeper(self._or)
            self._expect(")")
            return node
        if kind == "end":
            raise self._fault("the expression ends too early")
        if kind == "word":
            raise self._fault(f"{token!r} is no function (variables are written ?{token})")
        raise self._fault(f"{token!r} stands where a value should")

    def _call(self, name: str) -> _Node:
        self._expect("(")
        arguments = [self._deeper(self._or)]
        while self._take(","):
            arguments.append(self._deeper(self._or))
        self._expect(")")
        function = _FUNCTIONS[name]
        if name not in ("min", "max") and len(arguments) != 1:
            raise self._fault(f"{name} takes one value, not {len(arguments)}")
        if name in ("min", "max") and len(arguments) < 2:
            raise self._fault(f"{name} takes two values or more")
        return lambda bindings: function(*(_number(a(bindings)) for a in arguments))

    def _deeper(self, rule: Callable[[], _Node]) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._fault(f"nested deeper than {_DEEPEST}")
        node = rule()
        self._depth -= 1
        return node

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    @property
    def _token(self) -> str:
        return self._tokens[self._at][1]

    def _take(self, token: str) -> bool:
        if self._kind in ("sign", "word") and self._token == token:
            self._at += 1
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._fault(f"{token!r} is missing")

    def _fault(self, reason: str) -> ExpressionError:
        column = self._tokens[self._at][2] + 1
        return ExpressionError(f"{self._text!r}, column {column}: {reason}")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    tokens: list[tuple[str, str, int]] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
            raise ExpressionError(f"{text!r}, column {column}: {text[column - 1]!r} is not allowed")
        kind = match.lastgroup or ""
        token = _WORDS.get(match[kind], match[kind])
        if kind == "word" and token.lower() in ("and", "or", "not"):
            token = token.lower()
        tokens.append((kind, token, match.start(kind)))
        position = match.end()
    return [*tokens, ("end", "", len(text))]


def _number(value: Value) -> float | int:
    if isinstance(value, bool):
        raise EvaluationError("a condition stands where a number should")
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise EvaluationError(f"{value!r} is not a number") from None
    return value


def _either(left: _Node, right: _Node) -> _Node:
    return lambda bindings: bool(left(bindings)) or bool(right(bindings))


def _both(left: _Node, right: _Node) -> _Node:
    return lambda bindings: bool(left(bindings)) and bool(right(bindings))


def _arithmetic(sign: str, left: _Node, right: _Node) -> _Node:
    if sign == "+":
        return lambda bindings: _number(left(bindings)) + _number(right(bindings))
    if sign == "-":
        return lambda bindings: _number(left(bindings)) - _number(right(bindings))
    if sign == "*":
        return lambda bindings: _number(left(bindings)) * _number(right(bindings))
    return lambda bindings: _number(left(bindings)) / _number(right(bindings))


def _comparison(sign: str, left: _Node, right: _Node) -> _Node:
    """Two texts compare as texts, anything else as numbers."""

    def compare(bindings: Bindings) -> bool:
        a, b = left(bindings), right(bindings)
        if not (isinstance(a, str) and isinstance(b, str)):
            a, b = _number(a), _number(b)
        if sign == "=":
            return a == b
        if sign == "!=":
            return a != b
        if sign == "<":
            return a < b  # type: ignore[operator]
        if sign == "<=":
            return a <= b  # type: ignore[operator]
        if sign == ">":
            return a > b  # type: ignore[operator]
        return a >= b  # type: ignore[operator]

    return compare
