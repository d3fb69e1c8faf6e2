"""The conformance suite: what adapters, perturbations and rules must keep of the harness's promises, checked."""

from __future__ import annotations

import copy
import inspect
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation import Decision, Rule, RuleLike
from judgeharness_integrations.analysis.aggregation import rule as named_rule
from judgeharness_integrations.judging.adapterkit import Bench
from judgeharness_integrations.judging.adapters import Adapter, find_adapter
from judgeharness_integrations.judging.cases import Case, case_id_of, output_texts
from judgeharness_integrations.judging.perturbations import Context, Perturbation, Rewriter
from judgeharness_integrations.verdictlog.row import (
    ABSTAIN,
    RETEST,
    Outcome,
    Verdict,
    VerdictRow,
    is_number,
    verdict_text,
)

from .benchchecks import (
    check_cache_safety,
    check_calibration,
    check_callbacks_and_tags,
    check_cancellation,
    check_equality_with_bare,
    check_failures_are_outcomes,
    check_json,
    check_original_frame,
    check_repeated_use,
    check_running_loop,
    check_tie_is_no_abstention,
    expect,
    in_new_loop,
)

CHECKS: Mapping[str, Callable[[Bench], None]] = MappingProxyType(
    {
        "original_frame": check_original_frame,
        "tie_is_no_abstention": check_tie_is_no_abstention,
        "failures_are_outcomes": check_failures_are_outcomes,
        "cache_safety": check_cache_safety,
        "callbacks_and_tags": check_callbacks_and_tags,
        "cancellation": check_cancellation,
        "running_loop": check_running_loop,
        "repeated_use": check_repeated_use,
        "calibration": check_calibration,
        "json": check_json,
        "equality_with_bare": check_equality_with_bare,
    }
)


CheckOutcome: TypeAlias = Literal["pass", "fail", "opted out"]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check of one bench; `detail` says why it failed, or why it was opted out of."""

    bench: str
    check: str
    outcome: CheckOutcome
    detail: str = ""

    def __str__(self) -> str:
        """Return the result as one line."""
        return f"{self.bench}, {self.check}: {self.outcome}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, kw_only=True)
class AdapterReport:
    """What the suite found; without benches there are no results, and opting out of everything is no pass."""

    adapter: str
    results: tuple[CheckResult, ...]

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.outcome == "fail")

    @property
    def passed(self) -> bool | None:
        """Whether no check failed; None when nothing was checked."""
        return not self.failures if any(result.outcome != "opted out" for result in self.results) else None

    def raise_for_failures(self) -> None:
        """Raise an AssertionError with a line a failure, or when nothing was checked."""
        if self.passed is None:
            why = "opts out of every check" if self.results else "has no benches"
            raise AssertionError(f"adapter {self.adapter!r} {why}: nothing was checked.")
        if self.failures:
            raise AssertionError("\n".join([f"adapter {self.adapter!r}:", *map(str, self.failures)]))

    def __str__(self) -> str:
        """Return a line a check."""
        return "\n".join([f"adapter {self.adapter!r}:", *(map(str, self.results) if self.results else ["no benches"])])


def check_adapter(adapter: str | Adapter) -> AdapterReport:
    """Run every check on every bench of an adapter; no network, no key, a second or two.

    Raises:
        UnknownNameError: there is no such adapter, or a bench opts out of a check there is not.
        UsageError: what it brings as a bench is none.
        NotInstalledError: its framework is not installed.

    """
    if isinstance(adapter, str):
        adapter = find_adapter(adapter)
    adapter.require()
    results: list[CheckResult] = []
    for bench in adapter.benches() if adapter.benches is not None else ():
        if not isinstance(bench, Bench):
            raise UsageError(
                f"adapter {adapter.name!r} brings a {type(bench).__name__} as bench: give a testing.Bench."
            )
        results += check_bench(bench)
    return AdapterReport(adapter=adapter.name, results=tuple(results))


def check_bench(bench: Bench) -> tuple[CheckResult, ...]:
    """Run every check on one bench.

    Raises:
        UnknownNameError: it opts out of a check there is not.

    """
    for name in bench.opted_out:
        if name not in CHECKS:
            raise UnknownNameError("check", name, CHECKS)
    return tuple(_result(bench, name) for name in CHECKS)


def _result(bench: Bench, name: str) -> CheckResult:
    if name in bench.opted_out:
        return CheckResult(bench=bench.name, check=name, outcome="opted out", detail=bench.opted_out[name])
    try:
        CHECKS[name](bench)
    except AssertionError as error:
        return CheckResult(bench=bench.name, check=name, outcome="fail", detail=str(error))
    except Exception as error:  # noqa: BLE001 - whatever an adapter raises is what was looked for
        return CheckResult(bench=bench.name, check=name, outcome="fail", detail=f"{type(error).__name__}: {error}")
    return CheckResult(bench=bench.name, check=name, outcome="pass")


_SEED = 7
_PAIR = 2
_KEPT = ("TIE", 7, 2.5, frozenset({"toxic", "spam"}))
_WORD = re.compile(r"\w+")


def check_perturbation(perturbation: Perturbation, cases: Iterable[Case], *, criterion: str = "verdict") -> None:
    """Check that a perturbation changes what is shown and nothing else, and that its inverse undoes it.

    On every case it fits: the case's id and gold label stay, the case given is left as it was, the change is the same
    for every repetition (it depends on seed, case and perturbation alone), and a judge that goes by the words of an
    answer gets the same verdict back as without the perturbation. Scores, sets and ties have no order and come back as
    they are; A and B change places where texts are exchanged, PASS and FAIL where the opposite is asked, else never.

    Args:
        perturbation: what is checked.
        cases: some that it fits, and some that it does not.
        criterion: which question `restore` is asked about.

    Raises:
        AssertionError: with one sentence on what it does not keep.
        UsageError: there is no case.

    """
    listed = list(cases)
    if not listed:
        raise UsageError("a perturbation is checked on cases: give some that it fits.")
    name = perturbation.name
    reasons = [perturbation.fits(case) for case in listed]
    for reason in reasons:
        told = reason is None or (isinstance(reason, str) and reason.strip())
        expect(told, f"{name}: fits() returns None or a sentence on why not, not {reason!r}")
    fitting = [case for case, reason in zip(listed, reasons, strict=True) if reason is None]
    expect(fitting, f"{name} fits none of the {len(listed)} cases: {next(filter(None, reasons), '')}")
    _check_inverse(perturbation, criterion)
    changed = [_check_case(perturbation, case, criterion) for case in fitting]
    kept = all(before == after for before, after in zip(fitting, changed, strict=True))
    expect(not kept or name in ("none", RETEST), f"{name} leaves all of the {len(fitting)} cases it fits as they are")


def _check_inverse(perturbation: Perturbation, criterion: str) -> None:
    name, restore = perturbation.name, perturbation.restore
    for verdict in _KEPT:
        back = restore(verdict, criterion)
        expect(back == verdict, f"{name}: restore() makes {back!r} of {verdict!r}, which has no order")
    order = "exchanges the two texts" if perturbation.swaps else "keeps the order of texts (swaps=False)"
    asked = "asks the opposite" if perturbation.negates else "asks the same question (negates=False)"
    pairs = (("A", "B", perturbation.swaps, order), ("PASS", "FAIL", perturbation.negates, asked))
    for one, other, changes, which in pairs:
        found = (restore(one, criterion), restore(other, criterion))
        wanted = (other, one) if changes else (one, other)
        expect(found == wanted, f"{name} {which}, and restore() maps {one}, {other} to {found[0]!r}, {found[1]!r}")


def _check_case(perturbation: Perturbation, case: Case, criterion: str) -> Case:
    """Check one case, and return what becomes of it."""
    name, case_id = perturbation.name, case_id_of(case)
    before = copy.deepcopy(case)
    changed, again = _twice(perturbation, case)
    where = f"{name} on case {case_id!r}"
    expect(case == before, f"{where}: the case given was changed itself: return a new one")
    expect(changed == again, f"{where}: two repetitions saw different changes; draw from the context's random alone")
    expect(type(changed) is type(case), f"{where}: {type(case).__name__} became {type(changed).__name__}")
    if not isinstance(case, str):
        expect(case_id_of(changed) == case_id, f"{where}: the case's id became {case_id_of(changed)!r}")
        gold, kept = getattr(case, "gold", None), getattr(changed, "gold", None)
        expect(kept == gold, f"{where}: gold {gold!r} became {kept!r}; verdicts are mapped back, labels stay")
    _check_way_back(perturbation, case, changed, criterion)
    return changed


def _twice(perturbation: Perturbation, case: Case) -> tuple[Case, Case]:
    """Return the change as two repetitions see it; who draws from the module `random` draws other numbers."""
    state = random.getstate()
    try:
        random.seed(_SEED)
        first = _applied(perturbation, case)
        random.seed(_SEED + 1)
        return first, _applied(perturbation, case)
    finally:
        random.setstate(state)


def _applied(perturbation: Perturbation, case: Case) -> Case:
    """Return the changed case as a harness would make it."""
    source = random.Random(f"{_SEED}|{case_id_of(case)}|{perturbation.name}")  # noqa: S311 - as the harness draws
    context = Context(random=source, rewrite=_rewritten)
    return in_new_loop(lambda: perturbation.applied(case, context))


async def _rewritten(rewriter: Rewriter, text: str) -> str:
    answer: Any = rewriter(text)
    found: str = await answer if inspect.isawaitable(answer) else answer
    return found


def _check_way_back(perturbation: Perturbation, case: Case, changed: Case, criterion: str) -> None:
    """Ask a judge that goes by the words of the answers, before and after."""
    texts, shown = output_texts(case), output_texts(changed)
    if texts is None or shown is None:
        return
    where = f"{perturbation.name} on case {case_id_of(case)!r}"
    expect(len(shown) == len(texts), f"{where}: {len(texts)} answers became {len(shown)}")
    expect(all(text.strip() for text in shown) or not all(texts), f"{where}: an answer became empty")
    if len(texts) != _PAIR:
        return
    for place, label in enumerate("AB"):
        found = _nearest(texts[place], shown)
        back = None if found is None else perturbation.restore("AB"[found], criterion)
        expect(back in (None, label), f"{where}: a judge that prefers answer {label} by its words comes back as {back}")


def _nearest(text: str, shown: tuple[str, ...]) -> int | None:
    """Return the place of the text that shares more words with `text`; None where both share as many."""
    words = Counter(_WORD.findall(text.casefold()))
    first, second = ((words & Counter(_WORD.findall(other.casefold()))).total() for other in shown)
    return None if first == second else int(second > first)


_SHUFFLES = 5
_FAILED: tuple[Outcome, ...] = ("unparsed", "refused", "error")
_LABELS: tuple[Verdict, Verdict] = ("A", "B")
_SCORES: tuple[Verdict, Verdict] = (2, 9)


def check_rule(rule: RuleLike, *, verdicts: tuple[Verdict, Verdict] | None = None) -> None:
    """Check that a rule folds rows whatever order they come in, and takes a failure for no vote.

    Its name says what it is and brings the same rule back; the order of rows changes nothing; samples that all agree
    are decided as they say, or not at all; an even split is not decided by whichever came first, and whoever decides
    it says why; failed samples turn no abstention into a decision. Every case is shown in both orders equally often.

    Args:
        rule: a name, a `Rule`, or a function of rows.
        verdicts: two it can fold; A and B, and for rules about numbers 2 and 9, when None.

    Raises:
        AssertionError: with one sentence on what it does not keep.
        PlanError: it is no rule.

    """
    chosen = named_rule(rule)
    one, other = verdicts or (_SCORES if chosen.kind == "numbers" else _LABELS)
    _check_name(chosen)
    for samples in ((one,) * 4, (one, one, one, other), (one, other) * 2, (one, one, other, other, other, other)):
        for failures in (0, 2, 8):
            _check_order(chosen, _rows(samples, failures=failures))
    _check_agreement(chosen, one, other)
    _check_split(chosen, one, other)
    _check_failures(chosen, one, other)


def _check_name(rule: Rule) -> None:
    expect(rule.name == rule.name.strip() and rule.name, f"a rule's name stands in reports, not {rule.name!r}")
    try:
        found = named_rule(rule.name)
    except UsageError:  # a rule of the caller's own: `module:function` brings it back
        return
    expect(found == rule, f"the name {rule.name!r} is that of another rule: choose one of your own")


def _check_order(rule: Rule, rows: Sequence[VerdictRow]) -> None:
    decision, source = _decided(rule, rows), random.Random(_SEED)  # noqa: S311 - no secret
    for _ in range(_SHUFFLES):
        shuffled = source.sample(rows, len(rows))
        again = _decided(rule, shuffled)
        same = (again.verdict, again.status) == (decision.verdict, decision.status)
        expect(same, f"{rule.name} decides {_label(decision)}, and {_label(again)} when the rows come in another order")


def _check_agreement(rule: Rule, *verdicts: Verdict) -> None:
    for verdict in verdicts:
        decision = _decided(rule, _rows((verdict,) * 4))
        passed = decision.verdict in ("PASS", "FAIL") and decision.center == verdict  # a threshold on scores
        kept = decision.status != "decided" or decision.verdict == verdict or passed
        expect(kept, f"{rule.name} makes {_label(decision)} of samples that all say {verdict_text(verdict)}")


def _check_split(rule: Rule, one: Verdict, other: Verdict) -> None:
    """A verdict of half of the samples takes a reason: by symmetry it could be the other."""
    if rule.kind == "numbers":
        return
    for samples in ((one, one, other, other), (other, other, one, one)):
        decision = _decided(rule, _rows(samples))
        silent = decision.status == "decided" and decision.verdict in (one, other) and not decision.reason
        sentence = f"{rule.name} decides {_label(decision)} where two of four samples say so: abstain, or say why"
        expect(not silent, sentence)


def _check_failures(rule: Rule, one: Verdict, other: Verdict) -> None:
    for samples in ((one, one, one, other), (one, one, other, other), (one, one)):
        whole = _decided(rule, _rows(samples))
        for failures in (2, 4, 8):
            failed = _decided(rule, _rows(samples, failures=failures))
            won = whole.status != "decided" and failed.status == "decided"
            expect(not won, f"{rule.name} abstains, and decides {_label(failed)} once {failures} samples failed")


def _decided(rule: Rule, rows: Sequence[VerdictRow]) -> Decision:
    decision = rule.decide(rows)
    fits = {"decided": decision.verdict not in (None, ABSTAIN), "abstained": decision.verdict == ABSTAIN}
    expect(fits.get(decision.status, False), f"{rule.name} decides {decision.verdict!r} and calls it {decision.status}")
    return decision


def _label(decision: Decision) -> str:
    return verdict_text(decision.verdict)


def certain(verdict: Verdict | None) -> dict[str, float] | None:
    """Return probabilities that leave no doubt of a verdict, for rules that read them."""
    if verdict is None or isinstance(verdict, frozenset):
        return None
    return {verdict_text(verdict): 1.0, verdict_text(0 if is_number(verdict) else "another"): 0.0}


def _rows(samples: Iterable[Verdict], *, failures: int = 0) -> list[VerdictRow]:
    """Return rows of one case, in both orders alike; of an uneven number the first order has one more."""
    listed: list[tuple[Verdict | None, Outcome]] = [(verdict, "ok") for verdict in samples]
    for place in range(failures):
        listed.append((None, _FAILED[place // 2 % len(_FAILED)]))  # noqa: PERF401 - pyright loses the type of a list
    return [
        VerdictRow(
            case_id="checked",
            verdict=verdict,
            outcome=outcome,
            perturbation="position_swap" if place % 2 else "none",
            swapped=bool(place % 2),
            repetition=place // 2,
            probabilities=certain(verdict),
        )
        for place, (verdict, outcome) in enumerate(listed)
    ]
