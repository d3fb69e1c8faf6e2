"""What a decision model is asked and answers, in LangChain's two shapes of it; their classes load at first use.

`BaseDecisionModel` (langchain-core 1.8) knows no refusal: a model of it raises where one question is refused, and the
other answers are lost. `OpenAIDecisions` (langchain-openai 1.7.4), which is none, keeps refusals question by question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UsageError
from judgeharness_integrations.judging.answer import NO_TOKENS, ModelAnswer, Tokens, answer_behind, tokens_of
from judgeharness_integrations.judging.execution.ownclients import own_client, own_model
from judgeharness_integrations.judging.questions import Option, Question

from .models import innermost, model_parameters, sentence, with_innermost

EXTRA = "decisions"
_CORE, _OPENAI = ("langchain_core", "BaseDecisionModel"), ("langchain_openai", "OpenAIDecisions")
_PROVIDER = "openai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one request answered: key of a question -> the probabilities of its options, or None where it was refused.

    A question that is not among the answers has none.
    """

    answers: Mapping[str, Mapping[str, float] | None]
    model: str | None = None
    tokens: Tokens = NO_TOKENS
    request_id: str | None = None


class DecisionModel(Protocol):
    """A decision model; `keeps_others` says whether the answers to other questions survive where one is refused."""

    keeps_others: bool

    async def ask(self, state: Mapping[str, str], questions: Sequence[Question], config: RunnableConfig) -> Reply:
        """Ask questions about one state in one request.

        Raises:
            Exception: the call failed.

        """
        ...


def is_decision_model(model: object) -> bool:
    """Whether it is a decision model of LangChain, maybe in bindings; imports nothing."""
    return _is_of(_CORE, model) or _is_of(_OPENAI, model)


def _is_of(known: tuple[str, str], model: object) -> bool:
    package, name = known
    kinds = type(innermost(model)).__mro__
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in kinds)


def asked_by(model: Any) -> DecisionModel:
    """Return a decision model of LangChain as it is asked here.

    Raises:
        UsageError: it is none.

    """
    if _is_of(_OPENAI, model):
        return _OpenAIDecisions(model)
    if _is_of(_CORE, model):
        return _BaseDecisionModel(model)
    raise UsageError(
        f"DecisionJudge needs a decision model of LangChain, or the name of one, not {type(model).__name__}: "
        "chat models are asked by PairwiseJudge, ScoreJudge, CriteriaJudge and LabelJudge."
    )


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the parameters that are set on a decision model, and the endpoint, which its client may know alone."""
    client = getattr(innermost(model), "_async_client", None)
    held = model_parameters(client) if hasattr(client, "base_url") else {}
    return {**({"endpoint": held["endpoint"]} if "endpoint" in held else {}), **model_parameters(model)}


class _BaseDecisionModel:
    """A `langchain_core.decisions.BaseDecisionModel`, maybe in bindings."""

    keeps_others = False

    def __init__(self, model: Any) -> None:
        self._model = model

    async def ask(self, state: Mapping[str, str], questions: Sequence[Question], config: RunnableConfig) -> Reply:
        request = {"state": dict(state), "questions": {one.key: _core_question(one) for one in questions}}
        try:
            said = await own_model(self._model).ainvoke(request, config)
        except Exception as error:
            behind = answer_behind(error)
            if behind is None or behind.ending != "refused":
                raise
            return _refused(questions, behind)
        return Reply(
            answers=_read(questions, said.answers),
            model=said.model,
            tokens=tokens_of(said.usage or {}),
            request_id=said.request_id,
        )


class _OpenAIDecisions:
    """A `langchain_openai.decisions.OpenAIDecisions`, maybe in bindings."""

    keeps_others = True

    def __init__(self, model: Any) -> None:
        self._model = model

    async def ask(self, state: Mapping[str, str], questions: Sequence[Question], config: RunnableConfig) -> Reply:
        request = {"input": dict(state), "questions": {one.key: _openai_question(one) for one in questions}}
        model, usage = _told_usage(self._model)
        said = await model.ainvoke(request, config)
        return Reply(
            answers=_read(questions, said.answers),
            model=said.model,
            tokens=tokens_of(usage or said.usage),
            request_id=said.request_id,
        )


def _told_usage(model: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model for one request, and what will hold the usage of its reply as the server told it.

    LangChain's own record of it leaves out the tokens of a cache. A model that is built otherwise tells nothing.
    """
    core, usage = innermost(model), dict[str, Any]()
    client = getattr(core, "_async_client", None)
    if client is None or not hasattr(client, "post"):
        return own_model(model), usage
    own: Any = core.model_copy()  # type: ignore[attr-defined]
    vars(own)["_async_client"] = _ToldClient(own_client(client), usage)
    return with_innermost(model, own), usage


class _ToldClient:
    """OpenAI's client as `OpenAIDecisions` uses it, which keeps the usage of a reply."""

    def __init__(self, client: Any, usage: dict[str, Any]) -> None:
        self._client, self._usage = client, usage

    async def post(self, *given: Any, **options: Any) -> Any:
        reply = await self._client.post(*given, **options)
        try:
            told = reply.json().get("usage")
        except (ValueError, AttributeError):  # which the reader of the answers will say in its own words
            told = None
        self._usage.update(told if isinstance(told, Mapping) else {})
        return reply


def _core_question(question: Question) -> Any:
    from langchain_core.decisions import Choice, Noul, Score  # noqa: PLC0415 - not in every version

    if question.kind == "yes_no":
        return Noul(instructions=question.instructions)
    if question.kind == "score":
        return Score(
            instructions=question.instructions, criteria=[one.description or one.value for one in question.options]
        )
    return Choice(
        instructions=question.instructions, criteria={one.value: one.description or None for one in question.options}
    )


def _openai_question(question: Question) -> Any:
    from langchain_openai.decisions import Choice, Level, Predicate, Score  # noqa: PLC0415 - not in every version

    if question.kind == "yes_no":
        return Predicate(instructions=question.instructions)
    if question.kind == "score":
        levels: list[Any] = [Level(label=one.value, description=one.description or None) for one in question.options]
        return Score(instructions=question.instructions, levels=levels)
    return Choice(
        instructions=question.instructions, choices={one.value: one.description or None for one in question.options}
    )


def _read(questions: Iterable[Question], answers: Mapping[str, Any]) -> dict[str, Mapping[str, float] | None]:
    """Return key -> probabilities by the value of an option; None for a refusal."""
    asked = {question.key: question for question in questions}
    return {key: _shares(asked[key], answer) for key, answer in answers.items() if key in asked}


def _shares(question: Question, answer: Any) -> Mapping[str, float] | None:
    kind = getattr(answer, "type", None)
    if kind == "refusal":
        return None
    if kind in ("noul", "predicate"):
        yes = float(answer.noul if kind == "noul" else answer.probability)
        return {"yes": yes, "no": 1 - yes}
    told = getattr(answer, "probabilities", None) or {}
    if kind == "score":  # by the number of a level, from 0
        return {_level(question.options, number): share for number, share in told.items()}
    return {str(value): share for value, share in told.items()}


def _level(options: Sequence[Option], number: int) -> str:
    return options[number].value if 0 <= number < len(options) else f"level {number}"


def _refused(questions: Iterable[Question], said: ModelAnswer) -> Reply:
    return Reply(answers=dict.fromkeys(one.key for one in questions), model=said.model, tokens=said.tokens)


def decision_model(name: str, options: Mapping[str, Any]) -> Any:
    """Return the `OpenAIDecisions` of a name: `openai:gpt-6-luna`, or what a server of `base_url` calls its model.

    It retries nothing itself, since the harness does.

    Raises:
        NotInstalledError: langchain-openai has no decision models, or is missing.
        ConfigError: the name or its options are refused.

    """
    provider, _, model = name.partition(":")
    if provider != _PROVIDER:
        if "base_url" not in options:
            raise ConfigError(
                f"model {name!r}: write openai:MODEL, or give base_url of a server that answers POST /decisions, "
                "or a decision model of LangChain in Python."
            )
        model = name
    try:
        from langchain_core._api import suppress_langchain_beta_warning  # noqa: PLC0415
        from langchain_openai.decisions import OpenAIDecisions  # noqa: PLC0415 - not in every version
    except ImportError as error:
        raise NotInstalledError(f"what asks decision model {name!r} (langchain_openai.decisions)", EXTRA) from error
    try:
        with suppress_langchain_beta_warning():
            return OpenAIDecisions(**{"max_retries": 0, **options, "model": model})
    except Exception as error:
        raise ConfigError(f"decision model {name!r} cannot be made: {sentence(error, options)}.") from error
