"""The example of docs/writing-an-algorithm.md keeps the contract of every algorithm."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from brain.algorithms import registry
from tests.algorithms import test_contract

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "nearest.py"
PAGE = Path(__file__).parents[2] / "docs" / "writing-an-algorithm.md"


def _contract() -> Iterator[Any]:
    """Every promise of the contract that is asked of an algorithm by its name."""
    for label, test in inspect.getmembers(test_contract, inspect.isfunction):
        wanted = inspect.signature(test).parameters if label.startswith("test_") else {}
        if "name" in wanted:
            for cap in (0, 1, 4) if "cap" in wanted else (None,):
                fixed = {} if cap is None else {"cap": cap}
                yield pytest.param(test, fixed, id=label + ("" if cap is None else f"-{cap}"))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> str:
    spec = importlib.util.spec_from_file_location("docs_example_nearest", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, spec.name, module)
    monkeypatch.setitem(registry.MODULES, "nearest", spec.name)
    return "nearest"


@pytest.mark.parametrize(("promise", "fixed"), list(_contract()))
def test_the_example_keeps(
    promise: Callable[..., None], fixed: dict[str, int], registered: str
) -> None:
    promise(name=registered, **fixed)


def test_the_contract_was_found() -> None:
    assert len(list(_contract())) > 20


def test_the_page_shows_the_example_as_it_is() -> None:
    assert EXAMPLE.read_text(encoding="utf-8").strip() in PAGE.read_text(encoding="utf-8")
