"""Web server logs in the combined log format, for Log Processing."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from topologies.common.events import Event
from topologies.data.dataset import Dataset, MalformedLine, share, up_to

START_MS = 1_420_070_400_000
EVENTS_PER_SECOND = 10
_PATHS = ["/", "/index.html", "/login", "/api/items", "/api/orders", "/health", "/img/logo.png"]
_STATUS = [200] * 80 + [304] * 8 + [404] * 6 + [403] * 2 + [500] * 3 + [503]
_LINE = re.compile(
    r'^(?P<host>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+) [^"]*" '
    r"(?P<status>\d{3}) (?P<bytes>\d+|-)"
)


class Logs(Dataset):
    """Requests of a web server, ten a second of event time.

    An event's payload: host, method, path, status, bytes.
    """

    name = "logs"
    title = "web server log events (Cardellini: Log Processing)"
    suffix = "log"

    def generate(
        self, seed: int, partition: int, partitions: int, size: int | None
    ) -> Iterator[Event]:
        for i in up_to(share(size, partition, partitions)):
            number = partition + i * partitions
            rng = random.Random(f"log:{seed}:{number}")
            second = number // EVENTS_PER_SECOND
            host = f"10.0.{min(rng.randrange(256), rng.randrange(256))}.{rng.randrange(1, 255)}"
            path = rng.choice(_PATHS)
            method = "POST" if path.startswith("/api") and rng.random() < 0.4 else "GET"
            yield (
                START_MS + second * 1000,
                [host, method, path, rng.choice(_STATUS), int(rng.paretovariate(1.2) * 400)],
            )

    def format(self, event: Event) -> str:
        host, method, path, status, size = event[1]
        when = datetime.fromtimestamp(event[0] / 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        return f'{host} - - [{when}] "{method} {path} HTTP/1.1" {status} {size}'

    def parse(self, line: str) -> Event | None:
        if not line.strip():
            return None
        match = _LINE.match(line)
        if match is None:
            raise MalformedLine("not in the combined log format")
        when = datetime.strptime(match["time"], "%d/%b/%Y:%H:%M:%S %z")
        size = 0 if match["bytes"] == "-" else int(match["bytes"])
        return (
            int(when.timestamp() * 1000),
            [match["host"], match["method"], match["path"], int(match["status"]), size],
        )
