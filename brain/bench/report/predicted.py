"""The section that sets the simulation against the testbed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median

from brain.bench.report import plots
from brain.bench.report.document import Block, Figure, Heading, Text, table
from brain.bench.report.validation import DIFFERENT, Agreement, Prediction
from brain.bench.report.words import change


def blocks(found: Sequence[Prediction], cases: Sequence[Agreement], figures: Path) -> list[Block]:
    head: list[Block] = [Heading("Simulated against measured")]
    if not found:
        return [
            *head,
            Text(
                "No experiment has valid runs with a communication graph under the default and "
                "another scheduler yet, so there is nothing to compare."
            ),
        ]
    known = [c.rank_correlation for c in cases if c.rank_correlation is not None]
    pairs, right = sum(c.pairs for c in cases), sum(c.pairs_right for c in cases)
    mean = f"{fmean(known):.2f}" if known else "–"
    path = figures / "validation.png"
    plots.scatter(
        path,
        [(p.scheduler, p.measured, p.predicted) for p in found],
        "measured throughput over default",
        "simulated",
    )
    return [
        *head,
        Text(
            "For each case the simulation is given the graph and the CPU of one run under the "
            "default scheduler, and each scheduler's real placement; what it predicts is compared "
            "with the median of the valid runs. Of the pairs of schedulers whose throughputs are "
            f"apart by more than {100 * (DIFFERENT - 1):.0f} %, it puts **{right} of {pairs}** in "
            f"the right order; the mean rank correlation (Spearman) over {len(known)} cases is "
            f"**{mean}**; its throughput ratios are off by a factor of "
            f"**{median(p.factor_off for p in found):.2f}** in the median."
        ),
        table(
            ["experiment", "case", "schedulers", "rank correlation", "pairs right", "factor off"],
            [
                [
                    c.experiment,
                    c.case,
                    c.schedulers,
                    "–" if c.rank_correlation is None else f"{c.rank_correlation:.2f}",
                    f"{c.pairs_right} of {c.pairs}",
                    f"{c.median_factor:.2f}",
                ]
                for c in cases
            ],
            left=2,
        ),
        Figure(path, "Throughput over default: simulated against measured"),
        table(
            [
                "experiment",
                "case",
                "scheduler",
                "throughput, simulated",
                "measured",
                "bytes a tuple, simulated",
                "measured",
                "latency, simulated",
                "measured",
                "full first, simulated",
            ],
            [
                [
                    p.experiment,
                    p.case,
                    p.scheduler,
                    change(p.predicted),
                    change(p.measured),
                    change(p.predicted_bytes),
                    change(p.measured_bytes),
                    change(p.predicted_latency),
                    change(p.measured_latency),
                    p.bottleneck or "–",
                ]
                for p in found
            ],
            left=3,
        ),
    ]
