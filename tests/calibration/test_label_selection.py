"""Labels selected by what the judge decided: found, said, and what they spoil withheld."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact, hypergeom
from support.gated import labelled
from support.measured import VALID, calibration, measured
from support.rows import sampled

from judgeharness_integrations.analysis.calibration import CalibrationReport, Judged, LabelledItem, measure_calibration
from judgeharness_integrations.analysis.calibration.corrected import corrected_rate
from judgeharness_integrations.analysis.calibration.measure import stratified, withhold
from judgeharness_integrations.analysis.calibration.strata import (
    SELECTION_LEVEL,
    Selection,
    selection_by_sureness,
    selection_of,
    selection_of_items,
)
from judgeharness_integrations.analysis.gates import Gates, check_gates
from judgeharness_integrations.analysis.runs import run_report
from judgeharness_integrations.reporting.calibrationtext import calibration_section
from judgeharness_integrations.reporting.html import judgecards as calibrationcards
from judgeharness_integrations.reporting.terminal import section_lines


def items(*counts: tuple[Any, Any, int]) -> list[LabelledItem]:
    """(gold or None, decision, how many)."""
    statuses = {None: "not_graded", "ABSTAIN": "abstained"}
    return [
        LabelledItem(
            case_id=f"c{row}-{n}",
            criterion="verdict",
            gold=gold,
            verdict=None if said in statuses else said,
            status=statuses.get(said, "decided"),  # type: ignore[arg-type]
        )
        for row, (gold, said, count) in enumerate(counts)
        for n in range(count)
    ]


def selected(*counts: tuple[Any, Any, int]) -> Selection:
    found = selection_of_items(items(*counts), "verdict")
    assert found is not None
    return found


def study(*pairs: tuple[str, str, int]) -> list[Judged]:
    return [Judged(gold=gold, verdict=said, status="decided") for gold, said, count in pairs for _ in range(count)]


ON_PASSED = selected(("PASS", "PASS", 66), ("FAIL", "PASS", 6), (None, "PASS", 40), (None, "FAIL", 88))


def test_two_decisions_have_the_p_of_fishers_exact_test() -> None:
    found = selected(("PASS", "PASS", 20), ("FAIL", "FAIL", 5), (None, "PASS", 30), (None, "FAIL", 25))
    assert found.p == pytest.approx(fisher_exact([[20, 5], [30, 25]]).pvalue)
    assert not found.found
    assert (found.labelled, found.unlabelled) == ({"PASS": 20, "FAIL": 5}, {"PASS": 30, "FAIL": 25})


def test_a_decision_that_was_never_labelled_is_found_and_said() -> None:
    assert ON_PASSED.found
    assert ON_PASSED.sentence.startswith(
        "the labelled cases were selected by what the judge decided: none of 72 labelled cases and 88 of 128 without a "
        "label are judged FAIL (p "
    )
    abstained = selected(("PASS", "PASS", 40), ("FAIL", "FAIL", 40), (None, "PASS", 20), (None, "ABSTAIN", 30))
    assert (abstained.decision, abstained.found) == ("ABSTAIN", True)
    never = selected(("PASS", "PASS", 30), (None, "PASS", 30), (None, "ABSTAIN", 12), (None, None, 12))
    assert never.found
    assert "30 of 30 labelled cases and 30 of 54 without a label are judged PASS" in never.counts
    assert never.p == pytest.approx(3 * fisher_exact([[30, 0], [30, 24]]).pvalue)


def test_where_nothing_can_be_compared_nothing_is_said() -> None:
    assert selection_of_items(items(("PASS", "PASS", 9)), "verdict") is None
    assert selection_of_items(items((None, "PASS", 9)), "verdict") is None
    assert selection_of_items(items(("PASS", "PASS", 9), (None, "PASS", 90)), "verdict") is None
    assert selection_of_items(items(("PASS", "PASS", 9), (None, "FAIL", 90)), "other") is None


def test_scores_are_compared_by_their_median() -> None:
    found = selected((5, 9, 20), (5, 8, 20), (None, 1, 40), (None, 9, 5))
    assert found.found
    assert set(found.labelled) | set(found.unlabelled) == {"at most 8", "above 8"}
    mixed = selected((5, 9, 20), (5, 8, 20), (None, 8, 40), (None, None, 2))
    assert "NOT_GRADED" in mixed.unlabelled


def test_items_of_one_cluster_count_once() -> None:
    """Ten copies of each of 20 cases are no 200 cases, whose p would be 1e-8."""
    decisions = ["PASS"] * 70 + ["FAIL"] * 30 + ["PASS"] * 30 + ["FAIL"] * 70
    has = [True] * 100 + [False] * 100
    clusters = [n // 10 for n in range(200)]
    found = selection_of(decisions, has, clusters)
    assert found is not None
    assert found.p == pytest.approx(min(1.0, 2 * fisher_exact([[7, 3], [3, 7]]).pvalue))
    assert selection_of(decisions, has).found  # type: ignore[union-attr]
    drawn = [replace(one, case_id=f"c{n}") for n, one in enumerate(items(*[("PASS", said, 1) for said in decisions]))]
    drawn = [one if labelled else replace(one, gold=None) for one, labelled in zip(drawn, has, strict=True)]
    together = {f"c{n}": cluster for n, cluster in enumerate(clusters)}
    assert selection_of_items(drawn, "verdict", together).p == found.p  # type: ignore[union-attr]
    alone = selection_of(decisions, has, range(200))
    assert alone is not None
    assert alone.p == selection_of(decisions, has).p  # type: ignore[union-attr]


def test_what_is_spoilt_is_withheld_with_the_reason_and_precision_is_not() -> None:
    """Recall 1.000 [.949, 1.000] stood there where .8 is true."""
    whole = measure_calibration(study(("PASS", "PASS", 66), ("FAIL", "PASS", 6)))
    assert whole.recall is not None
    assert whole.recall.value == 1.0
    found = withhold(whole, ON_PASSED)
    gone = ("recall", "sensitivity", "specificity", "accuracy", "coverage", "base_rate", "ac1", "controls")
    assert all(getattr(found, name) is None for name in gone)
    assert found.lift is None
    assert found.precision == whole.precision
    assert {"recall", "specificity", "lift"} <= set(found.withheld)
    assert found.undefined["recall"] == "withheld, as the labelled cases were selected by what the judge decided"
    assert found.per_class["PASS"].precision is not None
    assert found.per_class["PASS"].recall is None
    assert found.untold == ON_PASSED.sentence
    fair = selected(("PASS", "PASS", 66), ("FAIL", "FAIL", 30), (None, "PASS", 60), (None, "FAIL", 28))
    assert withhold(whole, fair) == replace(whole, selection=fair)
    assert withhold(whole, None) == whole


def test_rates_of_strata_are_withheld_as_those_of_all() -> None:
    pairs = study(("PASS", "PASS", 66), ("FAIL", "PASS", 6))
    whole = stratified(measure_calibration(pairs), pairs, ["easy", "hard"] * 36, "subset")
    found = withhold(whole, ON_PASSED).strata
    assert found is not None
    assert whole.strata is not None
    assert [one.precision for one in found.listed] == [one.precision for one in whole.strata.listed]
    assert [one.recall for one in found.listed] == [None, None]
    assert found.p == {"precision": whole.strata.p["precision"], "recall": None}


def test_averages_of_pairs_and_scores_are_withheld_too() -> None:
    pairs = withhold(measure_calibration(study(("A", "A", 30), ("B", "A", 9))), ON_PASSED)
    assert (pairs.precision, pairs.recall) == (None, None)
    scores = [Judged(gold=n % 5, verdict=n % 4, status="decided") for n in range(40)]
    found = withhold(measure_calibration(scores, candidates=3), ON_PASSED)
    assert (found.errors, found.spearman, found.controls, found.plain) == (None, None, None, {})


def test_a_withheld_calibration_is_written_read_printed_and_drawn() -> None:
    measured_on = withhold(
        measure_calibration(study(("PASS", "PASS", 66), ("FAIL", "PASS", 6)), candidates=4), ON_PASSED
    )
    report = calibration(criteria={"verdict": measured_on}, candidates=4)
    assert CalibrationReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    card = "\n".join(section_lines(calibration_section(report)))
    assert ON_PASSED.sentence in card
    assert "withheld: recall, sensitivity, specificity, accuracy" in card
    assert re.search(r"precision +0\.917", card)
    assert not re.search(r"^recall", card, re.MULTILINE)
    section = run_report([measured(sampled(["PASS"] * 4), calibration=report, calibration_state=VALID)]).judges[0]
    assert calibrationcards.calibration_card(section).tables


def test_gates_fail_on_a_withheld_calibration() -> None:
    pairs = study(("PASS", "PASS", 60), ("FAIL", "PASS", 6), ("FAIL", "FAIL", 9))
    found = withhold(measure_calibration(pairs), ON_PASSED)
    facts: dict[str, Any] = {"calibration": calibration(criteria={"verdict": found}), "calibration_state": VALID}
    report = run_report([replace(one, **facts) for one in labelled({"PASS": 30})])
    gates = ("recall>=0.5", "specificity>=0.1", "kappa>=0", "lift>=0", "balanced_accuracy>=0.1")
    checks = check_gates(report, Gates(fail_under=gates, require_calibration=True)).checks
    assert [check.status for check in checks] != ["passed"] * len(checks)
    assert all(check.status != "passed" for check in checks)
    assert all("selected by what the judge decided" in check.reason for check in checks)


@pytest.mark.parametrize("labels_are", ["random", "undeclared"])
def test_no_corrected_rate_is_chosen_from_labels_on_passed_items(labels_are: Any) -> None:
    judged = [True] * 60 + [False] * 60
    labels = [*([True] * 18 + [False] * 2), *[None] * 100]
    report = corrected_rate(judged=judged, labels=labels, labels_are=labels_are)
    assert (report.chosen, report.sensitivity, report.specificity) == (None, None, None)
    assert all(estimate.interval is None for estimate in report.estimates)
    assert report["labels_alone"].reason == "withheld, as the labelled items were selected by what the judge decided"
    assert len(report.notes) == 1
    assert "hardly a random sample: none of 20 labelled cases and 60 of 100" in report.notes[0]
    assert report.notes[0].endswith(
        "label a random sample, or, if they were labelled elsewhere whatever the judge had decided, declare that they "
        "come from another mix"
    )
    apart = corrected_rate(judged=judged, labels=labels, labels_are="other_mix")
    assert apart.sensitivity is not None
    assert apart.notes[-1].startswith("none of 20 labelled cases and 60 of 100 without a label are judged not ")
    assert "holds only if the labelled items were chosen without looking at the judge's decisions" in apart.notes[-1]
    alike = corrected_rate(judged=judged[30:90] * 2, labels=[*[True, False] * 30, *[None] * 60], labels_are="other_mix")
    assert not any("without looking" in note for note in alike.notes)


def test_tenenbein_stays_where_both_decisions_were_labelled() -> None:
    """It is made of the shares of right decisions of either kind, which selection by verdict leaves as they are."""
    judged = [True] * 40 + [False] * 10 + [True] * 20 + [False] * 80
    labels = [*[True] * 36, *[False] * 4, *[False] * 8, *[True] * 2, *[None] * 100]
    report = corrected_rate(judged=judged, labels=labels, labels_are="random", clusters=[n // 2 for n in range(150)])
    assert report.chosen is None
    assert report["tenenbein"].estimate == pytest.approx(0.9 * 60 / 150 + 0.2 * 90 / 150)
    assert "drawn at random among the items judged alike" in report["tenenbein"].reason
    assert not report["ppi_plus_plus"].applicable


def rate_of_alarms(n: int, m: int, passed: int, draw: Any) -> float:
    """The share of alarms in 4,000 studies of n cases, m of them labelled, `passed` of them judged PASS."""
    hits = draw(n, passed, m)
    decisions = {
        hit: selection_of(
            ["PASS"] * hit + ["FAIL"] * (m - hit) + ["PASS"] * (passed - hit) + ["FAIL"] * (n - m - passed + hit),
            [True] * m + [False] * (n - m),
        )
        for hit in set(hits.tolist())
    }
    return float(np.mean([found is not None and found.found for found in (decisions[hit] for hit in hits.tolist())]))


@pytest.mark.parametrize(("n", "m", "passed"), [(200, 40, 100), (200, 40, 180), (400, 100, 280), (1000, 50, 950)])
def test_labels_drawn_at_random_are_called_selected_in_at_most_one_percent(n: int, m: int, passed: int) -> None:
    rng = np.random.default_rng(3)
    alarms = rate_of_alarms(n, m, passed, lambda n, k, m: hypergeom.rvs(n, k, m, size=4000, random_state=rng))
    assert alarms <= SELECTION_LEVEL + 3 * np.sqrt(SELECTION_LEVEL * (1 - SELECTION_LEVEL) / 4000)


def test_labels_on_passed_cases_alone_are_always_found() -> None:
    assert rate_of_alarms(200, 72, 112, lambda n, k, m: np.full(10, m)) == 1.0
    assert rate_of_alarms(100, 30, 75, lambda n, k, m: np.full(10, m)) == 1.0


@pytest.mark.parametrize("sure", [10, 50, 90])
def test_labels_of_the_surest_decisions_are_selected_and_more_of_unsure_ones_are_not(sure: int) -> None:
    scores = [1.0] * sure + [0.6] * (100 - sure)
    surest = selection_by_sureness(scores, [score > 0.9 for score in scores])
    assert surest is not None
    assert surest.found
    assert surest.labelled == {"at least 1 sure": sure}
    assert surest.unlabelled == {"less than 1 sure": 100 - sure}
    assert selection_by_sureness(scores, [score < 0.9 for score in scores]) is None


def test_there_is_no_selection_by_sureness_where_nothing_differs() -> None:
    assert selection_by_sureness([], []) is None
    assert selection_by_sureness([0.8] * 9, [True] * 4 + [False] * 5) is None
    assert selection_by_sureness([0.8, 0.9], [True, True]) is None
