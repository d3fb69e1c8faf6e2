"""What was not measured: every sentence of the boundary, with the judges and the number of cases it holds for."""

from __future__ import annotations

from dataclasses import dataclass

from judgeharness_integrations.reporting.html.wording import grouped
from judgeharness_integrations.reporting.runs.report import RunReport

__all__ = ["Limit", "limits"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One sentence, of whom it holds, and of how many of their results."""

    sentence: str
    judges: tuple[str, ...]
    cases: str


def limits(report: RunReport) -> list[Limit]:
    """Return the boundary, what holds most often first; `judges` is empty where it holds for all of them."""
    found: dict[str, dict[str, int]] = {}
    for section in report.judges:
        for sentence, count in section.not_measured.items():
            found.setdefault(sentence, {})[section.judge] = count
    sizes = {section.judge: section.cases for section in report.judges}
    ordered = sorted(found.items(), key=lambda pair: -sum(pair[1].values()))
    return [
        Limit(
            sentence=sentence,
            judges=() if len(counts) == len(sizes) else tuple(counts),
            cases=f"{grouped(sum(counts.values()))} of {grouped(sum(sizes[name] for name in counts))}",
        )
        for sentence, counts in ordered
    ]
