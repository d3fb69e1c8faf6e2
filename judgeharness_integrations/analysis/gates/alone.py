"""What rows apart from the folder of their run tell of samples and cases that were never asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.analysis.aggregation.rules import samples_planned
from judgeharness_integrations.verdictlog.encoding import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.analysis.runs.report import RunReport

    from .metrics import CriterionCases

__all__ = ["TAKEN_FOR_WHOLE", "cut_off", "taken_for_whole"]

TAKEN_FOR_WHOLE: Final = (
    "nothing here says how many cases were to be asked, nor whether a gate ended it, as the folder of a run does: "
    "these are taken for all of them"
)
_FOLDER: Final = "gate on the folder of the run, or continue it to its end"


def taken_for_whole(cases: CriterionCases, report: RunReport) -> str:
    """Return that the rows of a run are taken for all of it; empty where that is known, or no run is named."""
    named = any(row.run for result in cases.results for row in result.rows)
    return TAKEN_FOR_WHOLE if named and not report.of_known_size else ""


def cut_off(cases: CriterionCases, report: RunReport) -> str:
    """Return by what the rows of a run show that it was cut off; empty where they do not, or no run is named.

    A run asks every sample of a case unless it is stopped, and notes those that fail: where a perturbation was repeated
    less often in some cases than in others, the run ended in between, and early stopping would have said so. It also
    asks every judge about every case, a cascade apart, whose later cases were chosen by what earlier judges said.
    What ended between two cases of its only judge leaves no trace in rows.
    """
    return next(_traces(cases, report), "") if taken_for_whole(cases, report) else ""


def _traces(cases: CriterionCases, report: RunReport) -> Iterator[str]:
    mine = cases.results
    counts = [_repeated(result) for result in mine if not samples_planned(result.rows)]
    most: Counter[str] = Counter()
    for count in counts:
        most |= count
    short = sum(any(times < most[name] for name, times in count.items()) for count in counts)
    if short:
        verb = "holds" if short == 1 else "hold"
        yield f"{short} of {len(mine)} cases {verb} fewer samples than the others, as after a cut: {_FOLDER}"
    judged: dict[str, set[str]] = {}
    for result in report.results:
        judged.setdefault(result.judge, set()).add(result.case_id)
    own = judged.get(cases.summary.judge, set())
    missing = len(set().union(*judged.values()) - own)
    if missing and any(own < other for other in judged.values()):
        yield (
            f"other judges of the run were asked about {counted(missing, 'case')} more, so that these may be no random "
            f"part of them: {_FOLDER}"
        )


def _repeated(result: HarnessResult) -> Counter[str]:
    """Return perturbation -> how often the case was asked with it."""
    return Counter(name for name, _ in {(row.perturbation, row.repetition) for row in result.rows})
