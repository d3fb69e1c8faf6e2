"""Pairwise evaluators, which openevals lacks: `judge(inputs=..., outputs=[first, second])`, asked in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from langchain_core.language_models import BaseChatModel
from openevals.types import ModelClient

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.result import HarnessResult, OnNotGraded, check_on_not_graded
from judgeharness_integrations.judging.defaulting import check_harness
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.structured import structured_case, value_text
from judgeharness_openevals.preference_judge import (
    PAIRWISE_PROMPT,
    RESERVED,
    PreferenceCase,
    PreferenceJudge,
    preference_judge,
)
from judgeharness_openevals.results import Native, comment_on, measurement, one_verdict

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
    told = _told(asked, chosen, on_not_graded)

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
    told = _told(asked, chosen, options.get("on_not_graded", "raise"))

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


def _told(judge: PreferenceJudge, harness: JudgeHarness, on_not_graded: OnNotGraded) -> dict[str, Any]:
    """Return what `one_verdict` is told besides name and arguments."""
    return {"key": judge.key, "observers": harness.observers, "on_not_graded": on_not_graded}


def _native(result: HarnessResult, key: str) -> Native:
    score = _SCORES.get(str(result.verdict)) if result.status == "decided" else None
    return {"key": key, "score": score, "comment": comment_on(result, key), "metadata": measurement(result, key)}


def _named(evaluate: Any, judge: PreferenceJudge, harness: JudgeHarness) -> Any:
    evaluate.__name__ = evaluate.__qualname__ = judge.run_name
    evaluate.judge, evaluate.harness = judge, harness
    return evaluate
