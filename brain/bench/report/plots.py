"""Small pictures for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COLOURS = {
    "default": "#7f8c8d", "even": "#7f8c8d", "ras": "#b7950b", "rstorm": "#b7950b",
    "online": "#ca6f1e", "offline": "#af601a", "metis": "#2471a3", "ischeduler": "#7d3c98",
    "auto": "#1e8449",
}  # fmt: skip
Series = Mapping[str, Sequence[tuple[float, float]]]


def lines_by_panel(
    path: Path,
    panels: Sequence[tuple[str, Series]],
    x: str,
    y: str,
    *,
    log: bool = False,
    log_y: bool = False,
) -> None:
    """One panel for each (title, series by name)."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3.1 * len(panels) + 1.2, 3.0), squeeze=False
    )
    for axis, (title, series) in zip(axes[0], panels, strict=True):
        for name, points in series.items():
            if points:
                own = sorted(points)
                axis.plot(
                    [p[0] for p in own], [p[1] for p in own], marker="o", markersize=3,
                    label=name, color=colour(name),
                )  # fmt: skip
        if log:
            axis.set_xscale("log")
        if log_y:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel(y)
    axes[0][-1].legend(fontsize=8, frameon=False)
    _save(figure, path)


def bars(
    path: Path, groups: Sequence[str], values: Mapping[str, Sequence[float | None]], y: str
) -> None:
    """Bars of each name side by side, for each group; a missing value is a gap."""
    pyplot = _pyplot()
    figure, axis = pyplot.subplots(figsize=(max(4.0, 1.0 + 0.35 * len(groups) * len(values)), 3.0))
    width = 0.8 / max(len(values), 1)
    for number, (name, own) in enumerate(values.items()):
        at = [g + (number - (len(values) - 1) / 2) * width for g in range(len(groups))]
        axis.bar(at, [v or 0.0 for v in own], width, label=name, color=colour(name))
    axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
    turn = 0 if sum(map(len, groups)) < 40 else 20
    axis.set_xticks(range(len(groups)), groups, fontsize=8, rotation=turn)
    axis.set_ylabel(y)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8, frameon=False)
    _save(figure, path)


def over_time(
    path: Path, runs: Sequence[tuple[str, Sequence[tuple[float, float]], float | None]], y: str
) -> None:
    """(label, points, when the new placement worked) of several runs, over seconds."""
    pyplot = _pyplot()
    figure, axis = pyplot.subplots(figsize=(6.5, 3.0))
    for label, points, moved in runs:
        if points:
            axis.plot(
                [p[0] for p in points], [p[1] for p in points], label=label, color=colour(label)
            )
        if moved is not None:
            axis.axvline(moved, color=colour(label), linestyle="--", linewidth=1)
    axis.set_xlabel("seconds since submission; dashed: the new placement works")
    axis.set_ylabel(y)
    axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8, frameon=False)
    _save(figure, path)


def scatter(path: Path, points: Sequence[tuple[str, float, float]], x: str, y: str) -> None:
    """(label, x, y), with the diagonal on which both are equal; both axes logarithmic."""
    pyplot = _pyplot()
    figure, axis = pyplot.subplots(figsize=(4.2, 3.8))
    for label in dict.fromkeys(p[0] for p in points):
        own = [p for p in points if p[0] == label]
        axis.scatter(
            [p[1] for p in own], [p[2] for p in own], s=14, label=label, color=colour(label)
        )
    ends = [v for p in points for v in p[1:] if v > 0]
    if ends:
        axis.plot([min(ends), max(ends)], [min(ends), max(ends)], color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=8, frameon=False)
    _save(figure, path)


def colour(name: str) -> str:
    for start, value in COLOURS.items():
        if name.startswith(start):
            return value
    return "#34495e"


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    _pyplot().close(figure)
