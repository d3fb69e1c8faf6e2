"""What an annotator is asked: one criterion of one case, without a word of who wrote it or how it was judged."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.calibration.answers import Answers
from judgeharness_integrations.calibration.sheet import case_texts
from judgeharness_integrations.cases import Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.perturbations import position_swap
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, VerdictRow

__all__ = ["Question", "parse_answers", "questions"]

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
    shown = replace(case, output=case.output_b, output_b=case.output) if swapped else case
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
