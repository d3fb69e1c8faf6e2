from __future__ import annotations

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation import rule

P, F = "PASS", "FAIL"

TABLE = [
    # rule, samples, verdict
    ("majority", [P, P, F], P),
    ("majority", [P, F], "ABSTAIN"),
    ("majority", [P, F, "UNSURE"], "ABSTAIN"),
    ("majority", [P, P, F, F, "UNSURE"], "ABSTAIN"),
    ("majority", [P, None, None], P),
    ("strict_majority", [P, P, F], P),
    ("strict_majority", [P, P, F, None], "ABSTAIN"),
    ("strict_majority", [P, P, F, "UNSURE"], "ABSTAIN"),
    ("strict_majority", [P, P, P, None, None], P),
    ("supermajority(2/3)", [P, P, F], P),
    ("supermajority(2/3)", [P, P, None], P),
    ("supermajority(2/3)", [P, P, F, None], "ABSTAIN"),
    ("supermajority(2/3)", [P] * 5 + [F] * 3, "ABSTAIN"),
    ("supermajority(5/8)", [P] * 5 + [F] * 3, P),
    ("supermajority(1/2)", [P, F], "ABSTAIN"),
    ("supermajority(1)", [P, P, None], "ABSTAIN"),
    ("abstain_on_disagreement", [P, P], P),
    ("abstain_on_disagreement", [P], P),
    ("abstain_on_disagreement", [P, F], "ABSTAIN"),
    ("abstain_on_disagreement", [P, P, None], "ABSTAIN"),
]


@pytest.mark.parametrize(("name", "verdicts", "expected"), TABLE)
def test_the_decision_of_the_table(name: str, verdicts: list[str | None], expected: str) -> None:
    decision = rule(name).decide(sampled(verdicts))
    assert decision.verdict == expected
    assert decision.status == ("abstained" if expected == "ABSTAIN" else "decided")
    assert decision.reason
    assert decision.center is None


def test_a_tie_names_the_tied_labels() -> None:
    assert rule("majority").decide(sampled([P, F, "X", P, F])).reason == "tie between FAIL, PASS at 2 each"
    assert rule("supermajority(1/3)").decide(sampled([P, F])).reason == "tie between FAIL, PASS at 1 each"


def test_an_abstention_says_how_far_it_was() -> None:
    assert (
        rule("supermajority").decide(sampled([P] * 5 + [F] * 3)).reason == "highest count 5 of 8 samples is below 2/3"
    )
    assert rule("strict_majority").decide(sampled([P, F])).reason.startswith("no label has more than half of 2")
    assert rule("abstain_on_disagreement").decide(sampled([P, P, F])).reason == "2 of 3 samples agree"


def test_sets_of_labels_are_labels() -> None:
    both, one = frozenset({"toxic", "spam"}), frozenset({"spam"})
    assert rule("majority").decide(sampled([both, one, frozenset({"spam", "toxic"})])).verdict == both
    assert rule("majority").decide(sampled([both, one])).reason == "tie between {spam, toxic}, {spam} at 1 each"
