"""Mutual TLS on the door: right certificates work, wrong ones are refused in clear words."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from brain.cli.connection import call_brain
from brain.cluster.prerequisites import find_java
from brain.config import Settings
from brain.errors import BadInput, StormbrainError
from brain.idl import wire
from brain.service import door as door_module
from brain.service.door import Door
from brain.service.tls import ServerTls, TlsFiles
from tests.harness.certificates import Authority, Files
from tests.harness.zookeeper import eventually

TARGET = Path(__file__).parents[2] / "storm-plugin" / "target"


@dataclasses.dataclass(frozen=True)
class Papers:
    """Whoever there is: the brain, a friend, and those who should stay outside."""

    brain: Files
    friend: Files
    stranger: Files
    expired: Files
    other_host: Files
    folder: Path


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("certificates")
    ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
    stranger = dataclasses.replace(theirs.issue("stranger"), ca=ours.cert)
    return Papers(
        ours.issue("brain"), ours.issue("friend"), stranger, ours.issue("expired", days=-1),
        ours.issue("elsewhere", hosts="DNS:brain.example"), folder,
    )  # fmt: skip


class Handler:
    def status(self, token: str) -> Any:
        return wire.BrainStatus(1, "the-brain", "0", True, None, 1, [])


def files(of: Files, verify: bool = True) -> TlsFiles:
    found = TlsFiles.from_settings(
        Settings({**of.settings(), "brain.scheduler.tls.verify.host": verify})
    )
    assert found is not None
    return found


def open_door(of: Files | None) -> Door:
    door = Door(Handler(), "127.0.0.1", 0, 8, 100_000, ServerTls(files(of)) if of else None)  # type: ignore[arg-type]
    door.start()
    return door


@pytest.fixture
def door(papers: Papers) -> Iterator[Door]:
    door = open_door(papers.brain)
    yield door
    door.stop()


def call(door: Door, of: Files | None, verify: bool = True) -> Any:
    address = "{}:{}".format(*door.address)
    return call_brain(address, "status", "", tls=files(of, verify) if of else None)


def test_the_right_certificate_opens_the_door(door: Door, papers: Papers) -> None:
    assert call(door, papers.friend).brain == "the-brain"


@pytest.mark.parametrize(
    ("who", "told"),
    [("stranger", "unknown authority|unable to get|self.signed"), ("expired", "expired")],
)
def test_a_wrong_certificate_is_refused_and_the_log_says_why(
    door: Door, papers: Papers, who: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    import re

    with caplog.at_level(logging.WARNING), pytest.raises(StormbrainError, match="TLS"):
        call(door, getattr(papers, who))
    eventually(lambda: re.search(told, caplog.text), what=f"{told} in {caplog.text}")
    assert call(door, papers.friend).brain == "the-brain"


def test_a_peer_without_tls_is_sent_away_and_holds_nobody_up(
    door: Door, papers: Papers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(StormbrainError, match="closed") as told:
        call(door, None)
    assert "STORMBRAIN_TLS_CA" in (told.value.hint or "")
    eventually(lambda: "speaks no TLS" in caplog.text, what="the reason in the log")
    assert call(door, papers.friend).brain == "the-brain"


def test_peers_that_never_begin_the_handshake_do_not_keep_others_out(
    door: Door, papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "HANDSHAKE_SECS", 0.5)
    silent = [socket.create_connection(door.address) for _ in range(8)]
    eventually(lambda: door.open_connections() == 8, what="all places taken")
    eventually(lambda: door.open_connections() == 0, what="the silent ones to be dropped")
    assert call(door, papers.friend).brain == "the-brain"
    for sock in silent:
        sock.close()


def test_a_tls_client_at_a_door_without_tls_is_told_so(
    papers: Papers, caplog: pytest.LogCaptureFixture
) -> None:
    plain = open_door(None)
    try:
        with caplog.at_level(logging.WARNING), pytest.raises(StormbrainError):
            call(plain, papers.friend)
        eventually(lambda: "the peer speaks TLS" in caplog.text, what="the reason in the log")
        assert call(plain, None).brain == "the-brain"
    finally:
        plain.stop()


def test_a_brain_of_another_name_is_not_believed_unless_told(papers: Papers) -> None:
    impostor = open_door(papers.other_host)
    try:
        with pytest.raises(StormbrainError, match=r"IP address mismatch|127\.0\.0\.1"):
            call(impostor, papers.friend)
        assert call(impostor, papers.friend, verify=False).brain == "the-brain"
    finally:
        impostor.stop()


def test_a_renewed_certificate_is_taken_up_without_a_restart(papers: Papers) -> None:
    own = papers.folder / "own.pem"
    own_key = papers.folder / "own.key"
    for source, target in ((papers.other_host.cert, own), (papers.other_host.key, own_key)):
        target.write_bytes(source.read_bytes())
    door = open_door(Files(papers.brain.ca, own, own_key))
    try:
        with pytest.raises(StormbrainError, match="TLS"):
            call(door, papers.friend)
        own_key.write_bytes(papers.brain.key.read_bytes())
        own.write_bytes(papers.brain.cert.read_bytes())
        for path in (own, own_key):
            os.utime(path, ns=(1, 1))  # another time than before, also on a coarse clock
        assert call(door, papers.friend).brain == "the-brain"
    finally:
        door.stop()


def test_half_a_configuration_and_wrong_files_are_named(papers: Papers, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"brain\.scheduler\.tls\.key: is not set"):
        TlsFiles.from_settings(
            Settings({**papers.friend.settings(), "brain.scheduler.tls.key": None})
        )
    with pytest.raises(BadInput, match=r"STORMBRAIN_TLS_CERT: is not set"):
        TlsFiles.from_environment({"STORMBRAIN_TLS_CA": "/x", "STORMBRAIN_TLS_KEY": "/y"})
    missing = dataclasses.replace(papers.friend, key=tmp_path / "none.key")
    with pytest.raises(BadInput, match=r"tls\.key.*none\.key cannot be read"):
        files(missing).client_context()
    mixed = dataclasses.replace(papers.friend, key=papers.brain.key)
    with pytest.raises(BadInput, match=r"tls\.cert.*cannot be used together"):
        files(mixed).client_context()
    garbage = tmp_path / "ca.pem"
    garbage.write_text("no certificate")
    with pytest.raises(BadInput, match=r"tls\.ca.*no PEM file"):
        files(dataclasses.replace(papers.friend, ca=garbage)).server_context()


def test_the_plugin_speaks_the_same_tls(door: Door, papers: Papers, tmp_path: Path) -> None:
    """The shim's and the hook's own connection class against the brain's own door."""
    impostor = open_door(papers.other_host)
    plain = open_door(None)
    try:
        address = "{}:{}".format(*door.address)
        cases: list[tuple[dict[str, str], str, str]] = [
            (papers.friend.settings(), address, "ok the-brain"),
            (papers.stranger.settings(), address, "failed"),
            (papers.expired.settings(), address, "failed"),
            ({}, address, "failed"),
            (papers.friend.settings(), "{}:{}".format(*impostor.address), "failed TLS"),
            (papers.friend.settings() | {"brain.scheduler.tls.verify.host": "false"},
             "{}:{}".format(*impostor.address), "ok the-brain"),
            (papers.friend.settings(), "{}:{}".format(*plain.address), "failed"),
            ({}, "{}:{}".format(*plain.address), "ok the-brain"),
            ({"brain.scheduler.tls.ca": str(papers.brain.ca)}, address,
             "failed brain.scheduler.tls.cert is not set"),
            (papers.friend.settings() | {"brain.scheduler.tls.key": "/none.key"}, address,
             "failed brain.scheduler.tls.key: /none.key cannot be read"),
            (papers.friend.settings(), address, "ok the-brain"),
        ]  # fmt: skip
        answers = _java([{**conf, "brain.scheduler.address": at} for conf, at, _ in cases])
        for answer, (conf, at, expected) in zip(answers, cases, strict=True):
            assert answer.startswith(expected), (answer, conf, at)
    finally:
        impostor.stop()
        plain.stop()


def _java(confs: list[dict[str, str]]) -> list[str]:
    classpath = (TARGET / "test-classpath.txt").read_text().strip()
    jar = TARGET / "storm-plugin-0.1.0-tests.jar"
    lines = [";".join(f"{k}={v}" for k, v in conf.items()) for conf in confs]
    done = subprocess.run(
        [str(find_java()), "-XX:TieredStopAtLevel=1", "-cp",
         os.pathsep.join([str(jar), str(TARGET / "classes"), classpath]),
         "io.stormbrain.peer.BrainPeer"],
        input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()


def test_bytes_of_any_kind_do_not_break_a_tls_door(door: Door, papers: Papers) -> None:
    handshake = b"\x16\x03\x01\x02\x00"
    framed = struct.pack("!i", 12) + b"\x80\x01\x00\x01" + b"\x00" * 8
    for data in (b"", handshake[:3], handshake + b"\x00" * 512, b"GET / HTTP/1.1\r\n\r\n", framed):
        with (
            contextlib.suppress(ConnectionResetError),
            socket.create_connection(door.address, timeout=10) as sock,
        ):
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1000):
                pass
    assert call(door, papers.friend).brain == "the-brain"
