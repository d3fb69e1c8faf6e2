"""What a run judged, found again for people to label: its cases, what is asked, and how they ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.audit.cases import is_run, plain_questions, read_run_cases
from judgeharness_integrations.cli import main
from judgeharness_integrations.labelling.questions import Question

JUDGES = """
def good(case):
    return "A" if "good" in case.output else "B"

def torn(case):  # its two orders disagree about c2
    return "A" if case.case_id == "c2" else good(case)

def broken(case):
    if case.case_id == "c3":
        raise ValueError("nobody home")
    return good(case)

def dead(case):
    raise ValueError("nobody home")

def score(case):
    return {"tone": 4, "facts": 5.5}

def points(case):
    return len(case.output)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "plain_judges.py").write_text(JUDGES)
    lines = [f"c{n},q,{'good' if n % 2 else 'bad'},{'bad' if n % 2 else 'good'},the-author" for n in range(1, 5)]
    (tmp_path / "cases.csv").write_text("\n".join(["case_id,input,output,output_b,author", *lines, ""]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(place: Path, *judges: str, out: str = "out", **changes: Any) -> Path:
    config: dict[str, Any] = {
        "judges": [{"name": judge, "callable": f"plain_judges:{judge}"} for judge in judges],
        "cases": "cases.csv",
        "harness": {
            "perturbations": ["none", "position_swap"],
            "repetitions": 1,
            "aggregation_rule": "swap_consensus",
        },
    }
    (place / "run.json").write_text(json.dumps(config | changes))
    main(["run", str(place / "run.json"), "--out", str(place / out), "--yes"])
    return place / out


@pytest.mark.slow
def test_a_run_tells_its_cases_and_what_they_are_asked(place: Path) -> None:
    out = run(place, "good", "torn")
    found = read_run_cases(out)
    assert [case.case_id for case in found.cases] == ["c1", "c2", "c3", "c4"]
    assert found.said == {"verdict": frozenset("AB")}
    assert found.ended("c2", "verdict") == {"decided", "abstained"}
    assert found.ended("c1", "verdict") == {"decided"}
    (question,) = plain_questions(found, annotator="anna", only="abstained")
    assert question.case_id == "c2"
    assert str(question.answers) == "A / B / TIE"
    with pytest.raises(UsageError, match="none of 4 questions is about a case that ended not_graded"):
        plain_questions(found, annotator="anna", only="not_graded")


def test_what_is_left_out_moves_no_place(place: Path) -> None:
    found = read_run_cases(run(place, "good", "torn"))
    every = {question.key: question for question in plain_questions(found, annotator="anna")}
    for question in plain_questions(found, annotator="anna", only="abstained"):
        assert every[question.key] == question


@pytest.mark.sampled(2)
@pytest.mark.parametrize("judge", ["broken", "dead"])
def test_what_failed_was_not_graded(place: Path, judge: str) -> None:
    asked = plain_questions(read_run_cases(run(place, judge)), annotator="anna", only="not_graded")
    assert {question.case_id for question in asked} == ({"c3"} if judge == "broken" else {"c1", "c2", "c3", "c4"})
    assert {question.criterion for question in asked} == {"verdict"}


def test_what_was_never_asked_was_not_graded(place: Path) -> None:
    out = run(place, "good", execution={"budget": {"calls": 3}, "max_concurrency": 1})
    asked = plain_questions(read_run_cases(out), annotator="anna", only="not_graded")
    assert {"c3", "c4"} <= {question.case_id for question in asked}


def by_criterion(questions: list[Question]) -> dict[str, str]:
    return {question.criterion: str(question.answers) for question in questions}


@pytest.mark.slow
def test_every_criterion_is_asked_as_the_judges_answered(place: Path) -> None:
    several = {"perturbations": ["none"], "repetitions": 1}
    scores = read_run_cases(run(place, "score", harness=several | {"aggregation_rule": "median"}))
    asked = plain_questions(scores, annotator="anna")
    assert by_criterion(asked) == {"tone": "a number", "facts": "a number"}
    assert [question.criterion for question in asked] == ["tone", "facts"] * 4
    assert by_criterion(plain_questions(scores, annotator="anna", criteria=["tone"])) == {"tone": "a number"}
    passed = run(place, "points", out="passed", harness=several | {"aggregation_rule": "median(pass_at=4)"})
    assert by_criterion(plain_questions(read_run_cases(passed), annotator="anna")) == {"verdict": "PASS / FAIL"}


def test_the_case_file_is_found_or_asked_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = run(place, "good", out="deep/er/out")
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    assert len(read_run_cases(out).cases) == 4
    text = (place / "cases.csv").read_text()
    (place / "cases.csv").write_text(text.replace("bad", "worse"))
    with pytest.raises(UsageError, match=r"and .*cases\.csv is not what it was then: give them as --cases FILE"):
        read_run_cases(out)
    (place / "cases.csv").rename(place / "kept.csv")
    with pytest.raises(UsageError, match=r"judged the cases of cases\.csv, and cases\.csv is not found from here"):
        read_run_cases(out)
    assert len(read_run_cases(out, place / "kept.csv").cases) == 4


def test_the_case_file_is_found_beside_the_configuration(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "mine").mkdir()
    for name in ("plain_judges.py", "cases.csv"):
        (place / name).rename(place / "mine" / name)
    run(place / "mine", "good", out="../runs/first")
    assert json.loads((place / "runs" / "first" / "run.json").read_text())["configured_in"] == "../../mine"
    for elsewhere in (place, place / "runs"):
        monkeypatch.chdir(elsewhere)
        assert len(read_run_cases(place / "runs" / "first").cases) == 4
    assert len(read_run_cases(Path("first")).cases) == 4


def test_of_a_larger_case_file_those_of_the_run_are_labelled(place: Path) -> None:
    out = run(place, "good")
    more = (place / "cases.csv").read_text() + "c9,q,x,y,z\n"
    (place / "more.csv").write_text(more)
    assert [case.case_id for case in read_run_cases(out, place / "more.csv").cases] == ["c1", "c2", "c3", "c4"]
    (place / "others.csv").write_text("case_id,output\nd1,x\n")
    with pytest.raises(UsageError, match=r"none of the 4 cases of .* is in .*others\.csv"):
        read_run_cases(out, place / "others.csv")


def test_a_run_whose_log_is_gone_needs_its_cases_named(place: Path) -> None:
    out = run(place, "good")
    (out / "verdicts.sqlite").unlink()
    with pytest.raises(UsageError, match="is not noted there: give them as --cases FILE"):
        read_run_cases(out)
    assert len(read_run_cases(out, place / "cases.csv").cases) == 4
    (out / "run.json").write_text(json.dumps({"log": "postgresql://u:[redacted]@h/d"}))
    assert len(read_run_cases(out, place / "cases.csv").cases) == 4


def test_a_folder_without_results_is_told(tmp_path: Path) -> None:
    assert not is_run(tmp_path)
    with pytest.raises(ConfigError, match="holds no results of a run"):
        read_run_cases(tmp_path)
