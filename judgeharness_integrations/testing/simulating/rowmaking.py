"""The rows of a simulated judge, many at a time and without an event loop."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging import DEFAULT_CRITERION
from judgeharness_integrations.testing.simulating.answering import OUTCOME_OF, answers, evidence, raw_text
from judgeharness_integrations.testing.simulating.asked import Asked, asked, reads_texts
from judgeharness_integrations.testing.simulating.shown import Known, known, named, shown
from judgeharness_integrations.testing.simulating.targets import aimed
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations import Perturbation
    from judgeharness_integrations.probes import AdversarialProbe
    from judgeharness_integrations.testing.simulating.judge import SimulatedJudge

__all__ = ["rows_of"]


class _Question(NamedTuple):
    known: Known
    perturbation: Perturbation
    asked: Asked


def rows_of(
    judge: SimulatedJudge,
    cases: Iterable[Case],
    perturbations: Sequence[str | Perturbation],
    *,
    repetitions: int,
    probes: Sequence[str | AdversarialProbe],
    run: str,
    seed: int,
) -> list[VerdictRow]:
    """Return the rows of every case, perturbation and repetition in the order of a plan, then those of probes."""
    if repetitions < 1:
        raise UsageError(f"a judge is asked once at least, not {repetitions} times.")
    changes = [named(one) if isinstance(one, str) else one for one in perturbations]
    if probes and all(change.name != "none" for change in changes):
        raise UsageError("probes need to know what the judge says of a case as it is: add the perturbation 'none'.")
    asked_about = _judged(judge, cases)
    questions = [
        question for one in asked_about for change in changes if (question := _question(judge, one, change, seed))
    ]
    rows = _answered(judge, questions, repetitions, run, before=0)
    return rows + _answered(judge, _attacks(judge, asked_about, rows, probes, seed), 1, run, before=len(rows))


def _attacks(
    judge: SimulatedJudge,
    cases: Iterable[Known],
    rows: Iterable[VerdictRow],
    probes: Sequence[str | AdversarialProbe],
    seed: int,
) -> list[_Question]:
    """Return what is asked once the judge has said what it thinks of the cases as they are."""
    if not probes:
        return []
    from judgeharness_integrations.probes import probes as probes_named  # noqa: PLC0415 - most simulate no attack

    attacks = probes_named(probes)
    said: dict[str, Verdict] = {}
    for row in rows:
        if row.perturbation == "none" and row.verdict is not None:
            said.setdefault(row.case_id, row.verdict)
    return [
        question
        for one in cases
        for change in aimed(attacks, said.get(one.case_id), scale=judge.scale, pair=judge.kind == "pairwise")
        if (question := _question(judge, one, change, seed))
    ]


def _judged(judge: SimulatedJudge, cases: Iterable[Case]) -> list[Known]:
    found: dict[str, Known] = {}
    for case in cases:
        one = known(case)
        if reason := judge.fits(case):
            raise UsageError(f"judge {judge.name!r} cannot judge case {one.case_id!r}: {reason}.")
        if one.case_id in found:
            raise CaseError(f"two cases share the id {one.case_id!r}: case ids must be unique.")
        found[one.case_id] = one
    return list(found.values())


def _question(judge: SimulatedJudge, one: Known, change: Perturbation, seed: int) -> _Question | None:
    """Return what is asked, None where the perturbation does not fit the case."""
    case = shown(one, change, seed=seed, reads_texts=reads_texts(judge))
    if case is None:
        return None
    return _Question(one, change, asked(judge, case, one.case_id, change.name, swapped=change.swaps))


def _answered(
    judge: SimulatedJudge, questions: Sequence[_Question], repetitions: int, run: str, *, before: int
) -> list[VerdictRow]:
    """Return the rows of every question and repetition; `before` calls were answered earlier."""
    if not questions:
        return []
    numbers = np.zeros(repetitions, dtype=np.intp) if judge.copies else np.arange(repetitions)
    calls = before + np.arange(len(questions) * repetitions, dtype=np.float64)
    found = answers(judge, [one.asked for one in questions], np.tile(numbers, (len(questions), 1)), calls)
    said = zip(found.places.tolist(), found.preferences.tolist(), strict=True)
    return [row for one in questions for row in _rows(judge, one, itertools.islice(said, repetitions), run)]


def _rows(
    judge: SimulatedJudge, question: _Question, said: Iterable[tuple[int, float]], run: str
) -> Iterator[VerdictRow]:
    """Yield the rows of a question's repetitions."""
    one, change, verdicts = question.known, question.perturbation, judge.scale.verdicts
    attributes = one.facts.attributes
    if judge.copies:
        attributes = {**attributes, **evidence(judge, question.asked)}
    gold = one.facts.gold_of(DEFAULT_CRITERION)
    for repetition, (place, preference) in enumerate(said):
        yield VerdictRow(
            case_id=one.case_id,
            verdict=verdicts[place] if place >= 0 else None,
            run=run,
            judge=judge.name,
            perturbation=change.name,
            repetition=repetition,
            swapped=change.swaps,
            outcome=OUTCOME_OF.get(place, "ok"),
            gold=gold,
            raw=raw_text(place, preference),
            attributes=attributes,
        )
