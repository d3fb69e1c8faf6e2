"""Whom a probe attacks: the answer that lost the judge's own first verdict, a sentinel the one that won."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from judgeharness_integrations.cases import Criterion, case_id_of
from judgeharness_integrations.checking.asking.planning import CheckedCase
from judgeharness_integrations.perturbations import Perturbation
from judgeharness_integrations.verdictlog.row import is_number

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.probes import AdversarialProbe
    from judgeharness_integrations.verdictlog.probenames import Side
    from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

__all__ = ["aimed", "base_verdicts", "best_verdict"]

_PAIR = {"A", "B", "TIE"}
_BEST = "PASS"


def base_verdicts(rows: Iterable[VerdictRow]) -> dict[str, dict[str, Verdict]]:
    """Return case id -> criterion -> its first valid verdict on the case as it is."""
    found: dict[str, dict[str, Verdict]] = {}
    for row in sorted((row for row in rows if row.perturbation == "none"), key=lambda row: row.repetition):
        if row.verdict is not None:
            found.setdefault(row.case_id, {}).setdefault(row.criterion, row.verdict)
    return found


def aimed(
    cases: Iterable[CheckedCase],
    verdicts: Mapping[str, Mapping[str, Verdict]],
    *,
    criteria: Sequence[Criterion] | None = None,
) -> list[Perturbation]:
    """Return the perturbations that attack each case where it is to be attacked; each fits its own cases alone.

    Args:
        cases: the cases, planned.
        verdicts: case id -> criterion -> base verdict; a case without one is not attacked.
        criteria: what the judge declares. Of several, the first one that was answered decides which answer of a pair
            is changed; what is the best that can be said goes to the probes where all agree on it.

    """
    cases = list(cases)
    best = best_verdict((*(criteria or ()), *(one for case in cases for one in case.own_criteria)))
    targets: dict[tuple[str, Side | None], tuple[AdversarialProbe, set[str]]] = {}
    for case in cases:
        said = verdicts.get(case.case_id, {})
        declared = {one.name: one for one in (*(criteria or ()), *case.own_criteria)}
        for probe in case.probes:
            sides = _of_pair(probe, said, declared) if case.is_pair else _of_one(probe, said, declared)
            for side in sides:
                targets.setdefault((probe.property, side), (probe, set()))[1].add(case.case_id)
    return [_only(probe.on(side, best=best), frozenset(ids)) for (_, side), (probe, ids) in targets.items()]


def best_verdict(criteria: Iterable[Criterion]) -> str | None:
    """Return the best that a judge can say, `PASS` or the top of its scale; None where its criteria leave that open."""
    found = {_best_of(one) for one in criteria}
    return found.pop() if len(found) == 1 else None


def _best_of(criterion: Criterion) -> str | None:
    if criterion.scale is not None:
        top = float(criterion.scale[1])
        return str(int(top)) if top.is_integer() else str(top)
    return _BEST if _BEST in (criterion.labels or ()) else None


def _of_pair(
    probe: AdversarialProbe, said: Mapping[str, Verdict], declared: Mapping[str, Criterion]
) -> tuple[Side, ...]:
    """Return the answer of a pair to change: none where the verdict does not name one of two."""
    winner = next((said[name] for name in (*declared, *said) if name in said), None)
    if winner not in _PAIR:
        return ()
    if probe.expectation == "must_lose":
        return ("a",) if winner == "A" else ("b",)
    return ("a",) if winner == "B" and probe.expectation == "must_not_change" else ("b",)


def _of_one(
    probe: AdversarialProbe, said: Mapping[str, Verdict], declared: Mapping[str, Criterion]
) -> tuple[None, ...]:
    """Return whether to change a single answer: not where an attacker has nothing to gain for any criterion."""
    graded = [
        (verdict, declared.get(name)) for name, verdict in said.items() if _is_graded(verdict, declared.get(name))
    ]
    if probe.expectation == "must_lose":
        return (None,) if graded else ()
    return (None,) if any(_leaves_more(*one) for one in graded) else ()


def _is_graded(verdict: Verdict, criterion: Criterion | None) -> bool:
    """Whether it is known which verdict is better: of scores, and of labels with PASS among them."""
    labels = None if criterion is None else criterion.labels
    return is_number(verdict) or (isinstance(verdict, str) and (labels is None or _BEST in labels))


def _leaves_more(verdict: Verdict, criterion: Criterion | None) -> bool:
    if isinstance(verdict, (int, float)):
        scale = None if criterion is None else criterion.scale
        return scale is None or verdict < scale[1]
    return verdict != _BEST


def _only(perturbation: Perturbation, case_ids: frozenset[str]) -> Perturbation:
    """Return the perturbation for some cases alone."""

    def fits(case: Case) -> str | None:
        if case_id_of(case) not in case_ids:
            return f"{perturbation.name} is aimed at other cases."
        return perturbation.fits(case)

    return replace(perturbation, fits=fits)
