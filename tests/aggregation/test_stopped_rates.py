"""What a stopped sample costs and shows, by enumeration of every sequence of answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation import Rule, modal_share, needed, rule, settled
from judgeharness_integrations.analysis.aggregation.curtailing import positive_label, unbiased_rate

GOLDEN = json.loads((Path(__file__).parents[1] / "data/golden/curtailment.json").read_text("utf-8"))["curtailed"]


def stopped(samples: int, name: str, labels: str) -> Iterator[tuple[Any, ...]]:
    """Yield every sequence of answers that is asked, in waves as large as they can be."""
    waiting: list[tuple[Any, ...]] = [()]
    while waiting:
        verdicts = waiting.pop()
        remaining = [False] * (samples - len(verdicts))
        wave = needed(sampled(verdicts), rule(name), remaining=remaining)
        if not wave:
            yield verdicts
        waiting += [(*verdicts, *answers) for answers in product(labels, repeat=wave) if wave]


@lru_cache
def sequences(samples: int, name: str = "majority", labels: str = "AB") -> list[tuple[tuple[Any, ...], str, float]]:
    """Every stopped sequence with its verdict and its unbiased rate."""
    found = []
    for verdicts in stopped(samples, name, labels):
        rows = sampled(verdicts)
        decision = settled(rows, rule(name), remaining=[False] * (samples - len(verdicts)))
        rate = unbiased_rate(rows, rule(name), planned=samples)
        assert decision is not None
        assert rate is not None
        found.append((verdicts, str(decision.verdict), rate))
    return found


def expected(samples: int, p: float, value: Callable[[tuple[Any, ...], str, float], float]) -> float:
    return sum(p ** one[0].count("A") * (1 - p) ** one[0].count("B") * value(*one) for one in sequences(samples))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden['N']}-{golden['p']}")
def test_costs_verdicts_and_rates_of_stopped_majorities_are_the_golden_ones(golden: dict[str, float]) -> None:
    samples, p = int(golden["N"]), golden["p"]
    facts = {
        "ASN": expected(samples, p, lambda verdicts, _verdict, _rate: len(verdicts)),
        "P_verdict_pass": expected(samples, p, lambda _verdicts, verdict, _rate: verdict == "A"),
        "E_naive_rate": expected(samples, p, lambda verdicts, _verdict, _rate: verdicts.count("A") / len(verdicts)),
        "E_consistency_curtailed": expected(
            samples, p, lambda verdicts, _verdict, _rate: modal_share(Counter(verdicts)) or 0.0
        ),
        "E_unbiased": expected(samples, p, lambda _verdicts, _verdict, rate: rate),
    }
    assert facts == pytest.approx({name: golden[name] for name in facts}, abs=1e-12)
    assert 1 - facts["ASN"] / samples == pytest.approx(golden["saving"], abs=1e-12)


def test_strict_majorities_of_two_labels_stop_at_the_same_moment() -> None:
    for samples in (3, 5, 7):
        assert sorted(sequences(samples, "strict_majority")) == sorted(sequences(samples))


@given(st.integers(1, 6), st.integers(0, 5), st.booleans())
def test_the_rate_is_that_of_the_samples_before_the_last(k: int, others: int, positive: bool) -> None:  # noqa: FBT001
    planned, others = 2 * k + 1, min(others, k)
    won, lost = ("PASS", "FAIL") if positive else ("FAIL", "PASS")
    rows = sampled([lost] * others + [won] * (k + 1))
    rate = k / (k + others) if positive else others / (others + k)
    assert unbiased_rate(rows, rule("majority"), planned=planned) == rate
    assert unbiased_rate([*rows, *sampled([lost])], rule("majority"), planned=planned) is None  # a sample twice
    longer = sampled([lost] * others + [won] * (k + 1) + [lost] * (k - others))
    assert unbiased_rate(longer, rule("majority"), planned=planned) == rate  # asked for another criterion's sake


REFUSED = {
    "an even number": ("AAA", "majority", 4),
    "one sample": ("A", "majority", 1),
    "another rule": ("AA", "supermajority(2/3)", 3),
    "scores": ([7, 7], "median", 3),
    "a third label": (["A", "TIE", "A", "A"], "majority", 5),
    "labels of two vocabularies": (["A", "PASS"], "majority", 3),
    "other labels": (["good", "good"], "majority", 3),
    "a failure": (["A", None, "A", "A"], "majority", 5),
    "nothing asked": ([], "majority", 3),
    "not settled": (["A", "B"], "majority", 3),
}


@pytest.mark.parametrize("why", REFUSED)
def test_there_is_no_unbiased_rate_of(why: str) -> None:
    verdicts, name, planned = REFUSED[why]
    assert unbiased_rate(sampled(verdicts), rule(name), planned=planned) is None


def test_rules_by_kind_have_the_rate_of_their_majority() -> None:
    rows = sampled("BAA")
    assert unbiased_rate(rows, rule("majority | median"), planned=3) == 0.5
    assert unbiased_rate(rows, rule("supermajority(2/3) | median"), planned=3) is None
    assert unbiased_rate(rows, Rule("majority", len), planned=3) is None


def test_the_positive_label_is_pass_or_a() -> None:
    assert [positive_label(labels) for labels in (["FAIL"], ["B", "A"], ["B", "PASS"], [None], [])] == [
        "PASS",
        "A",
        None,
        None,
        None,
    ]
