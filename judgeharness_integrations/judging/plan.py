"""Perturbations x repetitions -> probes. The cost is known before the first call."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import CaseError, PlanError
from judgeharness_integrations.analysis.aggregation.rules import Rule, check_rule_fits, of_both_kinds
from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.row import RETEST, is_probe

from .cases import AnswerCase, Case, Criterion, case_id_of, presented
from .judge import Judge
from .perturbations import Perturbation, perturbation, retest
from .perturbations.registry import QUESTION_FORMS

__all__ = ["CasePlan", "OnUnfit", "Plan", "plan_case", "plan_cases"]

OnUnfit: TypeAlias = Literal["error", "skip"]


@dataclass(frozen=True, kw_only=True)
class CasePlan:
    """What will be asked about one case; `skipped` maps perturbations that do not fit to the reason."""

    case: Case
    case_id: str
    perturbations: tuple[Perturbation, ...]
    repetitions: int
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """Judge calls, without retries."""
        return len(self.perturbations) * self.repetitions

    @property
    def samples(self) -> int:
        """Samples that vote in a verdict: adversarial probes cost calls, too, but do not."""
        return len(_voting(self.perturbations)) * self.repetitions

    @property
    def rewrites(self) -> int:
        """Rewriter calls: one a distinct text."""
        return len(self.rewordings)

    @property
    def rewordings(self) -> frozenset[tuple[int, str, str]]:
        """What rewriters will be asked; see `Perturbation.rewrites`."""
        return frozenset().union(*(p.rewrites(self.case) for p in self.perturbations))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run will cost: `calls` of judges for `cases`, `rewrites`, and `calibration_calls` for a label set."""

    cases: int
    calls: int
    rewrites: int = 0
    calibration_calls: int = 0

    @classmethod
    def of(
        cls,
        plans: Iterable[CasePlan],
        *,
        labelled: Iterable[CasePlan] = (),
        rewritten: Container[tuple[int, str]] = (),
    ) -> Plan:
        """Return the cost of several cases and of calibrating on `labelled` ones.

        A text is reworded once for all of them, one of `rewritten` not again.
        """
        cases = calls = labelled_calls = 0
        new: set[bytes] = set()  # digests: the texts of many cases would fill the memory
        for plan in plans:
            cases += 1
            calls += plan.calls
            new.update(_new_texts(plan, rewritten))
        rewrites = len(new)
        for plan in labelled:
            labelled_calls += plan.calls
            new.update(_new_texts(plan, rewritten))
        return cls(cases=cases, calls=calls, rewrites=rewrites, calibration_calls=labelled_calls + len(new) - rewrites)

    @property
    def total(self) -> int:
        """All calls, without retries."""
        return self.calls + self.rewrites + self.calibration_calls

    def __str__(self) -> str:
        """Return the plan as one line."""
        parts = [f"{counted(self.calls, 'judge call')} for {counted(self.cases, 'case')}"]
        if self.rewrites:
            parts.append(counted(self.rewrites, "rewrite"))
        if self.calibration_calls:
            parts.append(f"{counted(self.calibration_calls, 'call')} for calibration")
        return ", ".join(parts) + f": {counted(self.total, 'call')}, retries not counted"


def _new_texts(plan: CasePlan, rewritten: Container[tuple[int, str]]) -> Iterator[bytes]:
    return (_digest(text) for text in plan.rewordings if text[2] or text[:2] not in rewritten)


def _digest(rewording: tuple[int, str, str]) -> bytes:
    """Return 128 bits that stand for a text to be reworded."""
    return hashlib.blake2b(repr(rewording).encode(), digest_size=16).digest()


def _misfit(perturbation: Perturbation, case: Case, judge: Judge) -> str | None:
    missing = sorted(perturbation.needs - frozenset(getattr(judge, "supports", ())))
    if missing:
        lacks = "asks no typed questions" if missing[0] in QUESTION_FORMS else "does not build its own prompt"
        return f"judge {judge.name!r} {lacks}, which {', '.join(missing)} changes"
    if (reason := perturbation.fits(case)) is not None or not perturbation.needs:
        return reason
    unchanged = getattr(judge, "unchanged", None)
    return None if unchanged is None else unchanged(perturbation.needs, case)


def _shown_instructions(case: Case, judge: Judge) -> Case:
    """Return the case with the judge's own instructions, so that a perturbation can reword them."""
    instructions = getattr(judge, "instructions", None)
    if instructions is None or not isinstance(case, AnswerCase):
        return case
    return presented(case, instructions=instructions)


def plan_case(
    case: Case,
    judge: Judge,
    *,
    perturbations: Sequence[Perturbation],
    repetitions: int,
    rule: Rule,
    on_unfit: OnUnfit = "error",
    case_id: str | None = None,
) -> CasePlan:
    """Plan one case.

    Raises:
        PlanError: the judge cannot judge it, a perturbation does not fit and `on_unfit` is `error`, none is left,
            or the rule needs both orders equally often and the plan does not give them.

    """
    case_id = case_id_of(case) if case_id is None else case_id
    if (refuses := getattr(judge, "fits", None)) is not None and (reason := refuses(case)):
        raise PlanError(f"judge {judge.name!r} cannot judge case {case_id!r}: {reason.rstrip('.')}.")
    if any("prompt_variant" in perturbation.needs for perturbation in perturbations):
        case = _shown_instructions(case, judge)
    skipped = {p.name: reason for p in perturbations if (reason := _misfit(p, case, judge))}
    if skipped and on_unfit == "error":
        name, reason = next(iter(skipped.items()))
        raise PlanError(
            f"perturbation {name!r} does not fit case {case_id!r}: {reason.rstrip('.')} (or use on_unfit='skip')."
        )
    kept = tuple(p for p in perturbations if p.name not in skipped)
    if not kept:
        raise PlanError(f"no perturbation fits case {case_id!r}: {'; '.join(skipped.values())}.")
    _check_orders(kept, rule, case_id)
    return CasePlan(case=case, case_id=case_id, perturbations=kept, repetitions=repetitions, skipped=skipped)


def _check_orders(perturbations: Sequence[Perturbation], rule: Rule, case_id: str) -> None:
    perturbations = _voting(perturbations)
    swapped = sum(p.swaps for p in perturbations)
    if rule.both_orders and 2 * swapped != len(perturbations):
        raise PlanError(
            f"rule {rule.name} needs both orders equally often, but case {case_id!r} is planned with "
            f"{len(perturbations) - swapped} perturbation(s) in the original order and {swapped} swapped: "
            "add position_swap for each."
        )


def _voting(perturbations: Sequence[Perturbation]) -> list[Perturbation]:
    return [perturbation for perturbation in perturbations if not is_probe(perturbation.name)]


def _check_kinds(criteria: Iterable[Criterion], rule: Rule) -> None:
    for criterion in criteria:
        if criterion.labels or criterion.scale:  # what is declared need not be asked to be known
            check_rule_fits(rule, numeric=criterion.scale is not None, criterion=criterion.name)


class _Slice:
    """Adds the retest to a share of plans."""

    def __init__(self, share: float, *, alone: bool) -> None:
        self._share, self._alone, self._seen = share, alone, 0

    def added(self, plan: CasePlan) -> CasePlan:
        """Return the plan, with the retest where the case is drawn."""
        self._seen += 1
        if self._alone:
            drawn = int(hashlib.sha256(plan.case_id.encode(errors="surrogatepass")).hexdigest()[:8], 16) / 2**32
            chosen = drawn < self._share
        else:
            chosen = int(self._seen * self._share) > int((self._seen - 1) * self._share)
        if not chosen or any(one.name == RETEST for one in plan.perturbations):
            return plan
        return replace(plan, perturbations=(*plan.perturbations, retest()))


def plan_cases(
    cases: Iterable[Case], judge: Judge, *, rule: Rule, unique: bool = False, retested: float = 0.0, **options: Any
) -> Iterator[CasePlan]:
    """Plan one case after the other; see `plan_case`.

    Args:
        cases: the cases.
        judge: who is asked.
        rule: how the answers will be folded.
        unique: ids are known to be unique, as those of a checked `CaseFile`: none is kept to compare with.
        retested: the share of cases that are asked once more: of many cases evenly spread ones, of a single one such as
            its id draws.
        options: those of `plan_case`; a judge that is `asked_once` is asked once, unperturbed.

    Raises:
        CaseError: two cases share an id, or a single case was given.
        UsageError: the rule folds labels and the judge declares a scale, or the other way round.

    """
    if isinstance(cases, (str, Mapping, AnswerCase)):
        raise CaseError(f"cases is a list or another iterable of cases, not a single {type(cases).__name__}.")
    if getattr(judge, "asked_once", None) is not None:
        rule = of_both_kinds(rule)
        options |= {"perturbations": (perturbation("none"),), "repetitions": 1}
    _check_kinds(judge.criteria or (), rule)
    seen: set[str] = set()
    view = getattr(judge, "view", None)
    drawn = _Slice(retested, alone=isinstance(cases, Sequence) and len(cases) == 1)
    for case in cases:
        if callable(view) and (case := view(case)) is None:  # not its to judge
            continue
        if isinstance(case, AnswerCase) and case.criteria:
            _check_kinds(case.criteria, rule)
        plan = drawn.added(plan_case(case, judge, rule=rule, **options))
        if not unique:
            if plan.case_id in seen:
                raise CaseError(f"two cases share the id {plan.case_id!r}: case ids must be unique.")
            seen.add(plan.case_id)
        yield plan
