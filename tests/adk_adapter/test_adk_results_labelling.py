"""The labelling sheet, and the calibration it becomes in a later evaluation."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.adk_answers import always, by_city, in_turn
from support.adk_folder import FINAL_RESPONSE, AgentFolder, judge_options
from support.adk_outcomes import HALLUCINATIONS, MATCH
from support.adk_projects import evaluate_again, evaluated

from judgeharness_adk import AdkResults, load_results
from judgeharness_adk.results.loading import read_sheet
from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations._errors import CaseError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.calibration import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.calibration.items import Judged
from judgeharness_integrations.analysis.calibration.measure import measure_calibration
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.verdictlog import VerdictRow

# The judge passes Oslo and Rome, fails Lima, and cannot decide about Cairo.
SCRIPT = by_city(
    {"Oslo": always("yes"), "Rome": always("yes"), "Lima": always("no"), "Cairo": in_turn("yes", "no", "yes", "no")}
)
GOLD = {"case_0": "PASS", "case_1": "FAIL", "case_2": "FAIL", "case_3": "PASS"}
COLUMNS = [
    *("case_id", "app", "eval_set_id", "eval_id", "run", "turn", "invocation_id", "metric", "criterion"),
    *("rubric", "context", "input", "output", "reference", "gold"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> AgentFolder:
    project = tmp_path_factory.mktemp("labelling")
    return evaluated(
        project,
        SCRIPT,
        cases=4,
        num_runs=1,
        samples=4,
        rubrics=("polite", "-short"),
        aggregation_rule="strict_majority",
    )


@pytest.fixture(scope="module")
def results(folder: AgentFolder) -> AdkResults:
    return load_results(folder.agents_dir.parent)


def lines_of(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(sheet: Path, gold: Callable[[dict[str, str]], str]) -> Path:
    """Label a sheet as a person with a spreadsheet does."""
    lines = lines_of(sheet)
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(line | {"gold": gold(line)} for line in lines)
    return sheet


def by_case(line: dict[str, str]) -> str:
    return GOLD[line["eval_id"]]


@pytest.fixture
def sheet(results: AdkResults, tmp_path: Path) -> Path:
    return fill(results.write_labelling_sheet(tmp_path / "people.csv"), by_case)


def rewritten(sheet: Path, lines: Sequence[dict[str, Any]]) -> Path:
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return sheet


# The sheet


@pytest.mark.slow
def test_a_sheet_shows_what_a_person_needs_and_nothing_the_judge_said(results: AdkResults, tmp_path: Path) -> None:
    path = results.write_labelling_sheet(tmp_path / "deep" / "sheet.csv")
    lines = lines_of(path)
    assert list(lines[0]) == COLUMNS
    assert len(lines) == 4 * 2
    assert {line["gold"] for line in lines} == {""}
    oslo = next(line for line in lines if line["eval_id"] == "case_0" and line["criterion"] == "polite")
    one = next(one for one in results if one.eval_id == "case_0")
    known = {"eval_set_id": "weather_set", "eval_id": "case_0", "run": "1", "turn": "1", "gold": ""}
    assert oslo == known | {
        "case_id": one.invocation_id,
        "app": "weather_app",
        "invocation_id": one.invocation_id,
        "metric": FINAL_RESPONSE,
        "criterion": "polite",
        "rubric": "The answer is polite.",
        "context": one.context,
        "input": "What is the weather in Oslo?",
        "output": "It is 10 degrees in Oslo.",
        "reference": "It is 10 degrees in Oslo.",
    }
    for said in ("PASS", "FAIL", "ABSTAIN", "I say", "yes"):
        assert said not in path.read_text(encoding="utf-8")


def test_a_seed_shuffles_and_repeats(results: AdkResults, tmp_path: Path) -> None:
    first, again, other, plain = (
        results.write_labelling_sheet(tmp_path / f"{place}.csv", seed=seed).read_text(encoding="utf-8")
        for place, seed in enumerate((1, 1, 2, None))
    )
    assert first == again
    assert len({first, other, plain}) == 3
    assert sorted(first.splitlines()) == sorted(plain.splitlines())


def test_lines_of_json_hold_texts_as_they_are(results: AdkResults, tmp_path: Path) -> None:
    path = results.write_labelling_sheet(tmp_path / "sheet.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [list(line) for line in lines] == [COLUMNS] * 8
    assert {line["criterion"] for line in lines} == {"polite", "-short"}


def test_what_cannot_be_written_is_said(results: AdkResults, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sheet\.xlsx: a labelling sheet is \.csv or \.jsonl"):
        results.write_labelling_sheet(tmp_path / "sheet.xlsx")
    with pytest.raises(UsageError, match="nothing to label"):
        results[:0].write_labelling_sheet(tmp_path / "sheet.csv")


@pytest.mark.slow
def test_sentences_are_not_labelled(tmp_path: Path) -> None:
    options = judge_options("scripted-judge", rubrics=None, samples=1)
    evaluated(tmp_path, always("yes"), criteria={HALLUCINATIONS: options, MATCH: options}, num_runs=1)
    results = load_results(tmp_path)
    [criterion] = {line["criterion"] for line in lines_of(results.write_labelling_sheet(tmp_path / "sheet.csv"))}
    assert criterion == "final_response_match"
    with pytest.raises(UsageError, match=r"of 2 metrics \((final|hall)[a-z_0-9]+, [a-z_0-9]+\): name one with metric="):
        results.calibrate(tmp_path / "sheet.csv")
    with pytest.raises(UnknownNameError, match="did you mean 'final_response_match_v2'"):
        results.calibrate(tmp_path / "sheet.csv", metric="final_response_match")
    with pytest.raises(CaseError, match="no gold is filled in"):
        results.calibrate(tmp_path / "sheet.csv", metric=MATCH)
    fill(tmp_path / "sheet.csv", lambda line: "yes")
    report = results.calibrate(tmp_path / "sheet.csv", metric=MATCH)
    assert (report.judge, list(report.criteria)) == (MATCH, ["final_response_match"])


FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
HOSTILE = st.text(st.sampled_from([*FORMULA, *"'\"ab,;\u202e\ud800é"]), min_size=1, max_size=6).filter(str.strip)


def invented(case_id: str, rubric: str, said: str, **facts: Any) -> AdkResult:
    row = VerdictRow(case_id=case_id, judge="j", criterion=rubric, verdict="PASS")
    design = Design(perturbations=("none",), repetitions=1, rule=rule("majority"))
    return AdkResult(
        result=measure([row], case_id=case_id, judge="j", design=design, **facts),
        metric="m",
        invocation_id=case_id,
        rubrics={rubric: said},
        standing=(rubric, "not asked"),
        parts={"model": "m"},
        input=said,
        output=said,
    )


@given(case_id=HOSTILE, rubric=HOSTILE, said=HOSTILE)
def test_no_cell_is_a_formula_and_names_come_back(
    case_id: str, rubric: str, said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    results = AdkResults((invented(case_id, rubric, said),))
    [line] = lines_of(results.write_labelling_sheet(path))
    assert not any(cell.startswith(FORMULA) for cell in line.values() if cell)
    if not any("\ud800" in text for text in (case_id, rubric)):
        path.write_bytes(path.read_bytes().removesuffix(b"\r\n") + b"yes\r\n")
        [label] = read_sheet(path)
        assert label[:3] == (case_id, rubric, "m")
        assert results.calibrate(path).criteria[rubric].n == 1


# Reading labels


@pytest.mark.parametrize(
    ("word", "label"),
    [(word, "PASS") for word in ("PASS", "pass", " yes ", "Y", "true", "TRUE", "1", "1.0", "correct")]
    + [(word, "FAIL") for word in ("FAIL", "fail", "no", "N", "false", "FALSE", "0", "0.0", "incorrect")],
)
def test_words_for_pass_and_fail(results: AdkResults, tmp_path: Path, word: str, label: str) -> None:
    path = fill(results.write_labelling_sheet(tmp_path / "sheet.csv"), lambda line: word)
    assert {one.gold for one in read_sheet(path)} == {label}


def test_json_may_hold_bools_numbers_and_lists(tmp_path: Path) -> None:
    path = tmp_path / "sheet.jsonl"
    golds = [True, 0, 1.0, ["yes", False, None], None, "", [], "  "]
    path.write_text("".join(json.dumps({"case_id": 7, "criterion": "'c", "gold": gold}) + "\n" for gold in golds))
    labels = read_sheet(path)
    assert [label.gold for label in labels] == ["PASS", "FAIL", "PASS", "PASS", "FAIL"]
    assert set(labels) <= {("7", "'c", "", "PASS"), ("7", "'c", "", "FAIL")}


def test_an_unknown_word_is_named_with_its_line(sheet: Path) -> None:
    fill(sheet, lambda line: "maybe")
    with pytest.raises(CaseError, match=r"people\.csv, line 2: gold 'maybe' is neither PASS nor FAIL"):
        read_sheet(sheet)


def test_a_sheet_that_cannot_be_read_is_named(sheet: Path, tmp_path: Path) -> None:
    rewritten(sheet, [{"case_id": "a", "gold": "yes"}])
    with pytest.raises(CaseError, match=r"line 2: column 'criterion' is missing; save the sheet as comma-separated"):
        read_sheet(sheet)
    with pytest.raises(CaseError, match=r"a labelling sheet is \.csv or \.jsonl"):
        read_sheet(tmp_path / "sheet.xlsx")
    with pytest.raises(CaseError, match="cannot be read"):
        read_sheet(tmp_path / "nowhere.csv")


# Calibration


def test_decisions_are_compared_with_the_labels(results: AdkResults, sheet: Path) -> None:
    report = results.calibrate(sheet)
    assert (report.name, report.source, report.judge, report.excluded_ties) == ("people", "human", FINAL_RESPONSE, 0)
    assert list(report.criteria) == ["polite", "-short"]
    for measured in report.criteria.values():
        # gold PASS FAIL FAIL PASS, decided PASS PASS FAIL and once not at all
        assert (measured.n, measured.positive) == (4, "PASS")
        assert measured.precision == Rate.of(1, 2)
        assert measured.recall == Rate.of(1, 2)
        assert measured.coverage == Rate.of(3, 4)
    assert report.fingerprint == results[0].fingerprint
    asked = datetime.fromisoformat(report.measured_at)
    assert asked.isoformat() == max(
        datetime.fromisoformat(row.asked_at).isoformat() for one in results for row in one.result.rows if row.asked_at
    )


def test_failures_may_be_what_counts(results: AdkResults, sheet: Path) -> None:
    measured = results.calibrate(sheet, positive="FAIL", name="f", source="executable").criteria["polite"]
    assert (measured.positive, measured.precision, measured.recall) == ("FAIL", Rate.of(1, 1), Rate.of(1, 2))
    core = measure_calibration(
        [
            Judged(
                gold=GOLD[str(one.eval_id)],
                verdict=polite.verdict,
                status=polite.status,
                confidence=polite.consistency_rate,
            )
            for one in results
            for polite in [one.result.criteria["polite"]]
        ],
        criterion="polite",
        positive="FAIL",
    )
    assert measured == core
    with pytest.raises(UsageError, match="positive is PASS or FAIL, not 'yes'"):
        results.calibrate(sheet, positive="yes")
    with pytest.raises(CaseError, match="the source of a label set is"):
        results.calibrate(sheet, source="me")


@pytest.mark.parametrize(("positive", "word", "judge"), [("FAIL", "yes", "PASS"), ("PASS", "no", "FAIL")])
def test_a_label_that_nobody_says_of_a_rubric_spares_the_others(
    folder: AgentFolder, tmp_path: Path, positive: str, word: str, judge: str
) -> None:
    """People and rule say the other word of `polite` alone; `-short` has both."""
    results = load_results(folder.agents_dir.parent).filter(lambda one: one.eval_id in ("case_0", "case_2"))
    told = {one.eval_id: one.result.criteria["polite"].verdict for one in results}
    [case] = [case for case, verdict in told.items() if verdict == judge]

    def gold(line: dict[str, str]) -> str:
        if line["criterion"] == "polite":
            return word if line["eval_id"] == case else ""
        return by_case(line)

    sheet = fill(results.write_labelling_sheet(tmp_path / "sheet.csv"), gold)
    report = results.calibrate(sheet, positive=positive)
    polite, short = report.criteria["polite"], report.criteria["-short"]
    assert (polite.positive, polite.n, polite.precision, polite.recall) == (positive, 1, None, None)
    assert polite.base_rate == Rate.of(0, 1)
    assert (short.positive, short.precision, short.recall) == (positive, Rate.of(1, 1), Rate.of(1, 1))
    assert CalibrationReport.load(report.save(tmp_path / "report.json")) == report


def test_several_annotators_vote_and_ties_are_counted(results: AdkResults, sheet: Path) -> None:
    lines = lines_of(sheet)
    [first, second, *_] = [line for line in lines if line["criterion"] == "polite"]
    other = "yes" if by_case(second) == "FAIL" else "no"
    votes = [first | {"gold": "no"}, first | {"gold": "no"}, second | {"gold": other}]
    report = results.calibrate(rewritten(sheet, [*lines, *votes]))
    measured = report.criteria["polite"]
    assert (report.excluded_ties, measured.n) == (1, 3)
    assert report.criteria["-short"].n == 4


def test_labels_of_nothing_measured_are_told(
    results: AdkResults, sheet: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = lines_of(sheet)
    strange = [lines[0] | change for change in ({"case_id": "e-0"}, {"criterion": "rude"}, {"metric": "other"})]
    with caplog.at_level(logging.WARNING, logger="judgeharness_adk"):
        report = results.calibrate(rewritten(sheet, [*lines, *strange]))
    assert report.criteria["polite"].n == 4
    assert [record.getMessage() for record in caplog.records] == [
        f"{sheet}: 3 of 11 labels are of no measured rubric and count for nothing"
    ]
    with pytest.raises(
        CaseError, match="none of its 3 labels is of a measured rubric: take the sheet of these results"
    ):
        results.calibrate(rewritten(sheet, strange))


def test_a_sheet_of_ones_own_names_case_rubric_and_gold(results: AdkResults, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    rewritten(own, [{"case_id": one.invocation_id, "criterion": "polite", "gold": "yes"} for one in results])
    assert results.calibrate(own).criteria["polite"].n == 4


def test_measurements_that_do_not_say_when_are_of_now(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rewritten(sheet, [{"case_id": "c", "criterion": "r", "gold": "1"}])
    report = AdkResults((invented("c", "r", ""),)).calibrate(sheet)
    assert abs(datetime.now(UTC) - datetime.fromisoformat(report.measured_at)) < timedelta(minutes=5)


def test_a_measurement_that_was_interrupted_calibrates_nothing(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rewritten(sheet, [{"case_id": case, "criterion": "r", "gold": "1"} for case in ("a", "b")])
    whole, half = invented("a", "r", ""), invented("b", "r", "", state="budget_exhausted")
    assert AdkResults((whole, half)).calibrate(sheet).criteria["r"].n == 1


def polite_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("  polite ") and line.rstrip()[-1] != "-"]


@pytest.mark.slow
def test_a_calibration_holds_in_a_later_evaluation_until_something_changes(tmp_path: Path) -> None:
    folder = evaluated(tmp_path, SCRIPT, cases=4, num_runs=1, samples=4)
    results = load_results(tmp_path)
    sheet = fill(results.write_labelling_sheet(tmp_path / "people.csv"), by_case)
    saved = results.calibrate(sheet).save(folder.path / "calibration.json")
    config = json.loads(folder.config.read_text())
    criterion = config["criteria"][FINAL_RESPONSE]
    criterion["judge_harness"]["calibration"] = saved.name
    folder.config.write_text(json.dumps(config))
    evaluate_again(folder, SCRIPT)

    later = load_results(tmp_path).latest()
    assert len(later) == 4
    assert {str(one.result.calibration_state) for one in later} == {"valid"}
    assert all(one.result.calibration == CalibrationReport.load(saved) for one in later)
    assert [line.endswith("calibrated (people, n=4)") for line in polite_lines(later.report())] == [True]
    everything = load_results(tmp_path)
    assert "4 uncalibrated; 4 calibrated (people, n=4)" in everything.report()
    assert "was not measured (4 of 8 measurements)" in everything.report()
    assert everything.calibrate(sheet) == results.calibrate(sheet)

    criterion["rubrics"][0]["rubric_content"]["text_property"] = "The answer is very polite."
    folder.config.write_text(json.dumps(config))
    evaluate_again(folder, SCRIPT)
    changed = load_results(tmp_path)
    last = changed.latest()
    assert {str(one.result.calibration_state) for one in last} == {"expired: prompt changed"}
    assert [line.endswith("expired: prompt changed") for line in polite_lines(last.report())] == [True]
    fill(changed.write_labelling_sheet(tmp_path / "all.csv"), by_case)
    with pytest.raises(UsageError, match=r"are of 2 configurations \(prompt changed\): keep those of one"):
        changed.calibrate(tmp_path / "all.csv")
    one_only = changed.filter(lambda one: one.fingerprint == changed[-1].fingerprint)
    assert one_only.calibrate(tmp_path / "all.csv").parts == changed[-1].parts


def test_a_calibration_without_labels_of_a_rubric_says_so(results: AdkResults, sheet: Path) -> None:
    lines = [line for line in lines_of(sheet) if line["criterion"] == "polite"]
    report = results.calibrate(rewritten(sheet, lines))
    held = CalibrationState(status="valid")
    calibrated = AdkResults(
        tuple(replace(one, result=replace(one.result, calibration=report, calibration_state=held)) for one in results)
    )
    ends = [line.split("  ")[-1] for line in calibrated.report().splitlines() if "calibrated" in line]
    assert ends == [
        "calibrated (people, n=4)",
        "uncalibrated: no label in people",
        "- -short is uncalibrated: people holds no label for it",
    ]


def test_many_rubrics_without_labels_are_counted(results: AdkResults, sheet: Path) -> None:
    report, held = results.calibrate(sheet), CalibrationState(status="valid")
    own = [invented(f"c{number}", f"r{number}", "") for number in range(30)]
    text = AdkResults(
        tuple(replace(one, result=replace(one.result, calibration=report, calibration_state=held)) for one in own)
    ).report()
    lines = text.partition("\nnot measured:\n")[2].splitlines()
    assert len(lines) == 21
    assert "  - r7 is uncalibrated: people holds no label for it (1 of 30 measurements)" in lines
    assert lines[-1] == "  - 13 more, which print(one.result) tells for every measurement"
