"""What the runs on real Storm showed, kept when all of them passed in one session."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from topologies.common.results import read_counters, read_latency, read_results

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "topologies.json"
_COUNTED = ("events", "acked", "failed", "replayed", "duplicates", "restored")


class Recording:
    """Rows of one session; ``write`` does nothing unless every wanted run is among them."""

    def __init__(self, wanted: set[tuple[str, str]]) -> None:
        self._wanted = wanted
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._began = time.monotonic()

    def add(self, name: str, under: str, results: Path, seconds: float, **more: Any) -> None:
        """A run whose results were those of the batch computation."""
        counters = read_counters(results).values()
        latency = read_latency(results)
        self._rows[name, under] = {
            "topology": name,
            "under": under,
            "seconds": round(seconds, 1),
            "results": len(read_results(results)),
            **{what: sum(c.get(what, 0) for c in counters) for what in _COUNTED},
            "latency_ms": {f"p{p}": round(latency.quantile_ms(p / 100), 1) for p in (50, 95, 99)},
            **more,
        }

    def write(self) -> bool:
        if not self._wanted <= self._rows.keys():
            return False
        document = {
            "date": time.strftime("%Y-%m-%d"),
            "command": "make test-topologies",
            "minutes": round((time.monotonic() - self._began) / 60, 1),
            "load_average_after": round(os.getloadavg()[0], 1),
            "runs": [self._rows[key] for key in sorted(self._rows)],
        }
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return True
