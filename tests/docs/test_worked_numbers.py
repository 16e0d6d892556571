"""The numbers in docs/algorithms.md are those that the code computes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from brain.algorithms import registry

WORKED = Path(__file__).parents[2] / "docs" / "examples" / "worked.py"


def worked() -> Any:
    spec = importlib.util.spec_from_file_location("docs_worked", WORKED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_of_the_page_is_made_by_the_code() -> None:
    module = worked()
    page = module.PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- /") == len(module.TABLES)
    assert module.with_numbers(page) == page, "run: .venv/bin/python docs/examples/worked.py"


@pytest.mark.parametrize("name", registry.names())
def test_every_algorithm_has_its_section(name: str) -> None:
    page = worked().PAGE.read_text(encoding="utf-8")
    assert f"\n## `{name}`" in page
