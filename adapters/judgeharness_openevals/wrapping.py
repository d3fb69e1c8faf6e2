"""`harness_judge`: the same protocol, the same result dicts; which judges are known, also to a configuration file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from os import PathLike
from typing import Any

from openevals import prompts
from openevals.llm import create_async_llm_as_judge
from openevals.trajectory.llm import create_async_trajectory_llm_as_judge
from pydantic import ValidationError

from judgeharness_integrations._errors import (
    ConfigError,
    JudgeHarnessError,
    UnknownNameError,
    UnsupportedEvaluatorError,
    UsageError,
)
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.result import OnNotGraded, check_on_not_graded
from judgeharness_integrations.judging.adapterkit import check_harness, standard_for
from judgeharness_integrations.judging.adapters import JudgeSpec
from judgeharness_integrations.judging.harness import JudgeHarness, Shape
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.structured import StructuredCase, structured_case
from judgeharness_integrations.judging.tiers import PATIENCE_S
from judgeharness_integrations.redacting import without_secrets

from .introspecting import PROTOCOL, Protocol, chat_model, unwrapped
from .judges import OpenevalsJudge
from .pairwise import PAIRWISE_PROMPT, PreferenceJudge, preference_judge
from .results import Native, native_result, one_verdict

_TAKEN = frozenset({*PROTOCOL, "attachments"})


def harness_judge(
    judge: Any,
    harness: JudgeHarness | None = None,
    calibration: CalibrationReport | str | PathLike[str] | None = None,
    *,
    key: str | None = None,
    shape: Shape | None = None,
    on_not_graded: OnNotGraded = "raise",
) -> Any:
    """Return the evaluator under a harness: sync or async as it is, with the same protocol and the same result dicts.

    `score` is the folded decision, None where the harness abstains or too few answers are valid; `comment` gives the
    reasons of the deciding side, or why nothing was decided; `metadata` holds the measurement. The function has the
    attributes `judge` and `harness`. The harness tries a failed call again, and OpenAI clients and models by name do
    not; a chat model of the caller's own retries as it is made, so make it with `max_retries=0`. In a test marked
    `@pytest.mark.langsmith` a verdict is one feedback row a key and one trace.

    Args:
        judge: what `create_llm_as_judge` and its like make, or a function that takes `outputs` and, where it needs
            them, `inputs` and `reference_outputs`. One of openevals' or agentevals' that asks no model is called once
            whatever the design, unperturbed, and its result says so.
        harness: the design; by default `JudgeHarness.standard` for what the judge answers (six calls a case), where
            a format change that does not fit a case is skipped and reported. Scores of given `choices` are folded by
            `mode`: the most frequent one, and an abstention where two are; a median could lie between the choices.
        calibration: a saved calibration, or its path.
        key: the key of results that name none; a judge of openevals has its `feedback_key`.
        shape: `labels`, `scores` or `any`: which default design, where the judge's answers are not known.
        on_not_graded: what an evaluation does when all samples failed with errors (a dead key, say): `raise` a
            `NotGradedError`, as the judge raises where its model cannot be reached, or `report` score None.

    Raises:
        UnsupportedEvaluatorError: it cannot be harnessed; the sentence says why.
        UsageError: it is harnessed already, `harness` is no `JudgeHarness`, `on_not_graded` is no choice, or there are
            two calibrations or keys.

    """
    check_on_not_graded(on_not_graded)
    function = unwrapped(judge)[0]
    if _is_harnessed(function):
        raise UsageError("the evaluator is harnessed already.")
    if isinstance(judge, Judge):
        raise UsageError(f"a {type(judge).__name__} is no openevals evaluator: use harness.evaluate(judge, case).")
    check_harness(harness)
    asked = OpenevalsJudge.of(judge, key=key)
    chosen = (harness or standard_for(asked, shape)).with_calibration(calibration)
    return _harnessed(_Evaluation(asked, chosen, on_not_graded))


def recognise(evaluator: object) -> Judge | None:
    """Return the judge in a harnessed evaluator, or one over a function that takes `outputs` and no other than these.

    None for anything else, judges and classes included.

    Raises:
        UnsupportedEvaluatorError: it is a judge of openevals that could never answer, or harnessed and partly called.

    """
    function = unwrapped(evaluator)[0]
    if _is_harnessed(function):
        if function is not evaluator:
            raise UnsupportedEvaluatorError("a functools.partial of a harnessed judge: harness the partial instead.")
        wrapped = getattr(evaluator, "judge", None)
        return wrapped if isinstance(wrapped, (OpenevalsJudge, PreferenceJudge)) else None
    if not callable(evaluator) or isinstance(evaluator, (type, Judge)):
        return None
    try:
        names = set(Protocol.of(evaluator).names)
    except UnsupportedEvaluatorError:
        return None
    if "outputs" not in names or not names <= _TAKEN:
        return None
    return OpenevalsJudge.of(evaluator)


def _is_harnessed(evaluator: object) -> bool:
    return isinstance(getattr(evaluator, "harness", None), JudgeHarness) and hasattr(evaluator, "judge")


@dataclass(frozen=True)
class _Evaluation:
    """A judge under a harness."""

    judge: OpenevalsJudge
    harness: JudgeHarness
    on_not_graded: OnNotGraded

    def run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Native:
        arguments, judge = self.judge.protocol.bound(args, kwargs), self._bound()
        with one_verdict(judge.run_name, arguments, **self._verdict_options) as ended:
            result = self.harness.evaluate(judge, _case(arguments), judge.model_name)
            return ended(native_result(judge, result, bare=self._bare, raises=self.on_not_graded == "raise"), result)

    async def arun(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Native:
        arguments, judge = self.judge.protocol.bound(args, kwargs), self._bound()
        with one_verdict(judge.run_name, arguments, **self._verdict_options) as ended:
            result = await self.harness.aevaluate(judge, _case(arguments), judge.model_name)
            return ended(native_result(judge, result, bare=self._bare, raises=self.on_not_graded == "raise"), result)

    def _bound(self) -> OpenevalsJudge:
        return self.judge.bound(own_reading=self._bare)

    @property
    def _verdict_options(self) -> dict[str, Any]:
        logs = self.judge.details is None or not self.judge.details.raw
        watching, choice = self.harness.observers, self.on_not_graded
        return {"key": self.judge.key, "observers": watching, "logs": logs, "on_not_graded": choice}

    @property
    def _bare(self) -> bool:
        """Whether the design is the evaluator itself: one sample, nothing perturbed."""
        design = self.harness.design_for(self.judge)
        return design.repetitions == 1 and design.perturbations == ("none",)


def _case(arguments: Mapping[str, Any]) -> StructuredCase:
    extra = {name: value for name, value in arguments.items() if name not in PROTOCOL}
    values = {name: arguments.get(name) for name in PROTOCOL}
    return structured_case(**values, extra=extra)


def _harnessed(evaluation: _Evaluation) -> Callable[..., Any]:
    judge = evaluation.judge

    async def asynchronous(*args: Any, **kwargs: Any) -> Native:
        return await evaluation.arun(args, kwargs)

    def synchronous(*args: Any, **kwargs: Any) -> Native:
        return evaluation.run(args, kwargs)

    harnessed: Any = asynchronous if judge.asynchronous else synchronous
    harnessed.__name__ = harnessed.__qualname__ = judge.run_name  # where the evaluator itself has no name
    update_wrapper(harnessed, judge.function, updated=())
    harnessed.judge, harnessed.harness = judge, evaluation.harness
    return harnessed  # type: ignore[no-any-return]


_EVALUATORS: Mapping[str, Callable[..., Any]] = {
    "llm_as_judge": create_async_llm_as_judge,
    "trajectory_llm_as_judge": create_async_trajectory_llm_as_judge,
    "pairwise": preference_judge,
}
_ELSEWHERE = frozenset({"judge", "model", "name"})  # said by model, model_options and name of the file


def judge_from_spec(spec: JudgeSpec) -> Judge:
    """Return the judge of a configuration: `llm_as_judge`, `trajectory_llm_as_judge` or `pairwise`.

    Raises:
        UsageError: name, model or options cannot be used.

    """
    if spec.evaluator not in _EVALUATORS:
        raise UnknownNameError("evaluator", spec.evaluator, _EVALUATORS)
    if spec.model is None:
        raise ConfigError(f"judge {spec.name!r} needs a model, as in model: openai:gpt-4o.")
    factory = _EVALUATORS[spec.evaluator]
    options = _options(spec, factory)
    model = _chat_model(spec.model, spec.model_options, spec.tier)
    try:
        if spec.evaluator == "pairwise":
            given: dict[str, Any] = {"prompt": PAIRWISE_PROMPT, "feedback_key": "preference"} | options
            return preference_judge(None, model, name=spec.name, **given)
        return OpenevalsJudge.of(factory(judge=model, **options), name=spec.name)
    except JudgeHarnessError as error:
        raise ConfigError(f"judge {spec.name!r}: {error}") from error


def _options(spec: JudgeSpec, factory: Callable[..., Any]) -> dict[str, Any]:
    """Return the evaluator's options, a prompt of openevals that is given by name looked up."""
    known = [name for name in inspect.signature(factory).parameters if name not in _ELSEWHERE]
    options = dict(spec.evaluator_options)
    for name in options:
        if name not in known:
            raise UnknownNameError(f"option of {spec.evaluator}", name, known)
    prompt = options.get("prompt")
    if prompt is None and factory is create_async_llm_as_judge:
        raise ConfigError(f"judge {spec.name!r} needs a prompt: its text, or a name like CORRECTNESS_PROMPT.")
    if prompt is not None and not isinstance(prompt, str):
        raise ConfigError(f"judge {spec.name!r}: prompt is a text, or the name of one, not {type(prompt).__name__}.")
    if prompt is not None and prompt.isidentifier():
        names = {name: text for name, text in vars(prompts).items() if name.isupper() and isinstance(text, str)}
        if prompt not in names:
            raise UnknownNameError("prompt of openevals", prompt, names)
        options["prompt"] = names[prompt]
    return options


def _chat_model(name: str, options: Mapping[str, Any], tier: str | None) -> Any:
    try:
        model = chat_model(name, **options)
        if tier is None:
            return model
        if "service_tier" in getattr(type(model), "model_fields", {}):
            return chat_model(name, **{"timeout": PATIENCE_S, **options, "service_tier": tier})
    except Exception as error:
        raise ConfigError(f"model {name!r} cannot be made: {_sentence(error, options)}.") from error
    raise ConfigError(f"model {name!r} has no tier {tier} in its client: give its judge tier: standard.")


def _sentence(error: Exception, options: Mapping[str, Any]) -> str:
    """Return one line that says what is wrong, without secrets of the options."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_context=False, include_input=False)
        line = "; ".join(f"option {'.'.join(map(str, part['loc']))!r}: {part['msg']}" for part in found)
    else:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return without_secrets(" ".join(line.split()).rstrip("."), options)
