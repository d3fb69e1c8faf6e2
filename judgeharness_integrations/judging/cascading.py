"""Asking until it is settled, by one judge or by the next."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Final

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.grouping import Clusters, attributed, named_cluster
from judgeharness_integrations.analysis.calibration.saved import CalibrationState
from judgeharness_integrations.analysis.certifying.cascade import Cascade, asked_after
from judgeharness_integrations.analysis.certifying.certificate import Certificate
from judgeharness_integrations.analysis.gates.checking import check_gates
from judgeharness_integrations.analysis.gates.gate import AskingOrder, Expression, Gate, GateCheck, GateReport, Gates
from judgeharness_integrations.analysis.gates.metrics import CASE_VALUES, case_value, value_without
from judgeharness_integrations.analysis.gates.sequential import (
    Evidence,
    Looked,
    judged_sequentially,
    shuffled,
    unequal_sizes,
    unit_sums,
    weigh,
)

from .adapters import as_judge
from .cases import Case, CaseFile, Criterion, case_id_of
from .execution.agenda import OneByOne
from .execution.preparing import asked_digest, clusters_of_cases
from .execution.retrying import Budget
from .judge import Judge, JudgeLike, Judgment, Probe
from .plan import Plan

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
    from judgeharness_integrations.analysis.runs.report import RunReport

    from .execution.observing import Observer
    from .harness import JudgeHarness

__all__ = [
    "CascadeJudge",
    "Until",
]

_HARNESS: Final = "a cascade is asked by a harness: JudgeHarness(...).evaluate(cascade, case)."


def goes_on(result: HarnessResult, criterion: str) -> bool:
    """Whether a case goes up: its judge was asked to the end, and decides nothing about the criterion that stands.

    Where asking ended early, by a budget, an interrupt or a judge that is down, nobody else pays for it.
    """
    measured = result.criteria.get(criterion)
    return result.state == "complete" and (measured is None or measured.status != "decided")


def check_state(judge: str, certificate: Certificate, state: CalibrationState) -> None:
    """Refuse a step whose certificate does not hold: all its decisions would abstain, and each case be paid for twice.

    Raises:
        UsageError: saying why.

    """
    if not state.valid:
        raise UsageError(
            f"the certificate of {judge!r:.60} on {certificate.name:.60} is {state}: certify the cascade again, with "
            "certify --cascade."
        )


class CascadeJudge:
    """Several judges in the place of one: a harness asks the next one about what the one before leaves.

    A result is that of the judge that decides a case, or of the last one; `HarnessResult.earlier` holds what the
    cheaper ones said, and its usage is that of all. Rows are those of each judge. What nobody decides is abstained
    and `waits` for people.

    Args:
        judges: the cheapest first, with the names under which they were certified.
        cascade: what `certify --cascade` saved, or its path.

    Raises:
        UsageError: the cascade is of other judges or in another order, or has no certificate.
        ConfigError: it cannot be read.

    """

    identity = None  # each of the judges has its own

    def __init__(self, judges: Sequence[JudgeLike], cascade: Cascade | str | PathLike[str]) -> None:
        """Check judges and cascade; nothing is asked."""
        self.cascade = cascade if isinstance(cascade, Cascade) else Cascade.load(cascade)
        self.judges: tuple[Judge, ...] = tuple(map(as_judge, judges))
        self.cascade.check([judge.name for judge in self.judges])
        self.name = " > ".join(judge.name for judge in self.judges)

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        """The questions of the first judge."""
        return self.judges[0].criteria

    async def judge(self, probe: Probe) -> Judgment:
        """Refuse a single probe: who is asked about it depends on the other answers about its case."""
        del probe
        raise UsageError(_HARNESS)

    def planned_in_turn(self, harness: JudgeHarness, cases: Iterable[Case]) -> Plan:
        """Return what the cases cost at most, where every one of them goes all the way up."""
        listed = list(cases)
        plans = [harness.plan(judge, listed) for judge in self._asked]
        return Plan(
            cases=len(listed),
            calls=sum(plan.calls for plan in plans),
            rewrites=max(plan.rewrites for plan in plans),
            calibration_calls=sum(plan.calibration_calls for plan in plans),
        )

    async def asked_in_turn(
        self, harness: JudgeHarness, cases: Iterable[Case], observers: Sequence[Observer] = ()
    ) -> AsyncGenerator[HarnessResult, None]:
        """Yield the result of every case; see `JudgeHarness.aevaluate_many`.

        Raises:
            UsageError: the rule is another one than was certified, or a certificate does not hold.

        """
        harness = self._prepared(harness)
        left: Iterable[Case] = cases
        before: dict[str, list[HarnessResult]] = {}
        for judge in self._asked:
            last, again = judge is self._asked[-1], dict[str, Case]()
            kept = {} if last else again
            asked = harness._stream(judge, _keeping(left, kept), None, observers)  # noqa: SLF001 - in its own place
            async with aclosing(asked) as results:
                async for result in results:
                    earlier = before.setdefault(result.case_id, [])
                    up = goes_on(result, self.cascade.criterion)
                    if up and not last:
                        earlier.append(result)
                        continue
                    again.pop(result.case_id, None)
                    yield asked_after(result, before.pop(result.case_id), waits=up)
            left = list(again.values())
            if not left:
                return

    @property
    def _asked(self) -> list[Judge]:
        return [judge for judge in self.judges if judge.name in self.cascade.certificates]

    def _prepared(self, harness: JudgeHarness) -> JudgeHarness:
        """Return the harness with the certificates of the steps, and one budget for all of them."""
        self.cascade.check([judge.name for judge in self.judges], harness.design.rule.name)
        prepared = harness.with_certificates(self.cascade.certificates)
        for judge in self._asked:
            held = prepared.certificate_for(judge)
            if held is not None and getattr(judge, "learn", None) is None:  # else its answers tell what it is
                check_state(judge.name, *held)
        prepared.budget = harness.budget or Budget(max_calls=harness.max_calls)
        return prepared


def _keeping(cases: Iterable[Case], kept: dict[str, Case]) -> Iterable[Case]:
    """Return the cases, each of which is kept by its id, as a list where they are one: it is planned as a whole."""
    if isinstance(cases, Sequence):
        kept.update((case_id_of(case), case) for case in cases)
        return cases
    return _kept(cases, kept)


def _kept(cases: Iterable[Case], kept: dict[str, Case]) -> Iterable[Case]:
    for case in cases:
        kept[case_id_of(case)] = case
        yield case


_SEED_BITS: Final = 48  # an integer that every JSON reader keeps


def drawn_seed() -> int:
    """Return a seed nobody knew before, so that no author of cases could put them in a favourable order."""
    return secrets.randbits(_SEED_BITS)


@dataclass(kw_only=True)
class _Tracked:
    """One gate on one criterion: a total and a weight a unit; `closed` is the evidence that settled it, of `units`."""

    gate: Gate
    criterion: str
    totals: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    closed: Evidence | None = None
    units: int = 0


class Until(OneByOne):
    """Cases for `evaluate_many` that end once gates are settled for one judge, for or against.

    Cases come in an order drawn by `seed` and are weighed in it, whichever is answered first; those in flight when the
    gates are settled are finished and kept, but are not part of the evidence. Cases that share the attribute `cluster`,
    and those that ask word for word the same, come together and are one unit; about a population copies of a case count
    as one, by their mean. Give each result to `add`:

        until = Until(cases, ["pass_rate>=0.8"])
        for result in harness.evaluate_many(judge, until):
            until.add(result)
        print(until.report())

    Args:
        cases: a list of them, or a `CaseFile`; anything else has an order nobody knows.
        gates: what to settle, as texts or `Gates`, whose `about` and `scale` hold.
        judge: the judge's name, for gates that are narrowed to one and for the report.
        judges: how many are asked about the same labels: gates on accuracy hold for all of them together.
        seed: of the order; drawn when None, for whoever knows it can name cases so that good ones come first.
        in_random_order: cases of an iterator come in random order already, so that they stand for a population.
        answered: cases that have answers already, which are handed out as well once the gates are settled.

    Raises:
        UsageError: the cases cannot be shuffled, a gate is about something that is not measured case by case, or about
            a population while clusters hold unequally many cases, copies apart.

    """

    def __init__(
        self,
        cases: Iterable[Case],
        gates: Gates | Sequence[str],
        *,
        judge: str = "",
        judges: int = 1,
        seed: int | None = None,
        in_random_order: bool = False,
        answered: Collection[str] = (),
    ) -> None:
        """Bring the cases in order; nothing is asked."""
        self.gates = gates if isinstance(gates, Gates) else Gates(fail_under=tuple(gates), sequential=True)
        self.judge, self._judges, self.seed = judge, judges, drawn_seed() if seed is None else seed
        self._answered = frozenset(answered)
        self.opened: set[str] = set()
        self._in_order = 0
        self.total: int | None = None
        self._unread: Iterator[Case] | None = None
        self._units: list[list[str]] = []
        self._seen = Clusters()  # of a generator
        self._questions: dict[str, Hashable] = {}  # case -> what it and its copies ask, of a population
        self._mixed = False  # whether any of those is a copy
        self._echoes: set[str] = set()  # cases of a generator that ask what an earlier one asked
        self._most, self._size = 1, None if self.gates.about == "population" else 0
        for gate in self.gates.listed:
            _check(gate.expression, self.gates)
        if isinstance(cases, (Sequence, CaseFile)):
            self._arrange(list(cases))
        elif not in_random_order:
            raise UsageError(
                "cases that come from a generator cannot be shuffled: give a list of them, or say that they come in "
                "random order already (in_random_order=True)."
            )
        elif self.gates.about == "suite":
            raise UsageError("of a generator nobody knows how large the suite is: gate about the population.")
        else:
            self._unread = iter(cases)
        self._given: dict[str, HarnessResult] = {}
        self._looked = 0
        self._tracked: dict[tuple[str, str | None, str], _Tracked] = {}

    def _arrange(self, cases: Sequence[Case]) -> None:
        clusters = clusters_of_cases(cases)
        names = [clusters.of(case_id_of(case)) for case in cases]
        order = shuffled(names, seed=self.seed)
        ordered = [cases[place] for place in order]
        units: dict[Hashable, list[str]] = {}
        for place in order:
            units.setdefault(names[place], []).append(case_id_of(cases[place]))
        self._ordered, self._units, self.total = ordered, list(units.values()), len(cases)
        self._size = None if self._size is None else len(self._units)
        if self._size is None:
            if unequal := unequal_sizes(clusters):
                raise UsageError(f"{unequal}; nothing was asked.")
            self._questions = {case_id: clusters.question(case_id) for unit in self._units for case_id in unit}
            self._mixed = len(set(self._questions.values())) < len(self._questions)
        self._most = max((len(set(self._asked(unit))) for unit in self._units), default=1)

    def __iter__(self) -> Iterator[Case]:
        """Yield the cases until the gates are settled, then those that were answered before."""
        for case in self._ordered if self._unread is None else self._unread:
            if self.settled and not self._answered:
                return
            if self.settled:
                if case_id_of(case) in self._answered:
                    self.opened.add(case_id_of(case))
                    yield case
                continue
            self._in_order += 1
            if self._unread is not None:
                self._take_alone(case)
            self.opened.add(case_id_of(case))
            yield case

    def _take_alone(self, case: Case) -> None:
        """Take a case of a generator for a unit, unless it asks what an earlier one does."""
        named = named_cluster(attributed(case))
        if named is not None:
            raise UsageError("which cases of a generator share a cluster is not known: give a list of them.")
        if self._seen.add(case_id_of(case), asked_digest(case), named):
            self._echoes.add(case_id_of(case))
        else:
            self._units.append([case_id_of(case)])

    def _asked(self, unit: Sequence[str]) -> list[Hashable]:
        """Return what each case of a unit asks: copies the same, about a population."""
        return [self._questions.get(case_id, case_id) for case_id in unit]

    @property
    def settled(self) -> bool:
        """Whether the evidence is enough for or against every gate, on every criterion there is."""
        return bool(self._tracked) and all(one.closed is not None for one in self._tracked.values())

    @property
    def units(self) -> int:
        """How many units, cases or clusters, the evidence looked at."""
        return self._looked

    @property
    def ending(self) -> str:
        """How far it came, in words."""
        units = "cases" if self._most == 1 else "clusters"
        of = "" if self.total is None else f" of {self.total}"
        state = "settled" if self.settled else "not settled"
        told = f"{len(self.opened)}{of} cases asked, {state} after {self._looked} {units} in random order"
        if self._echoes:
            are = "is a copy" if len(self._echoes) == 1 else "are copies"
            told += f"; {len(self._echoes)} of them {are} of earlier ones, and no evidence"
        beyond = len(self.opened - self._echoes) - sum(map(len, self._units[: self._looked]))
        if not self.settled or not beyond:
            return told
        kept = (
            "1 case beyond, which was in flight or had an answer, is"
            if beyond == 1
            else (f"{beyond} cases beyond, which were in flight or had answers, are")
        )
        return f"{told}; {kept} kept, and no evidence"

    def add(self, result: HarnessResult) -> None:
        """Take in the result of a case; evidence grows with every unit whose predecessors are all there."""
        if not result.rows or result.case_id in self._echoes:  # never asked: the evidence ends before it
            return
        self._given[result.case_id] = result
        while not self.settled and self._looked < len(self._units) and self._unit_is_there():
            unit = [self._given.pop(case_id) for case_id in self._units[self._looked]]
            self._looked += 1
            self._weigh(unit)

    def _unit_is_there(self) -> bool:
        return all(case_id in self._given for case_id in self._units[self._looked])

    def _weigh(self, unit: Sequence[HarnessResult]) -> None:
        for gate in self.gates.listed:
            if gate.judge not in {None, self.judge}:
                continue
            for name, measured in {name: one for result in unit for name, one in result.criteria.items()}.items():
                if gate.criterion in {None, name} and _fits(gate.expression, measured):
                    self._track(gate, name)
        for one in self._tracked.values():
            if one.closed is None:
                self._extend(one, unit)
                evidence, scale = self._evidence(one), self._scale(one)
                if not evidence.counts:
                    continue
                found = weigh(one.gate.expression, evidence, scale=scale, judges=self._judges)
                if found.outcome != "unsettled":
                    one.closed, one.units = evidence, self._looked

    def _track(self, gate: Gate, criterion: str) -> None:
        key = (gate.name, gate.criterion, criterion)
        if key in self._tracked:
            return
        tracked = self._tracked[key] = _Tracked(gate=gate, criterion=criterion)
        for unit in self._units[: self._looked - 1]:  # no answer was about it before
            self._count(tracked, unit, [value_without(gate.expression)] * len(unit))

    def _extend(self, one: _Tracked, unit: Sequence[HarnessResult]) -> None:
        expression, scale = one.gate.expression, self._scale(one)
        values: list[float | None] = []
        for result in unit:
            value = case_value(expression, result, result.criteria.get(one.criterion))
            if value is not None and scale is not None:
                value = (value - scale[0]) / (scale[1] - scale[0])
                if not 0 <= value <= 1:
                    raise UsageError(f"a score lies outside the scale {scale[0]:g}:{scale[1]:g}: give its true ends.")
            values.append(value)
        self._count(one, [result.case_id for result in unit], values)

    def _count(self, one: _Tracked, unit: Sequence[str], values: Sequence[float | None]) -> None:
        total, weight = unit_sums(values, self._asked(unit))
        one.totals.append(total)
        one.weights.append(weight)

    def _scale(self, one: _Tracked) -> tuple[float, float] | None:
        return None if one.gate.expression.is_share else self.gates.scale

    def _evidence(self, one: _Tracked) -> Evidence:
        units = self._units[: len(one.totals)]
        return Evidence(
            totals=np.array(one.totals),
            weights=np.array(one.weights),
            most=self._most,
            size=self._size,
            copies=sum(len(unit) - len(set(self._asked(unit))) for unit in units) if self._mixed else 0,
            mixed=self._mixed,
        )

    def report(self) -> GateReport:
        """Return what the gates say now; what is not settled has not passed."""
        checks = [self._checked(one) for one in self._tracked.values()]
        return GateReport(checks=tuple(checks), sequential=self.gates.about, stopped=True, order=self.order)

    @property
    def order(self) -> AskingOrder | None:
        """The order of the cases, and how many were asked in it; None of a generator, whose order is its own."""
        if self.total is None:
            return None
        asked = {self.judge: self._in_order}
        return AskingOrder(seed=self.seed, cases=self.total, clusters=len(self._units), asked=asked)

    @property
    def looked(self) -> dict[tuple[str, str, str], Looked]:
        """The evidence by gate, judge and criterion, and the cases it is of."""
        return {(one.gate.name, self.judge, one.criterion): self._looked_at(one) for one in self._tracked.values()}

    def _looked_at(self, one: _Tracked) -> Looked:
        units = self._units[: one.units if one.closed is not None else self._looked]
        return Looked(
            evidence=one.closed or self._evidence(one),
            scale=self._scale(one),
            case_ids=frozenset(case_id for unit in units for case_id in unit),
            judges=self._judges,
        )

    def _checked(self, one: _Tracked) -> GateCheck:
        expression, about = one.gate.expression, self.gates.about
        looked = self._looked_at(one)
        return judged_sequentially(expression, looked, about=about, judge=self.judge, criterion=one.criterion)


def _fits(expression: Expression, measured: CriterionResult) -> bool:
    """Whether a criterion has the metric: labels have no mean score, scores no rates of labels."""
    scored = measured.numeric and not isinstance(measured.verdict, str)
    if expression.metric == "mean_score":
        return scored
    return not (scored and expression.metric in {"pass_rate", "rate", "accuracy", "agreement"})


def _check(expression: Expression, gates: Gates) -> None:
    if expression.metric not in CASE_VALUES:
        raise UsageError(
            f"{expression.name} is of a calibration, which no further case changes: gate on it at the end."
        )
    if not expression.is_share and gates.scale is None:
        raise UsageError(f"{expression.name} needs the ends of the scale of the scores: give --scale 1:10.")


def settled(report: RunReport, until: Mapping[str, Until]) -> GateReport:
    """Return what the gates of a run that was asked until they are settled say of it.

    Args:
        report: of all cases that were asked, those after the stop among them.
        until: what each judge was asked until, one at least; they share gates and order.

    Raises:
        UsageError: a gate is about nothing in the report.

    """
    every = list(until.values())
    at_stop = {key: looked for one in every for key, looked in one.looked.items()}
    orders = [one.order for one in every if one.order is not None]
    asked = {judge: count for order in orders for judge, count in order.asked.items()}
    order = replace(orders[0], asked=asked) if orders else None
    return replace(check_gates(report, every[0].gates, at_stop=at_stop), stopped=True, order=order)
