"""Expressions are evaluated by our own parser: right values, told faults, no way into Python."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies.katts.expression import EvaluationError, ExpressionError, parse_expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("12 / 4 / 3", 1),
        ("-?a + 1", -4),
        ("--2", 2),
        ("?a / 2", 2.5),
        ("1.5e2", 150),
        (".5 + 1.", 1.5),
        ("min(?a, 3, 4)", 3),
        ("max(1, ?a)", 5),
        ("abs(-3) + floor(2.7) + ceil(2.1) + round(2.6)", 11),
        ("sqrt(16)", 4),
        ("?a > 4 and ?a < 6", True),
        ("?a > 5 or not (?a = 4)", True),
        ("?a != 5 || ?a == 4 && !(1 > 2)", False),
        ("?name = 'IBM'", True),
        ('?name < "JCN"', True),
        ("?text > 74", True),
    ],
)
def test_values(text: str, value: object) -> None:
    bindings = {"a": 5, "name": "IBM", "text": "81.3"}
    assert parse_expression(text).value(bindings) == value


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("1 +", 4),
        ("(1", 3),
        ("1 2", 3),
        ("a + 1", 1),
        ("?a ; ?b", 4),
        ("__import__('os')", 1),
        ("abs(1, 2)", 10),
        ("?a.b", 3),
        ("[1]", 1),
        ("lambda: 1", 7),
    ],
)
def test_faults_are_told_with_their_column(text: str, column: int) -> None:
    with pytest.raises(ExpressionError, match=rf"column {column}:"):
        parse_expression(text)


def test_deep_nesting_is_refused_not_a_crash() -> None:
    with pytest.raises(ExpressionError, match="nested deeper"):
        parse_expression("(" * 5000 + "1" + ")" * 5000)


def test_variables_are_known() -> None:
    assert parse_expression("?a / ?b > min(?c, 2)").variables == {"a", "b", "c"}


@pytest.mark.parametrize("text", ["1 / ?zero", "?name + 1", "?missing", "sqrt(-1)", "(1 > 2) + 1"])
def test_no_value_is_an_error_for_bind_and_false_for_filter(text: str) -> None:
    expression = parse_expression(text)
    bindings = {"zero": 0, "name": "IBM"}
    with pytest.raises(EvaluationError):
        expression.value(bindings)
    assert expression.holds(bindings) is False


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0.5, 1e3))
def test_arithmetic_agrees_with_python(a: float, b: float, c: float) -> None:
    value = parse_expression("?a * ?b + ?a / ?c - ?b").value({"a": a, "b": b, "c": c})
    assert math.isclose(float(value), a * b + a / c - b, rel_tol=1e-12, abs_tol=1e-9)
