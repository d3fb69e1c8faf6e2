"""What became of a benchmark's pairs, why, and what it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.conditions import Conditions, draw_conditions
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.results.auditing import Audited
from judgeharness_integrations.benchmark.results.costs import Cost
from judgeharness_integrations.benchmark.results.curating import Step, curated
from judgeharness_integrations.benchmark.results.flow import FlowRow, Reason
from judgeharness_integrations.benchmark.results.judgments import Mode
from judgeharness_integrations.benchmark.results.reading import Results
from judgeharness_integrations.ranking.curation import CutTies

__all__ = ["StatsReport", "Steps", "planned_conditions", "steps_of"]


class StatsReport(Record):
    """What `judgeharness benchmark stats --json` prints.

    `mode` is None, and `steps` are empty, where nobody was asked. `cut`: the share of hardest pairs the steps show;
    `cut_reason`: why none could be. `alone`: unanimous pairs about which one judge alone was asked. `total_cost` is
    None where that of a step is not known.
    """

    schema_: Literal["judgeharness.benchmark_stats/1"] = Field(default="judgeharness.benchmark_stats/1", alias="schema")
    generator: str | None
    verifier: str | None
    imported_from: str | None
    min_grounded: float
    flow: tuple[FlowRow, ...]
    reasons: tuple[Reason, ...]
    mode: Mode | None
    judges: tuple[str, ...]
    cut: float
    cut_reason: str | None
    alone: int = Field(ge=0)
    steps: tuple[Step, ...]
    costs: tuple[Cost, ...]
    total_cost: float | None
    audited: Audited | None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What became of the judged pairs; `cut_reason` and `alone` as in `StatsReport`."""

    steps: tuple[Step, ...]
    cut_reason: str | None
    alone: int


def planned_conditions(folder: BenchmarkFolder, pairs: Sequence[Pair]) -> list[Conditions]:
    """Return the conditions of every pair of a benchmark, those that are not written yet too."""
    settings = folder.settings()
    known = {pair.conditions.number: pair.conditions for pair in pairs}
    if settings.imported_from is None and len(known) < settings.n:
        documents, taxonomy = folder.documents(), folder.taxonomy()
        for number in range(settings.n):
            if number not in known:
                known[number] = draw_conditions(
                    number, documents=documents, taxonomy=taxonomy, drawing=settings.drawing
                )
    return [known[number] for number in sorted(known)]


def steps_of(results: Results, mode: Mode | None, *, cut: float, cut_ties: CutTies, columns: Sequence[str]) -> Steps:
    """Return what became of the judged pairs.

    Raises:
        UsageError: the cut is no share.

    """
    if not 0 <= cut < 1:
        raise UsageError(f"the share of pairs to cut must be at least 0 and below 1, not {cut}.")
    if mode is None:
        return Steps(steps=(), cut_reason=None, alone=0)
    rows, flags = results.rows[mode], results.audit is not None
    reason = None
    try:
        made = curated(rows, share=cut, cut_ties=cut_ties, flags=flags)
    except UsageError as error:
        made, reason = curated(rows, share=0, flags=flags), str(error).rstrip(".")
    return Steps(steps=made.steps(columns), cut_reason=reason, alone=len(made.alone))
