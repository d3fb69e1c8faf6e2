"""Plain cases on the audit page, from a file or a run: the questions of `judgeharness label`, blind to who answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.judging.casefiles import cases_of_run
from judgeharness_integrations.judging.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.judging.perturbations import position_swap
from judgeharness_integrations.labelling.labellog import LabelLog
from judgeharness_integrations.labelling.questions import Question, check_kind, kind_of, questions
from judgeharness_integrations.labelling.resultsheets import Answers, answers_for, item_of
from judgeharness_integrations.verdictlog.row import (
    EVERY_CRITERION,
    Verdict,
    VerdictRow,
    is_number,
    verdict_from_json,
    verdict_text,
)
from judgeharness_integrations.verdictlog.runfolder import LOG, MARK, RESULTS, json_lines, read_mark, record_of

from .labels import storing_labels
from .source import Answering, CaseView, Choice, Item, Progress, Tone

_ORDER: Final = "drawn"
_SWAP = position_swap()
_PREFERENCE, _GRADED = frozenset({"A", "B"}), frozenset({"PASS", "FAIL"})
_MOST_KEYS = 9
_TONES: Mapping[str, Tone] = {"PASS": "good", "FAIL": "bad"}
_HEADINGS = {"context": "Context", "input": "Input", "output": "Answer", "reference": "Reference"}
_PAIR = {"output": "Answer A", "output_b": "Answer B"}
Only: TypeAlias = Literal["all", "abstained", "not_graded"]
_UNNAMED = "verdict"


class PlainTask:
    """The questions of one annotator and the log of the answers, which holds one answer a question.

    Several threads and processes may label in the same log: of two answers to one question the later one stays.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        log: LabelLog,
        *,
        annotator: str,
        now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
    ) -> None:
        """Use questions, in the order they are asked, and a log that may hold answers to them.

        Args:
            questions: of this annotator.
            log: where answers go.
            annotator: who answers.
            now: returns the time as ISO 8601 text, written beside each answer.

        Raises:
            UsageError: an answer in the log is of another kind than those that may be given.

        """
        self.questions = {question.key: question for question in questions}
        self.log = log
        self.annotator = annotator
        self._now = now
        for key, row in self.answers().items():
            check_kind(self.questions[key], row, str(log.path))

    def answers(self) -> dict[tuple[str, str], VerdictRow]:
        """Return (case, criterion) -> what the annotator said about it, in the canonical frame."""
        rows = {(row.case_id, row.criterion): row for row in self.log.rows(self.annotator) if row.ok}
        return {key: row for key, row in rows.items() if key in self.questions}

    def as_shown(self, row: VerdictRow) -> Verdict | None:
        """Return an answer about the texts as they are shown, whose places were drawn."""
        question = self.questions[row.case_id, row.criterion]
        if row.verdict is None or not question.swapped:
            return row.verdict
        return _SWAP.restore(row.verdict, row.criterion)  # to exchange two places twice is to leave them

    def answer(self, key: tuple[str, str], said: str, note: str = "") -> VerdictRow:
        """Keep what was said about the texts as shown, in the place of an earlier answer; it is in the file then.

        Raises:
            UsageError: it is no answer to this question, or of another kind than the others about its criterion.
            LogStorageError: the log cannot be written; what it held is kept.
            RunBusyError: another process does not let go of the log.

        """
        question = self.questions[key]
        verdict = question.answers.read(said)
        if verdict is None:
            raise UsageError(f"{said!r:.60} is not an answer: give {question.answers}.")
        row = question.row(verdict, annotator=self.annotator, comment=note, asked_at=self._now())
        with storing_labels(self.log.path), self.log.held():
            self._check_kind(row)
            self.log.replace(row)
        return row

    def take_back(self, key: tuple[str, str]) -> None:
        """Take an answer and its note out of the log; nothing happens where there is none."""
        with storing_labels(self.log.path), self.log.held():
            if (row := self.answers().get(key)) is not None:
                self.log.withdraw(row)

    def _check_kind(self, row: VerdictRow) -> None:
        """Refuse what `label --merge` would: labels and numbers about one criterion."""
        others = [one for one in self.log.rows(self.annotator) if one.criterion == row.criterion]
        kinds = {kind_of(one.verdict) for one in others if one.verdict is not None and one.case_id != row.case_id}
        if row.verdict is not None and kinds and kind_of(row.verdict) not in kinds:
            raise UsageError(f"your other answers about {row.criterion} are {', '.join(sorted(kinds))}: give the same.")


class PlainSource:
    """Plain cases as the audit page takes them (`AuditSource`)."""

    kind: Literal["pairs", "cases"] = "cases"
    choices: tuple[Choice, ...] = ()
    orders = (_ORDER,)
    blind_orders: tuple[str, ...] = ()  # judges are shown in none

    def __init__(self, task: PlainTask, *, title: str) -> None:
        """Show the questions of a task under a title."""
        self.title = title
        self._task = task
        # ids that tell no case id, which may name an author; another choice of cases leaves them as they are
        self._keys = {item_of("\n".join(key)): key for key in task.questions}
        cases = list(dict.fromkeys(case_id for case_id, _ in task.questions))
        self._places = {case_id: place for place, case_id in enumerate(cases, start=1)}
        self.filters = ("criterion",) if len({criterion for _, criterion in task.questions}) > 1 else ()

    @property
    def annotator(self) -> str:
        """Who labels."""
        return self._task.annotator

    def items(self) -> Sequence[Item]:
        """Return every question, in the order drawn for the annotator."""
        answers = self._task.answers()
        return [self._item(item_id, key, answers.get(key)) for item_id, key in self._keys.items()]

    def ordered(self, order: str) -> Sequence[str]:
        """Return the ids in the only order, which was drawn."""
        del order
        return list(self._keys)

    def answering(self, item_id: str) -> Answering:
        """Return what may be said."""
        return _answering(self._question(item_id).answers)

    def views(self, item_id: str) -> CaseView:
        """Return the question and the texts."""
        question = self._question(item_id)
        headings = _HEADINGS | (_PAIR if "output_b" in question.texts else {})
        return CaseView(
            question=_asked(question),
            description=question.description,
            texts=tuple((headings[name], text) for name, text in question.texts.items()),
            side_by_side=tuple(_PAIR.values()) if "output_b" in question.texts else (),
        )

    def label(self, item_id: str, value: str | None, note: str) -> None:
        """Keep an answer, or take one back together with its note.

        Raises:
            UsageError: it is of another kind than the annotator's others.

        """
        key = self._keys[item_id]
        if value is None:
            self._task.take_back(key)
        else:
            self._task.answer(key, value, note)

    def progress(self) -> Progress:
        """Return how many questions are answered, and how: A and B are the places as shown."""
        answers = self._task.answers().values()
        counts = Counter(verdict_text(self._task.as_shown(row)) for row in answers)
        return Progress(labelled=len(answers), items=len(self._keys), counts=dict(sorted(counts.items())))

    def _question(self, item_id: str) -> Question:
        return self._task.questions[self._keys[item_id]]

    def _item(self, item_id: str, key: tuple[str, str], row: VerdictRow | None) -> Item:
        case_id, criterion = key
        about = f", {criterion}" if self.filters else ""
        label = None if row is None else _written(self._task.as_shown(row), self._task.questions[key].answers)
        return Item(
            item_id=item_id,
            title=f"Case {self._places[case_id]}{about}",
            columns={"criterion": criterion} if self.filters else {},
            label=label,
            note="" if row is None else row.reasoning or "",
        )


@dataclass(frozen=True, kw_only=True)
class RunCases:
    """What a run judged.

    Args:
        cases: with their texts.
        said: criterion -> every verdict of any judge about any case: what answers are like, nobody's in particular.
        statuses: case id -> criterion -> how it ended, for each judge; of `*` for every criterion.

    """

    cases: Sequence[AnswerCase]
    said: Mapping[str, frozenset[Verdict]] = field(default_factory=dict)
    statuses: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)

    def ended(self, case_id: str, criterion: str) -> frozenset[str]:
        """Return how a criterion of a case ended: `decided`, `abstained` and `not_graded`, whichever judges had."""
        found = self.statuses.get(case_id, {})
        return found.get(criterion, frozenset()) | found.get(EVERY_CRITERION, frozenset())


def is_run(folder: Path) -> bool:
    """Whether a run stands in a folder, finished or not."""
    return any((folder / name).is_file() for name in (RESULTS, LOG))  # a mark's name is that of many configurations


def plain_questions(
    found: RunCases,
    *,
    annotator: str,
    criteria: Sequence[str] = (),
    answers: Answers | None = None,
    only: Only = "all",
    seed: int = 0,
) -> list[Question]:
    """Return what an annotator is asked about cases, in an order and with answers in places drawn for them.

    Args:
        found: the cases, of a run or alone.
        annotator: who is asked.
        criteria: what is asked about; what the run's judges were asked, else `verdict`, where none is named.
        answers: what may be said; when None what can be compared with what the judges said.
        only: `abstained` or `not_graded` leaves out what ended otherwise for every judge.
        seed: draws order and places; they do not depend on what is left out.

    Raises:
        UsageError: nothing is left to label.

    """
    names = list(dict.fromkeys(criteria)) or list(found.said) or [_UNNAMED]
    asked = [
        questions(
            found.cases,
            annotator=annotator,
            criteria=[Criterion(name=name)],
            answers=answers or _answers(found, name),
            seed=seed,
        )
        for name in names
    ]
    about = {question.key: question for row in zip(*asked, strict=True) for question in row}
    kept = [question for key, question in about.items() if only == "all" or only in found.ended(*key)]
    if not kept:
        raise UsageError(f"none of {len(about)} questions is about a case that ended {only}: leave out --only.")
    return kept


def read_run_cases(folder: Path, cases: Path | None = None) -> RunCases:
    """Return what the run in a folder judged.

    Args:
        folder: what `judgeharness run --out` wrote.
        cases: the case file, where it is not the one the run was given, or not where it stood then.

    Raises:
        UsageError: the folder holds no results, or its cases are not found.

    """
    documents = list(json_lines(folder / RESULTS))
    record = record_of(folder)
    known, is_whole = cases_of_run(folder, cases, record)
    statuses = _statuses(documents, judges=_judges(folder, documents), cases=[case.case_id for case in known])
    judged = {document["case_id"] for document in documents}
    chosen = [case for case in known if is_whole or case.case_id in judged]
    if not chosen:
        raise UsageError(f"none of the {len(judged)} cases of {folder} is in {cases}: give the cases that were judged.")
    return RunCases(cases=chosen, said=_verdicts_by_criterion(documents), statuses=statuses)


def _answering(answers: Answers) -> Answering:
    if answers.kind == "number":
        low, high = answers.scale or (None, None)
        return Answering(kind="number", low=low, high=high)
    if not answers.words:
        return Answering(kind="text")
    initials = Counter(word[:1].casefold() for word in answers.words)
    choices = tuple(
        Choice(
            value=word,
            key=str(place) if place <= _MOST_KEYS else "",
            name=word,
            alias=word[:1].casefold() if initials[word[:1].casefold()] == 1 and word[:1].isalpha() else "",
            tone=_TONES.get(word, "plain"),
        )
        for place, word in enumerate(answers.words, start=1)
    )
    return Answering(kind="several" if answers.kind == "labels" else "one", choices=choices)


def _written(verdict: Verdict | None, answers: Answers) -> str | None:
    """Return a verdict as the page gives it."""
    if isinstance(verdict, frozenset):
        return "; ".join(word for word in answers.words or sorted(verdict) if word in verdict) or ";"
    return None if verdict is None else verdict_text(verdict)


def _asked(question: Question) -> str:
    words, about = {*question.answers.words}, question.criterion
    named = "" if about == "verdict" else f" ({about})"
    if words >= _PREFERENCE:
        return f"Which answer is better?{named}"
    if words == _GRADED:
        return f"Does the answer pass?{named}"
    return "What do you say about it?" if about == "verdict" else f"What do you say about {about}?"


def _answers(found: RunCases, criterion: str) -> Answers | None:
    """Return what can be compared with what the judges said; None where they said nothing."""
    said = found.said.get(criterion)
    pairwise = any(isinstance(case, PairwiseCase) for case in found.cases)
    return answers_for(said, pairwise=pairwise) if said else None


def _verdicts_by_criterion(documents: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[Verdict]]:
    said: dict[str, set[Verdict]] = {}
    for document in documents:
        threshold = "pass_at=" in (document.get("design", {}).get("rule") or "")
        for name, measured in document["criteria"].items():
            read = [verdict_from_json(entry["verdict"]) for entry in measured["sample_distribution"]]
            verdicts = [verdict for verdict in read if verdict is not None]
            numeric = threshold and any(map(is_number, verdicts))  # people, too, say PASS or FAIL
            said.setdefault(name, set()).update(("PASS", "FAIL") if numeric else verdicts)
    return {name: frozenset(verdicts) for name, verdicts in said.items()}


def _statuses(
    documents: Iterable[Mapping[str, Any]], *, judges: Iterable[str], cases: Iterable[str]
) -> dict[str, dict[str, frozenset[str]]]:
    """Return how every criterion of every case ended; a judge's case without a result was not graded."""
    found: dict[str, dict[str, set[str]]] = {}
    missing = {(judge, case_id) for judge in judges for case_id in cases}
    for document in documents:
        missing.discard((document["judge"], document["case_id"]))
        for name, measured in document["criteria"].items():
            found.setdefault(document["case_id"], {}).setdefault(name, set()).add(measured["status"])
    for _, case_id in missing:
        found.setdefault(case_id, {}).setdefault(EVERY_CRITERION, set()).add("not_graded")
    return {case: {name: frozenset(ended) for name, ended in mine.items()} for case, mine in found.items()}


def _judges(folder: Path, documents: Iterable[Mapping[str, Any]]) -> list[str]:
    planned = read_mark(folder / MARK).get("planned_cases") if (folder / MARK).is_file() else None
    judged = [str(document["judge"]) for document in documents]
    return list(dict.fromkeys([*(planned if isinstance(planned, Mapping) else ()), *judged]))
