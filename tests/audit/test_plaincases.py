"""Plain cases on the page: what is asked of a run, blind, and what an answer becomes in the log."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from support import audit_scenes

from judgeharness_integrations._errors import LogStorageError, UsageError
from judgeharness_integrations.audit.app import form_token
from judgeharness_integrations.audit.cases import PlainSource, PlainTask, RunCases, plain_questions
from judgeharness_integrations.audit.source import Answering, AuditSource, CaseView
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.labelling import LabelLog, Session, parse_answers
from judgeharness_integrations.verdictlog import read_log

PAIRS = [
    PairwiseCase(case_id=f"gpt-{n}", input="q", output=f"one {n}", output_b=f"two {n}", author="gpt", author_b="claude")
    for n in range(8)
]


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
    assert {path.name for path in (tmp_path / "labels").iterdir()} == {"anna.jsonl", ".anna.jsonl.lock"}


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


def test_a_page_and_a_terminal_on_the_same_labels_lose_nothing(tmp_path: Path) -> None:
    page, log = task(tmp_path), LabelLog(tmp_path / "labels" / "anna.jsonl")
    first, second, *_ = page.questions.values()
    page.answer(first.key, "TIE")
    typed = iter(["a\n", "\n"])
    session = Session(
        [second, first], log, annotator="anna", read=lambda: next(typed), write=lambda _: None, now=lambda: "later"
    )
    page.answer(second.key, "TIE")  # while the terminal asks for it
    assert session.run().labelled == 2
    assert {row.case_id for row in page.log.rows()} == {first.case_id, second.case_id}
    assert len(page.log.rows()) == 2
    assert page.answers()[second.key].asked_at == "later"
