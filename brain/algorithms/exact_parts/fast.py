"""The fast way to an optimum: the first of three models that is small enough."""

from __future__ import annotations

from brain.algorithms.exact_parts.assignment_model import solve_assignment
from brain.algorithms.exact_parts.class_model import solve_classes
from brain.algorithms.exact_parts.contents_model import solve_contents
from brain.algorithms.exact_parts.highs import Budget
from brain.algorithms.exact_parts.items import Items
from brain.algorithms.exact_parts.outcome import Outcome
from brain.algorithms.exact_parts.room import TooMany

FEW_CONTENTS = 3000


def solve_fast(items: Items, budget: Budget, most: int) -> Outcome:
    """Contents, else class pieces, else assignment; raises TooMany if all are too big.

    ``most`` limits the columns of a model.
    """
    try:
        return solve_contents(items, budget, min(FEW_CONTENTS, most))
    except TooMany:
        pass
    try:
        return solve_classes(items, budget, most)
    except TooMany:
        return solve_assignment(items, budget, most)
