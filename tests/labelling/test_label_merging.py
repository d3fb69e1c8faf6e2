"""Several annotators' labels as one calibration set and one case file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import AnswerCase, CalibrationSet, PairwiseCase
from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.cases import read_cases
from judgeharness_integrations.labelling import calibration_set_from_logs, label_agreement
from judgeharness_integrations.labelling.labellog import write_gold_file
from judgeharness_integrations.verdictlog import VerdictRow

CASES = [AnswerCase(case_id=f"c{place}", output="text") for place in range(4)]


def rows(judge: str, *verdicts: Any, criterion: str = "verdict") -> list[VerdictRow]:
    return [
        VerdictRow(case_id=f"c{place}", verdict=verdict, judge=judge, criterion=criterion)
        for place, verdict in enumerate(verdicts)
        if verdict is not None
    ]


def test_the_set_keeps_every_label_and_its_own_rule_folds_them() -> None:
    logs = [*rows("anna", "PASS", "PASS", "PASS"), *rows("ben", "PASS", "FAIL"), *rows("cleo", "FAIL")]
    labelled = calibration_set_from_logs(logs, CASES, name="people", positive="PASS")
    assert [label for _, label in labelled.labeled_examples] == [
        {"": ["PASS", "PASS", "FAIL"]},
        {"": ["PASS", "FAIL"]},
        {"": ["PASS"]},
    ]
    golds, ties = labelled.golds()
    assert (golds, ties) == ({"c0": {"": "PASS"}, "c2": {"": "PASS"}}, 1)
    assert (labelled.positive, labelled.source, labelled.consensus) == ("PASS", "human", "majority")


def test_criteria_that_were_named_keep_their_names() -> None:
    logs = [*rows("anna", "PASS", criterion="tone"), *rows("anna", 4, criterion="facts")]
    [(_, label)] = calibration_set_from_logs(logs, CASES, name="people").labeled_examples
    assert label == {"tone": ["PASS"], "facts": [4]}


def test_the_same_log_given_twice_counts_once() -> None:
    log = rows("anna", "PASS", "FAIL")
    twice = calibration_set_from_logs([*log, *log], CASES, name="people")
    assert [label for _, label in twice.labeled_examples] == [{"": ["PASS"]}, {"": ["FAIL"]}]


@pytest.mark.parametrize(
    ("logs", "sentence"),
    [
        ([*rows("anna", "PASS"), *rows("anna", "FAIL")], "'anna' labels 'verdict' of case 'c0' as PASS and as FAIL"),
        ([*rows("anna", "1"), *rows("ben", 1)], "holds labels of 'anna' and numbers of 'ben': use one kind"),
        ([*rows("anna", frozenset("a")), *rows("ben", "a")], "sets of labels of 'anna' and labels of 'ben'"),
        ([VerdictRow(case_id="x", verdict="PASS")], "none of 1 labelled cases is a case given"),
        ([VerdictRow(case_id="c0", verdict=None, outcome="refused")], "none of 0 labelled cases"),
    ],
)
def test_labels_that_cannot_be_merged(logs: list[VerdictRow], sentence: str) -> None:
    with pytest.raises(CaseError, match=sentence):
        calibration_set_from_logs(logs, CASES, name="people")


def test_agreement_of_every_pair_of_annotators() -> None:
    logs = [
        *rows("ben", "PASS", "FAIL", "FAIL"),
        *rows("anna", "PASS", "FAIL", "PASS", "PASS"),
        *rows("cleo", 1, criterion="x"),
    ]
    [pair] = label_agreement(logs)
    assert (pair.criterion, pair.annotators, pair.items, pair.agreed) == ("verdict", ("anna", "ben"), 3, 2)
    assert pair.kappa is not None
    assert pair.kappa.value == pytest.approx(0.4)
    assert pair.to_dict()["kappa"]["value"] == pair.kappa.value
    [alike] = label_agreement([*rows("a", "PASS"), *rows("b", "PASS")])
    assert (alike.agreed, alike.kappa, alike.to_dict()["kappa"]) == (1, None, None)


LABELS = st.one_of(
    st.sampled_from(["PASS", "1", "-3", "[x", '["a"]', "{}", "=1+1", "- no", "yes, no", 'a "b"', "null"]),
    st.integers(-5, 5),
    st.frozensets(st.sampled_from(["toxic", "spam", "1"])),
)


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@given(label=LABELS, criterion=st.sampled_from(["verdict", "tone", "1"]))
def test_golds_that_are_written_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, ending: str, label: Any, criterion: str
) -> None:
    logs = [*rows("anna", label, label, criterion=criterion), *rows("ben", label, criterion=criterion)]
    labelled = calibration_set_from_logs(logs, CASES, name="people")
    path = write_gold_file(CASES, labelled, tmp_path_factory.mktemp("gold") / f"gold{ending}")
    assert CalibrationSet.from_file(path).golds() == labelled.golds()


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_cases_come_back_as_they_were_with_gold_and_the_number_of_labels(tmp_path: Path, ending: str) -> None:
    full: dict[str, Any] = {
        "input": "=q",
        "reference": "r\r\nr",
        "context": "",
        "names": ("anna", "ben"),
        "author": "gpt",
        "attributes": {"subset": "x", "price": 2},
    }
    cases = [
        PairwiseCase(case_id="c0", output="-1", output_b='b "x", y', author_b="me", gold="B", **full),
        AnswerCase(case_id="c1", output=""),
        AnswerCase(case_id="c2", output="tied"),
        AnswerCase(case_id="c3", output="not labelled", gold="A"),
    ]
    logs = [*rows("anna", "A", "A", "A"), *rows("ben", "A", None, "B")]
    path = write_gold_file(cases, calibration_set_from_logs(logs, cases, name="x"), tmp_path / "new" / f"gold{ending}")
    read = CalibrationSet.from_file(path)
    pair, single = read.cases
    assert [case.case_id for case in read_cases(path)] == ["c0", "c1", "c2"]
    assert (read.ties, read.golds()[1]) == ((("c2", ""),), 1)
    assert (pair.output, pair.output_b, pair.author, pair.author_b) == ("-1", 'b "x", y', "gpt", "me")
    assert (pair.input, pair.reference, pair.names, pair.gold) == ("=q", "r\r\nr", ("anna", "ben"), "A")
    assert {**pair.attributes, "price": int(pair.attributes["price"]), "label_count": 2} == {
        "subset": "x",
        "price": 2,
        "label_count": 2,
    }
    assert (single.case_id, single.output, str(single.attributes["label_count"])) == ("c1", "", "1")
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_evenly_split_items_of_every_criterion_stay_in_the_file_and_are_counted(tmp_path: Path, ending: str) -> None:
    logs = [
        *rows("anna", "PASS", "PASS", "FAIL", criterion="tone"),
        *rows("ben", "PASS", "FAIL", "PASS", criterion="tone"),
        *rows("anna", 4, 4, 3, 1, criterion="facts"),
        *rows("ben", 3, 4, 1, criterion="facts"),
    ]
    labelled = calibration_set_from_logs(logs, CASES, name="x")
    read = CalibrationSet.from_file(write_gold_file(CASES, labelled, tmp_path / f"gold{ending}"))
    assert read.golds() == labelled.golds()
    assert read.golds()[1] == 4
    assert [case.case_id for case in read.cases] == ["c0", "c1", "c3"]


@pytest.mark.parametrize("count", ["", "1", "many"])
def test_a_case_without_gold_that_nobody_or_one_labelled_is_no_tie(tmp_path: Path, count: str) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(f"case_id,output,gold,label_count\nc0,x,PASS,1\nc1,x,,{count}\n")
    assert CalibrationSet.from_file(path).golds() == ({"c0": {"": "PASS"}}, 0)


@pytest.mark.parametrize(
    ("name", "verdicts", "sentence"),
    [("gold.txt", ("A", "A"), r"a case file is \.csv or \.jsonl"), ("gold.csv", ("A", "B"), "no case has a consensus")],
)
def test_gold_files_that_cannot_be_written(tmp_path: Path, name: str, verdicts: tuple[str, str], sentence: str) -> None:
    logs = [*rows("anna", verdicts[0]), *rows("ben", verdicts[1])]
    with pytest.raises(UsageError, match=sentence):
        write_gold_file(CASES, calibration_set_from_logs(logs, CASES, name="x"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
