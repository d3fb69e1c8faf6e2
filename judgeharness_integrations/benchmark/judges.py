"""Judges of pairs and of single conversations over chat models, and pairs as the cases they are measured on."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.cases import AnswerCase, Criterion, PairwiseCase
from judgeharness_integrations.judging.chatmodels import ChatModel, Completion, Prompt, parsed_object
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, model_family, text_hash
from judgeharness_integrations.judging.marks import CODE, CODE_PROPERTY
from judgeharness_integrations.verdictlog.row import ABSTAIN, Outcome, Verdict

from .asker import TEXT, object_of, prompt
from .pair import Conversation, Document, Pair, Side, Taxonomy, chunks_of, clean
from .results.judgments import (
    FLAWED,
    NONE,
    SCORE,
    SOUND,
    TURN,
    TYPE,
    VERDICT,
    attributes_of,
    gold_of,
    side_gold,
    turn_label,
)

_SIDES: Final = ("A", "B")
_TAKEN: Final = frozenset({*_SIDES, "TIE", ABSTAIN, NONE})  # labels that mean something else in a log
_LOWEST, _HIGHEST = 1, 5
_WHOLE = re.compile(r"[0-9]{1,6}")


class _ModelJudge(ABC):
    """What both judges share: one call, one JSON object, an answer to each criterion of it."""

    step: str

    def __init__(self, model: ChatModel, taxonomy: Taxonomy, *, name: str | None = None) -> None:
        """Prepare; nothing is asked yet.

        Args:
            model: who answers.
            taxonomy: whose failure types the judge chooses from.
            name: the judge's in the log; the model's when not given.

        Raises:
            UsageError: a failure type has a name that means something else in a log.

        """
        for failure in taxonomy.failure_types:
            if failure in _TAKEN:
                raise UsageError(f"a failure type cannot be named {failure!r}, which is another answer: rename it.")
        self.model = model
        self.name = name or model.name
        self._types = tuple(taxonomy.failure_types)
        self._definitions = [(kind.name, kind.definition) for kind in taxonomy.failure_types.values()]

    @property
    def identity(self) -> JudgeIdentity:
        """Model, parameters and what the model is told."""
        return self._identity

    @cached_property
    def _identity(self) -> JudgeIdentity:
        told = self.prompt(self._example())
        return JudgeIdentity(
            name=type(self).__name__,
            model=self.model.name,
            parameters=dict(self.model.parameters),
            prompt_hash=text_hash(json.dumps([told.system, told.user, told.schema])),
            family=model_family(self.model.name),
        )

    @property
    @abstractmethod
    def criteria(self) -> tuple[Criterion, ...]:
        """The questions it answers about every case; the turns are a criterion of each case."""

    @abstractmethod
    def prompt(self, case: Any) -> Prompt:
        """Return what the model is asked about a case."""

    @abstractmethod
    def _example(self) -> AnswerCase:
        """Return a case of the kind it judges."""

    @abstractmethod
    def _readings(self) -> Mapping[str, Callable[[Any], Verdict | None]]:
        """Return criterion -> what reads the value of that key: a verdict, or None for what is none."""

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once."""
        asked = self.prompt(probe.case)
        completion = await self.model.complete(replace(asked, sample=probe.repetition))
        return Judgment(
            answers=self._answers(completion, asked),
            raw=clean(completion.text),
            model=completion.model,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            facts=completion.facts,
        )

    def _answers(self, completion: Completion, asked: Prompt) -> tuple[Answer, ...]:
        """Return an answer a criterion; the reasons stand on the first alone."""
        found = parsed_object(completion, asked) if completion.ended == "ok" else None
        if found is None:
            outcome: Outcome = "refused" if completion.ended == "refused" else "unparsed"
            return tuple(Answer(criterion=name, outcome=outcome) for name in self._readings())
        verdicts = {name: read(found[name]) if name in found else None for name, read in self._readings().items()}
        answers = [
            Answer(criterion=name, verdict=verdict, outcome="unparsed" if verdict is None else "ok")
            for name, verdict in verdicts.items()
        ]
        reasons = found.get("reasoning")
        first = replace(answers[0], reasoning=clean(reasons) if isinstance(reasons, str) else None)
        return (first, *answers[1:])

    def _asked(self, case: AnswerCase, titled: Sequence[tuple[str, str]], properties: Mapping[str, Any]) -> Prompt:
        documents = [] if case.context is None else [("Documents", case.context)]
        return prompt(
            self.step,
            [*documents, *titled],
            object_of(self.step, {"reasoning": TEXT, **properties, CODE: CODE_PROPERTY}),
            documents=bool(documents),
            failure_types=self._definitions,
        )


class PairJudge(_ModelJudge):
    """Says which of two conversations is the better one, and turn and type of the other one's flaw, in one answer."""

    step = "judge_pair"

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """`verdict`, A or B (a tie is not offered), and `type`; `turn` is a criterion of each case."""
        return self.criteria_of(self._types)

    @staticmethod
    def criteria_of(types: Iterable[str]) -> tuple[Criterion, ...]:
        """Return the criteria for these failure types."""
        return (Criterion(name=VERDICT, labels=_SIDES), Criterion(name=TYPE, labels=tuple(types)))

    def fits(self, case: object) -> str | None:
        """Return why a case cannot be judged, None when it can."""
        return None if isinstance(case, PairwiseCase) else "it is no pair of conversations"

    def prompt(self, case: PairwiseCase) -> Prompt:
        """Return what the model is asked about a pair, in the order it stands."""
        properties = {
            VERDICT: {"type": "string", "enum": list(_SIDES)},
            TURN: {"type": "integer"},
            TYPE: {"type": "string", "enum": list(self._types)},
        }
        return self._asked(case, [("Conversation A", case.output), ("Conversation B", case.output_b)], properties)

    def _example(self) -> PairwiseCase:
        return PairwiseCase(case_id="", output="", output_b="", context="")

    def _readings(self) -> Mapping[str, Callable[[Any], Verdict | None]]:
        return {VERDICT: label_of(_SIDES), TURN: turn_of, TYPE: label_of(self._types)}


class ConversationJudge(_ModelJudge):
    """Scores one conversation from 1 to 5, and says whether it is flawed, in which turn and how, in one answer."""

    step = "judge_conversation"
    discrete = True

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """`score`, `flawed` and `type`; `turn` is a criterion of each case."""
        return self.criteria_of(self._types)

    @staticmethod
    def criteria_of(types: Iterable[str]) -> tuple[Criterion, ...]:
        """Return the criteria for these failure types."""
        return (
            Criterion(name=SCORE, scale=(_LOWEST, _HIGHEST)),
            Criterion(name=FLAWED, labels=(FLAWED, SOUND)),
            Criterion(name=TYPE, labels=(*types, NONE)),
        )

    def fits(self, case: object) -> str | None:
        """Return why a case cannot be judged, None when it can."""
        single = isinstance(case, AnswerCase) and not isinstance(case, PairwiseCase)
        return None if single else "it is no single conversation"

    def prompt(self, case: AnswerCase) -> Prompt:
        """Return what the model is asked about a conversation."""
        properties = {
            SCORE: {"type": "integer", "enum": list(range(_LOWEST, _HIGHEST + 1))},
            FLAWED: {"type": "boolean"},
            TURN: {"type": ["integer", "null"]},
            TYPE: {"type": ["string", "null"], "enum": [*self._types, None]},
        }
        return self._asked(case, [("Conversation", case.output)], properties)

    def _example(self) -> AnswerCase:
        return AnswerCase(case_id="", output="", context="")

    def _readings(self) -> Mapping[str, Callable[[Any], Verdict | None]]:
        return {
            SCORE: score_of(_LOWEST, _HIGHEST),
            FLAWED: flawed_of,
            TURN: lambda value: NONE if value is None else turn_of(value),
            TYPE: lambda value: NONE if value is None else label_of((*self._types, NONE))(value),
        }


def pair_case(pair: Pair, *, documents: Mapping[str, Document], show_documents: bool = True) -> PairwiseCase:
    """Return a pair as a case: `output` is the conversation of side A, `output_b` that of side B.

    Gold are verdict, turn and type; `context` are the chunks both conversations may draw on. The turns of this pair are
    a criterion of its own.

    Args:
        pair: one with conversations.
        documents: by id; those of the pair are enough.
        show_documents: whether the judge is shown them.

    Raises:
        CaseError: the pair has no conversations, or the documents lack a chunk of it.

    """
    first, second = _conversation(pair, "A").text(), _conversation(pair, "B").text()
    return PairwiseCase(
        case_id=pair.pair_id,
        output=first,
        output_b=second,
        context=_context(pair, documents) if show_documents else None,
        author=pair.generator,
        author_b=pair.generator,
        gold=gold_of(pair),
        attributes=attributes_of(pair) | {"length_a": len(first), "length_b": len(second)},
        criteria=(Criterion(name=TURN, labels=_turns(pair)),),
    )


def side_case(pair: Pair, side: Side, *, documents: Mapping[str, Document], show_documents: bool = True) -> AnswerCase:
    """Return one conversation of a pair as a case, `pair-00001/A`; see `pair_case`.

    Gold are whether it is flawed, the turn and the type; of the score there is none, since the generator declares which
    side is better and not by how much (attribute `better`).
    """
    text = _conversation(pair, side).text()
    return AnswerCase(
        case_id=f"{pair.pair_id}/{side}",
        output=text,
        context=_context(pair, documents) if show_documents else None,
        author=pair.generator,
        gold=side_gold(pair, side),
        attributes=attributes_of(pair) | {"length": len(text), "pair": pair.pair_id, "side": side},
        criteria=(Criterion(name=TURN, labels=(*_turns(pair), NONE)),),
    )


def label_of(labels: Sequence[str]) -> Callable[[Any], str | None]:
    """Return what reads one of some labels, as it is written."""
    known = frozenset(labels)

    def read(value: Any) -> str | None:
        label = value.strip() if isinstance(value, str) else None
        return label if label in known else None

    return read


def turn_of(value: Any) -> str | None:
    """Return the label of a turn's number; whether the case has that turn is not looked at."""
    number = _whole(value)
    return None if number is None or number < 1 else turn_label(number)


def score_of(low: int, high: int) -> Callable[[Any], int | None]:
    """Return what reads a whole number between two, both included."""

    def read(value: Any) -> int | None:
        number = _whole(value)
        return number if number is not None and low <= number <= high else None

    return read


def flawed_of(value: Any) -> str | None:
    """Return the label of true and false."""
    return (FLAWED if value else SOUND) if isinstance(value, bool) else None


def _conversation(pair: Pair, side: Side) -> Conversation:
    found = pair.conversation(side)
    if found is None:
        raise CaseError(f"{pair.pair_id} has no conversations: there is nothing to judge.")
    return found


def _turns(pair: Pair) -> tuple[str, ...]:
    return tuple(turn_label(number) for number in range(1, pair.conditions.n_rounds + 1))


def _context(pair: Pair, documents: Mapping[str, Document]) -> str | None:
    """Return the chunks of a pair, each under its id in brackets and its headings; None for a pair without any."""
    chunks = chunks_of(pair.conditions, documents)
    missing = [name for name in pair.conditions.chunks if name not in chunks]
    if missing:
        raise CaseError(
            f"{pair.pair_id} draws on chunk {missing[0]!r}, which no document holds: restore documents.jsonl."
        )
    return "\n\n".join(chunks[name].prompt_text for name in pair.conditions.chunks) or None


def _whole(value: Any) -> int | None:
    """Return a whole number, also one a model writes as 8.0 or as text; a bool is none."""
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value.strip()) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
