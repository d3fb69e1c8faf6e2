from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.analysis.calibration import CriterionCalibration, Judged, Rate, measure_calibration
from judgeharness_integrations.analysis.calibration.rates import score_errors
from judgeharness_integrations.analysis.statistics.agreement import cohen_kappa

DATA = Path(__file__).parents[1] / "data"
P, F = "PASS", "FAIL"


def judged(*pairs: tuple[object, object]) -> list[Judged]:
    """(gold, decision) pairs; None is not graded."""
    statuses = {None: "not_graded", "ABSTAIN": "abstained"}
    return [
        Judged(gold=gold, verdict=verdict, status=statuses.get(verdict, "decided"))  # type: ignore[arg-type, call-overload]
        for gold, verdict in pairs
    ]


BINARY = judged((P, P), (P, P), (P, F), (P, "ABSTAIN"), (P, None), (F, P), (F, F), (F, F), (F, "ABSTAIN"))


def counted(rate: Rate | None) -> tuple[int, int] | None:
    return None if rate is None else (rate.successes, rate.trials)


def test_abstained_and_not_graded_are_not_positive() -> None:
    measured = measure_calibration(BINARY)
    assert measured.positive == "PASS"
    assert measured.n == 9
    assert counted(measured.precision) == (2, 3)
    assert counted(measured.recall) == (2, 5)
    assert counted(measured.base_rate) == (5, 9)
    assert counted(measured.accuracy) == (4, 6)
    assert counted(measured.coverage) == (6, 9)
    assert measured.confusion == {
        "PASS": {"PASS": 2, "FAIL": 1, "ABSTAIN": 1, "NOT_GRADED": 1},
        "FAIL": {"PASS": 1, "FAIL": 2, "ABSTAIN": 1},
    }
    assert measured.kappa is not None
    assert measured.kappa.n == 6
    assert measured.errors is None


def test_the_positive_label_can_be_declared() -> None:
    measured = measure_calibration(BINARY, positive="FAIL")
    assert counted(measured.precision) == (2, 3)
    assert counted(measured.recall) == (2, 4)
    assert counted(measured.base_rate) == (4, 9)
    assert measure_calibration(judged(("toxic", "fine"), ("toxic", "toxic")), positive="fine").recall is None
    with pytest.raises(CaseError, match="the positive label 'GOOD' occurs neither"):
        measure_calibration(BINARY, positive="GOOD")


def test_pairs_are_measured_by_correctness() -> None:
    measured = measure_calibration(
        judged(("A", "A"), ("A", "B"), ("B", "TIE"), ("TIE", "TIE"), ("B", "ABSTAIN"), ("A", None))
    )
    assert measured.positive is None
    assert measured.base_rate is None
    assert counted(measured.precision) == counted(measured.accuracy) == (2, 4)
    assert counted(measured.recall) == (2, 6)
    assert counted(measured.coverage) == (4, 6)


def test_sets_of_labels_are_compared_as_sets() -> None:
    measured = measure_calibration(judged((frozenset("ab"), frozenset("ba")), (frozenset("a"), frozenset("ab"))))
    assert counted(measured.precision) == (1, 2)
    assert measured.confusion == {"{a, b}": {"{a, b}": 1}, "{a}": {"{a, b}": 1}}


def test_scores_have_errors_and_a_reason_instead_of_rates() -> None:
    measured = measure_calibration(judged((7, 8), (5, 5.5), (9, "ABSTAIN"), (3, None), (10, 9)))
    rates = (measured.precision, measured.recall, measured.accuracy, measured.base_rate, measured.kappa)
    assert rates == (None,) * 5
    assert "pass_at" in measured.reason
    assert counted(measured.coverage) == (3, 5)
    assert measured.errors is not None
    assert measured.errors.n == 3
    assert measured.errors.mean_absolute_error == pytest.approx(2.5 / 3)
    assert measured.errors.root_mean_squared_error == pytest.approx((2.25 / 3) ** 0.5)
    assert measured.errors.bias == pytest.approx(0.5 / 3)
    assert measure_calibration(judged((7, None))).errors is None
    assert score_errors([]) is None


@pytest.mark.parametrize(("gold", "verdict"), [(7, "PASS"), ("PASS", 7)])
def test_scores_are_not_compared_with_labels(gold: object, verdict: object) -> None:
    with pytest.raises(
        CaseError, match=f"criterion 'tone': gold '{gold}' cannot be compared with the decision '{verdict}'"
    ):
        measure_calibration(judged((gold, verdict)), criterion="tone")


def test_what_is_undefined_is_none_and_never_zero() -> None:
    never_pass = measure_calibration(judged((F, F), (F, "ABSTAIN")))
    assert never_pass.precision is None
    assert never_pass.recall is None
    assert counted(never_pass.base_rate) == (0, 2)
    assert never_pass.kappa is None
    nothing_decided = measure_calibration(judged((P, None), (F, "ABSTAIN")))
    assert (nothing_decided.precision, nothing_decided.accuracy, nothing_decided.kappa) == (None, None, None)
    assert counted(nothing_decided.recall) == (0, 1)
    assert counted(nothing_decided.coverage) == (0, 2)
    empty = measure_calibration([])
    assert empty == CriterionCalibration(
        criterion="verdict",
        n=0,
        positive=None,
        confusion={},
        precision=None,
        recall=None,
        accuracy=None,
        coverage=None,
        base_rate=None,
        kappa=None,
    )


def test_a_rate_prints_its_interval_and_denominator() -> None:
    rate = Rate.of(3, 4)
    assert rate is not None
    assert rate.value == 0.75
    assert (rate.low, rate.high) == pytest.approx(proportion_confint(3, 4, method="wilson"))
    assert str(rate) == "0.750 [0.301, 0.954] (3/4)"
    assert Rate.of(0, 0) is None


labels = st.sampled_from(["A", "B", "TIE"])


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=60))
def test_kappa_and_its_standard_error_are_statsmodels(pairs: list[tuple[str, str]]) -> None:
    table = [[sum(pair == (i, j) for pair in pairs) for j in ("A", "B", "TIE")] for i in ("A", "B", "TIE")]
    ours = cohen_kappa(measure_calibration(judged(*pairs)).confusion)
    if len({gold for gold, _ in pairs}) == 1 or len({verdict for _, verdict in pairs}) == 1:
        assert ours is None
        return
    with np.errstate(all="ignore"):  # it divides by a standard error that may be 0
        theirs = cohens_kappa(table)
    assert ours is not None
    assert ours.n == len(pairs)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-12)
    assert (ours.se or 0.0) ** 2 == pytest.approx(max(theirs.var_kappa, 0.0), abs=1e-12)
    assert ours.se != 0


def test_kappa_without_an_error_has_no_standard_error() -> None:
    measured = measure_calibration(judged(*[(P, P)] * 20, *[(F, F)] * 20))
    assert (measured.kappa.value, measured.kappa.se) == (1.0, None)


def test_scores_of_people_against_a_pass_mark_are_to_be_written_as_pass_and_fail() -> None:
    with pytest.raises(
        CaseError, match="gold '8' cannot be compared with the decision 'PASS': write gold as PASS and FAIL"
    ):
        measure_calibration(judged((8, P), (2, F)))


def pandalm() -> dict[str, dict[str, str]]:
    with gzip.open(DATA / "pandalm.csv.gz", "rt", newline="") as file:
        answers: dict[str, dict[str, str]] = {}
        for row in csv.DictReader(file):
            answers.setdefault(row["judge"], {})[row["case_id"]] = row["verdict"]
    return answers


@pytest.mark.slow
def test_kappas_of_real_annotators_are_the_published_ones() -> None:
    golden = json.loads((DATA / "golden" / "pandalm.json").read_text())["kappas"]
    answers = pandalm()
    people = [answers[f"annotator{number}"] for number in (1, 2, 3)]

    def kappa(first: dict[str, str], second: dict[str, str]) -> float:
        measured = measure_calibration(judged(*((first[case], second[case]) for case in first)))
        assert measured.kappa is not None
        return measured.kappa.value

    pairs: Iterable[tuple[int, int]] = ((0, 1), (0, 2), (1, 2))
    assert [kappa(people[i], people[j]) for i, j in pairs] == pytest.approx(golden, abs=1e-12)


def test_a_real_judge_against_the_majority_has_the_published_accuracy() -> None:
    golden = json.loads((DATA / "golden" / "pandalm.json").read_text())["metrics"]
    answers = pandalm()
    people = [answers[f"annotator{number}"] for number in (1, 2, 3)]
    votes = {case: [person[case] for person in people] for case in people[0]}
    gold = {case: max(set(v), key=v.count) for case, v in votes.items() if max(map(v.count, v)) > 1}
    items = [
        Judged(gold=gold[case], verdict=verdict or None, status="decided" if verdict else "not_graded")
        for case, verdict in answers["gpt-3.5-turbo"].items()
        if case in gold
    ]
    measured = measure_calibration(items)
    assert measured.n == 999
    assert measured.recall is not None
    assert measured.precision is not None
    assert measured.recall.value == pytest.approx(golden["gpt-3.5-turbo|unparseable=wrong"]["accuracy"])
    assert measured.precision.value == pytest.approx(golden["gpt-3.5-turbo|unparseable=drop"]["accuracy"])
    assert measured.kappa is not None
    assert measured.kappa.value == pytest.approx(golden["gpt-3.5-turbo|unparseable=drop"]["kappa"])


@pytest.mark.parametrize(
    ("pairs", "refused"),
    [
        ([("pass", "PASS"), ("fail", "PASS")], False),
        ([("formal", "Formal"), ("casual", "Formal")], True),
        ([("good", "PASS"), ("bad", "FAIL")], True),
        ([("PASS", "A"), ("FAIL", "B")], True),
        ([("A", "TIE"), ("B", "TIE")], False),
        ([("FAIL", "PASS")], False),
        ([("formal", "casual"), ("neutral", "casual")], False),
    ],
)
def test_labels_in_other_words_are_refused(pairs: list[tuple[str, str]], refused: bool) -> None:  # noqa: FBT001
    if not refused:
        assert measure_calibration(judged(*pairs)).accuracy is not None
        return
    with pytest.raises(CaseError, match="never occur among the decisions"):
        measure_calibration(judged(*pairs))


def test_other_words_for_pass_and_fail_are_understood_all_or_none() -> None:
    graded = measure_calibration(judged(("Y", "PASS"), ("no", "FAIL"), ("TRUE", "FAIL")))
    assert graded.confusion == {"PASS": {"PASS": 1, "FAIL": 1}, "FAIL": {"FAIL": 1}}
    failed = Judged(gold="correct", verdict=None, status="not_graded")
    assert measure_calibration([failed]).confusion == {"correct": {"NOT_GRADED": 1}}
    classes = [Judged(gold="correct", verdict="correct", status="decided"), failed]
    assert measure_calibration(classes).confusion == {"correct": {"correct": 1, "NOT_GRADED": 1}}
    with pytest.raises(CaseError, match="cannot be compared"):  # scores of people against a pass mark
        measure_calibration(
            [Judged(gold=1, verdict="FAIL", status="decided"), Judged(gold=8, verdict="PASS", status="decided")]
        )


def test_a_graded_label_nobody_used_may_be_the_positive_one() -> None:
    everyone_passed = [Judged(gold="PASS", verdict="PASS", status="decided")] * 3
    measured = measure_calibration(everyone_passed, positive="FAIL")
    assert (measured.positive, measured.precision, measured.recall) == ("FAIL", None, None)
    with pytest.raises(CaseError, match="occurs neither among the labels"):
        measure_calibration(everyone_passed, positive="fine")
