"""Per class rates, macro F1, TPR and TNR, AC1: against scikit-learn, irrCAC's values and by hand."""

from __future__ import annotations

import csv
import gzip
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from judgeharness_integrations.analysis.calibration import ClassRates, Judged, Rate, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import class_rates, macro_f1, too_rare
from judgeharness_integrations.analysis.statistics.agreement import gwet_ac1
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.verdictlog.row import Verdict

DATA = Path(__file__).parents[1] / "data"
LABELS = ("A", "B", "TIE")
NEITHER = "neither"  # what scikit-learn is given for an item without a decision


def judged(gold: Verdict, verdict: Verdict | None) -> Judged:
    return Judged(gold=gold, verdict=verdict, status="not_graded" if verdict is None else "decided")


pairs_of_labels = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from((*LABELS, None))), min_size=1, max_size=40
)


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=60)
@given(pairs_of_labels)
def test_macro_f1_and_the_rates_of_each_class_are_scikit_learns(pairs: list[tuple[str, str | None]]) -> None:
    items = [judged(gold, verdict) for gold, verdict in pairs]
    golds, decisions = [gold for gold, _ in pairs], [verdict or NEITHER for _, verdict in pairs]
    labels = sorted({*golds, *decisions} - {NEITHER})
    found = macro_f1(items, range(len(items)))
    assert found is not None
    theirs = f1_score(golds, decisions, labels=labels, average="macro", zero_division=0)
    assert found.value == pytest.approx(theirs, abs=1e-12)
    if found.low is not None:
        assert found.high is not None
        assert 0 <= found.low <= found.value <= found.high <= 1
    rates = class_rates(items, range(len(items)))
    assert list(rates) == labels
    for score, name in ((precision_score, "precision"), (recall_score, "recall")):
        values = score(golds, decisions, labels=labels, average=None, zero_division=math.nan)
        for label, value in zip(labels, values, strict=True):
            rate = getattr(rates[label], name)
            assert (math.nan if rate is None else rate.value) == pytest.approx(value, nan_ok=True)
    assert sum(rate.support for rate in rates.values()) == len(pairs)


def test_macro_f1_has_no_interval_where_a_label_is_rare() -> None:
    """Twenty items of which two are FAIL: the interval covered 55 % of samples."""
    items = [judged("PASS", "PASS")] * 40 + [judged("FAIL", "FAIL")] * 4
    found = macro_f1(items, range(44))
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert too_rare(items, range(44)) == "4 labelled items are 'FAIL': fewer than 5 give no interval"
    assert measure_calibration(items).undefined["macro_f1_interval"] == too_rare(items, range(44))
    copies = [*items, *[judged("FAIL", "FAIL")] * 8]
    assert too_rare(copies, [*range(44), *[43] * 8]) is not None  # copies of one case are one


def test_macro_f1_does_not_take_a_rare_label_without_an_error_for_one_that_is_never_missed() -> None:
    """At 1 % and 5 % errors, 150 items of which one in twenty is FAIL: 79 % were covered, 96 % are."""
    items = [judged("PASS", "PASS")] * 143 + [judged("FAIL", "FAIL")] * 7
    found = macro_f1(items, range(150))
    assert found.low < 0.93
    assert measure_calibration(items).undefined == {}


def test_each_label_of_a_set_is_a_class() -> None:
    golds, decisions = (("toxic", "spam"), ("spam",), ()), (("toxic",), ("spam", "rude"), ())
    items = [judged(frozenset(gold), frozenset(said)) for gold, said in zip(golds, decisions, strict=True)]
    labels = ["rude", "spam", "toxic"]
    table = [[[int(label in side) for label in labels] for side in sides] for sides in (golds, decisions)]
    found = macro_f1(items, range(3))
    assert found is not None
    assert found.value == pytest.approx(f1_score(*table, average="macro", zero_division=0))
    rates = class_rates(items, range(3))
    assert rates["rude"] == ClassRates(precision=Rate.of(0, 1), recall=None, support=0)
    assert rates["spam"].recall == Rate.of(1, 2)
    assert macro_f1([judged(frozenset(), frozenset())], range(1)) is None


def test_sensitivity_and_specificity_count_who_did_not_answer_as_not_positive() -> None:
    items = [
        *(Judged(gold="PASS", verdict=verdict, status="decided") for verdict in ("PASS", "PASS", "FAIL")),
        Judged(gold="PASS", verdict="ABSTAIN", status="abstained"),
        *(Judged(gold="FAIL", verdict=verdict, status="decided") for verdict in ("PASS", "FAIL")),
        Judged(gold="FAIL", verdict="ABSTAIN", status="abstained"),
        Judged(gold="FAIL", verdict=None, status="not_graded"),
    ]
    measured = measure_calibration(items)
    assert measured.sensitivity == measured.recall == Rate.of(2, 4)
    assert measured.specificity == Rate.of(3, 4)
    assert measured.per_class["FAIL"] == ClassRates(precision=Rate.of(1, 2), recall=Rate.of(1, 4), support=4)
    flipped = measure_calibration(items, positive="FAIL")
    assert (flipped.sensitivity, flipped.specificity) == (Rate.of(1, 4), Rate.of(3, 4))
    pairwise = measure_calibration([judged("A", "B"), judged("B", "B")])
    assert (pairwise.sensitivity, pairwise.specificity) == (None, None)


def pandalm_pairs() -> list[tuple[str, str]]:
    """(majority of three people, gpt-3.5-turbo) of the pairs it answered."""
    answers: dict[str, dict[str, str]] = {}
    with gzip.open(DATA / "pandalm.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            answers.setdefault(row["judge"], {})[row["case_id"]] = row["verdict"]
    people = [answers[f"annotator{number}"] for number in (1, 2, 3)]
    votes = {case: [person[case] for person in people] for case in people[0]}
    majority = {case: max(set(v), key=v.count) for case, v in votes.items() if max(map(v.count, v)) > 1}
    said = answers["gpt-3.5-turbo"]
    return [(gold, said[case]) for case, gold in majority.items() if said[case]]


def test_ac1_and_its_interval_are_the_published_ones() -> None:
    golden = json.loads((DATA / "golden" / "irr.json").read_text())["gpt35_vs_majority_974|gwet"]
    pairs = pandalm_pairs()
    found = gwet_ac1(pairs, range(len(pairs)))
    assert found is not None
    assert found.n == 974
    assert found.value == pytest.approx(golden["coefficient_value"], abs=5e-6)
    assert (found.low, found.high) == pytest.approx(
        golden["confidence_interval"], abs=2e-3
    )  # theirs is not on Fisher's scale


def test_ac1_is_defined_where_kappa_is_not() -> None:
    passed = measure_calibration([judged("PASS", "PASS")] * 10)
    assert passed.kappa is None
    assert passed.ac1 is not None
    assert (passed.ac1.value, passed.ac1.high) == (1.0, 1.0)
    assert passed.ac1.low == pytest.approx(0.7225, abs=1e-4)  # no error in ten: Wilson's lower end, never [1, 1]
    assert measure_calibration([judged("x", "x")] * 3).ac1 is None  # one label: nothing to agree about beyond chance
    assert gwet_ac1([], []) is None


def test_an_estimate_prints_its_interval_and_denominator() -> None:
    assert str(Estimate(value=0.5, low=0.25, high=0.75, n=9)) == "0.500 [0.250, 0.750] (n=9)"
    assert str(Estimate(value=1.0, low=None, high=None, n=9)) == "1.000 (n=9)"
