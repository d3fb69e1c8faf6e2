"""What an annotator is asked, how it is shown, and what a typed line means."""

from __future__ import annotations

import random
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.cases import Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging.perturbations import position_swap
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow, is_number

from .resultsheets import Answers, case_texts

_SCALE = re.compile(r"([+-]?\d{1,15}(?:\.\d{1,15})?)\.\.([+-]?\d{1,15}(?:\.\d{1,15})?)")
_DECIMAL = re.compile(r"[+-]?\d+(?:\.\d+)?")
_GRADED = Answers(kind="words", words=("PASS", "FAIL"))
_PREFERENCE = Answers(kind="words", words=("A", "B", "TIE"))
_SWAP = position_swap()


@dataclass(frozen=True, kw_only=True)
class Question:
    """One criterion of one case, as one annotator sees it.

    Args:
        case_id: the case's, which is not shown: it may name an author.
        criterion: what is asked about.
        description: what the criterion means, empty when nobody said.
        answers: what may be said.
        texts: what is read, by its place: `context`, `input`, `output`, `output_b`, `reference`.
        swapped: the two answers stand in the other order.

    """

    case_id: str
    criterion: str
    answers: Answers
    description: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    swapped: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Case and criterion."""
        return self.case_id, self.criterion

    def row(self, said: Verdict, *, annotator: str, comment: str = "", asked_at: str | None = None) -> VerdictRow:
        """Return the row of what the annotator said about the texts as shown, in the canonical frame."""
        return VerdictRow(
            case_id=self.case_id,
            judge=annotator,
            criterion=self.criterion,
            verdict=_SWAP.restore(said, self.criterion) if self.swapped else said,
            perturbation=_SWAP.name if self.swapped else "none",
            swapped=self.swapped,
            reasoning=comment or None,
            asked_at=asked_at,
        )


def questions(
    cases: Iterable[Case],
    *,
    annotator: str,
    criteria: Sequence[Criterion] = (),
    answers: Answers | None = None,
    seed: int = 0,
) -> list[Question]:
    """Return what one annotator is asked, in an order and with answers in places drawn for that annotator.

    Args:
        cases: what is labelled, each once.
        annotator: whose questions; another annotator gets another order and other places.
        criteria: asked about every case besides those of its own; `verdict` when there is none.
        answers: what may be said; when None what the criterion declares, else A, B and TIE about two answers, and
            PASS and FAIL about one.
        seed: the same one gives an annotator the same questions.

    Raises:
        CaseError: a case stands twice, or there is none.
        UsageError: the annotator has no name.

    """
    if not annotator.strip():
        raise UsageError("an annotator needs a name.")
    found: dict[str, list[Question]] = {}
    for case in cases:
        case_id = case_id_of(case)
        if case_id in found:
            raise CaseError(f"case {case_id!r} stands twice: label it once.")
        named = {criterion.name: criterion for criterion in (*getattr(case, "criteria", ()), *criteria)}
        asked = list(named.values()) or [Criterion(name="verdict")]
        # of its own, so that more cases move no answer of those there were
        drawn = random.Random(f"{seed}|{annotator}|{case_id}").random() < 1 / 2  # noqa: S311 - a place, not a secret
        found[case_id] = [_question(case, criterion, answers, drawn=drawn) for criterion in asked]
    if not found:
        raise CaseError("there is no case to label.")
    order = list(found.values())
    random.Random(f"{seed}|{annotator}").shuffle(order)  # noqa: S311 - an order, not a secret
    return [question for about_case in order for question in about_case]


def _question(case: Case, criterion: Criterion, answers: Answers | None, *, drawn: bool) -> Question:
    asked = answers or _declared(criterion, pairwise=isinstance(case, PairwiseCase))
    swapped = drawn and isinstance(case, PairwiseCase) and _turns(asked)
    shown = case.swapped() if swapped else case
    return Question(
        case_id=case_id_of(case),
        criterion=criterion.name,
        description=criterion.description,
        answers=asked,
        texts=case_texts(shown),
        swapped=swapped,
    )


def _declared(criterion: Criterion, *, pairwise: bool) -> Answers:
    if criterion.labels:
        return Answers.of_words(criterion.labels)
    if criterion.scale:
        return Answers(kind="number", scale=criterion.scale)
    return _PREFERENCE if pairwise else _GRADED


def _turns(answers: Answers) -> bool:
    """Whether what is said about the other order can be turned back: it names A and B, and nothing else but a tie."""
    return answers.kind == "words" and {"A", "B"} <= set(answers.words) <= set(_PREFERENCE.words)


def parse_answers(text: str) -> Answers:
    """Return what may be said: `PASS,FAIL`, `1..10`, `number`, `toxic;spam` (several of them), or `any`.

    Raises:
        UsageError: it is none of these; the sentence says what is.

    """
    if text.strip() == "any":
        return Answers(kind="any")
    if text.strip() == "number":
        return Answers(kind="number")
    if scale := _SCALE.fullmatch(text.strip()):
        low, high = (float(end) if "." in end else int(end) for end in scale.groups())
        if low >= high:
            raise UsageError(f"a scale goes from its lower end to its upper one, as 1..10, not {text!r:.60}.")
        return Answers(kind="number", scale=(low, high))
    several = ";" in text
    words = tuple(word.strip() for word in text.split(";" if several else ",") if word.strip())
    _check_words(words, text)
    return Answers(kind="labels" if several else "words", words=words)


def _check_words(words: Sequence[str], text: str) -> None:
    if len({word.casefold() for word in words}) < max(2, len(words)):
        raise UsageError(
            f"answers are two or more different labels (PASS,FAIL), labels of which several may hold (toxic;spam), "
            f"a scale (1..10), number or any, not {text!r:.60}."
        )
    if any(_DECIMAL.fullmatch(word) for word in words):
        raise UsageError(f"answers that are numbers are a scale, as 1..5, not {text!r:.60}.")
    if any(word.casefold() == ABSTAIN.casefold() or " / " in word for word in words):
        raise UsageError(f"no answer is ABSTAIN or holds ' / ', as one of {text!r:.60}: who cannot tell skips.")


VerdictKind: TypeAlias = Literal["labels", "numbers", "sets of labels"]


def kind_of(verdict: Verdict) -> VerdictKind:
    """Return the kind of a verdict."""
    if isinstance(verdict, frozenset):
        return "sets of labels"
    return "numbers" if is_number(verdict) else "labels"


def kinds_of(answers: Answers) -> tuple[VerdictKind, ...]:
    """Return the kinds that what may be said can be of."""
    if answers.kind == "any":
        return ("labels", "numbers")
    if answers.kind == "labels":
        return ("sets of labels",)
    return ("numbers",) if answers.kind == "number" else ("labels",)


def check_kind(question: Question, row: VerdictRow, path: str) -> None:
    """Refuse an earlier answer of another kind than those that may be given.

    Raises:
        UsageError: it is; `path` is where it stands.

    """
    if row.verdict is not None and kind_of(row.verdict) not in kinds_of(question.answers):
        raise UsageError(
            f"{path} holds {kind_of(row.verdict)} of {row.judge!r} for {row.criterion!r}, which {question.answers} "
            "does not fit: ask for the same answers as before, or name another file or annotator."
        )


Command: TypeAlias = Literal["show", "skip", "back", "comment", "quit"]

_COMMANDS: dict[str, Command] = {"?": "show", "s": "skip", "b": "back", "c": "comment", "q": "quit"}


def command_keys(answers: Answers) -> dict[str, Command]:
    """Return key -> command; a letter that could be an answer needs a slash before it, as `/b` beside A and B."""
    return {_key(letter, answers): command for letter, command in _COMMANDS.items()}


def _key(letter: str, answers: Answers) -> str:
    plain = letter == "?" or answers.kind == "number"
    plain = plain or (bool(answers.words) and not any(word.casefold().startswith(letter) for word in answers.words))
    return letter if plain else f"/{letter}"


def command_of(line: str, answers: Answers) -> Command | None:
    """Return the command a line is, None for one that is not; with a slash each is one everywhere."""
    typed = line.strip().casefold()
    return command_keys(answers).get(typed) or (_COMMANDS.get(typed[1:]) if typed.startswith("/") else None)


def verdict_of(line: str, answers: Answers) -> Verdict | None:
    """Return what a line answers, None when it is not allowed; of words a unique beginning is enough."""
    said = line.strip()
    if not said:
        return None
    if (verdict := answers.read(said)) is not None or not answers.words:
        return verdict
    if answers.kind == "words":
        return _begun(said, answers)
    labels = [_begun(part.strip(), answers) for part in said.split(";") if part.strip()]
    return None if None in labels else frozenset(label for label in labels if label is not None)


def _begun(said: str, answers: Answers) -> str | None:
    """Return the word that is said, or the only one that begins so."""
    exact = [word for word in answers.words if word.casefold() == said.casefold()]
    begun = exact or [word for word in answers.words if word.casefold().startswith(said.casefold())]
    return begun[0] if len(begun) == 1 else None


_SHORT = 16  # lines of a text that are shown unless all are asked for
_MARGIN = "  | "  # no line of a text can pass for one of ours
_LONGEST = 4_000  # characters wrapped at a time
_HEADINGS = {"context": "context", "input": "input", "output": "answer", "reference": "reference"}
_PAIR = {"output": "answer A", "output_b": "answer B"}


def question_lines(question: Question, *, width: int, whole: bool = False) -> Iterator[str]:
    """Yield the lines of a question's texts, each at most `width` wide; long texts are cut unless `whole`."""
    if question.description:
        yield from textwrap.wrap(safe_text(question.description, _LONGEST), width)
    headings = _HEADINGS | (_PAIR if "output_b" in question.texts else {})
    for name, text in question.texts.items():
        yield f"{headings[name]}:"
        yield from _cut(text, width=max(width - len(_MARGIN), 20), whole=whole)


def _cut(text: str, *, width: int, whole: bool) -> Iterator[str]:
    lines = _lines(text, width)
    for _ in range(_SHORT):
        if (line := next(lines, None)) is None:
            return
        yield _MARGIN + line
    if whole:
        yield from (_MARGIN + line for line in lines)
    elif next(lines, None) is not None:
        yield f"  ... cut here, {len(text)} characters in all: ? shows them"


def _lines(text: str, width: int) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        plain = "".join(c if c.isprintable() else " " for c in line.expandtabs(4))
        # a character of double width must not make the terminal break a line where no margin is
        fits = width // 2 if any(map(_is_wide, plain)) else width
        for start in range(0, max(len(plain), 1), _LONGEST):
            yield from textwrap.wrap(plain[start : start + _LONGEST], fits) or [""]


def _is_wide(character: str) -> bool:
    return not character.isascii() and unicodedata.east_asian_width(character) in "WF"
