"""The brain's numbers in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Sample = tuple[Mapping[str, str], float | int | None]

_OF_TOPOLOGY = (
    ("inter_node_bytes_per_second", "inter_node_bytes", "Bytes a second that cross nodes."),
    ("bytes_per_second", "bytes", "Bytes a second between executors."),
    ("tuples_per_second", "tuples", "Tuples a second between executors, Storm's own left out."),
    (
        "inter_node_tuples_per_second",
        "inter_node_tuples",
        "Tuples a second that cross nodes, Storm's own left out.",
    ),
    ("acked_per_second", "acked", "Tuples a second acked at the spouts."),
    ("failed_per_second", "failed", "Tuples a second failed."),
    ("complete_latency_seconds", "latency_ms", "Mean complete latency at the spouts."),
    ("cpu_points", "cpu_points", "CPU of all executors; 100 is one core."),
)


_LOST = (
    ("lost_windows_total", "reports", "Windows that its workers could not send to a brain."),
    ("lost_log_lines_total", "lines", "Lines that its workers could not write to the metric log."),
    ("edges_over_limit_total", "edges", "New edges beyond brain.scheduler.max.edges."),
)


def metrics_text(
    brain: Mapping[str, Any], picture: Mapping[str, Any] | None, door: Mapping[str, int]
) -> str:
    """``picture`` is None while this brain does not lead: then there is little to tell."""
    out: list[str] = []
    _family(
        out,
        "info",
        "gauge",
        "Version and name.",
        [({"version": str(brain["version"]), "brain": str(brain["id"])}, 1)],
    )
    _family(out, "leading", "gauge", "1 on the brain that leads.", [({}, int(brain["leading"]))])
    _family(out, "term", "gauge", "Election term.", [({}, brain["term"])])
    for name, value in sorted(door.items()):
        _family(
            out,
            f"door_{name}_total",
            "counter",
            f"Thrift door: {name.replace('_', ' ')}.",
            [({}, value)],
        )
    if picture is not None:
        _cluster(out, picture)
        _topologies(out, picture["topologies"])
    return "\n".join(out) + "\n"


def _cluster(out: list[str], picture: Mapping[str, Any]) -> None:
    for name, value in sorted(picture["counters"].items()):
        _family(
            out,
            f"{name}_total",
            "counter",
            f"{name.replace('_', ' ')} since the start.",
            [({}, value)],
        )
    storm = picture["storm"]
    _family(
        out,
        "storm_live",
        "gauge",
        "1 while Nimbus asks regularly.",
        [({}, int(storm["state"] == "live"))],
    )
    age = storm["age_ms"]
    _family(
        out,
        "snapshot_age_seconds",
        "gauge",
        "Since Nimbus last asked.",
        [({}, None if age is None else age / 1000)],
    )
    nodes = [({"node": n["id"], "host": n["host"]}, n) for n in picture["nodes"]]
    _family(
        out,
        "node_cpu_points",
        "gauge",
        "Measured CPU of the executors there; 100 is a core.",
        [(labels, n["cpu"]) for labels, n in nodes],
    )
    _family(
        out,
        "node_cpu_capacity_points",
        "gauge",
        "supervisor.cpu.capacity.",
        [(labels, n["cpu_capacity"]) for labels, n in nodes],
    )


def _topologies(out: list[str], topologies: Iterable[Mapping[str, Any]]) -> None:
    named = [({"topology": str(t["name"])}, t) for t in topologies]
    for name, key, words in _OF_TOPOLOGY:
        scale = 1000 if key.endswith("_ms") else 1  # Prometheus wants seconds
        values = [(labels, (t["flow"] or {}).get(key)) for labels, t in named]
        samples = [(labels, None if v is None else v / scale) for labels, v in values]
        _family(out, f"topology_{name}", "gauge", words, samples)
    for name, key, words in _LOST:
        lost = [(labels, t["losses"][key]) for labels, t in named]
        _family(out, f"topology_{name}", "counter", words, lost)
    _family(
        out,
        "topology_executors",
        "gauge",
        "Executors.",
        [(labels, len(t["executors"])) for labels, t in named],
    )
    _family(
        out,
        "topology_plan_epoch",
        "gauge",
        "Epoch of the plan in force or pending.",
        [(labels, t["plan"]["epoch"] if t["plan"] else None) for labels, t in named],
    )
    _family(
        out,
        "topology_moved_timestamp_seconds",
        "gauge",
        "When it was last moved by a plan.",
        [(labels, t["moved_ms"] / 1000 if t["moved_ms"] else None) for labels, t in named],
    )
    _family(
        out,
        "topology_last_decision_gain_percent",
        "gauge",
        "Fall of inter-node traffic that the last decision predicted.",
        [(labels, (t["last_decision"] or {}).get("gain_percent")) for labels, t in named],
    )


def _family(out: list[str], name: str, kind: str, words: str, samples: Iterable[Sample]) -> None:
    known = [(labels, value) for labels, value in samples if value is not None]
    if not known:
        return
    out.append(f"# HELP stormbrain_{name} {words}")
    out.append(f"# TYPE stormbrain_{name} {kind}")
    for labels, value in known:
        shown = ",".join(f'{k}="{_escaped(v)}"' for k, v in labels.items())
        braces = f"{{{shown}}}" if shown else ""
        out.append(f"stormbrain_{name}{braces} {value:.10g}")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
