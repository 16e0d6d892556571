"""Topologies written in streamparse: loaded, packed, submitted and looked after over Thrift."""
