"""What holds for every rule and every log."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import balanced_pairs, samples, with_evidence

from judgeharness_integrations.analysis.aggregation import RULE_NAMES, decide, rule
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure, measure_criterion
from judgeharness_integrations.analysis.result import CriterionResult
from judgeharness_integrations.verdictlog.row import OUTCOMES, VerdictRow

LABELS = st.one_of(
    st.sampled_from(["A", "B", "TIE", "PASS", "FAIL"]),
    st.frozensets(st.sampled_from(["toxic", "spam", "rude"]), max_size=3),
)
SCORES = st.one_of(st.integers(1, 10), st.floats(-1e6, 1e6, allow_nan=False))
LABEL_RULES = [name for name in RULE_NAMES if rule(name).kind == "labels" and not rule(name).both_orders]
NUMBER_RULES = [name for name in RULE_NAMES if rule(name).kind == "numbers"]


def design(name: str) -> Design:
    return Design(perturbations=("none", "format_change"), repetitions=7, rule=rule(name))


def numbers_of(result: CriterionResult) -> dict[str, Any]:
    """Everything of a result but the order in which perturbations and equal counts are listed."""
    facts = asdict(result)
    facts["perturbations"] = {p["name"]: p for p in facts["perturbations"]}
    return facts


def any_order(rows: list[VerdictRow], name: str, random: Any) -> None:
    before = measure_criterion(rows, criterion="verdict", design=design(name))
    shuffled = list(rows)
    random.shuffle(shuffled)
    after = measure_criterion(shuffled, criterion="verdict", design=design(name))
    assert numbers_of(after) == numbers_of(before)


texts = st.lists(st.sampled_from([None, "A", "B", "long " * 60]), min_size=14, max_size=14)
ids = st.lists(st.sampled_from([None, "r1", "r2"]), min_size=14, max_size=14)


@given(samples(LABELS), st.sampled_from(LABEL_RULES), st.randoms(), texts, ids)
def test_permuting_rows_changes_nothing_for_labels(rows: list, name: str, random: Any, texts: list, ids: list) -> None:
    any_order(with_evidence(rows, texts, ids), name, random)


@given(samples(SCORES), st.sampled_from([*NUMBER_RULES, "median(pass_at=5)"]), st.randoms())
def test_permuting_rows_changes_nothing_for_scores(rows: list, name: str, random: Any) -> None:
    any_order(rows, name, random)


@given(
    balanced_pairs(st.sampled_from(["A", "B", "TIE"])),
    st.sampled_from(["swap_consensus", "net_preference"]),
    st.randoms(),
)
def test_permuting_rows_changes_nothing_for_pairs(rows: list, name: str, random: Any) -> None:
    any_order(rows, name, random)


@given(samples(LABELS, least=0))
def test_counts_are_conserved(rows: list[VerdictRow]) -> None:
    measured = measure_criterion(rows, criterion="verdict", design=design("majority"))
    assert list(measured.outcomes) == list(OUTCOMES)
    assert sum(measured.outcomes.values()) == len(rows) == measured.planned
    assert sum(measured.sample_distribution.values()) == measured.outcomes["ok"] == measured.valid
    assert sum(p.asked for p in measured.perturbations) == len(rows)
    assert sum(p.valid for p in measured.perturbations) == measured.valid
    for p in measured.perturbations:
        assert sum(p.sample_distribution.values()) == p.valid
    counts = list(measured.sample_distribution.values())
    assert counts == sorted(counts, reverse=True)


@given(samples(LABELS), st.sampled_from([*LABEL_RULES, "swap_consensus"]))
def test_a_label_rule_returns_a_label_that_was_given_or_none(rows: list[VerdictRow], name: str) -> None:
    decision = decide(rows, rule(name))
    if decision.status == "decided":
        assert decision.verdict in {row.verdict for row in rows if row.ok}
    else:
        assert decision.verdict == ("ABSTAIN" if decision.status == "abstained" else None)


@given(balanced_pairs(st.sampled_from(["A", "B", "TIE"])))
def test_net_preference_decides_whenever_there_is_a_quorum(rows: list[VerdictRow]) -> None:
    decision = decide(rows, rule("net_preference"))
    assert decision.status == ("decided" if 2 * sum(row.ok for row in rows) >= len(rows) else "not_graded")
    assert decision.verdict in ("A", "B", "TIE", None)


@given(samples(SCORES), st.sampled_from(NUMBER_RULES))
def test_a_score_rule_stays_within_the_scores(rows: list[VerdictRow], name: str) -> None:
    decision = decide(rows, rule(name))
    if decision.status == "decided":
        given_scores = [row.verdict for row in rows if row.ok]
        assert min(given_scores) <= decision.verdict <= max(given_scores)  # type: ignore[type-var, operator]


@given(
    samples(st.sampled_from(["PASS", "FAIL"])),
    st.integers(51, 100),
    st.sampled_from(["supermajority", "strict_majority", "abstain_on_disagreement"]),
)
def test_a_judge_that_fails_half_of_the_time_wins_no_supermajority(
    rows: list[VerdictRow], percent: int, name: str
) -> None:
    failing = [*rows, *(VerdictRow(case_id="c1", verdict=None, outcome="error", repetition=99) for _ in rows)]
    spec = f"supermajority({Fraction(percent, 100)})" if name == "supermajority" else name
    assert decide(failing, rule(spec), min_valid=1).status != "decided"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*LABEL_RULES, *NUMBER_RULES, "swap_consensus", "net_preference"])
@given(data=st.data())
def test_a_result_rebuilt_from_its_rows_is_equal(name: str, data: st.DataObject) -> None:
    kind = SCORES if name in NUMBER_RULES else st.sampled_from(["A", "B", "TIE"])
    rows = data.draw(balanced_pairs(kind) if rule(name).both_orders else samples(kind))
    facts: dict[str, Any] = {"case_id": "c1", "judge": "judge", "planned": len(rows), "label_counts": {"verdict": 3}}
    result = measure(rows, design=design(name), **facts)
    assert measure(result.rows, design=design(result.aggregation_rule), **facts) == result
