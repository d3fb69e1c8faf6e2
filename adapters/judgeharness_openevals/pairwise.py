"""Pairwise evaluators, which openevals lacks, and the judge that says which of two answers is better."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
from openevals.types import ModelClient

from judgeharness_integrations._errors import CaseError, UnsupportedEvaluatorError, UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.result import HarnessResult, OnNotGraded, check_on_not_graded
from judgeharness_integrations.judging.adapterkit import check_harness
from judgeharness_integrations.judging.adapters import VersionRange
from judgeharness_integrations.judging.cases import Case, Criterion, PairwiseCase, case_id_of
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Answer, JudgeIdentity, Judgment, Probe, text_hash
from judgeharness_integrations.judging.marks import (
    CODE,
    CODE_PROPERTY,
    MARKS,
    REASONING_PROPERTY,
    STRUCTURED,
    announced,
    code_of,
    marked,
)
from judgeharness_integrations.judging.structured import structured_case, value_text

from .asking import Asker
from .introspecting import Introspected, template_names
from .judges import for_prompt
from .results import Native, comment_on, measurement, one_verdict
from .versions import TESTED

PAIRWISE_PROMPT = """You compare two answers to the same task and decide which one is better: more helpful, more \
correct, more relevant, and closer to what the task asks for. The order of the answers and their length say nothing \
about their quality. Where a reference is given, it is correct.

{marks}

Say which answer is better: A, B, or whether it is a TIE. {answer_format}

{code}

{inputs}

{reference_outputs}

{output_a}

{output_b}"""

LABELS = ("A", "B", "TIE")
_TITLES = {"inputs": "Task", "reference_outputs": "Reference", "output_a": "Answer A", "output_b": "Answer B"}
_FIXED = {"marks": MARKS, "answer_format": STRUCTURED}
RESERVED = frozenset({*_TITLES, *_FIXED, "outputs", CODE})  # what a prompt may name that is no keyword of the caller's
_ATTACHED = frozenset({"attachments"})  # images, sounds and files: no texts to be marked
_PREFERRED = {"type": "string", "enum": list(LABELS), "description": "The better answer, or TIE."}


@dataclass(frozen=True, kw_only=True)
class PreferenceCase(PairwiseCase):
    """Two answers, and what else the prompt names."""

    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PreferenceJudge:
    """Asks a model of openevals which of two answers is better: A, B or TIE."""

    tested: ClassVar[Mapping[str, VersionRange]] = TESTED

    name: str
    key: str
    run_name: str
    details: Introspected
    asker: Asker

    @property
    def identity(self) -> JudgeIdentity | None:
        """Model, parameters and prompt."""
        known = self.details.identity
        return known and replace(known, name="pairwise", prompt_hash=text_hash(f"{known.prompt_hash} {_FIXED}"))

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The preference."""
        return (Criterion(name=self.key, labels=LABELS),)

    @property
    def model_name(self) -> str | None:
        """The name of the model it asks."""
        return self.details.model_name

    def fits(self, case: Case) -> str | None:
        """Return why the judge cannot judge a case, None when it can."""
        if not isinstance(case, PairwiseCase):
            return "it compares two answers and the case has one"
        lacking = sorted((self.details.variables or frozenset()) - self._prompt_values(case)[0].keys())
        return f"its prompt names {' and '.join(lacking)}, which the case lacks" if lacking else None

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the model once."""
        if (reason := self.fits(probe.case)) is not None:
            raise CaseError(f"{self.name} cannot judge case {case_id_of(probe.case)!r}: {reason}.")
        values, code = self._prompt_values(probe.case)
        asked = await self.asker.ask(probe, values, code=code)
        answer = _preference(asked.native)
        answer = asked.unusable() or answer
        return asked.judgment((replace(answer, criterion=self.key),))

    def _prompt_values(self, case: PairwiseCase) -> tuple[dict[str, Any], str]:
        """Return what the prompt may name, the texts between marks that carry a code none of them holds; the code."""
        named = self.details.variables or frozenset()
        more = {**case.attributes, **getattr(case, "extra", {})}
        attached = {name: for_prompt(more.pop(name)) for name in _ATTACHED & more.keys()}
        texts = {n: value_text(v) for n, v in more.items() if n in named - RESERVED and v is not None}
        texts |= {"context": case.context} if case.context is not None else {}
        texts |= {"output_a": case.output, "output_b": case.output_b}
        own = {"inputs": case.input, "reference_outputs": case.reference}
        given: dict[str, str] = {**texts, **{name: text for name, text in own.items() if text is not None}}
        code = code_of(given.values())
        values = {"inputs": "", "reference_outputs": "", **attached, **_FIXED, CODE: announced(code)}
        return values | {n: marked(_TITLES.get(n, n), text, code) for n, text in given.items()}, code


def _preference(native: Any) -> Answer:
    said = native if isinstance(native, Mapping) else {}
    preferred, reasoning = said.get("preferred"), said.get("reasoning")
    reasons = reasoning if isinstance(reasoning, str) else None
    if preferred not in LABELS:
        return Answer(outcome="unparsed", reasoning=reasons)
    return Answer(verdict=preferred, reasoning=reasons)


def preference_judge(
    model: str | None,
    judge: Any,
    prompt: str,
    feedback_key: str,
    *,
    system: str | None = None,
    use_reasoning: bool = True,
    name: str | None = None,
) -> PreferenceJudge:
    """Return the judge behind a pairwise evaluator; see `create_harnessed_pairwise_judge`."""
    if model is None and not isinstance(judge, BaseChatModel):
        raise UsageError("a pairwise judge needs a model, as in model='openai:gpt-4o', or judge=a chat model.")
    if model is not None and isinstance(judge, BaseChatModel):
        raise UsageError("a pairwise judge has one model: give model or the chat model as judge, not both.")
    arguments = {
        "prompt": _checked_prompt(prompt),
        "feedback_key": feedback_key,
        "judge": judge,
        "model": model,
        "system": system,
        "continuous": False,
        "choices": None,
        "use_reasoning": use_reasoning,
        "few_shot_examples": None,
        "output_schema": _schema(use_reasoning=use_reasoning),
    }
    factory = create_llm_as_judge if _is_sync_client(judge) else create_async_llm_as_judge
    details = Introspected(factory=factory, arguments=arguments)
    details.check()
    run_name = f"llm_as_{feedback_key}_judge"
    asker = Asker(function=factory(**arguments), details=details)
    return PreferenceJudge(name=name or feedback_key, key=feedback_key, run_name=run_name, details=details, asker=asker)


def _checked_prompt(prompt: object) -> str:
    if not isinstance(prompt, str):
        raise UsageError(f"the prompt of a pairwise judge is a text, not a {type(prompt).__name__}.")
    try:
        named = template_names(prompt)
    except UnsupportedEvaluatorError as error:
        raise UsageError(str(error)) from error
    if not {"output_a", "output_b"} <= named:
        raise UsageError("the prompt of a pairwise judge names both answers: {output_a} and {output_b}.")
    lacking = [name for name in ("marks", CODE) if name not in named]
    return "\n\n".join([*(f"{{{name}}}" for name in lacking), prompt])


def _is_sync_client(judge: Any) -> bool:
    create = getattr(getattr(getattr(judge, "chat", None), "completions", None), "create", None)
    return create is not None and not inspect.iscoroutinefunction(inspect.unwrap(create))


def _schema(*, use_reasoning: bool) -> dict[str, Any]:
    properties = {
        **({"reasoning": REASONING_PROPERTY} if use_reasoning else {}),
        "preferred": _PREFERRED,
        CODE: CODE_PROPERTY,
    }
    return {
        "title": "preference",
        "description": "Which of two answers is better.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_SCORES = {"A": 1.0, "B": 0.0, "TIE": 0.5}


def create_harnessed_pairwise_judge(
    *,
    model: str | None = None,
    judge: BaseChatModel | ModelClient | None = None,
    prompt: str = PAIRWISE_PROMPT,
    feedback_key: str = "preference",
    system: str | None = None,
    use_reasoning: bool = True,
    harness: JudgeHarness | None = None,
    calibration: CalibrationReport | str | PathLike[str] | None = None,
    on_not_graded: OnNotGraded = "raise",
) -> Any:
    """Return an evaluator `(*, inputs, outputs, reference_outputs, **kwargs)` whose `outputs` are two answers.

    The score is 1.0 when the first is preferred, 0.0 for the second, 0.5 for a tie and None where the harness
    abstains; `metadata` holds the measurement. The function has the attributes `judge` and `harness`.

    Args:
        model: as `openai:gpt-4o`; the model's own name beside an OpenAI client.
        judge: a chat model or an OpenAI client.
        prompt: names `{output_a}` and `{output_b}`, and `{inputs}`, `{reference_outputs}` and further keywords where
            it needs them; the texts stand between marks, which `{marks}` explains and whose code `{code}` announces,
            both before the prompt where it does not name them.
        feedback_key: the key of the result.
        system: what the system message says.
        use_reasoning: ask for reasons before the preference.
        harness: the design; `JudgeHarness.standard("pairwise")` by default: six calls, both orders.
        calibration: a saved calibration, or its path.
        on_not_graded: as in `harness_judge`.

    Raises:
        UsageError: there is no model, or there are two, the prompt is no text that names the answers, or
            `on_not_graded` is no choice.
        UnsupportedEvaluatorError: it could never answer; the sentence says why.

    """
    check_harness(harness)
    check_on_not_graded(on_not_graded)
    asked = preference_judge(model, judge, prompt, feedback_key, system=system, use_reasoning=use_reasoning)
    chosen = (harness or JudgeHarness.standard("pairwise")).with_calibration(calibration)
    told = _options(asked, chosen, on_not_graded)

    def evaluate(*, inputs: Any = None, outputs: Sequence[Any], reference_outputs: Any = None, **kwargs: Any) -> Native:
        """Compare two answers."""
        pair = _Pair(inputs, outputs, reference_outputs, kwargs)
        with one_verdict(asked.run_name, pair.arguments, **told) as ended:
            result = chosen.evaluate(asked, pair.case, asked.model_name)
            return ended(_native(result, asked.key), result)

    return _named(evaluate, asked, chosen)


def create_async_harnessed_pairwise_judge(**options: Any) -> Any:
    """Return the same evaluator, async; see `create_harnessed_pairwise_judge`."""
    made = create_harnessed_pairwise_judge(**options)
    asked, chosen = made.judge, made.harness
    told = _options(asked, chosen, options.get("on_not_graded", "raise"))

    async def evaluate(
        *, inputs: Any = None, outputs: Sequence[Any], reference_outputs: Any = None, **kwargs: Any
    ) -> Native:
        """Compare two answers."""
        pair = _Pair(inputs, outputs, reference_outputs, kwargs)
        with one_verdict(asked.run_name, pair.arguments, **told) as ended:
            result = await chosen.aevaluate(asked, pair.case, asked.model_name)
            return ended(_native(result, asked.key), result)

    return _named(evaluate, asked, chosen)


@dataclass(frozen=True)
class _Pair:
    """The arguments of one evaluation."""

    inputs: Any
    outputs: Sequence[Any]
    reference_outputs: Any
    extra: dict[str, Any]

    def __post_init__(self) -> None:
        """Refuse anything but two answers, and keywords that would take the place of what is judged."""
        if taken := sorted(RESERVED & self.extra.keys()):
            raise UsageError(f"{' and '.join(taken)} in the prompt is what is judged: name the keyword otherwise.")
        if isinstance(self.outputs, (str, bytes)) or not isinstance(self.outputs, Sequence) or len(self.outputs) != 2:  # noqa: PLR2004
            several = isinstance(self.outputs, Sequence) and not isinstance(self.outputs, (str, bytes))
            given = f"{len(self.outputs)} of them" if several else f"a {type(self.outputs).__name__}"
            raise UsageError(f"outputs are exactly two answers, as in outputs=[first, second], not {given}.")

    @property
    def arguments(self) -> dict[str, Any]:
        """What the evaluator was called with."""
        values = {"inputs": self.inputs, "outputs": list(self.outputs), "reference_outputs": self.reference_outputs}
        return {**values, **self.extra}

    @property
    def case(self) -> PreferenceCase:
        """What the judge is asked."""
        first, second = self.outputs
        values = structured_case(
            inputs=self.inputs, outputs=[first, second], reference_outputs=self.reference_outputs, extra=self.extra
        )
        return PreferenceCase(
            case_id=values.case_id,
            input=values.input,
            reference=values.reference,
            output=value_text(first),
            output_b=value_text(second),
            extra=values.extra,
        )


def _options(judge: PreferenceJudge, harness: JudgeHarness, on_not_graded: OnNotGraded) -> dict[str, Any]:
    """Return what `one_verdict` is told besides name and arguments."""
    return {"key": judge.key, "observers": harness.observers, "on_not_graded": on_not_graded}


def _native(result: HarnessResult, key: str) -> Native:
    score = _SCORES.get(str(result.verdict)) if result.status == "decided" else None
    return {"key": key, "score": score, "comment": comment_on(result, key), "metadata": measurement(result, key)}


def _named(evaluate: Any, judge: PreferenceJudge, harness: JudgeHarness) -> Any:
    evaluate.__name__ = evaluate.__qualname__ = judge.run_name
    evaluate.judge, evaluate.harness = judge, harness
    return evaluate
