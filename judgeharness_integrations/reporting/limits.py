"""What a report did not measure: every sentence once, and of which judges and how many cases it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from judgeharness_integrations.analysis.boundary import UNCALIBRATED
from judgeharness_integrations.reporting.calibrationtext import uncalibrated

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.runs.report import RunReport


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One sentence, which holds for `held` of the `cases` of some judges; `judges` is empty where it is all of them."""

    sentence: str
    judges: tuple[str, ...]
    held: int
    cases: int

    @property
    def share(self) -> str:
        """How many cases it holds for."""
        return f"{self.held:,} of {self.cases:,}"

    @property
    def line(self) -> str:
        """The sentence with judges and cases, where it does not hold for all."""
        whose = f"{', '.join(self.judges)}: " if self.judges else ""
        return f"{whose}{self.sentence}" + ("" if self.held == self.cases else f" ({self.share} cases)")


def limits(report: RunReport) -> list[Limit]:
    """Return what was not measured, what holds most often first."""
    found: dict[str, dict[str, int]] = {}
    for section in report.judges:
        for sentence, count in section.not_measured.items():
            said = uncalibrated(section.criteria) if sentence == UNCALIBRATED else sentence
            found.setdefault(said, {})[section.judge] = count
    sizes = {section.judge: section.cases for section in report.judges}
    ordered = sorted(found.items(), key=lambda pair: -sum(pair[1].values()))
    return [
        Limit(
            sentence=sentence,
            judges=() if len(counts) == len(sizes) else tuple(counts),
            held=sum(counts.values()),
            cases=sum(sizes[name] for name in counts),
        )
        for sentence, counts in ordered
    ]
