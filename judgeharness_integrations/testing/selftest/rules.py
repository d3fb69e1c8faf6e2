"""No rule can be bought by failures: what rules promise, looked at for every sequence of answers and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import TypeAlias

from judgeharness_integrations.analysis.aggregation.folds import Decision
from judgeharness_integrations.analysis.aggregation.rules import Rule, decide, quorum, rule
from judgeharness_integrations.verdictlog.row import OUTCOMES, Outcome, Verdict, VerdictRow

from ..conformance import certain
from .check import Check, Enumeration, FailureCheck, Named

Outcomes: TypeAlias = "tuple[Verdict | None, ...]"


_LABELS: tuple[Verdict, ...] = ("A", "B", "TIE")
_SCORES: tuple[Verdict, ...] = (1, 4, 9)
_FAILED: tuple[Outcome, ...] = tuple(outcome for outcome in OUTCOMES if outcome != "ok")
_RIGHT = (0.5, 0.6, 0.75, 0.9)  # chances that an answer is right
_FAILING = (0.05, 0.2, 0.4, 0.7)  # chances that a sample fails
_ROUNDING = 1e-12


@lru_cache(maxsize=64)
def _row(verdict: Verdict | None, place: int, *, swapped: bool) -> VerdictRow:
    outcome: Outcome = "ok" if verdict is not None else _FAILED[place % len(_FAILED)]
    shares = certain(verdict)
    return VerdictRow(
        case_id="case", verdict=verdict, outcome=outcome, repetition=place, swapped=swapped, probabilities=shares
    )


def decision(asked: Rule, outcomes: Outcomes, *, min_valid: int | None = None) -> Decision:
    """Return what a rule decides about samples in turns of both orders; None is a failed one.

    Rules that look at no order are given the same rows.
    """
    rows = [_row(verdict, place, swapped=place % 2 == 1) for place, verdict in enumerate(outcomes)]
    return decide(rows, asked, min_valid=min_valid, checked=True)


def sequences(asked: Rule, n: int) -> Iterator[Outcomes]:
    """Yield every sequence of `n` outcomes: three labels or three scores, and failures."""
    yield from product((*(_SCORES if asked.kind == "numbers" else _LABELS), None), repeat=n)


def _counterexample(asked: Rule, before: Outcomes, after: Outcomes, *, min_valid: int | None = None) -> str:
    decisions = " -> ".join(
        f"{', '.join(map(str, one))}: {decision(asked, one, min_valid=min_valid).verdict}" for one in (before, after)
    )
    return f"{asked.name}, {decisions}"


def _without(outcomes: Outcomes, places: Sequence[int]) -> Outcomes:
    return tuple(None if place in places else verdict for place, verdict in enumerate(outcomes))


_Promise: TypeAlias = "Callable[[Verdict, Decision, Decision], bool]"


def step_by_step(broken: _Promise) -> Enumeration:
    """Return the look at every sequence and each of its votes turned into a failure.

    Several failures are several such steps: what no step breaks, none of them does.
    """

    def look(point: Named) -> tuple[int, list[str]]:
        asked, n = rule(str(point["rule"])), int(point["n"])
        found = {outcomes: decision(asked, outcomes) for outcomes in sequences(asked, n)}
        tried, counterexamples = 0, list[str]()
        for before, outcome in found.items():
            for place, vote in enumerate(before):
                if vote is None:
                    continue
                after = _without(before, (place,))
                tried += 1
                if broken(vote, outcome, found[after]):
                    counterexamples.append(_counterexample(asked, before, after))
        return tried, counterexamples

    return look


def gains(_: Verdict, before: Decision, after: Decision) -> bool:
    """Whether a failure won a verdict, or changed one."""
    return after.status == "decided" and (before.status, before.verdict) != ("decided", after.verdict)


def helps_its_label(vote: Verdict, before: Decision, after: Decision) -> bool:
    """Whether a label won by losing a vote."""
    return after.verdict == vote and before.verdict != vote


def turns(_: Verdict, before: Decision, after: Decision) -> bool:
    """Whether a failure made another verdict of one."""
    return before.status == after.status == "decided" and before.verdict != after.verdict


def across(_: Verdict, before: Decision, after: Decision) -> bool:
    """Whether a failure made B of A, or A of B."""
    return {before.verdict, after.verdict} == {"A", "B"}


def one_order(point: Named) -> tuple[int, list[str]]:
    """Look at any number of failures in one order: a verdict stays, or there is none."""
    asked, n = rule(str(point["rule"])), int(point["n"])
    chosen = [
        places
        for order in (range(0, n, 2), range(1, n, 2))
        for many in range(1, len(order) + 1)
        for places in combinations(order, many)
    ]
    found = {outcomes: decision(asked, outcomes) for outcomes in sequences(asked, n)}
    tried, counterexamples = 0, list[str]()
    for before, outcome in found.items():
        if outcome.status == "decided":
            afters = [_without(before, places) for places in chosen]
            tried += len(afters)
            counterexamples += [
                _counterexample(asked, before, after) for after in afters if turns("", outcome, found[after])
            ]
    return tried, counterexamples


def below_quorum(point: Named) -> tuple[int, list[str]]:
    """Look at every sequence under every quorum, the default one among them: below it nothing is decided."""
    asked, n = rule(str(point["rule"])), int(point["n"])
    tried, counterexamples = 0, list[str]()
    for outcomes in sequences(asked, n):
        valid = sum(verdict is not None for verdict in outcomes)
        for least in (None, *range(n + 2)):
            if valid < quorum(n, least):
                tried += 1
                if decision(asked, outcomes, min_valid=least).status != "not_graded":
                    counterexamples.append(_counterexample(asked, outcomes, outcomes, min_valid=least))
    return tried, counterexamples


def absent(point: Named) -> tuple[int, list[str]]:
    """Look at every sequence with a quorum: a failed sample counts as if it had not been asked."""
    asked, n = rule(str(point["rule"])), int(point["n"])
    tried, counterexamples = 0, list[str]()
    for outcomes in sequences(asked, n):
        outcome = decision(asked, outcomes)
        if outcome.status != "not_graded":
            valid = tuple(verdict for verdict in outcomes if verdict is not None)
            alone = decision(asked, valid)
            tried += 1
            if (outcome.status, outcome.verdict) != (alone.status, alone.verdict):
                counterexamples.append(_counterexample(asked, outcomes, valid))
    return tried, counterexamples


def expected_gain(asked: Rule, n: int, *, right: float, failing: float, tie: float) -> float:
    """Return how much failures at random add to the share of all cases that are decided and right, exactly.

    Args:
        asked: the rule.
        n: samples a case.
        right: chance that an answer is right, `A`; else it is `B`.
        failing: chance that a sample fails, whatever it would have said.
        tie: what an abstention or a `TIE` counts, 0.5 being a coin; no verdict below the quorum counts nothing.

    """
    chances: dict[Verdict | None, tuple[float, float]] = {
        "A": (right, right * (1 - failing)),
        "B": (1 - right, (1 - right) * (1 - failing)),
        None: (0.0, failing),
    }
    gain = 0.0
    for outcomes in product(chances, repeat=n):
        credit = _credit(decision(asked, outcomes), tie)
        without = with_failures = 1.0
        for verdict in outcomes:
            without, with_failures = without * chances[verdict][0], with_failures * chances[verdict][1]
        gain += credit * (with_failures - without)
    return gain


def _credit(outcome: Decision, tie: float) -> float:
    if outcome.status == "not_graded":
        return 0.0
    return 1.0 if outcome.verdict == "A" else 0.0 if outcome.verdict == "B" else tie


def at_random(*, tie: float) -> Enumeration:
    """Return the look at judges that are right and fail at random: what breaks the promise is a gain of accuracy."""

    def look(point: Named) -> tuple[int, list[str]]:
        asked, n = rule(str(point["rule"])), int(point["n"])
        counterexamples = [
            f"{asked.name} gains {gain:.4f} where answers are right at {right:g} and {failing:g} of samples fail"
            for right, failing in product(_RIGHT, _FAILING)
            if (gain := expected_gain(asked, n, right=right, failing=failing, tie=tie)) > _ROUNDING
        ]
        return len(_RIGHT) * len(_FAILING), counterexamples

    return look


_STRICT = (
    "strict_majority",
    "supermajority(2/3)",
    "supermajority(1)",
    "abstain_on_disagreement",
    "mean_probability(0.8)",
)


_NUMBERS = ("median", "median(pass_at=4)", "mean", "trimmed_mean(0.2)", "mode", "expected_score")


_N = (2, 3, 4, 5, 6)
_EVEN = (2, 4, 6)  # with the two orders unequal nothing is decided
_ANY_N = ("majority", "supermajority(1/2)")
_ORDERS = ("swap_consensus", "net_preference")


def _points(rules: Sequence[str], samples: Sequence[int]) -> tuple[Named, ...]:
    return tuple({"rule": name, "n": n} for n in samples for name in rules)


FAILURES: tuple[Check, ...] = (
    FailureCheck(
        name="failures: a vote that fails wins no verdict and changes none",
        points=_points(_STRICT, _N),
        sequences=step_by_step(gains),
        fast=3 * len(_STRICT),
        note="of strict_majority, abstain_on_disagreement, supermajority and mean_probability above 1/2 alone: a "
        "failure can break a tie that the other rules abstain from",
    ),
    FailureCheck(
        name="failures: a vote that fails never helps its own label",
        points=(*_points((*_STRICT, *_ANY_N), _N), *_points(_ORDERS, _EVEN)),
        sequences=step_by_step(helps_its_label),
        fast=3 * len((*_STRICT, *_ANY_N)),
    ),
    FailureCheck(
        name="failures: one vote that fails turns no verdict into another",
        points=(*_points(_ANY_N, _N), *_points(("swap_consensus",), _EVEN)),
        sequences=step_by_step(turns),
        fast=3 * len(_ANY_N),
        note="it takes one more than the lead of the first label, with a tie on the way, and at most half may fail",
    ),
    FailureCheck(
        name="failures: one vote that fails never turns A into B, net preference",
        points=_points(("net_preference",), _EVEN),
        sequences=step_by_step(across),
        note="it may turn a TIE into A or B, which is a verdict of this rule",
    ),
    FailureCheck(
        name="failures: those of one order turn no verdict into another, swap consensus",
        points=_points(("swap_consensus",), _EVEN),
        sequences=one_order,
        note="however many they are",
    ),
    FailureCheck(
        name="failures: nothing is decided below the quorum",
        points=_points((*_STRICT, *_ANY_N, *_ORDERS, *_NUMBERS), _N),
        sequences=below_quorum,
        fast=3 * len((*_STRICT, *_ANY_N, *_ORDERS, *_NUMBERS)),
        note="every quorum from none to more than was asked, and the default one",
    ),
    FailureCheck(
        name="failures: a failed sample is no vote and no score",
        points=_points(("majority", *_NUMBERS), _N),
        sequences=absent,
        fast=3 * len(("majority", *_NUMBERS)),
    ),
    FailureCheck(
        name="failures: at random they gain no right verdicts over all cases",
        points=(*_points(_STRICT, _N), *_points(_ANY_N, (3, 5)), *_points(("swap_consensus",), (2, 6))),
        sequences=at_random(tie=0.0),
        fast=4 * len(_STRICT),
        note="where ties can be broken they do gain, by up to 8 points: majority and net_preference of an even number, "
        "swap_consensus of an even number in each order",
    ),
    FailureCheck(
        name="failures: at random they gain nothing where a tie counts half",
        points=(*_points(("majority",), _N), *_points(("net_preference",), _EVEN)),
        sequences=at_random(tie=0.5),
        fast=4,
        note="of answers that are right at least half of the time",
    ),
)
