"""Whose znodes they are: credentials, and taking over what was left open without them."""

from __future__ import annotations

import logging
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.security import make_acl, make_digest_acl

from brain.errors import BadInput, StormbrainError

log = logging.getLogger(__name__)


class NotOurs(StormbrainError):
    """The znodes belong to somebody else."""


def zookeeper_credentials(auth: str | None) -> dict[str, Any]:
    """What a KazooClient is to be made with: our znodes are ours to write and anybody's to read."""
    if auth is None:
        return {}
    user, colon, password = auth.partition(":")
    if not colon or not user or not password:
        raise BadInput("brain.scheduler.zookeeper.auth", "must be user:password")
    return {
        "auth_data": [("digest", auth)],
        "default_acl": [
            make_digest_acl(user, password, all=True),
            make_acl("world", "anyone", read=True),
        ],
    }


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
