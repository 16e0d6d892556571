"""Learnt profiles in ZooKeeper, so that whichever brain leads knows them."""

from __future__ import annotations

import json
import logging
import zlib
from urllib.parse import quote

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError

from brain.errors import BadInput
from brain.plans.codec import ZNODE_BYTES
from brain.policy.profile import Profile

log = logging.getLogger(__name__)

KEPT = 500
"""Profiles of so many topology names; the oldest go."""


class ProfileStore:
    def __init__(self, client: KazooClient, root: str) -> None:
        self._zk = client
        self._root = f"{root.rstrip('/')}/profiles"

    def read_all(self) -> dict[str, Profile]:
        """By topology name; what cannot be read is passed over and told."""
        try:
            names = self._zk.get_children(self._root)
        except NoNodeError:
            return {}
        profiles = {}
        for name in names:
            try:
                data = self._zk.get(f"{self._root}/{name}")[0]
                profile = Profile.from_json(json.loads(zlib.decompress(data)))
            except (NoNodeError, ValueError, zlib.error, BadInput) as e:
                log.warning("profile %s is passed over: %s", name, e)
                continue
            profiles[profile.name] = profile
        return profiles

    def write(self, profile: Profile) -> None:
        """Never raises; a profile too large for a znode is not kept, and that is told."""
        data = zlib.compress(json.dumps(profile.to_json()).encode(), 6)
        if len(data) > ZNODE_BYTES:
            log.warning("%s: profile of %d bytes is too large to keep", profile.name, len(data))
            return
        path = f"{self._root}/{quote(profile.name, safe='')}"
        try:
            if self._zk.exists(path):
                self._zk.set(path, data)
            else:
                self._zk.create(path, data, makepath=True)
                self._drop_oldest()
        except KazooException as e:
            log.warning("%s: profile not kept: %s", profile.name, e)

    def _drop_oldest(self) -> None:
        names = self._zk.get_children(self._root)
        if len(names) > KEPT:
            changed = {n: self._zk.exists(f"{self._root}/{n}").mzxid for n in names}
            for name in sorted(names, key=changed.__getitem__)[: len(names) - KEPT]:
                self._zk.delete(f"{self._root}/{name}")
