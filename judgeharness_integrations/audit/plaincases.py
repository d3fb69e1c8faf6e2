"""Plain cases on the audit page: the questions `judgeharness label` asks, blind to judges and authors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.audit.labels import kept_or_told
from judgeharness_integrations.audit.source import Answering, CaseView, Choice, Item, Progress, Tone
from judgeharness_integrations.calibration.answers import Answers
from judgeharness_integrations.calibration.sheetfile import item_of
from judgeharness_integrations.labelling.kinds import kind_of, kinds_of
from judgeharness_integrations.labelling.labellog import LabelLog
from judgeharness_integrations.labelling.questions import Question
from judgeharness_integrations.perturbations import position_swap
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

__all__ = ["PlainSource", "PlainTask"]

ORDER: Final = "drawn"

_SWAP = position_swap()
_PREFERENCE, _GRADED = frozenset({"A", "B"}), frozenset({"PASS", "FAIL"})
_MOST_KEYS = 9
_TONES: Mapping[str, Tone] = {"PASS": "good", "FAIL": "bad"}
_HEADINGS = {"context": "Context", "input": "Input", "output": "Answer", "reference": "Reference"}
_PAIR = {"output": "Answer A", "output_b": "Answer B"}


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
            _check_fits(self.questions[key], row, str(log.path))

    def answers(self) -> dict[tuple[str, str], VerdictRow]:
        """Return (case, criterion) -> what the annotator said about it, in the canonical frame."""
        rows = {(row.case_id, row.criterion): row for row in self.log.rows(self.annotator) if row.ok}
        return {key: row for key, row in rows.items() if key in self.questions}

    def shown(self, row: VerdictRow) -> Verdict | None:
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
        with kept_or_told(self.log.path), self.log.held():
            self._check_kind(row)
            self.log.replace(row)
        return row

    def take_back(self, key: tuple[str, str]) -> None:
        """Take an answer and its note out of the log; nothing happens where there is none."""
        with kept_or_told(self.log.path), self.log.held():
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
    orders = (ORDER,)
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
        counts = Counter(verdict_text(self._task.shown(row)) for row in answers)
        return Progress(labelled=len(answers), items=len(self._keys), counts=dict(sorted(counts.items())))

    def _question(self, item_id: str) -> Question:
        return self._task.questions[self._keys[item_id]]

    def _item(self, item_id: str, key: tuple[str, str], row: VerdictRow | None) -> Item:
        case_id, criterion = key
        about = f", {criterion}" if self.filters else ""
        label = None if row is None else _written(self._task.shown(row), self._task.questions[key].answers)
        return Item(
            item_id=item_id,
            title=f"Case {self._places[case_id]}{about}",
            columns={"criterion": criterion} if self.filters else {},
            label=label,
            note="" if row is None else row.reasoning or "",
        )


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


def _check_fits(question: Question, row: VerdictRow, path: str) -> None:
    if row.verdict is not None and kind_of(row.verdict) not in kinds_of(question.answers):
        raise UsageError(
            f"{path} holds {kind_of(row.verdict)} of {row.judge!r} for {row.criterion!r}, which {question.answers} "
            "does not fit: ask for the same --answers as before, or give another --annotator."
        )
