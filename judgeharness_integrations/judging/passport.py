"""Asking a judge for its passport: every question in forms that must agree, once more, and about labelled cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from judgeharness_integrations._errors import BudgetError, CaseError, JudgeDownError, NotGradedError, UsageError
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.fingerprint import Fingerprint, design_of_parts
from judgeharness_integrations.analysis.probability.canary import CANARY_ALPHA, CANARY_STATES, CanaryCheck, watch
from judgeharness_integrations.analysis.probability.measuring import Bars, answering_models, passport_of_rows
from judgeharness_integrations.analysis.probability.passport import VOTES, Canary, Passport, Round
from judgeharness_integrations.analysis.result import HarnessResult, all_failed, raise_where_all_failed
from judgeharness_integrations.verdictlog.row import RETEST, VerdictRow

from .adapters import as_judge
from .calibrating import CalibrationSet
from .candidates import gold_about
from .cases import AnswerCase, Case, PairwiseCase, case_id_of
from .execution.loop import run_sync
from .harness import JudgeHarness
from .judge import Judge, JudgeLike, text_hash
from .perturbations.registry import QUESTION_FORMS
from .running import fingerprint_parts

SINGLE_LABELS: Final = "single labels"
FORMED: Final = 50  # cases whose question is asked in every form
_now = partial(datetime.now, UTC)
PASSPORT_RULE: Final = "mean_probability(0.8) | expected_score"


class PassportOffice:
    """Asks a judge what a passport needs to know.

    Args:
        judge: who answers, with probabilities.
        cases: what it is asked about; those with gold are its labels, shares where several
            annotators gave it. The first `formed` of them are asked in every
            form and once more, the first `frozen` of those are the states of the canary.
        forms: perturbations that must not matter, those of typed questions when None; what does not fit is left out.
        wordings: how many `instructions` are among the options, each of which is a form, too.
        name: of the label set, for people.
        source: where the labels come from: `human`, `executable` or `model:<name>`.
        bars: what is to be certified.
        seed: of perturbations, folds and simulations.
        clock: returns the current time with offset.
        options: further arguments of `JudgeHarness` (`log`, `max_concurrency`, `budget` ...).

    Raises:
        CaseError: there are no cases.
        UsageError: `formed` is below 1, or `frozen` below 0.

    """

    def __init__(
        self,
        judge: JudgeLike,
        cases: Sequence[Case],
        *,
        forms: Sequence[str] | None = None,
        wordings: int = 0,
        formed: int = FORMED,
        frozen: int = CANARY_STATES,
        name: str = "labels",
        source: str = "human",
        bars: Bars | None = None,
        seed: int = 0,
        clock: Callable[[], datetime] = _now,
        **options: Any,
    ) -> None:
        """Prepare; nothing is asked yet."""
        if not cases:
            raise CaseError("a passport is taken on cases: give about 50, and 100 with labels.")
        if formed < 1 or frozen < 0:
            raise UsageError(f"formed must be 1 or more and frozen 0 or more, not {formed} and {frozen}.")
        self.judge: Judge = as_judge(judge)
        self.cases, self.name, self.source, self.bars, self.seed = list(cases), name, source, bars or Bars(), seed
        self._formed, self._frozen = formed, frozen
        self._labels = _several_labels(self.cases, name, source)
        pairwise = all(isinstance(case, PairwiseCase) for case in self.cases)
        self.votes = VOTES if pairwise else VOTES[:1]
        self._clock = clock
        given = tuple(sorted(QUESTION_FORMS)) if forms is None else tuple(forms)
        self.plain = self._harness(self.votes, options)
        asked = (*given, *(f"prompt_variant({number})" for number in range(1, wordings + 1)))
        self.full = self._harness((*self.votes, RETEST, *(form for form in asked if form not in self.votes)), options)

    def _harness(self, perturbations: Sequence[str], options: Mapping[str, Any]) -> JudgeHarness:
        fixed: dict[str, Any] = {
            "repetitions": 1,
            "aggregation_rule": PASSPORT_RULE,
            "on_unfit": "skip",
            "seed": self.seed,
        }
        return JudgeHarness(perturbations=perturbations, **(fixed | dict(options)))

    @property
    def parts(self) -> tuple[tuple[JudgeHarness, Sequence[Case]], ...]:
        """Which cases are asked by which harness."""
        formed, others = self.cases[: self._formed], self.cases[self._formed :]
        return ((self.full, formed), (self.plain, others)) if others else ((self.full, formed),)

    @property
    def calls(self) -> int:
        """Calls of the judge, without retries."""
        return sum(harness.plan(self.judge, cases).calls for harness, cases in self.parts)

    def take(self) -> Passport:
        """Ask, and return the passport; see `atake`."""
        return run_sync(self.atake())

    async def atake(self) -> Passport:
        """Ask, and return the passport.

        Raises:
            UsageError: the judge answers without probabilities.
            JudgeDownError, NotGradedError: it answers nothing.
            BudgetError: the calls allowed ended before everything was asked.

        """
        rows: list[VerdictRow] = []
        for harness, cases in self.parts:
            rows += [row for result in await _results(harness, self.judge, cases) for row in rows_of(result)]
        return self.measured(rows)

    def measured(self, rows: Sequence[VerdictRow]) -> Passport:
        """Return the passport that answers come to."""
        design = self.plain.design
        shares, told = ({}, "") if self._labels is None else self._labels.shares()
        return passport_of_rows(
            rows if self._labels is None else _labelled(rows, self._labels),
            Labels(name=self.name, source=self.source, consensus=told or SINGLE_LABELS),
            shares=shares,
            judge=self.judge.name,
            measured_at=self._clock().isoformat(timespec="seconds"),
            votes=self.votes,
            bars=self.bars,
            seed=self.seed,
            parts=json.loads(json.dumps(fingerprint_parts(self.judge, design))),
            design=json.loads(json.dumps(design.parts())),
            canary=self._canary(rows),
        )

    def _canary(self, rows: Sequence[VerdictRow]) -> Canary | None:
        """Return the frozen states with their first two rounds: the plain answers and the retest."""
        if not self._frozen:
            return None
        frozen = self.cases[: min(self._frozen, self._formed)]
        states = {case_id_of(case): state_digest(case) for case in frozen}
        now = self._clock().isoformat(timespec="seconds")
        rounds = (_round(rows, states, name, at=now) for name in (VOTES[0], RETEST))
        return Canary(states=states, rounds=tuple(one for one in rounds if one.answers))


def _several_labels(cases: Sequence[Case], name: str, source: str) -> CalibrationSet | None:
    """Return the labels of cases where one of them holds those of several annotators, which no row does."""
    given = [(case, case.gold) for case in cases if isinstance(case, AnswerCase) and case.gold is not None]
    if not any(isinstance(gold, (list, tuple)) for _, gold in given):
        return None
    return CalibrationSet(name, given, source=source)


def _labelled(rows: Sequence[VerdictRow], labels: CalibrationSet) -> list[VerdictRow]:
    """Return rows with the label most annotators gave."""
    golds = labels.golds()[0]
    return [replace(row, gold=gold_about(golds.get(row.case_id, {}), row.criterion)) for row in rows]


def checked_passport(
    passport: Passport,
    judge: JudgeLike,
    cases: Sequence[Case],
    *,
    clock: Callable[[], datetime] = _now,
    **options: Any,
) -> tuple[Passport, CanaryCheck]:
    """Ask the frozen states again, and return the passport with one more round, and what the rounds say.

    The level of all looks is shared by the questions. Answers that name another model than the passport's are no round.

    Args:
        passport: with a canary.
        judge: the same as then.
        cases: among them the frozen states, as they were.
        clock: returns the current time with offset.
        options: further arguments of `JudgeHarness`.

    Raises:
        UsageError: the passport has no canary, the judge is another one, or a state is missing or another one.
        NotGradedError: the judge answers nothing, or a question about fewer than half of the states.

    """
    if passport.canary is None or not passport.canary.criteria:
        raise UsageError("the passport has no canary: take it anew with frozen states.")
    known = {case_id_of(case): case for case in cases}
    states = passport.canary.states
    for name, digest in states.items():
        if name not in known:
            raise UsageError(f"case {name!r:.80} is a frozen state of the passport: give the cases it was taken on.")
        if state_digest(known[name]) != digest:
            raise UsageError(f"case {name!r:.80} is not what it was when the passport was taken: give the same cases.")
    fixed: dict[str, Any] = {"repetitions": 1, "aggregation_rule": PASSPORT_RULE, "on_unfit": "skip"}
    harness, asked = JudgeHarness(perturbations=VOTES[:1], **(fixed | options)), as_judge(judge)
    _check_same(passport.parts, fingerprint_parts(asked, harness.design))
    results = run_sync(_results(harness, asked, [known[name] for name in states]))
    rows = [row for result in results for row in rows_of(result)]
    now = clock().isoformat(timespec="seconds")
    check = CanaryCheck(
        passport=passport.name,
        judge=passport.judge,
        checked_at=now,
        elsewhere=passport.moved(answering_models(rows)),
        questions={},
    )
    if check.elsewhere:
        return passport, check
    added = _round(rows, states, VOTES[0], at=now)
    _refuse_silence(passport.canary, added)
    canary = replace(passport.canary, rounds=(*passport.canary.rounds, added))
    level = CANARY_ALPHA / len(canary.criteria)
    reports = {name: watch(canary.days(name), alpha=level) for name in canary.criteria}
    return replace(passport, canary=canary), replace(check, questions=reports)


def _check_same(then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> None:
    """Refuse a judge that says itself that it is another one: a round of its would be no evidence of a hidden move."""
    if then is None or now is None:
        return
    mine, theirs = ({name: one[name] for name in one if name not in design_of_parts(one)} for one in (now, then))
    if changed := Fingerprint(mine).changes(theirs):
        raise UsageError(f"the judge is not that of the passport ({', '.join(changed)} changed): take a new passport.")


def _refuse_silence(canary: Canary, added: Round) -> None:
    """Refuse a round in which a question was answered about fewer than half of the states that it once was about."""
    for name in canary.criteria:
        *earlier, now = (sum(name in found for found in one.answers.values()) for one in (*canary.rounds, added))
        if 2 * now < max(earlier):
            raise NotGradedError(
                f"the judge answered {now} of {max(earlier)} frozen states about {name!r:.60} with probabilities, too "
                "few to tell whether it has moved: ask as the passport was taken."
            )


def rows_of(result: HarnessResult) -> tuple[VerdictRow, ...]:
    """Return all rows of a result, also those without a vote."""
    return (*result.rows, *result.probe_rows)


def state_digest(case: Case) -> str:
    """Return a digest of what a case holds."""
    texts = case.all_texts() if isinstance(case, AnswerCase) else [repr(case)]
    return text_hash(json.dumps(list(texts), ensure_ascii=False))


def _round(rows: Sequence[VerdictRow], states: Mapping[str, str], perturbation: str, *, at: str) -> Round:
    answers: dict[str, dict[str, Mapping[str, float]]] = {}
    for row in rows:
        if row.case_id in states and row.perturbation == perturbation and row.probabilities is not None:
            answers.setdefault(row.case_id, {})[row.criterion] = row.probabilities
    return Round(at=at, answers=answers)


async def _results(harness: JudgeHarness, judge: Judge, cases: Sequence[Case]) -> list[HarnessResult]:
    async with aclosing(harness.aevaluate_many(judge, cases)) as found:
        results = [result async for result in found]
    if any(result.state == "budget_exhausted" for result in results):
        raise BudgetError("the calls allowed ended before all was asked: allow more, and the same again goes on.")
    if (ended := next((result.ended for result in results if result.state == "judge_down"), None)) is not None:
        raise JudgeDownError(f"{ended}.")
    if all(map(all_failed, results)):
        raise_where_all_failed(results)
    return results
