"""QoSMonitor: network coordinates from round-trip times, and gossip with one random peer.

One thread and one UDP socket. Every ping carries what the sender is, every pong what the answering
node is; nobody passes on what it heard of others. A probe measures; a gossip also keeps what the
peer said. Clocks of other nodes play no part, and of the own one only the monotonic.
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from brain.agent.datagram import PING, PONG, Message, decode, encode
from brain.agent.node_load import NodeLoad
from brain.qos.space import CostSpace, NodeQos, believable
from brain.qos.vivaldi import Vivaldi

log = logging.getLogger(__name__)

Address = tuple[str, int]
LOST_AFTER_SECS = 5.0
FORGET_AFTER = 20
"""Gossip intervals after which what a peer said of itself is too old to be acted upon."""


@dataclass
class _Sent:
    peer: str
    address: Address
    at: float
    gossip: bool


@dataclass
class Counters:
    sent: int = 0
    answered: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Timing:
    probe_secs: float = 5.0
    gossip_secs: float = 30.0


@dataclass
class _Known:
    info: NodeQos
    at: float = field(default_factory=time.monotonic)


class QosMonitor:
    """``peers`` are set by whoever finds them; ``space`` is what is known of the network now."""

    def __init__(
        self,
        node: str,
        listen: Address,
        load: NodeLoad,
        timing: Timing | None = None,
        token: str | None = None,
        seed: int | None = None,
    ) -> None:
        self.node = node
        self.counters = Counters()
        self._load = load
        self._utilisation = 0.0
        self._timing = timing or Timing()
        self._token = token
        self._random = random.Random(seed)
        self._vivaldi = Vivaldi(self._random.randrange(2**31))
        self._availability = 1.0
        self._lock = threading.Lock()
        self._peers: dict[str, Address] = {}
        self._known: dict[str, _Known] = {}
        self._pending: dict[int, _Sent] = {}
        self._liars: dict[str, float] = {}
        """When a peer last said what cannot be."""
        self._stop = threading.Event()
        family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.bind(listen)
        self.address: Address = self._socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._run, name="qos-monitor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        self._socket.close()

    def set_peers(self, peers: Mapping[str, Address]) -> None:
        """Who there is to probe, by node id; those that are gone are forgotten."""
        with self._lock:
            self._peers = {n: a for n, a in peers.items() if n != self.node}
            for gone in set(self._known) - set(self._peers):
                del self._known[gone]
                self._liars.pop(gone, None)
                self._vivaldi.forget(gone)

    def measure_load(self) -> None:
        self._utilisation = self._load.read()

    def own(self) -> NodeQos:
        return NodeQos(
            self.node,
            self._vivaldi.coordinate,
            self._utilisation,
            self._availability,
            self._load.cpu_points,
        )

    def space(self) -> CostSpace:
        """What is believed of the network: peers heard of lately, and distances to them."""
        oldest = time.monotonic() - FORGET_AFTER * self._timing.gossip_secs
        with self._lock:
            own = self.own()
            believed = [
                k.info
                for k in self._known.values()
                if k.at >= oldest
                and self._liars.get(k.info.id, oldest) <= oldest
                and believable(own.coordinate, k.info, self._vivaldi.rtt_ms(k.info.id))
            ]
            measured = {
                (self.node, q.id): rtt
                for q in believed
                if (rtt := self._vivaldi.rtt_ms(q.id)) is not None
            }
        return CostSpace([own, *believed], latency=measured)

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        now = time.monotonic()
        next_probe = now + self._random.uniform(0, self._timing.probe_secs)
        next_gossip = now + self._random.uniform(0, self._timing.gossip_secs)
        while not self._stop.is_set():
            wait = max(0.0, min(next_probe, next_gossip) - time.monotonic())
            self._receive_for(min(wait, 1.0))
            now = time.monotonic()
            if now >= next_probe:
                next_probe = now + self._timing.probe_secs
                self._ping(gossip=False)
            if now >= next_gossip:
                next_gossip = now + self._timing.gossip_secs
                self._ping(gossip=True)
            self._give_up_lost(now)

    def _receive_for(self, secs: float) -> None:
        self._socket.settimeout(max(secs, 0.001))
        try:
            data, sender = self._socket.recvfrom(2048)
        except TimeoutError:
            return
        except OSError as e:  # such as an ICMP answer to an earlier datagram
            log.debug("receiving: %s", e)
            self._stop.wait(0.05)
            return
        at = time.monotonic()
        message = decode(data, self._token)
        if message is None:
            self.counters.refused += 1
        elif message.kind == PING:
            self._answer(message, sender[:2])
        else:
            self._take(message, sender[:2], at)

    def _answer(self, message: Message, sender: Address) -> None:
        self._send(Message(PONG, message.nonce, self.own()), sender)
        with self._lock:
            if message.info.id in self._peers:
                self._weigh(message.info, time.monotonic())
                if message.info.sane:
                    self._known[message.info.id] = _Known(message.info)

    def _take(self, message: Message, sender: Address, at: float) -> None:
        sent = self._pending.get(message.nonce)
        if sent is None or sent.peer != message.info.id or sent.address != sender:
            self.counters.refused += 1
            return
        del self._pending[message.nonce]
        self.counters.answered += 1
        self._availability += 0.05 * (1.0 - self._availability)
        rtt_ms = (at - sent.at) * 1000.0
        with self._lock:
            self._vivaldi.observe(sent.peer, message.info.coordinate, rtt_ms)
            self._weigh(message.info, at)
            if sent.gossip or sent.peer not in self._known:
                self._known[sent.peer] = _Known(message.info)

    def _weigh(self, info: NodeQos, at: float) -> None:
        """Who says what cannot be is not heard for a while, whatever it says in between: else its
        node would be a good place in one round and none in the next."""
        if not info.sane:
            if info.id not in self._liars:
                log.warning("the agent of %s says what cannot be: not believed for now", info.id)
            self._liars[info.id] = at

    def _ping(self, gossip: bool) -> None:
        with self._lock:
            if not self._peers:
                return
            peer = self._random.choice(sorted(self._peers))
            address = self._peers[peer]
        nonce = self._random.randrange(2**53)
        self._pending[nonce] = _Sent(peer, address, time.monotonic(), gossip)
        self.counters.sent += 1
        self._send(Message(PING, nonce, self.own()), address)

    def _send(self, message: Message, to: Address) -> None:
        try:
            self._socket.sendto(encode(message, self._token), to)
        except OSError as e:
            log.debug("sending to %s:%s: %s", *to, e)

    def _give_up_lost(self, now: float) -> None:
        for nonce, sent in list(self._pending.items()):
            if now - sent.at > LOST_AFTER_SECS:
                del self._pending[nonce]
                self._availability += 0.05 * (0.0 - self._availability)
