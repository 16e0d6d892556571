"""The picture of a demo run: traffic between nodes and tuples at the sink, over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from brain.demo.metric_log import Window


def plot(
    path: Path, windows: Sequence[Window], sink: str, moved_ms: int, bucket_ms: int = 2000
) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    begin = min(w.start_ms for w in windows)
    crossing, reached = _series(windows, sink, begin, bucket_ms)
    times = [b * bucket_ms / 1000 for b in range(len(crossing))]
    per = 1000 / bucket_ms
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 5.2))
    top.fill_between(times, [c * per for c in crossing], step="mid", color="#c0392b", alpha=0.8)
    top.set_ylabel("tuples/s between nodes")
    bottom.fill_between(times, [r * per for r in reached], step="mid", color="#2471a3", alpha=0.8)
    bottom.set_ylabel("tuples/s at the last bolt")
    bottom.set_xlabel("seconds since the first window")
    for axis in (top, bottom):
        axis.axvline((moved_ms - begin) / 1000, color="black", linestyle="--", linewidth=1)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    top.annotate(
        " plan applied", ((moved_ms - begin) / 1000, top.get_ylim()[1]), va="top", fontsize=9
    )
    top.set_title("Parallel on a local Storm cluster: Storm's even scheduler, then Stormbrain")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _series(
    windows: Sequence[Window], sink: str, begin: int, bucket_ms: int
) -> tuple[list[float], list[float]]:
    last = max((w.end_ms - begin) // bucket_ms for w in windows)
    crossing, reached = [0.0] * (last + 1), [0.0] * (last + 1)
    node_of: dict[int, str] = {}
    for w in sorted(windows, key=lambda w: w.end_ms):
        for t in w.tasks:
            node_of[t["task"]] = w.node
    # A task's node differs before and after the move, so it is looked up among its neighbours
    # in time.
    by_bucket: dict[int, list[Window]] = {}
    for w in windows:
        by_bucket.setdefault((w.end_ms - begin) // bucket_ms, []).append(w)
    for bucket, inside in sorted(by_bucket.items()):
        near = dict(node_of)
        for other in (bucket - 1, bucket + 1, bucket):
            for w in by_bucket.get(other, ()):
                near.update({t["task"]: w.node for t in w.tasks})
        for w in inside:
            crossing[bucket] += sum(
                e["tuples"]
                for e in w.edges
                if not e.get("system") and near.get(e["source"], w.node) != w.node
            )
            reached[bucket] += sum(t.get("executed", 0) for t in w.tasks if t["component"] == sink)
    return crossing, reached
