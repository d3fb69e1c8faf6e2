"""The cases behind one judge and criterion of a report."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judgeharness_integrations.reporting.runs.designs import design_key, designs_apart
from judgeharness_integrations.reporting.runs.summarising import clusters_of
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import JudgeSection, RunReport
    from judgeharness_integrations.reporting.runs.summary import CriterionSummary
    from judgeharness_integrations.result import CriterionResult, HarnessResult

__all__ = ["CriterionCases", "criteria_of"]

_VOCABULARIES = (frozenset({"PASS", "FAIL"}), frozenset({"A", "B", "TIE"}))


@dataclass(frozen=True, kw_only=True)
class CriterionCases:
    """One judge and criterion under one design: what it comes to, and the cases behind that, in order.

    `missing` planned cases have no result about it; they count as not graded. `design` tells its design from others of
    the judge; empty where there is one alone. `others` are results of the judge that are not about the criterion.
    """

    section: JudgeSection
    summary: CriterionSummary
    pairs: tuple[tuple[HarnessResult, CriterionResult], ...]
    design: str = ""
    others: tuple[HarnessResult, ...] = ()

    @property
    def missing(self) -> int:
        """Number of planned cases without a result."""
        return self.summary.cases - len(self.pairs)

    @property
    def clusters(self) -> list[Hashable]:
        """The cluster of every case with a result (row attribute `cluster`), then of every missing one."""
        return clusters_of(self.pairs, missing=self.missing)

    @property
    def scored(self) -> bool:
        """Whether decisions are scores; with `pass_at` scores become PASS or FAIL."""
        return self.summary.numeric and "pass_at" not in self.summary.design.rule.name

    @property
    def sampled(self) -> bool:
        """Whether any sample holds a verdict."""
        return any(measured.valid for _, measured in self.pairs)

    @property
    def labels(self) -> dict[str, None]:
        """Every label that a decision can be, as far as that is known, in order of appearance; none of scores."""
        if self.scored:
            return {}
        seen: dict[str, None] = {}
        for _, measured in self.pairs:
            given = () if measured.numeric else measured.sample_distribution
            seen.update(dict.fromkeys(map(verdict_text, given)))
            if measured.status == "decided":
                seen[verdict_text(measured.verdict)] = None
        for vocabulary in _VOCABULARIES:
            if seen and vocabulary.issuperset(seen):
                return seen | dict.fromkeys(sorted(vocabulary))
        return seen


def criteria_of(report: RunReport) -> Iterator[CriterionCases]:
    """Yield every judge's criteria with their cases."""
    groups: dict[Hashable, list[HarnessResult]] = {}
    for result in report.results:
        groups.setdefault((result.judge, design_key(result.design)), []).append(result)
    for section in report.judges:
        names = designs_apart(summary.design for summary in section.criteria)
        for summary in section.criteria:
            key = design_key(summary.design)
            found, name = groups.get((summary.judge, key), []), summary.criterion
            pairs = tuple((one, one.criteria[name]) for one in found if name in one.criteria)
            others = tuple(one for one in found if name not in one.criteria)
            yield CriterionCases(section=section, summary=summary, pairs=pairs, design=names[key], others=others)
