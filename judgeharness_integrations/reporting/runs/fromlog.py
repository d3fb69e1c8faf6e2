"""Any verdict log -> results: cases measured under a rule that was chosen after the samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType

from judgeharness_integrations.aggregation.grouping import by_case
from judgeharness_integrations.aggregation.planned import samples_planned
from judgeharness_integrations.aggregation.rules import Rule, RuleLike
from judgeharness_integrations.aggregation.rules import rule as named_rule
from judgeharness_integrations.calibration.saved import CalibrationState
from judgeharness_integrations.certifying.certificate import Certificate
from judgeharness_integrations.design import Design, RuleFixed
from judgeharness_integrations.measure import measure
from judgeharness_integrations.replay.replaying import replay_cases, rows_of_judges
from judgeharness_integrations.replay.report import Certificates
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["results_of_log"]


def results_of_log(
    rows: Iterable[VerdictRow],
    rule: RuleLike,
    *,
    judges: Sequence[str] | None = None,
    min_valid: int | None = None,
    tolerance: float = 1.0,
    rule_fixed: RuleFixed = "after",
    certificates: Certificates = MappingProxyType({}),
) -> list[HarnessResult]:
    """Measure every case of a log, judge by judge, in order of appearance.

    Args:
        rows: the log, or a run of it.
        rule: a rule's name, a function of rows, or a `Rule`.
        judges: the judges to look at; all of them when None.
        min_valid: valid samples a verdict needs; at least half of the case's rows when None.
        tolerance: how far two scores lie apart and still agree, in units of the score.
        rule_fixed: whether the rule was chosen before or after the samples.
        certificates: judge -> a certificate and whether it holds; see `replay`.

    Raises:
        UnknownNameError: a judge or the rule is not known.
        UsageError: the rule does not fit the verdicts, or needs both orders and the log never shows them.

    """
    chosen, selected = named_rule(rule), rows_of_judges(rows, judges)
    cases = {judge: list(by_case(mine).values()) for judge, mine in selected.items()}
    replay_cases(  # says what does not fit
        (group for groups in cases.values() for group in groups), chosen, min_valid=min_valid, tolerance=tolerance
    )
    return [
        result
        for judge, groups in cases.items()
        for result in _measured(
            judge,
            groups,
            _design(groups, chosen, min_valid, tolerance, rule_fixed),
            certificates.get(judge, (None, None)),
        )
    ]


def _design(
    groups: Sequence[Sequence[VerdictRow]], rule: Rule, min_valid: int | None, tolerance: float, fixed: RuleFixed
) -> Design:
    """Return what was asked of a judge, as far as its rows show."""
    rows = [row for group in groups for row in group]
    samples = Counter((row.run, row.case_id, row.criterion, row.perturbation) for row in rows)
    return Design(
        perturbations=tuple(dict.fromkeys(row.perturbation for row in rows)),
        repetitions=max(samples.values()),
        rule=rule,
        min_valid=min_valid,
        tolerance=tolerance,
        rule_fixed=fixed,
        curtail=any(samples_planned(group) for group in groups),
    )


def _measured(
    judge: str,
    groups: Sequence[Sequence[VerdictRow]],
    design: Design,
    held: tuple[Certificate | None, CalibrationState | None],
) -> Iterator[HarnessResult]:
    certificate, state = held
    for rows in groups:
        yield measure(
            rows,
            case_id=rows[0].case_id,
            judge=judge,
            design=design,
            planned=None,
            remaining=_remaining(rows),
            certificate=certificate,
            certificate_state=state,
        )


def _remaining(rows: Sequence[VerdictRow]) -> list[bool]:
    """Return, of each sample that early stopping left out, whether it would have swapped the texts."""
    places = {(row.perturbation, row.repetition): row.swapped for row in rows}
    planned = samples_planned(rows)
    left = max(planned - len(places), 0)
    swapped = min(left, max(planned // 2 - sum(places.values()), 0))  # rules that look have equal orders
    return [False] * (left - swapped) + [True] * swapped
