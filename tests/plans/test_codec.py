"""A plan's bytes: what was written is read, and what was not written is refused."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.plans.codec import MAGIC, UnreadablePlan, decode, encode
from brain.plans.plan import Cost, Plan

slots = st.tuples(st.text("abcdef-0123456789", min_size=1), st.integers(1, 65535))
plans = st.builds(
    Plan,
    topology_id=st.text("abc-123", min_size=1),
    epoch=st.integers(1, 2**40),
    executor_hash=st.text("0123456789abcdef", min_size=64, max_size=64),
    algorithm=st.sampled_from(["metis", "auto"]),
    before=st.builds(Cost, st.floats(0, 1e12), st.floats(0, 1e12)),
    after=st.builds(Cost, st.floats(0, 1e12), st.floats(0, 1e12)),
    reason=st.text(),
    executors=st.dictionaries(st.integers(1, 10**6).map(lambda t: (t, t + 1)), slots),
    created_ms=st.integers(0, 2**42),
    term=st.integers(0, 2**30),
    brain=st.text(),
    decision_id=st.text(),
)


def big_plan(executors: int = 5000) -> Plan:
    return Plan(
        "t-1-1", 7, "0" * 64, "auto", Cost(2, 1), Cost(1, 1), "because",
        {(t, t): (f"node-{t * 7919 % 1000}", 6700 + t % 10) for t in range(executors)}, 1,
    )  # fmt: skip


@given(plans)
def test_what_is_encoded_is_decoded(plan: Plan) -> None:
    encoded = encode(plan)
    assert decode(encoded.head) == (plan, encoded.digest)


@pytest.mark.parametrize("limit", [200_000, 4_000])
def test_large_plans_are_compressed_then_chunked(limit: int) -> None:
    plan = big_plan()
    encoded = encode(plan, limit)
    assert len(encoded.head) <= limit
    assert all(len(c) <= limit for c in encoded.chunks)
    assert bool(encoded.chunks) == (limit == 4_000)
    assert decode(encoded.head, lambda _d, i: encoded.chunks[i]) == (plan, encoded.digest)


def test_the_digest_does_not_depend_on_the_encoding() -> None:
    assert encode(big_plan()).digest == encode(big_plan(), 4_000).digest


@given(st.binary(max_size=400))
def test_garbage_is_refused_with_a_reason(garbage: bytes) -> None:
    for head in (garbage, MAGIC + garbage, MAGIC + b"\x00" + garbage, MAGIC + b"\x01" + garbage):
        with pytest.raises(UnreadablePlan):
            decode(head)


def test_every_truncation_is_refused() -> None:
    head = encode(big_plan(20)).head
    for length in range(len(head) - 1):
        with pytest.raises(UnreadablePlan):
            decode(head[:length])


def test_a_chunk_that_was_tampered_with_is_refused() -> None:
    encoded = encode(big_plan(), 4_000)
    other = encode(big_plan(4999), 4_000)
    with pytest.raises(UnreadablePlan):
        decode(encoded.head, lambda _d, i: other.chunks[min(i, len(other.chunks) - 1)])


def test_a_bomb_is_not_inflated() -> None:
    bomb = zlib.compress(b"\x00" * (65 * 1024 * 1024), 9)
    with pytest.raises(UnreadablePlan, match="larger"):
        decode(MAGIC + b"\x01" + bomb)
