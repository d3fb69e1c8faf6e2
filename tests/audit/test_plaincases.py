"""Plain cases on the page: what is asked of a run, blind, and what an answer becomes in the log."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from support import audit_scenes

from judgeharness_integrations._errors import ConfigError, LogStorageError, RunBusyError, UsageError
from judgeharness_integrations.audit.plaincases import PlainSource, PlainTask
from judgeharness_integrations.audit.runcases import RunCases, is_run, plain_questions, read_run_cases
from judgeharness_integrations.audit.source import Answering, AuditSource, CaseView
from judgeharness_integrations.audit.web.security import form_token
from judgeharness_integrations.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.cli import main
from judgeharness_integrations.labelling import LabelLog, parse_answers
from judgeharness_integrations.labelling.questions import Question
from judgeharness_integrations.verdictlog import read_log

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
PAIRS = [
    PairwiseCase(case_id=f"gpt-{n}", input="q", output=f"one {n}", output_b=f"two {n}", author="gpt", author_b="claude")
    for n in range(8)
]


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


def task(tmp_path: Path, cases: list[Any] | None = None, **options: Any) -> PlainTask:
    asked = plain_questions(RunCases(cases=cases or PAIRS), annotator="anna", **options)
    return PlainTask(asked, LabelLog(tmp_path / "labels" / "anna.jsonl"), annotator="anna", now=lambda: "now")


def source(tmp_path: Path, cases: list[Any] | None = None, **options: Any) -> PlainSource:
    return PlainSource(task(tmp_path, cases, **options), title="cases")


def shown_better(view: CaseView) -> str:
    """Return the place at which the answer `one ...` stands."""
    texts = dict(view.texts)
    return "A" if texts["Answer A"].startswith("one") else "B"


def test_a_preference_is_written_in_the_canonical_frame(tmp_path: Path) -> None:
    page = source(tmp_path)
    for item in page.items():
        view = page.views(item.item_id)
        assert isinstance(view, CaseView)
        page.label(item.item_id, shown_better(view), "it is one")
    rows = read_log(tmp_path / "labels" / "anna.jsonl")
    assert {row.verdict for row in rows} == {"A"}
    assert {row.swapped for row in rows} == {True, False}
    assert {(row.judge, row.reasoning, row.asked_at) for row in rows} == {("anna", "it is one", "now")}
    shown = {shown_better(page.views(item.item_id)): item.label for item in page.items()}
    assert shown == {"A": "A", "B": "B"}


def test_nothing_shown_tells_case_author_or_gold(tmp_path: Path) -> None:
    page = source(tmp_path)
    for item in page.items():
        told = repr((item, page.views(item.item_id), page.answering(item.item_id)))
        assert "gpt" not in told
        assert "claude" not in told


def test_ids_stay_when_other_cases_are_left_out(tmp_path: Path) -> None:
    every = {item.item_id for item in source(tmp_path).items()}
    few = {item.item_id for item in source(tmp_path, PAIRS[:3]).items()}
    assert len(every) == 8
    assert few < every


def test_a_label_changed_or_taken_back_leaves_one_or_none(tmp_path: Path) -> None:
    page = source(tmp_path)
    first = page.ordered("drawn")[0]
    page.label(first, "A", "")
    page.label(first, "TIE", "after all")
    assert [(item.label, item.note) for item in page.items() if item.label] == [("TIE", "after all")]
    assert page.progress().counts == {"TIE": 1}
    assert len(read_log(tmp_path / "labels" / "anna.jsonl")) == 1
    page.label(first, None, "")
    page.label(first, None, "")
    assert page.progress().labelled == 0
    assert (tmp_path / "labels" / "anna.jsonl").read_text() == ""


def test_what_fails_while_a_label_is_changed_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = source(tmp_path)
    first, second = page.ordered("drawn")[:2]
    page.label(first, "A", "")
    page.label(second, "B", "")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(LogStorageError, match=r"not kept: .*anna\.jsonl cannot be written \(No space"):
        page.label(first, "TIE", "")
    assert [item.label for item in page.items() if item.label] == ["A", "B"]
    assert {path.name for path in (tmp_path / "labels").iterdir()} == {"anna.jsonl"}


def test_what_stands_in_the_file_is_shown_whoever_wrote_it(tmp_path: Path) -> None:
    one, other = source(tmp_path), source(tmp_path)
    first = one.ordered("drawn")[0]
    one.label(first, "B", "")
    assert [item.item_id for item in other.items() if item.label == "B"] == [first]
    assert (other.progress().labelled, other.progress().items) == (1, 8)


def test_answers_of_another_seed_are_shown_at_their_places(tmp_path: Path) -> None:
    page = source(tmp_path, seed=1)
    for item in page.items():
        page.label(item.item_id, shown_better(page.views(item.item_id)), "")
    again = source(tmp_path, seed=2)
    assert all(item.label == shown_better(again.views(item.item_id)) for item in again.items())


@pytest.mark.parametrize(
    ("answers", "expected", "said", "kept"),
    [
        ("PASS,FAIL", Answering, "FAIL", "FAIL"),
        ("1..5", Answering(kind="number", low=1, high=5), "3.5", 3.5),
        ("number", Answering(kind="number"), "-2", -2),
        ("toxic;spam", Answering, "spam; toxic", frozenset({"spam", "toxic"})),
        ("toxic;spam", Answering, ";", frozenset()),
        ("any", Answering(kind="text"), "so so", "so so"),
    ],
)
def test_every_kind_of_answer_comes_back_as_it_was_given(
    tmp_path: Path, answers: str, expected: Any, said: str, kept: object
) -> None:
    page = source(tmp_path, [AnswerCase(case_id="c", output="text")], answers=parse_answers(answers))
    (item,) = page.items()
    found = page.answering(item.item_id)
    assert found == expected if isinstance(expected, Answering) else found.choices
    page.label(item.item_id, said, "")
    assert read_log(tmp_path / "labels" / "anna.jsonl")[0].verdict == kept
    (item,) = page.items()
    assert item.label is not None
    page.label(item.item_id, item.label, "")  # what is shown may be given again
    assert read_log(tmp_path / "labels" / "anna.jsonl")[0].verdict == kept


def test_choices_have_keys_and_letters(tmp_path: Path) -> None:
    page = source(
        tmp_path, answers=parse_answers(",".join(f"l{n}" if n < 9 else f"{'xyz'[n - 9]}o" for n in range(12)))
    )
    choices = page.answering(page.ordered("drawn")[0]).choices
    assert [choice.key for choice in choices] == [*"123456789", "", "", ""]
    assert [choice.alias for choice in choices] == [""] * 9 + ["x", "y", "z"]
    assert [choice.tone for choice in source(tmp_path, [AnswerCase(case_id="c", output="")]).answering(
        source(tmp_path, [AnswerCase(case_id="c", output="")]).ordered("drawn")[0]
    ).choices] == ["good", "bad"]  # fmt: skip


def test_what_is_no_answer_is_refused(tmp_path: Path) -> None:
    page = source(tmp_path, [AnswerCase(case_id="c", output="text")])
    with pytest.raises(UsageError, match="'MAYBE' is not an answer: give PASS / FAIL"):
        page.label(page.ordered("drawn")[0], "MAYBE", "")
    assert page.progress().labelled == 0


def test_labels_and_numbers_about_one_criterion_are_refused(tmp_path: Path) -> None:
    cases = [AnswerCase(case_id=f"c{n}", output="text") for n in range(2)]
    page = source(tmp_path, cases, answers=parse_answers("any"))
    first, second = page.ordered("drawn")
    page.label(first, "fine", "")
    with pytest.raises(UsageError, match="your other answers about verdict are labels: give the same"):
        page.label(second, "7", "")
    page.label(first, "7", "")  # the only one may change its kind
    page.label(second, "8", "")
    with pytest.raises(UsageError, match="holds numbers of 'anna' for 'verdict', which PASS / FAIL does not fit"):
        source(tmp_path, cases)


def test_questions_tell_what_is_asked(tmp_path: Path) -> None:
    def asked(name: str, answers: str | None = None, cases: list[Any] | None = None) -> CaseView:
        options: dict[str, Any] = {"criteria": [name], "answers": None if answers is None else parse_answers(answers)}
        page = source(tmp_path / name / str(answers), cases, **options)
        return page.views(page.ordered("drawn")[0])

    single = [AnswerCase(case_id="c", output="text", context="facts", reference="so")]
    assert asked("verdict").question == "Which answer is better?"
    assert asked("tone").question == "Which answer is better? (tone)"
    assert asked("verdict").side_by_side == ("Answer A", "Answer B")
    assert asked("verdict", None, single).question == "Does the answer pass?"
    assert asked("verdict", "1..5", single).question == "What do you say about it?"
    assert asked("tone", "1..5", single).question == "What do you say about tone?"
    assert asked("tone", "1..5", single).texts == (("Context", "facts"), ("Answer", "text"), ("Reference", "so"))
    assert asked("tone", "1..5", single).side_by_side == ()


def test_several_criteria_can_be_filtered(tmp_path: Path) -> None:
    page = source(tmp_path, criteria=["tone", "facts"])
    assert page.filters == ("criterion",)
    assert [item.title for item in page.items()][:3] == ["Case 1, tone", "Case 1, facts", "Case 2, tone"]
    assert {item.columns["criterion"] for item in page.items()} == {"tone", "facts"}
    assert source(tmp_path / "one").filters == ()


def test_it_is_a_source_of_the_page(tmp_path: Path) -> None:
    def titled(page: AuditSource) -> tuple[str, ...]:
        return (page.kind, page.title, page.annotator, *page.orders)

    assert titled(source(tmp_path)) == ("cases", "cases", "anna", "drawn")


def test_two_tabs_lose_nothing(tmp_path: Path) -> None:
    page = source(tmp_path)

    def all_of(said: str) -> None:
        for item in page.items():
            page.label(item.item_id, said, "")

    tabs = [threading.Thread(target=all_of, args=(said,)) for said in ("A", "B", "TIE")]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert page.progress().labelled == len(read_log(tmp_path / "labels" / "anna.jsonl")) == 8


@pytest.mark.parametrize(
    ("answers", "form", "kept"),
    [
        (None, {"value": "TIE"}, "TIE"),
        ("1..5", {"value": "4"}, 4),
        ("toxic;spam", {"value": ["spam", "toxic"]}, frozenset({"spam", "toxic"})),
        ("any", {"value": " <b>{{ 7 * 7 }} "}, "<b>{{ 7 * 7 }}"),
    ],
)
def test_the_page_takes_every_kind_of_answer(
    tmp_path: Path, answers: str | None, form: dict[str, Any], kept: object
) -> None:
    page = source(tmp_path, answers=None if answers is None else parse_answers(answers))
    client = audit_scenes.client(page)
    first = page.ordered("drawn")[0]
    shown = client.get(f"/item?id={first}")
    assert shown.status_code == 200
    assert "Answer A" in shown.text
    assert "gpt" not in shown.text
    said = {"csrf": form_token(audit_scenes.TOKEN), "note": "why", **form}
    answer = client.post(f"/label?id={first}", data=said, headers={"origin": "http://127.0.0.1:8123"})
    assert answer.status_code == 200
    (row,) = read_log(tmp_path / "labels" / "anna.jsonl")
    assert row.reasoning == "why"
    canonical = {"A": "B", "B": "A"}.get(str(kept), kept) if row.swapped else kept
    assert row.verdict == canonical
    assert "<b>{{" not in client.get("/").text


def test_another_page_on_the_same_labels_is_kept_out(tmp_path: Path) -> None:
    one, other = task(tmp_path), task(tmp_path)
    with one.held(), pytest.raises(RunBusyError, match="is being written by another page"), other.held():
        pass
    with other.held():
        pass


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
