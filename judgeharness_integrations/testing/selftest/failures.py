"""No rule can be bought by failures: which rules promise what."""

from __future__ import annotations

from collections.abc import Sequence

from judgeharness_integrations.testing.selftest.check import Check, FailureCheck, Named
from judgeharness_integrations.testing.selftest.promises import (
    absent,
    across,
    at_random,
    below_quorum,
    gains,
    helps_its_label,
    one_order,
    step_by_step,
    turns,
)

__all__ = ["FAILURES"]

_STRICT = ("strict_majority", "supermajority(2/3)", "supermajority(1)", "abstain_on_disagreement")
_ONE_AT_A_TIME = ("majority", "supermajority(1/2)", "swap_consensus", "net_preference")
_NUMBERS = ("median", "median(pass_at=4)", "mean", "trimmed_mean(0.2)", "mode")
_LABEL_RULES = (*_STRICT, *_ONE_AT_A_TIME)
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
        note="of strict_majority, abstain_on_disagreement and supermajority above 1/2 alone: a failure can break a tie "
        "that the other rules abstain from",
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
        points=(
            *_points(_STRICT, _N),
            *_points(_ANY_N, (3, 5)),
            *_points(("swap_consensus",), (2, 6)),
        ),
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
