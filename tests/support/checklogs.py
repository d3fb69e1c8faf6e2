"""Logs for the check of a judge, written short: so many cases, and what was answered under each perturbation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck
    from judgeharness_integrations.verdictlog.row import Verdict

    Answers = Sequence[Verdict | None] | Callable[[int], Sequence[Verdict | None]]

FAILED = {"unparsed", "refused", "error"}


def logged(cases: int, answers: Mapping[str, Answers], **common: Any) -> list[VerdictRow]:
    """Rows of `cases` cases: perturbation -> its answers in order of repetition, or case number -> those.

    A string is a sequence of letters; a failed answer is its outcome.
    """
    return [row for number in range(cases) for row in _case(number, answers, common)]


def _case(number: int, answers: Mapping[str, Answers], common: dict[str, Any]) -> Iterator[VerdictRow]:
    for perturbation, given in answers.items():
        for repetition, answer in enumerate(given(number) if callable(given) else given):
            failed = isinstance(answer, str) and answer in FAILED
            yield VerdictRow(
                case_id=f"c{number:03}",
                perturbation=perturbation,
                repetition=repetition,
                swapped="position_swap" in perturbation,
                verdict=None if failed else answer,
                outcome=answer if failed else "ok",
                **common,
            )


def first(number: int, then: Answers, otherwise: Answers) -> Callable[[int], Sequence[Verdict | None]]:
    """Answer `then` of the first `number` cases, `otherwise` of the rest."""
    return lambda case: then if case < number else otherwise


def checked(rows: Sequence[VerdictRow], name: str, **options: Any) -> PropertyCheck:
    """Return the one property of that name."""
    return one(check_rows(rows, **options), name)


def one(report: CheckReport, name: str) -> PropertyCheck:
    """Return the one property of that name."""
    (found,) = (check for check in report.properties if check.name == name)
    return found
