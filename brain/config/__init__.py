"""All configuration keys in one typed place; see keys.py."""

from brain.config.keys import KEYS, Key, Scope
from brain.config.settings import Settings, TopologySettings

__all__ = ["KEYS", "Key", "Scope", "Settings", "TopologySettings"]
