"""Events of a source, and the rule by which late ones are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Event = tuple[int, list[Any]]
"""Event time in milliseconds since the epoch, and the payload."""


def in_order(
    events: Iterable[Event],
    disorder_ms: int = 0,
    count: Callable[[str], None] = lambda what: None,
) -> Iterator[Event]:
    """Leaves out (and counts as ``late``) what is older than the newest by over ``disorder_ms``.

    The rule looks at the stream alone, never at the clock, so that every run and the batch
    computation leave out the same events.
    """
    newest: int | None = None
    for event in events:
        if newest is not None and event[0] < newest - disorder_ms:
            count("late")
            continue
        newest = event[0] if newest is None else max(newest, event[0])
        yield event
