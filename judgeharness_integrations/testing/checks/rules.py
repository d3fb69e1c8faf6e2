"""What every rule must keep, checked on samples whose fold is beyond dispute."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation import Decision, Rule, RuleLike
from judgeharness_integrations.aggregation import rule as named_rule
from judgeharness_integrations.testing.checks._bench_work import expect
from judgeharness_integrations.verdictlog.row import ABSTAIN, Outcome, Verdict, VerdictRow, verdict_text

__all__ = ["check_rule"]

_SEED = 7
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
        expect(same, f"{rule.name} decides {_said(decision)}, and {_said(again)} when the rows come in another order")


def _check_agreement(rule: Rule, *verdicts: Verdict) -> None:
    for verdict in verdicts:
        decision = _decided(rule, _rows((verdict,) * 4))
        passed = decision.verdict in ("PASS", "FAIL") and decision.center == verdict  # a threshold on scores
        kept = decision.status != "decided" or decision.verdict == verdict or passed
        expect(kept, f"{rule.name} makes {_said(decision)} of samples that all say {verdict_text(verdict)}")


def _check_split(rule: Rule, one: Verdict, other: Verdict) -> None:
    """A verdict of half of the samples takes a reason: by symmetry it could be the other."""
    if rule.kind == "numbers":
        return
    for samples in ((one, one, other, other), (other, other, one, one)):
        decision = _decided(rule, _rows(samples))
        silent = decision.status == "decided" and decision.verdict in (one, other) and not decision.reason
        sentence = f"{rule.name} decides {_said(decision)} where two of four samples say so: abstain, or say why"
        expect(not silent, sentence)


def _check_failures(rule: Rule, one: Verdict, other: Verdict) -> None:
    for samples in ((one, one, one, other), (one, one, other, other), (one, one)):
        whole = _decided(rule, _rows(samples))
        for failures in (2, 4, 8):
            failed = _decided(rule, _rows(samples, failures=failures))
            won = whole.status != "decided" and failed.status == "decided"
            expect(not won, f"{rule.name} abstains, and decides {_said(failed)} once {failures} samples failed")


def _decided(rule: Rule, rows: Sequence[VerdictRow]) -> Decision:
    decision = rule.decide(rows)
    fits = {"decided": decision.verdict not in (None, ABSTAIN), "abstained": decision.verdict == ABSTAIN}
    expect(fits.get(decision.status, False), f"{rule.name} decides {decision.verdict!r} and calls it {decision.status}")
    return decision


def _said(decision: Decision) -> str:
    return verdict_text(decision.verdict)


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
        )
        for place, (verdict, outcome) in enumerate(listed)
    ]
