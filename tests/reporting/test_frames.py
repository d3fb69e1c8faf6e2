from __future__ import annotations

import json
import re
import sys

import pandas as pd
import pytest
from support.measured import EXPIRED, VALID, calibration, measured, pattern, shapes
from support.ranked_study import board
from support.rows import both_orders, sampled

from judgeharness_integrations._errors import NotInstalledError
from judgeharness_integrations.analysis.agreement import Panel, agreement_table, alt_test
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap
from judgeharness_integrations.analysis.calibration import Judged, measure_calibration
from judgeharness_integrations.analysis.ranking import RankRequest, rank
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.reporting.frames import results_frame, rows_frame
from judgeharness_integrations.verdictlog import VerdictRow

SHAPES = shapes()
KINDS = {"string", "Int64", "Float64", "boolean"}


def dtypes(found: pd.DataFrame) -> dict[str, str]:
    return {str(name): str(kind) for name, kind in found.dtypes.items()}


# results


def test_a_result_is_one_row_a_criterion() -> None:
    found = SHAPES["rubric"].to_pandas()
    assert list(found["criterion"]) == ["tone", "score"]
    assert list(found["verdict"]) == ["PASS", "7"]
    assert found["score"].isna().tolist() == [True, False]
    assert found["score"][1] == 7.0


def test_every_shape_of_a_result_has_the_same_typed_columns() -> None:
    every = results_frame(SHAPES.values())
    assert len(every) == sum(len(result.criteria) for result in SHAPES.values())
    assert set(dtypes(every).values()) == KINDS
    for result in SHAPES.values():
        assert dtypes(result.to_pandas()) == dtypes(every)


def test_nothing_still_has_typed_columns() -> None:
    assert dtypes(results_frame([])) == dtypes(pattern().to_pandas())
    assert len(results_frame([])) == 0


def test_the_three_statuses_stay_three() -> None:
    found = results_frame([SHAPES["pattern"], SHAPES["abstained"], SHAPES["not graded"]])
    assert list(found["status"]) == ["decided", "abstained", "not_graded"]
    assert list(found["verdict"][:2]) == ["PASS", "ABSTAIN"]
    assert found["verdict"].isna().tolist() == [False, False, True]


def test_what_was_not_measured_is_na_and_not_zero() -> None:
    found = results_frame([SHAPES["informal"], SHAPES["not graded"]])
    assert found.loc[0, ["aggregation_rule", "rule_fixed", "consistency_rate", "largest_flip_rate"]].isna().all()
    assert found["calibrated_precision"].isna().all()
    assert found["input_tokens"].isna().all()


def test_numbers_are_those_of_the_result() -> None:
    result = pattern()
    row = result.to_pandas().iloc[0]
    assert (row["planned"], row["taken"], row["ok"], row["error"]) == (8, 8, 8, 0)
    assert (row["consistency_rate"], row["agreement"]) == (result.consistency_rate, result.agreement)
    assert (row["calibration"], row["calibration_source"]) == ("valid", "human_labeled_set_v1")
    assert (row["calibrated_precision"], row["calibrated_recall"]) == (1.0, 1.0)
    assert (row["perturbations"], row["repetitions"]) == ("paraphrase, format_change", 4)
    swapped = measured(both_orders("AAB", "ABB"), rule_name="swap_consensus", repetitions=3).to_pandas()
    assert swapped["largest_flip_rate"][0] == pytest.approx(5 / 9)


def test_a_calibration_that_does_not_hold_has_a_state_and_no_numbers() -> None:
    row = pattern(calibration_state=EXPIRED).to_pandas().iloc[0]
    assert row["calibration"] == "expired"
    assert row[["calibration_source", "calibrated_precision", "calibrated_recall"]].isna().all()


def test_usage_stands_in_the_first_criterion_so_that_sums_are_right() -> None:
    result = SHAPES["rubric"]
    found = result.to_pandas()
    assert found["calls"].isna().tolist() == [False, True]
    assert found["calls"].sum() == result.usage.calls


def test_positive_rates_that_are_undefined_are_na() -> None:
    undefined = pattern(calibration=calibration(("FAIL", "FAIL")), calibration_state=VALID).to_pandas()
    assert undefined["calibrated_recall"].isna().all()


# rows


def test_rows_keep_labels_scores_and_attributes_apart() -> None:
    rows = [
        *sampled(["PASS", None], gold="FAIL", attributes={"length": 3, "subset": "x", "model": "gpt", "mixed": 1}),
        *sampled([7.5, frozenset("ba")], case_id="c2", gold=8, attributes={"length": 4.5, "mixed": "two"}, model="m"),
    ]
    found = rows_frame(rows)
    assert found["verdict"].tolist() == ["PASS", pd.NA, "7.5", "{a, b}"]
    assert found["score"].isna().tolist() == [True, True, False, True]
    assert found["gold_score"].tolist()[2:] == [8.0, 8.0]
    assert found["outcome"].tolist() == ["ok", "unparsed", "ok", "ok"]
    assert (dtypes(found)["length"], dtypes(found)["subset"], dtypes(found)["mixed"]) == ("Float64", "string", "string")
    assert found["mixed"].tolist() == ["1", "1", "two", "two"]
    assert found["model_"].tolist()[:2] == ["gpt", "gpt"]
    assert found["model"].isna().tolist() == [True, True, False, False]


def test_half_an_emoji_is_no_reason_to_fail() -> None:
    [text] = rows_frame(sampled(["PASS"], reasoning="cut \ud83d"))["reasoning"]
    assert text == "cut \\ud83d"


# reports


def test_a_replay_is_one_row_a_judge_and_criterion() -> None:
    rows = [*both_orders("AAB", "ABA", gold="A", judge="one"), *sampled(["B", None], gold="A", judge="two")]
    report = replay(rows, "majority")
    found = report.to_pandas()
    assert found["judge"].tolist() == ["one", "two"]
    assert found["rule"].tolist() == ["majority"] * 2
    assert found["correct"].tolist() == [1, 0]
    assert found["single_call_accuracy[position_swap]"].isna().tolist() == [False, True]
    interval = report.judges[0].accuracy_interval
    assert interval is not None
    assert (found["accuracy_low"][0], found["accuracy_high"][0]) == interval
    assert set(dtypes(found).values()) <= KINDS
    assert "curtailed" in found


def test_a_ranking_is_one_row_a_judge_with_its_groups() -> None:
    report = board()
    found = report.to_pandas()
    assert found["judge"].tolist() == [one.judge for one in report.judges]
    assert found["elo"].tolist() == [one.elo for one in report.judges]
    assert found["right_of_labelled_low"].tolist() == [
        (one.measures.right_of_labelled_ci95 or (None,))[0] for one in report.judges
    ]
    assert {"elo[law]", "elo[art]"} <= set(found)
    assert found["open"].tolist()[:2] == [False, True]
    assert "eip[law]" in board("eip").to_pandas()


def test_a_judge_without_a_rating_has_a_place_and_na() -> None:
    rows = [
        row
        for judge, said in (("right", "A"), ("half", "AB"))
        for n in range(8)
        for row in sampled([said[n % len(said)]], judge=judge, case_id=f"c{n}", gold="A")
    ]
    found = rank(rows, RankRequest()).to_pandas().set_index("judge")
    assert found.loc["right", "place"] in ("above", "rated")
    assert found["elo"].isna().any()


def test_a_calibration_is_one_row_a_criterion_and_measure() -> None:
    report = calibration(("PASS", "PASS"), ("FAIL", "PASS"), ("PASS", "PASS"))
    found = report.to_pandas().set_index("measure")
    precision = report.criteria["verdict"].precision
    assert precision is not None
    row = found.loc["precision"]
    assert (row["value"], row["successes"], row["n"]) == (precision.value, 2, 3)
    assert (row["low"], row["high"], row["positive"]) == (precision.low, precision.high, "PASS")
    assert "bias" not in found.index
    assert pd.isna(found.loc["kappa", "value"])
    assert pd.isna(found.loc["kappa", "undefined"])


def test_scores_have_errors_and_say_why_they_have_no_rates() -> None:
    items = [Judged(gold=n % 5, verdict=n % 4 + 0.5, status="decided") for n in range(12)]
    found = calibration(criteria={"verdict": measure_calibration(items)}).to_pandas().set_index("measure")
    assert found.loc["bias", "n"] == 12
    assert found.loc["mean_absolute_error", "low"] < found.loc["mean_absolute_error", "value"]
    assert pd.isna(found.loc["root_mean_squared_error", "low"])
    assert "scores have no precision" in found.loc["precision", "undefined"]


def answers(count: int = 40) -> list[VerdictRow]:
    return [
        row
        for place, rater in enumerate("wxyz")
        for n in range(count)
        for said in (frozenset("ab"[: n % 3]) if n % (5 + place) else frozenset("b"),)
        for row in sampled([said], judge=rater, case_id=f"k{n}")
    ]


PANEL = Panel.from_rows(answers())


def test_an_alt_test_is_one_row_a_candidate_score_and_epsilon() -> None:
    report = alt_test(PANEL, humans=["x", "y", "z"], candidates=["w"], epsilons=(0.1, 0.2))
    found = report.to_pandas()
    assert found["epsilon"].tolist() == [0.1, 0.2]
    assert found["passed"].tolist() == [one.passed for one in report.candidates]
    assert found["m_tested"].tolist() == [3, 3]
    few = alt_test(PANEL, humans=["x", "y", "z"], candidates=["w"], min_instances=1000).to_pandas()
    assert few["passed"].isna().all()
    assert few["skipped"].tolist() == [3]
    assert few["reason"].notna().all()


def test_agreement_is_one_row_a_pair_and_of_sets_a_label() -> None:
    table = agreement_table(PANEL, humans=["x", "y"], candidates=["w"], bootstrap=Bootstrap(replicates=0))
    found = table.to_pandas()
    whole = found[found["label"].isna()]
    assert list(zip(whole["first"], whole["second"], strict=True)) == [("x", "y"), ("x", "w"), ("y", "w")]
    assert set(found["label"].dropna()) == {"a", "b"}
    assert found["low"].isna().all()
    assert whole["value"].tolist() == [pair.coefficient.value for pair in table.pairs]


def test_without_pandas_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    sentence = "pandas, which holds data frames, is not installed: pip install '.[pandas]'"
    with pytest.raises(NotInstalledError, match=re.escape(sentence)):
        pattern().to_pandas()


def test_a_frame_survives_json() -> None:
    records = json.loads(results_frame(SHAPES.values()).to_json(orient="records"))
    assert len(records) >= len(SHAPES)
