"""A judge over a decision model, which answers typed questions with the probability of every option and no text."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.usage import known_sum
from judgeharness_integrations.judging.answer import Tokens
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase, Presentation
from judgeharness_integrations.judging.judge import (
    DEFAULT_CRITERION,
    Answer,
    JudgeIdentity,
    Judgment,
    Probe,
    text_hash,
)
from judgeharness_integrations.judging.perturbations.registry import QUESTION_FORMS
from judgeharness_integrations.judging.questions import (
    DEFAULT_SLOTS,
    Question,
    answer_of,
    default_instructions,
    question_of,
    state_of,
    unchanged,
)
from judgeharness_integrations.verdictlog.row import TOKENS

from .decisionmodels import Reply, asked_by, decision_model, parameters_of
from .judges import CriteriaLike, Taxonomy, ends_of, several_criteria
from .kinds import CUSTOM_LABELS, CUSTOM_SCORE, LABEL, PAIRWISE, CallOptions, Kind
from .models import family_of, fitting_case, misfit, model_name
from .versions import TESTED

DecisionShape: TypeAlias = Literal["pairwise", "labels", "scores"]
_SHAPES: tuple[DecisionShape, ...] = ("pairwise", "labels", "scores")
_KEY = re.compile("[A-Za-z0-9_-]{1,64}")
_PAIR = ("A", "B", "TIE")
_HIGHEST = 5  # level of a score where nobody says
_ONE_EACH = "one each"  # of `requests`, on a row
_ANY = replace(CUSTOM_SCORE, shape="any", natives=CUSTOM_LABELS.natives)


class DecisionJudge:
    """Asks a decision model one question a criterion, in one request a case.

    Two answers are compared by a choice of A, B and TIE, labels are a choice, PASS or FAIL is a question of yes or no,
    a score a choice of its level. A verdict is the most probable label (of equal ones TIE where that is offered, else
    none), a score its expected level; probabilities stand in every row. What is judged is the state of the request;
    questions hold words of ours and the criteria's alone.

    A question that is refused is a `refused` row of its criterion. Where a refusal costs the other answers (any
    `BaseDecisionModel`), that case is asked again question by question; `one_by_one` asks so from the start.

    `retested` is the share of cases that a preset asks once more, to see how far answers move by themselves.
    """

    tested = TESTED
    requires_input = False
    requires_reference = False
    retested = 0.05

    def __init__(
        self,
        model: Any,
        *,
        criteria: CriteriaLike | None = None,
        shape: DecisionShape | None = None,
        taxonomy: Taxonomy | Mapping[str, str] | str | PathLike[str] | None = None,
        scale: tuple[int, int] | None = None,
        levels: Sequence[str] = (),
        described: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        tie: bool = True,
        instructions: str | None = None,
        one_by_one: bool = False,
        name: str | None = None,
        **model_options: Any,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            model: a `BaseDecisionModel` or `OpenAIDecisions` of LangChain, or a name: `openai:gpt-6-luna`, or with
                `base_url=` that of a model of any server that answers `POST /decisions`.
            criteria: what is asked, as a name, names, name -> description, or `Criterion`s (or mappings of their
                fields), whose labels and scale count; one question of ours by default.
            shape: `pairwise`, `labels` (PASS or FAIL) or `scores`, for criteria that declare neither. Criteria with
                labels A and B are about two answers, too. Without criteria and shape a case of two answers is compared
                and one of one answer passes or fails.
            taxonomy: label -> definition, as of `LabelJudge`, for the one question which label fits.
            scale: lowest and highest level of a score, 1 to 5 by default.
            levels: what the levels of a score mean, from the lowest.
            described: criterion -> label -> what it means.
            tie: whether two answers may be equally good.
            instructions: how a question is asked, instead of words of ours (`prompt_variant` rewords it).
            one_by_one: ask every question in a request of its own.
            name: the judge's name in the log.
            model_options: `base_url`, `api_key` ... of a model that is given by its name.

        Raises:
            UsageError: it is no decision model, or there is nothing to ask.
            NotInstalledError: LangChain's decision models are not installed.

        """
        if model_options and not isinstance(model, str):
            raise UsageError(f"{', '.join(sorted(model_options))}: set it on the model, which is given as an object.")
        if shape is None and (scale is not None or levels):
            shape = "scores"
        self.model = decision_model(model, model_options) if isinstance(model, str) else model
        self._asked = asked_by(self.model)
        self._asked_for = _asked_for(criteria, shape, taxonomy, _Scale.of(scale, levels), tie=tie)
        self.criteria: tuple[Criterion, ...] | None = self._asked_for.criteria
        self.pairwise = self._asked_for.pairwise
        own = default_instructions(self.criteria, pairwise=bool(self.pairwise)) if self.criteria else None
        self._instructions = instructions
        self.instructions: str | None = instructions or own
        self._described = described
        self.one_by_one = one_by_one
        self.name = name or type(self).__name__
        self.options = CallOptions()
        for question in (one for questions in self._examples() for one in questions):
            for label in described.get(question.criterion, ()):
                if label not in question.labels:
                    raise UnknownNameError(f"label of {question.criterion}", str(label), question.labels)

    @property
    def supports(self) -> frozenset[str]:
        """The perturbations of its questions that fit it; `unchanged` says which leave a question as it is."""
        own = {"slot_names"} if self.pairwise is not False else set()
        return frozenset({*QUESTION_FORMS, *own, "prompt_variant"})

    @property
    def kind(self) -> Kind:
        """What LangChain's result dict holds of it."""
        if self.pairwise:
            return PAIRWISE
        criteria = self.criteria or ()
        if criteria and all(one.scale for one in criteria):
            return CUSTOM_SCORE
        if criteria and all(one.labels for one in criteria):
            return CUSTOM_LABELS if all(set(one.labels or ()) == {"PASS", "FAIL"} for one in criteria) else LABEL
        return _ANY

    @property
    def evaluation_name(self) -> str:
        """The name of the evaluation."""
        return self.name

    @property
    def identity(self) -> JudgeIdentity:
        """Model, endpoint and questions."""
        return JudgeIdentity(
            name=type(self).__name__,
            model=model_name(self.model),
            parameters={**parameters_of(self.model), **({"one_by_one": True} if self.one_by_one else {})},
            prompt_hash=text_hash(repr(self._examples())),
            family=family_of(self.model),
        )

    def bound(self, options: CallOptions, *, own_parser: bool = False) -> Self:
        """Return the judge for one evaluation, with the caller's callbacks, tags and metadata."""
        del own_parser  # there is no text to read
        judge = copy.copy(self)
        judge.options = options
        return judge

    def fits(self, case: Case) -> str | None:
        """Return why the judge cannot judge a case, None when it can."""
        pairwise = isinstance(case, PairwiseCase) if self.pairwise is None else self.pairwise
        if (reason := misfit(case, self, pairwise=pairwise)) is not None:
            return reason
        try:
            self._questions(case)
        except UsageError as error:  # of a criterion of the case's own
            return str(error)
        return None

    def unchanged(self, needs: frozenset[str], case: Case) -> str | None:
        """Return why a question of a case would be asked as before under what a perturbation needs; None if none."""
        if "alone" in needs and self.one_by_one:
            return "alone changes nothing: the judge asks every question in a request of its own"
        return unchanged(needs, self._questions(replace(case, presentation=Presentation())))

    async def judge(self, probe: Probe) -> Judgment:
        """Ask all questions about a case: in one request, or one by one."""
        case = fitting_case(self, probe.case)
        questions, state = self._questions(case), state_of(case, case.presentation.slot_names or DEFAULT_SLOTS)
        form = case.presentation.form
        if len(questions) > 1 and (self.one_by_one or (form is not None and form.alone)):
            return await self._one_by_one(probe, state, questions, earlier=())
        reply, run_id = await self._ask(probe, state, questions)
        lost = len(questions) > 1 and not self._asked.keeps_others and None in reply.answers.values()
        if lost:
            return await self._one_by_one(probe, state, questions, earlier=(reply,))
        return _judgment(questions, [reply], run_id)

    async def _ask(self, probe: Probe, state: Mapping[str, str], questions: Sequence[Question]) -> tuple[Reply, str]:
        config = self.options.for_sample(probe)
        return await self._asked.ask(state, questions, config), str(config.get("run_id"))

    async def _one_by_one(
        self, probe: Probe, state: Mapping[str, str], questions: Sequence[Question], *, earlier: Sequence[Reply]
    ) -> Judgment:
        """Ask one question after the other: what a call may have under way at once is the harness's to say."""
        replies, run_id = [], ""
        for question in questions:
            reply, run_id = await self._ask(probe, state, [question])
            replies.append(reply)
        return _judgment(questions, [*replies, *earlier], run_id, requests=_ONE_EACH)

    def _examples(self) -> list[list[Question]]:
        """Return the questions about a case of each kind that it judges."""
        kinds = (False, True) if self.pairwise is None else (self.pairwise,)
        return [self._questions(_example(pairwise=pairwise)) for pairwise in kinds]

    def _questions(self, case: AnswerCase) -> list[Question]:
        """Return the questions about a case: the judge's own, and those about this case alone."""
        pairwise = isinstance(case, PairwiseCase)
        asked = [*(self.criteria or (Criterion(name=DEFAULT_CRITERION),)), *case.criteria]
        shown = case.presentation.instructions
        told = self._instructions if shown in (None, self.instructions) else shown  # ours differ by what is asked
        return [
            question_of(
                criterion,
                key,
                pairwise=pairwise,
                slots=case.presentation.slot_names or DEFAULT_SLOTS,
                instructions=told,
                described=self._described.get(criterion.name) or self._asked_for.described.get(criterion.name, {}),
                form=case.presentation.form,
            )
            for key, criterion in zip(_keys(asked), asked, strict=True)
        ]


def _keys(criteria: Sequence[Criterion]) -> list[str]:
    """Return what names each question in a request: the criterion, or its place where a name could not stand there."""
    names = [criterion.name for criterion in criteria]
    plain = all(_KEY.fullmatch(name) for name in names) and len(set(names)) == len(names)
    return names if plain else [f"q{place}" for place in range(1, len(names) + 1)]


def _example(*, pairwise: bool) -> AnswerCase:
    return PairwiseCase(case_id="-", output="", output_b="") if pairwise else AnswerCase(case_id="-", output="")


def _judgment(questions: Sequence[Question], replies: Sequence[Reply], run_id: str, **facts: str) -> Judgment:
    """Return what the replies to one call say, the first ones of its questions."""
    found: dict[str, Mapping[str, float] | None] = {}
    for reply in replies:
        found = {**reply.answers, **found}
    tokens = Tokens(*map(known_sum, zip(*(reply.tokens for reply in replies), strict=True)))
    request = next((reply.request_id for reply in replies if reply.request_id), None)
    told = {**facts, "run_id": run_id, "response_id": request}
    if any(reply.tokens.input is None for reply in replies) and tokens.input is not None:
        told["warning"] = "the tokens of a request that was refused as a whole are not known, and not counted"
    return Judgment(
        answers=tuple(_answer(question, found) for question in questions),
        model=next((reply.model for reply in replies if reply.model), None),
        facts={name: fact for name, fact in told.items() if fact is not None},
        **dict(zip(TOKENS, tokens, strict=True)),  # type: ignore[arg-type]
    )


def _answer(question: Question, found: Mapping[str, Mapping[str, float] | None]) -> Answer:
    if question.key not in found:
        return Answer(criterion=question.criterion, outcome="unparsed", reasoning="the reply does not answer it")
    shares = found[question.key]
    if shares is None:
        return Answer(criterion=question.criterion, outcome="refused", reasoning="the model refused the question")
    return answer_of(question, shares)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a judge was told to ask; `described` is criterion -> label, or text of a level -> what it means.

    `pairwise` is None where the case says whether two answers are compared.
    """

    criteria: tuple[Criterion, ...] | None
    pairwise: bool | None
    described: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of_taxonomy(cls, taxonomy: Taxonomy | Mapping[str, str] | str | PathLike[str]) -> Self:
        """Return the one question which label fits."""
        found = Taxonomy.of(taxonomy)
        criterion = Criterion(name=found.name, labels=tuple(found.labels))
        return cls(criteria=(criterion,), pairwise=False, described={found.name: found.labels})

    @classmethod
    def of_shape(cls, criteria: CriteriaLike | None, shape: DecisionShape | None, scale: _Scale, *, tie: bool) -> Self:
        """Return the criteria, each with labels or a scale."""
        if criteria is None and shape is None:
            return cls(criteria=None, pairwise=None)
        given = [Criterion(name=DEFAULT_CRITERION)] if criteria is None else several_criteria(criteria, labels=None)
        labels = _PAIR if shape == "pairwise" and tie else _PAIR[:2] if shape == "pairwise" else ("PASS", "FAIL")
        of_shape: dict[str, Any] = {"scale": scale.ends} if shape == "scores" else {"labels": labels}
        named = tuple(one if one.labels or one.scale else replace(one, **of_shape) for one in given)
        described = {one.name: scale.described for one in named if one.scale == scale.ends}
        compares = any(_compares(one) for one in named)
        return cls(criteria=named, pairwise=compares if shape is None else shape == "pairwise", described=described)


def _asked_for(
    criteria: CriteriaLike | None, shape: DecisionShape | None, taxonomy: Any, scale: _Scale, *, tie: bool
) -> _Asked:
    """Return what a judge is to ask.

    Raises:
        UsageError: what it was told does not go together.

    """
    if shape is not None and shape not in _SHAPES:
        raise UnknownNameError("shape", str(shape), _SHAPES)
    if taxonomy is not None:
        if criteria is not None or shape not in (None, "labels"):
            raise UsageError("taxonomy is one question of its own: leave out criteria and shape.")
        return _Asked.of_taxonomy(taxonomy)
    if shape not in (None, "scores") and scale.given:
        raise UsageError(f"scale and levels are of scores: leave them out with shape={shape!r}.")
    if not tie and shape != "pairwise":
        raise UsageError("tie=False is about two answers: give shape='pairwise' with it.")
    return _Asked.of_shape(criteria, shape, scale, tie=tie)


def _compares(criterion: Criterion) -> bool:
    return {"A", "B"} <= set(criterion.labels or ()) <= set(_PAIR)


@dataclass(frozen=True, kw_only=True)
class _Scale:
    """The ends of a score, and text of a level -> what it means."""

    ends: tuple[int, int]
    described: Mapping[str, str]
    given: bool

    @classmethod
    def of(cls, scale: tuple[int, int] | None, levels: Sequence[str]) -> Self:
        """Read the scale.

        Raises:
            UsageError: it is none, or there are more levels than it has, or fewer.

        """
        low, high = ends_of(scale if scale is not None else (1, len(levels) if len(levels) > 1 else _HIGHEST))
        if levels and len(levels) != high - low + 1:
            raise UsageError(
                f"levels are {len(levels)} and the scale {low} to {high} has {high - low + 1}: give as many."
            )
        described = {str(low + place): text for place, text in enumerate(levels)}
        return cls(ends=(low, high), described=described, given=scale is not None or bool(levels))
