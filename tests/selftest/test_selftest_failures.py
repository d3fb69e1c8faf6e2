"""What rules promise about failed samples, and that a rule which breaks it is caught."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from judgeharness_integrations.analysis.aggregation.folds import Decision, decided
from judgeharness_integrations.analysis.aggregation.rules import RULE_NAMES, Rule, rule
from judgeharness_integrations.testing.selftest import FailureCheck, rules, run_selftest
from judgeharness_integrations.testing.selftest.rules import (
    FAILURES,
    absent,
    across,
    at_random,
    below_quorum,
    decision,
    expected_gain,
    gains,
    helps_its_label,
    one_order,
    sequences,
    step_by_step,
    turns,
)
from judgeharness_integrations.verdictlog.row import VerdictRow


def broken(look: Any, name: str, n: int) -> list[str]:
    """Return a sentence for each sequence that breaks a promise."""
    tried, told = look({"rule": name, "n": n})
    assert tried > 0
    return list(told)


def test_every_sequence_is_looked_at() -> None:
    assert len(set(sequences(rule("majority"), 3))) == 4**3
    assert {verdict for outcomes in sequences(rule("median"), 2) for verdict in outcomes} == {1, 4, 9, None}


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_promises_hold(full: bool) -> None:  # noqa: FBT001 - a parameter of the test
    report = run_selftest(FAILURES, full=full)
    assert [(check.name, check.reason) for check in report.checks if check.verdict != "ok"] == []
    assert len(report.checks) == len(FAILURES)
    assert {point.rate for check in report.checks for point in check.points} == {0.0}


def test_every_rule_is_held_to_something_up_to_six_samples() -> None:
    looked_at = {str(point["rule"]).partition("(")[0] for check in FAILURES for point in check.points}
    assert looked_at == set(RULE_NAMES)
    assert all(max(int(point["n"]) for point in check.points) == 6 for check in FAILURES)


@pytest.mark.parametrize("name", ["majority", "supermajority(1/2)", "supermajority(1/3)", "net_preference"])
def test_a_rule_that_breaks_ties_by_failures_could_not_make_the_first_promise(name: str) -> None:
    told = broken(step_by_step(gains), name, 2)
    assert f"{name}, A, B: {'TIE' if name == 'net_preference' else 'ABSTAIN'} -> None, B: B" in told


def test_the_other_promises_can_be_broken_as_well() -> None:
    assert broken(step_by_step(turns), "net_preference", 2)
    assert broken(step_by_step(across), "net_preference", 4) == []
    assert broken(one_order, "net_preference", 4)
    assert "majority gains 0.0231 where answers are right at 0.5 and 0.05 of samples fail" in broken(
        at_random(tie=0.0), "majority", 2
    )
    assert broken(absent, "strict_majority", 4)


def planted(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every name be the rule of this function."""
    monkeypatch.setattr(rules, "rule", lambda name: Rule(name, function, kind="labels"))


def counts_failures_for(label: str) -> Any:
    """Return a majority in which a failed sample is a vote for a label."""

    def decide(rows: Sequence[VerdictRow]) -> Decision:
        votes = [row.verdict or label for row in rows]
        return decided(max(sorted({str(vote) for vote in votes}), key=votes.count))

    return decide


@pytest.mark.parametrize("look", [step_by_step(gains), step_by_step(turns), step_by_step(across), absent])
def test_a_rule_that_counts_failures_as_votes_is_caught(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(counts_failures_for("A"), monkeypatch)
    assert broken(look, "planted", 3)


def test_a_rule_that_rewards_failing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def fewest(rows: Sequence[VerdictRow]) -> Decision:
        votes = [str(row.verdict) for row in rows if row.ok]
        return decided(min(sorted(set(votes)), key=votes.count))

    planted(fewest, monkeypatch)
    assert broken(step_by_step(helps_its_label), "planted", 4)


def test_a_verdict_below_the_quorum_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "decide", lambda *_, **__: decided("A"))
    assert broken(below_quorum, "majority", 3)


def test_a_promise_that_is_broken_is_a_miss_with_an_example() -> None:
    check = FailureCheck(
        name="planted",
        points=({"rule": "strict_majority", "n": 2}, {"rule": "majority", "n": 2}),
        sequences=step_by_step(gains),
    )
    [found] = run_selftest([check]).checks
    assert (found.kind, found.verdict, str(found.worst)) == ("failures", "miss", "rule=majority, n=2")
    assert found.reason == (
        "broken by 0.5000 of sequences at rule=majority, n=2: majority, A, B: ABSTAIN -> None, B: B"
    )
    assert found.worst.replicates == 24


def test_the_gain_of_failing_at_random_is_the_exact_one() -> None:
    """Two answers right at .7, of which each fails at .2: .64 x .49 + .32 x .7, against .49."""
    assert expected_gain(rule("majority"), 2, right=0.7, failing=0.2, tie=0.0) == pytest.approx(0.5376 - 0.49)
    assert expected_gain(rule("strict_majority"), 3, right=0.7, failing=1.0, tie=0.0) == pytest.approx(-0.784)
    assert expected_gain(rule("majority"), 2, right=0.7, failing=0.2, tie=0.5) == pytest.approx(0.96 * 0.7 - 0.7)


@pytest.mark.parametrize("name", ["majority", "swap_consensus", "net_preference"])
def test_what_is_said_of_the_largest_gain_holds(name: str) -> None:
    shares = [step / 10 for step in range(1, 10)]
    most = max(
        expected_gain(rule(name), n, right=right, failing=failing, tie=0.0)
        for n, right, failing in product((2, 4), shares[4:], shares[:5])
    )
    assert 0 < most <= 0.084


def test_all_ways_of_failing_are_among_the_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: list[str] = []

    def look(rows: Sequence[VerdictRow]) -> Decision:
        outcomes.extend(row.outcome for row in rows)
        return decided("A")

    decision(Rule("mine", look), (None, "A", None, None), min_valid=1)
    assert outcomes == ["unparsed", "ok", "error", "unparsed"]
