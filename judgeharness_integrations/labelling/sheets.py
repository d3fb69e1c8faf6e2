"""Labelling: one question at a time, or the sheet of one annotator as a file; the rows that answers become."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.cases import Case, case_id_of
from judgeharness_integrations.judging.perturbations import position_swap
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

from .labellog import LabelLog
from .questions import (
    Command,
    Question,
    VerdictKind,
    check_kind,
    command_keys,
    command_of,
    kind_of,
    question_lines,
    verdict_of,
)
from .resultsheets import AnnotatedLabel, item_of, read_annotated_labels, write_sheet

if TYPE_CHECKING:
    from os import PathLike


_Step: TypeAlias = Literal["next", "quit"]
_LONGEST_COMMENT = 2_000


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an annotator is: `labelled` of `questions`, of which `added` now; `skipped` ones come again."""

    annotator: str
    questions: int
    labelled: int
    added: int
    skipped: int

    @property
    def complete(self) -> bool:
        """Whether every question has an answer."""
        return self.labelled == self.questions

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {"schema": "judgeharness.label/1", **facts, "complete": self.complete}


class Session:
    """One sitting of one annotator; what earlier ones answered is not asked again.

    Args:
        questions: in the order they are asked.
        log: where answers go.
        annotator: who answers.
        read: returns the next line typed, with its end; an empty text at the end of input.
        write: shows a text.
        now: returns the time as ISO 8601 text, written beside each answer.
        width: of the terminal, in characters.

    """

    def __init__(
        self,
        questions: Sequence[Question],
        log: LabelLog,
        *,
        annotator: str,
        read: Callable[[], str],
        write: Callable[[str], None],
        now: Callable[[], str],
        width: int = 80,
    ) -> None:
        """Find out what is answered already."""
        self._questions = questions
        self._log = log
        self._annotator = annotator
        self._read, self._write, self._now, self._width = read, write, now, width
        places = {question.key: place for place, question in enumerate(questions)}
        self._rows = log.rows(annotator)
        known = {places[_of(row)]: row for row in self._rows if _of(row) in places}
        for place, row in known.items():
            check_kind(questions[place], row, str(log.path))
        self._answered: dict[int, VerdictRow] = known
        self._added: set[int] = set()
        self._skipped: set[int] = set()
        self._trail = list(known)  # the places that were left, in order: what `back` goes along
        self._wanted: int | None = None  # a place somebody went back to
        self._comment = ""

    @property
    def progress(self) -> Progress:
        """How far the annotator is by now."""
        return Progress(
            annotator=self._annotator,
            questions=len(self._questions),
            labelled=len(self._answered),
            added=len(self._added),
            skipped=len(self._skipped),
        )

    def run(self) -> Progress:
        """Ask until every question is answered or skipped, or the annotator quits; return how far it came."""
        self._say(f"{len(self._answered)} of {len(self._questions)} are labelled.\n" if self._answered else "")
        while (place := self._next()) is not None or self._goes_back():
            if place is None:
                continue
            self._comment, self._wanted = "", None
            self._show(place)
            if self._ask(place) == "quit":
                break
        return self.progress

    def _goes_back(self) -> bool:
        """Ask, once nothing is left, whether the last answer is to be taken back."""
        if not self._trail:
            return False
        self._say("\nnothing is left to ask (b back, Enter ends) > ")
        if self._read().strip().casefold() not in ("b", "/b"):
            return False
        self._take_back(self._trail.pop())
        return True

    def _next(self) -> int | None:
        if self._wanted is not None:
            return self._wanted
        done = self._answered.keys() | self._skipped
        return next((place for place in range(len(self._questions)) if place not in done), None)

    def _show(self, place: int, *, whole: bool = False) -> None:
        question = self._questions[place]
        about = "" if question.criterion == "verdict" else f", {safe_text(question.criterion, 60)}"
        lines = [
            f"\n{place + 1} of {len(self._questions)}{about}",
            *question_lines(question, width=self._width, whole=whole),
        ]
        self._say("\n".join(lines) + "\n")

    def _ask(self, place: int) -> _Step:
        """Read lines until the question is left: answered, skipped or gone back from."""
        question = self._questions[place]
        while True:
            self._say(f"{_prompt(question)} > ")
            line = self._read()
            if not line:
                self._say("\n")
                return "quit"
            command = command_of(line, question.answers)
            if command == "quit":
                return "quit"
            if command is not None:
                if self._obey(command, place):
                    return "next"
            elif (verdict := verdict_of(line, question.answers)) is None:
                self._say(f"{_refused(line)}write {_allowed(question)}.\n")
            elif (kind := self._other_kind(question, verdict)) is not None:
                self._say(f"{_refused(line)}your other answers about this are {kind}.\n")
            else:
                self._answer(place, verdict)
                return "next"

    def _obey(self, command: Command, place: int) -> bool:
        """Do what a command says and return whether that leaves the question."""
        if command == "show":
            self._show(place, whole=True)
        elif command == "comment":
            self._say("comment > ")
            self._comment = safe_text(self._read(), _LONGEST_COMMENT)
            self._say("the comment will stand beside your answer.\n" if self._comment else "no comment.\n")
        elif command == "skip":
            self._skipped.add(place)
            self._trail.append(place)
        elif not self._trail:
            self._say("there is nothing to go back to.\n")
        else:
            self._take_back(self._trail.pop())
        return command == "skip" or self._wanted is not None

    def _answer(self, place: int, verdict: Verdict) -> None:
        row = self._questions[place].row(
            verdict, annotator=self._annotator, comment=self._comment, asked_at=self._now()
        )
        self._log.replace(row)  # a page on the same log may have asked this meanwhile
        self._rows.append(row)
        self._answered[place] = row
        self._added.add(place)
        self._trail.append(place)

    def _other_kind(self, question: Question, verdict: Verdict) -> VerdictKind | None:
        """Return the kind of the annotator's answers about a criterion where this one is of another."""
        rows = (row for row in self._rows if row.criterion == question.criterion)
        kind: VerdictKind | None = next((kind_of(row.verdict) for row in rows if row.verdict is not None), None)
        return None if kind == kind_of(verdict) else kind

    def _take_back(self, place: int) -> None:
        self._wanted = place
        self._skipped.discard(place)
        self._added.discard(place)
        if (row := self._answered.pop(place, None)) is not None:
            self._log.withdraw(row)
            self._rows.remove(row)
            self._say("the last answer is taken back.\n")

    def _say(self, text: str) -> None:
        if text:
            self._write(text)


def _of(row: VerdictRow) -> tuple[str, str]:
    return row.case_id, row.criterion


def _allowed(question: Question) -> str:
    return safe_text(str(question.answers), 400)


def _prompt(question: Question) -> str:
    keys = ", ".join(f"{key} {command}" for key, command in command_keys(question.answers).items())
    return f"{_allowed(question)} ({keys})"


def _refused(line: str) -> str:
    said = safe_text(line, 60)
    return f"{said} is not an answer: " if said else ""


_TEXTS = ("context", "input", "output", "output_b", "reference")
_COLUMNS = ("item", "criterion", "rubric", *_TEXTS, "allowed", "label", "comment", "annotator", "swapped")
_AT_NEED = frozenset({"rubric", "output_b", "swapped"})  # left out where every cell of them is empty


def write_annotator_sheet(questions: Sequence[Question], path: str | PathLike[str], *, annotator: str) -> Path:
    """Write the questions of one annotator as CSV or JSONL, in their order, `label` and `comment` to be filled.

    A case is an `item`, a digest of its id: an id may name an author.

    Raises:
        UsageError: the file exists, since it may hold labels, or its ending is another.

    """
    path = Path(path)
    if path.exists():
        raise UsageError(f"{path} exists and may hold labels: give another file for the sheet.")
    lines = [_line(question, annotator) for question in questions]
    columns = [name for name in _COLUMNS if name not in _AT_NEED or any(line[name] for line in lines)]
    return write_sheet(path, lines, columns)


def _line(question: Question, annotator: str) -> dict[str, str]:
    return {
        **dict.fromkeys(_COLUMNS, ""),
        **question.texts,
        "item": item_of(question.case_id),
        "criterion": question.criterion,
        "rubric": question.description,
        "allowed": str(question.answers),
        "annotator": annotator,
        "swapped": ("yes" if question.swapped else "no") if "output_b" in question.texts else "",
    }


def rows_of_sheet(
    path: str | PathLike[str], *, annotator: str | None = None, cases: Collection[Case] | None = None
) -> list[VerdictRow]:
    """Return the labels of a filled sheet as rows of a verdict log, in the canonical frame.

    Args:
        path: the sheet.
        annotator: who filled it, where its column `annotator` does not say.
        cases: those it was written for; None takes a sheet that names cases by their ids.

    Raises:
        CaseError: the sheet cannot be used, names a case that is not known, or labels a criterion twice.
        UsageError: nobody, or somebody else, is named as its annotator.

    """
    rows: dict[tuple[str, str, str], VerdictRow] = {}
    known = None if cases is None else {case_id_of(case) for case in cases}
    for annotated in read_annotated_labels(path, cases=cases):
        label = annotated.label
        if known is not None and label.case_id not in known:
            raise CaseError(f"{path}: case {label.case_id!r} is not among the cases: give those it was written for.")
        row = _row(annotated, _annotator(annotated, annotator, str(path)))
        key = (row.judge, row.case_id, row.criterion)
        if key in rows:
            raise CaseError(f"{path}: {row.judge!r} labels {row.criterion!r} of case {row.case_id!r} twice: keep one.")
        rows[key] = row
    return list(rows.values())


def _annotator(annotated: AnnotatedLabel, given: str | None, path: str) -> str:
    if annotated.annotator and given and annotated.annotator != given:
        raise UsageError(
            f"{path} is the sheet of {annotated.annotator!r}, not of {given!r}: name the one who filled it."
        )
    if not (name := annotated.annotator or given):
        raise UsageError(f"{path} does not say who filled it: give --annotator NAME.")
    return name


def _row(annotated: AnnotatedLabel, annotator: str) -> VerdictRow:
    label, _, comment, swapped = annotated
    return VerdictRow(
        case_id=label.case_id,
        judge=annotator,
        criterion=label.criterion or "verdict",
        verdict=label.gold,
        perturbation=position_swap().name if swapped else "none",
        swapped=swapped,
        reasoning=comment or None,
    )


def add_rows(rows: Sequence[VerdictRow], log: LabelLog) -> int:
    """Write rows into a log of labels and return how many were new; equal answers stay as they are.

    Raises:
        CaseError: the log holds another answer of the same annotator; nothing is written.
        RunBusyError: another process does not let go of the log.

    """
    with log.held():
        return _added(rows, log)


def _added(rows: Sequence[VerdictRow], log: LabelLog) -> int:
    held = {(row.judge, row.case_id, row.criterion): row.verdict for row in log.rows()}
    fresh = []
    for row in rows:
        before = held.get((row.judge, row.case_id, row.criterion))
        if before is None:
            fresh.append(row)
        elif before != row.verdict:
            raise CaseError(
                f"{log.path}: {row.judge!r} said {verdict_text(before)} about {row.criterion!r} of case "
                f"{row.case_id!r}, the sheet says {verdict_text(row.verdict)}: keep one, or give another --out."
            )
    _check_kinds([*log.rows(), *fresh])
    log.append(fresh)
    return len(fresh)


def _check_kinds(rows: Iterable[VerdictRow]) -> None:
    kinds: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.verdict is None:
            continue
        kind = kind_of(row.verdict)
        if (before := kinds.setdefault((row.judge, row.criterion), kind)) != kind:
            raise CaseError(f"{row.judge!r} says {before} and {kind} about {row.criterion!r}: use one kind.")
