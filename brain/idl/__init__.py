"""The Thrift contract with the JVM plugin, loaded once from the one IDL file."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import thriftpy2

wire: Any = thriftpy2.load(
    str(files("brain.idl") / "stormbrain.thrift"), module_name="stormbrain_thrift"
)
"""All structs, exceptions, constants and the ``Brain`` service."""

PROTOCOL_VERSION: int = wire.PROTOCOL_VERSION
