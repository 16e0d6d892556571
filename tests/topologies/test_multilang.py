"""Components speak Storm's multilang protocol as processes of their own, as workers run them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from topologies import word_count


class Shell:
    """The worker's side of a component's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\nend\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message that is not a log line."""
        assert self._process.stdout is not None
        while True:
            lines = []
            while (line := self._process.stdout.readline()) != "end\n":
                assert line, "the component ended"
                lines.append(line)
            message: dict[str, Any] = json.loads("".join(lines))
            if message.get("command") != "log":
                return message


@contextmanager
def component(target: str, name: str, tmp_path: Path) -> Iterator[Shell]:
    process = subprocess.Popen(
        [sys.executable, "-m", "streamparse.run", target],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    try:
        shell = Shell(process)
        options = word_count.Options(rate=0.0, events=2, batch=1)
        spec = next(s for s in word_count.build(options).specs if s.name == name)
        conf = {**options.config(), **json.loads(spec.config), "topology.name": "t"}
        context = {
            "taskid": 5,
            "componentid": name,
            "task->component": {"4": "source", "5": name, "1": "__acker"},
            "source->stream->grouping": {},
        }
        if name == "source":
            context["task->component"] = {"5": "source"}
        shell.send({"conf": conf, "pidDir": str(tmp_path), "context": context})
        assert shell.receive() == {"pid": process.pid}
        yield shell
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()


def test_a_bolt_splits_anchors_and_acks(tmp_path: Path) -> None:
    with component("topologies.word_count.SplitBolt", "split", tmp_path) as shell:
        values = [0, "The river runs", "source.0:0", 12.5]
        shell.send({"id": "7", "comp": "source", "stream": "default", "task": 4, "tuple": values})
        emitted = [shell.receive() for _ in range(3)]
        assert [m["tuple"] for m in emitted] == [
            ["the", "source.0:0:0", 12.5],
            ["river", "source.0:0:1", 12.5],
            ["runs", "source.0:0:2", 12.5],
        ]
        assert all(m["anchors"] == ["7"] for m in emitted)
        assert shell.receive() == {"command": "ack", "id": "7"}


def test_a_spout_replays_what_failed_and_tells_the_end(tmp_path: Path) -> None:
    with component("topologies.word_count.SentenceSpout", "source", tmp_path) as shell:

        def call(command: dict[str, Any]) -> list[dict[str, Any]]:
            shell.send(command)
            messages = []
            while (message := shell.receive()) != {"command": "sync"}:
                messages.append(message)
            return messages

        [first] = call({"command": "next"})
        [second] = call({"command": "next"})
        assert (first["id"], second["id"]) == ("source.0:0", "source.0:1")
        assert call({"command": "next"}) == []
        assert call({"command": "fail", "id": first["id"]}) == [first]
        call({"command": "ack", "id": second["id"]})
        assert call({"command": "next"}) == [], "no watermark before all is acked"
        call({"command": "ack", "id": first["id"]})
        [watermark] = call({"command": "next"})
        assert watermark["stream"] == "watermark"
        assert watermark["id"] == "watermark:2:1"
        [following] = call({"command": "ack", "id": watermark["id"]})
        assert following["id"] == "watermark:2:2"
        assert call({"command": "ack", "id": following["id"]}) == []
        assert call({"command": "next"}) == []
