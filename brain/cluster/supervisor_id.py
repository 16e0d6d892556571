"""Gives a supervisor a readable id before its first start.

A supervisor takes its id from the ``LocalState`` under ``supervisor/isupervisor`` and draws a
UUID only if there is none. The store is a directory of versions: a file ``<n>`` with the
Thrift-serialised data, and an empty ``<n>.version`` once it is complete.
"""

from __future__ import annotations

from pathlib import Path

from streamparse.thrift import storm_thrift
from thriftpy2.utils import serialize

_FIRST_VERSION = "1"


def seed_supervisor_id(storm_local_dir: Path, supervisor_id: str) -> None:
    """Does nothing if the supervisor has run before: then it has its id."""
    store = storm_local_dir / "supervisor" / "isupervisor"
    if store.is_dir() and any(store.iterdir()):
        return
    store.mkdir(parents=True, exist_ok=True)
    data = storm_thrift.LocalStateData(
        serialized_parts={
            "supervisor-id": storm_thrift.ThriftSerializedObject(
                name="org.apache.storm.generated.LSSupervisorId",
                bits=serialize(storm_thrift.LSSupervisorId(supervisor_id=supervisor_id)),
            )
        }
    )
    (store / _FIRST_VERSION).write_bytes(serialize(data))
    (store / f"{_FIRST_VERSION}.version").touch()
