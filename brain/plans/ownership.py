"""Makes the znodes ours that an earlier brain, or one without credentials, left open."""

from __future__ import annotations

import logging

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError

from brain.errors import StormbrainError

log = logging.getLogger(__name__)


class NotOurs(StormbrainError):
    """The znodes belong to somebody else."""


def take_ownership(client: KazooClient, root: str) -> int:
    """Gives every znode under the root our ACL; how many had another one. Does nothing without
    credentials."""
    acl = client.default_acl  # what kazoo gives new znodes; none without credentials
    if not acl:
        return 0
    changed = 0
    waiting = [root.rstrip("/")]
    while waiting:
        path = waiting.pop()
        try:
            waiting += [f"{path}/{child}" for child in client.get_children(path)]
            found, stat = client.get_acls(path)
            if set(found) != set(acl):
                client.set_acls(path, acl, version=stat.aversion)
                changed += 1
        except NoNodeError:
            continue
        except NoAuthError:
            raise NotOurs(
                f"znode {path} belongs to somebody else",
                "give brain.scheduler.zookeeper.auth as the brain had it that made the znode, or "
                "have its owner remove it",
            ) from None
    if changed:
        log.info("%d znodes under %s were open to others and are ours now", changed, root)
    return changed
