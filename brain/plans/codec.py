"""A plan's bytes: header, then Thrift; zlib'd, then chunked under a manifest, when large.

The format is told in brain/idl/stormbrain.thrift (struct Plan); the shim reads the same.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brain.errors import StormbrainError
from brain.idl import PROTOCOL_VERSION, checked, wire
from brain.plans.plan import Cost, Plan

MAGIC = b"SBPL\x01"
PLAIN, DEFLATED, MANIFEST = 0, 1, 2
ZNODE_BYTES = 900_000
"""ZooKeeper's default limit is 1 MiB for the whole request; this leaves room for the rest."""
MAX_PLAN_BYTES = 64 * 1024 * 1024


class UnreadablePlan(StormbrainError):
    """The bytes are not a plan that this version understands."""


@dataclass(frozen=True)
class EncodedPlan:
    """``head`` goes to the plan's znode; ``chunks`` (often none) under the digest first."""

    head: bytes
    chunks: tuple[bytes, ...]
    digest: str


def encode(plan: Plan, znode_bytes: int = ZNODE_BYTES) -> EncodedPlan:
    raw = checked.encode(_to_wire(plan))
    digest = hashlib.sha256(raw).hexdigest()
    if len(raw) + len(MAGIC) + 1 <= znode_bytes:
        return EncodedPlan(_head(PLAIN, raw), (), digest)
    packed = zlib.compress(raw, 6)
    if len(packed) + len(MAGIC) + 1 <= znode_bytes:
        return EncodedPlan(_head(DEFLATED, packed), (), digest)
    chunks = tuple(packed[i : i + znode_bytes] for i in range(0, len(packed), znode_bytes))
    manifest = wire.PlanManifest(
        topology_id=plan.topology_id,
        epoch=plan.epoch,
        digest=digest,
        chunks=len(chunks),
        size=len(packed),
    )
    return EncodedPlan(_head(MANIFEST, checked.encode(manifest)), chunks, digest)


def manifest_of(head: bytes) -> Any | None:
    """The PlanManifest, if this head is one."""
    encoding, body = _split(head)
    return _struct(wire.PlanManifest(), body) if encoding == MANIFEST else None


def decode(head: bytes, read_chunk: Callable[[str, int], bytes] | None = None) -> tuple[Plan, str]:
    """The plan and its digest. ``read_chunk(digest, i)`` is asked for the chunks of a manifest."""
    encoding, body = _split(head)
    expected = None
    if encoding == MANIFEST:
        manifest = _struct(wire.PlanManifest(), body)
        if read_chunk is None or not 0 < manifest.chunks <= 1024:
            raise UnreadablePlan(f"manifest names {manifest.chunks} chunks")
        body = b"".join(read_chunk(manifest.digest, i) for i in range(manifest.chunks))
        if len(body) != manifest.size:
            raise UnreadablePlan(f"chunks hold {len(body)} bytes, not {manifest.size}")
        expected = manifest.digest
    raw = body if encoding == PLAIN else _inflate(body)
    digest = hashlib.sha256(raw).hexdigest()
    if expected is not None and digest != expected:
        raise UnreadablePlan("chunks do not match the manifest's digest")
    return _from_wire(_struct(wire.Plan(), raw)), digest


def _head(encoding: int, body: bytes) -> bytes:
    return MAGIC + bytes([encoding]) + body


def _split(head: bytes) -> tuple[int, bytes]:
    if len(head) < len(MAGIC) + 1 or not head.startswith(MAGIC):
        raise UnreadablePlan(f"{len(head)} bytes that do not begin with a plan's header")
    encoding = head[len(MAGIC)]
    if encoding not in (PLAIN, DEFLATED, MANIFEST):
        raise UnreadablePlan(f"unknown encoding {encoding}")
    return encoding, head[len(MAGIC) + 1 :]


def _inflate(body: bytes) -> bytes:
    try:
        inflater = zlib.decompressobj()
        raw = inflater.decompress(body, MAX_PLAN_BYTES)
    except zlib.error as e:
        raise UnreadablePlan(f"cannot be inflated: {e}") from None
    if not inflater.eof:
        raise UnreadablePlan(f"truncated, or larger than {MAX_PLAN_BYTES} bytes")
    return raw


def _struct(target: Any, body: bytes) -> Any:
    try:
        return checked.decode(target, body)
    except checked.NotValid as e:
        raise UnreadablePlan(str(e)) from None


def _to_wire(plan: Plan) -> Any:
    return wire.Plan(
        protocol_version=PROTOCOL_VERSION,
        topology_id=plan.topology_id,
        epoch=plan.epoch,
        executor_hash=plan.executor_hash,
        algorithm=plan.algorithm,
        before=wire.PlanCost(plan.before.inter_node, plan.before.inter_worker),
        after=wire.PlanCost(plan.after.inter_node, plan.after.inter_worker),
        reason=plan.reason,
        executors=[
            wire.PlacedExecutor(wire.ExecutorRange(start, end), wire.Slot(node, port))
            for (start, end), (node, port) in sorted(plan.executors.items())
        ],
        created_ms=plan.created_ms,
        term=plan.term,
        brain=plan.brain,
        decision_id=plan.decision_id,
        based_on=plan.based_on or None,
    )


def _from_wire(p: Any) -> Plan:
    if p.protocol_version != PROTOCOL_VERSION:
        raise UnreadablePlan(
            f"written for protocol {p.protocol_version}, this brain speaks {PROTOCOL_VERSION}"
        )
    return Plan(
        topology_id=p.topology_id,
        epoch=p.epoch,
        executor_hash=p.executor_hash,
        algorithm=p.algorithm,
        before=Cost(p.before.inter_node, p.before.inter_worker),
        after=Cost(p.after.inter_node, p.after.inter_worker),
        reason=p.reason,
        executors={
            (e.range.start_task, e.range.end_task): (e.slot.node, e.slot.port) for e in p.executors
        },
        created_ms=p.created_ms,
        term=p.term,
        brain=p.brain or "",
        decision_id=p.decision_id or "",
        based_on=p.based_on or "",
    )
