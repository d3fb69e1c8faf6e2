"""What a check of a judge asks: cases drawn, changes and probes that fit, then attacks on the answer that lost."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import BudgetError, CaseError, PlanError, UnknownNameError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.perturbations import Perturbation, Rewriter, perturbation
from judgeharness_integrations.judging.plan import CasePlan, Plan, plan_cases
from judgeharness_integrations.judging.probes import AdversarialProbe
from judgeharness_integrations.verdictlog.row import Side, Verdict, VerdictRow, is_number, is_probe

if TYPE_CHECKING:
    from judgeharness_integrations.judging.judge import Judge


# folds nothing that the report shows: a check reads rows
RULE = "majority | median"
_USUAL = ("position_swap", "name_swap", "format_change", "slot_names")


@dataclass(frozen=True, kw_only=True)
class CheckedCase:
    """A case of a check and what of the plan fits it; `plan` holds the case as the judge is shown it."""

    case: Case
    plan: CasePlan
    probes: tuple[AdversarialProbe, ...]

    @property
    def case_id(self) -> str:
        """The case's id."""
        return self.plan.case_id

    @property
    def changes(self) -> tuple[Perturbation, ...]:
        """The perturbations that fit it, besides `none`."""
        return self.plan.perturbations[1:]

    @property
    def own_criteria(self) -> tuple[Criterion, ...]:
        """The questions about this case alone."""
        return self.plan.case.criteria if isinstance(self.plan.case, AnswerCase) else ()

    @property
    def is_pair(self) -> bool:
        """Whether one of two answers is to be changed by a probe."""
        return isinstance(self.plan.case, PairwiseCase)


@dataclass(frozen=True, kw_only=True)
class CheckPlan:
    """What a check will ask; `found` is the number of cases it was drawn from.

    `unfit` maps the names of perturbations and the properties of probes that fit no case to the reason.
    """

    cases: tuple[CheckedCase, ...]
    found: int
    repetitions: int
    changes: tuple[Perturbation, ...]
    probes: tuple[AdversarialProbe, ...]
    unfit: Mapping[str, str] = field(default_factory=dict)

    @property
    def cost(self) -> Plan:
        """What it costs at most: a probe is not asked where the verdict leaves an attacker nothing to gain."""
        changed = Plan.of(case.plan for case in self.cases)
        more = sum(self.repetitions - 1 + len(case.probes) for case in self.cases)
        return Plan(cases=changed.cases, calls=changed.calls + more, rewrites=changed.rewrites)


def planned(
    judge: Judge,
    cases: Iterable[Case],
    *,
    changes: Sequence[Perturbation],
    attacks: Sequence[AdversarialProbe],
    repetitions: int,
    max_cases: int | None,
    seed: int,
) -> CheckPlan:
    """Draw cases and plan what is asked about each.

    Args:
        judge: who is asked.
        cases: the cases; those that are not the judge's to judge do not count.
        changes: perturbations besides `none`.
        attacks: probes.
        repetitions: samples of every case as it is.
        max_cases: how many cases are drawn; None takes all.
        seed: seed of the draw.

    Raises:
        CaseError: there is no case, two share an id, or a single case was given.
        PlanError: the judge cannot judge a case.

    """
    if isinstance(cases, (str, Mapping, AnswerCase)):
        raise CaseError(f"cases is a list or another iterable of cases, not a single {type(cases).__name__}.")
    drawn, found = _drawn(_seen(judge, cases), max_cases, seed)
    if not drawn:
        raise CaseError("there is no case to check the judge on: give some.")
    reasons: dict[str, str] = {}
    checked = tuple(_checked(case, judge, changes, attacks, reasons) for case in drawn)
    fitting = {change.name for case in checked for change in case.changes}
    fitting |= {probe.property for case in checked for probe in case.probes}
    return CheckPlan(
        cases=checked,
        found=found,
        repetitions=repetitions,
        changes=tuple(change for change in changes if change.name in fitting),
        probes=tuple(attack for attack in attacks if attack.property in fitting),
        unfit={name: reason for name, reason in reasons.items() if name not in fitting},
    )


def chosen_perturbations(
    specs: Sequence[str | Perturbation] | None, *, rewriter: Rewriter | None, instructions: Sequence[str]
) -> tuple[Perturbation, ...]:
    """Return the perturbations of a check without `none`; None stands for the usual ones.

    Those are the ones that need nothing, with a `rewriter` also `paraphrase` and `prompt_variant`, and with
    `instructions` each of these wordings instead of the rewriter's.

    Raises:
        PlanError: one is listed twice, malformed, a probe, or lacks what it needs.
        UnknownNameError: there is none of that name.

    """
    if isinstance(specs, (str, Perturbation)):
        raise PlanError("perturbations is a list: write ['position_swap'], even for a single one.")
    specs = usual_perturbations(rewriter=rewriter is not None, wordings=len(instructions)) if specs is None else specs
    made = [perturbation(spec, rewriter=rewriter, instructions=instructions) for spec in specs]
    names = [change.name for change in made]
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise PlanError(f"perturbation {twice!r} is listed twice: use repetitions to ask more often.")
    if (attack := next(filter(is_probe, names), None)) is not None:
        raise PlanError(
            f"{attack!r} is no perturbation of a check: name it in probes; which side it attacks is chosen."
        )
    return tuple(change for change in made if change.name != "none")


def usual_perturbations(*, rewriter: bool, wordings: int) -> tuple[str, ...]:
    """Return the names of what a check perturbs, by whether there is a rewriter and how many wordings are given."""
    variants = tuple(f"prompt_variant({number})" for number in range(1, wordings + 1))
    if rewriter:
        return (*_USUAL, "paraphrase", *(variants or ("prompt_variant",)))
    return (*_USUAL, *variants)


def chosen_probes(specs: Sequence[str | AdversarialProbe] | None) -> tuple[AdversarialProbe, ...]:
    """Return the probes of a check, each once: names of them, of families, or probes of one's own; None: all.

    Raises:
        UnknownNameError: there is none of that name.

    """
    if isinstance(specs, (str, AdversarialProbe)):
        raise PlanError("probes is a list: write ['injection'], even for a single one.")
    from judgeharness_integrations.judging.probes import probes  # noqa: PLC0415 - the payloads, only where they are asked

    if specs is None:
        return probes()
    found: dict[str, AdversarialProbe] = {}
    for spec in specs:
        for one in (spec,) if isinstance(spec, AdversarialProbe) else probes([spec]):
            found.setdefault(one.property, one)
    return tuple(found.values())


def _seen(judge: Judge, cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases that are the judge's to judge."""
    view = getattr(judge, "view", None)
    return (case for case in cases if not callable(view) or view(case) is not None)


def _drawn(cases: Iterable[Case], most: int | None, seed: int) -> tuple[list[Case], int]:
    """Return at most so many cases in their order, and how many there were; a larger draw holds a smaller one."""
    random = Random(f"{seed}|cases")  # noqa: S311 - a sample, not a secret
    lots = ((random.random(), place, case) for place, case in enumerate(cases))
    if most is None:
        kept = list(lots)
        return [case for _, _, case in kept], len(kept)
    counted = _Counted(lots)
    kept = heapq.nsmallest(most, counted, key=itemgetter(0, 1))
    return [case for _, _, case in sorted(kept, key=itemgetter(1))], counted.count


class _Counted:
    """Counts what passes."""

    def __init__(self, lots: Iterable[tuple[float, int, Case]]) -> None:
        self._lots = lots
        self.count = 0

    def __iter__(self) -> Iterator[tuple[float, int, Case]]:
        for lot in self._lots:
            self.count += 1
            yield lot


def _checked(
    case: Case,
    judge: Judge,
    changes: Sequence[Perturbation],
    attacks: Sequence[AdversarialProbe],
    reasons: dict[str, str],
) -> CheckedCase:
    """Return what of the plan fits a case; why the rest does not goes to `reasons`."""
    wanted = (perturbation("none"), *changes)
    plan = next(plan_cases([case], judge, rule=rule(RULE), perturbations=wanted, repetitions=1, on_unfit="skip"))
    for name, reason in plan.skipped.items():
        reasons.setdefault(name, reason)
    side: Side | None = "b" if isinstance(plan.case, PairwiseCase) else None  # a fits whatever b does
    misfits = {attack.property: attack.on(side).fits(plan.case) for attack in attacks}
    for name, why in misfits.items():
        if why is not None:
            reasons.setdefault(name, why)
    return CheckedCase(
        case=case, plan=plan, probes=tuple(attack for attack in attacks if misfits[attack.property] is None)
    )


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
    best = best_verdict((*(criteria or ()), *(criterion for case in cases for criterion in case.own_criteria)))
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
    found = {_best_of(criterion) for criterion in criteria}
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
    return (None,) if any(_leaves_more(*pair) for pair in graded) else ()


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


# what of a harness a check leaves to the caller; the design is the check's own
_OPTIONS = (
    "budget",
    "executor",
    "instructions",
    "keep",
    "log",
    "max_attempts",
    "max_calls",
    "max_concurrency",
    "observers",
    "requests_per_minute",
    "retrying",
    "reuse",
    "rewriter",
    "run",
    "timeout_s",
    "tokens_per_minute",
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was answered; `ended` says why it is not all that was planned, None when it is; `down`: nobody answers."""

    rows: list[VerdictRow] = field(default_factory=list)
    ended: str | None = None
    down: bool = False


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse an option that a check does not take.

    Raises:
        UnknownNameError: it is none of `JudgeHarness`, or one that the check chooses itself.

    """
    for name in options:
        if name not in _OPTIONS:
            raise UnknownNameError("option of a check", name, _OPTIONS)


async def ask(
    judge: Judge, plan: CheckPlan, *, judge_model: str | None, seed: int, options: Mapping[str, Any]
) -> Asked:
    """Ask a judge what is planned, as far as the budget goes.

    Raises:
        BudgetError: the plan needs more than `max_calls`; nothing was asked.

    """
    stages = _Stages(judge, judge_model, _shared(plan, options) | {"seed": seed})
    cases = plan.cases
    await stages.ask(["none"], cases, repetitions=plan.repetitions)
    await stages.ask(plan.changes, [case for case in cases if case.changes])
    attacks = aimed(cases, base_verdicts(stages.rows), criteria=judge.criteria)
    await stages.ask(
        attacks, [case for case in cases if any(attack.fits(case.plan.case) is None for attack in attacks)]
    )
    return Asked(rows=stages.rows, ended=stages.ended, down=stages.down)


def _shared(plan: CheckPlan, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of every stage: one budget, and with a log one run."""
    given = {name: value for name, value in options.items() if name not in ("max_calls", "rewriter", "instructions")}
    limit, cost = options.get("max_calls"), plan.cost
    budget = Budget(max_calls=limit)  # refuses what is no limit
    if limit is not None and cost.total > limit:
        raise BudgetError(f"the plan is {cost}, more than max_calls={limit}: nothing was asked.")
    if given.get("budget") is None:
        given["budget"] = budget
    if given.get("log") is not None and given.get("run") is None:
        given["run"] = os.urandom(6).hex()
    return given


class _Stages:
    """Asks in stages that share a budget, until it ends or the judge is down."""

    def __init__(self, judge: Judge, judge_model: str | None, options: dict[str, Any]) -> None:
        self._judge, self._model, self._options = judge, judge_model, options
        self.rows: list[VerdictRow] = []
        self.ended: str | None = None
        self.down = False

    async def ask(
        self, perturbations: Sequence[str | Perturbation], cases: Sequence[CheckedCase], *, repetitions: int = 1
    ) -> None:
        """Ask about cases under perturbations, those that do not fit a case left out.

        After the end of the budget the log may still know answers.
        """
        if not perturbations or not cases or self.down:
            return
        harness = JudgeHarness(
            perturbations=perturbations,
            repetitions=repetitions,
            aggregation_rule=RULE,
            on_unfit="skip",
            **self._options,
        )
        shown = [case.case for case in cases]
        async with aclosing(harness.aevaluate_many(self._judge, shown, self._model)) as results:
            async for result in results:
                self.rows += [*result.rows, *result.probe_rows]
                if result.ended is not None:
                    self.ended, self.down = result.ended, True
        budget: Budget = self._options["budget"]
        if budget.exhausted and self.ended is None:
            self.ended = budget.reason or "the budget is spent"
