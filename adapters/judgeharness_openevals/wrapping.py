"""`harness_judge`: the same protocol, the same result dicts, a measurement behind them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from os import PathLike
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.calibration import CalibrationReport
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.presets import Shape
from judgeharness_integrations.structured import StructuredCase, structured_case
from judgeharness_openevals.openevals_judge import OpenevalsJudge
from judgeharness_openevals.protocol import PROTOCOL
from judgeharness_openevals.results import Native, native_result
from judgeharness_openevals.tracing import is_private, one_verdict

__all__ = ["checked_harness", "harness_judge", "is_harnessed"]

_BY_RULE = (
    *("openevals.exact", "openevals.string", "openevals.code.pyright", "openevals.code.mypy"),
    *(f"openevals.trajectory.{name}" for name in ("match", "strict", "subset", "superset", "unordered")),
)
_TOLERANCE = 0.1  # scores of LangSmith are between 0 and 1 by convention


def harness_judge(
    judge: Any,
    harness: JudgeHarness | None = None,
    calibration: CalibrationReport | str | PathLike[str] | None = None,
    *,
    key: str | None = None,
    shape: Shape | None = None,
) -> Any:
    """Return the evaluator under a harness: sync or async as it is, with the same protocol and the same result dicts.

    `score` is the folded decision, None where the harness abstains or could not grade; `comment` gives the reasons of
    the deciding side, or why nothing was decided; `metadata` holds the measurement. The function has the attributes
    `judge` and `harness`. In a test marked `@pytest.mark.langsmith` a verdict is one feedback row a key and one trace.

    Args:
        judge: what `create_llm_as_judge` and its like make, or a function that takes `outputs` and, where it needs
            them, `inputs` and `reference_outputs`. One that asks no model is returned as it is.
        harness: the design; by default `JudgeHarness.standard` for what the judge answers (six calls a case), where
            a format change that does not fit a case is skipped and reported.
        calibration: a saved calibration, or its path.
        key: the key of answers that name none.
        shape: `labels`, `scores` or `any`: which default design, where the judge's answers are not known.

    Raises:
        UnsupportedEvaluatorError: it cannot be harnessed; the sentence says why.
        UsageError: it is harnessed already, `harness` is no `JudgeHarness`, or there are two calibrations.

    """
    if is_harnessed(judge):
        raise UsageError("the evaluator is harnessed already.")
    if isinstance(judge, Judge):
        raise UsageError(f"a {type(judge).__name__} is no openevals evaluator: use harness.evaluate(judge, case).")
    checked_harness(harness)
    module = str(getattr(judge, "__module__", ""))
    if any(module == name or module.startswith(f"{name}.") for name in _BY_RULE):
        name = getattr(judge, "__name__", module)
        warnings.warn(f"{name} of {module} asks no model, so it is returned without a harness.", stacklevel=2)
        return judge
    asked = OpenevalsJudge.of(judge, key=key)
    return _harnessed(asked, (harness or _standard(shape or asked.shape)).with_calibration(calibration))


def checked_harness(harness: object) -> None:
    """Raise a UsageError for what is neither a harness nor None."""
    if harness is not None and not isinstance(harness, JudgeHarness):
        raise UsageError(
            f"harness is a JudgeHarness, as in JudgeHarness.standard('labels'), not a {type(harness).__name__}."
        )


def is_harnessed(evaluator: object) -> bool:
    """Whether an evaluator is one of ours."""
    return isinstance(getattr(evaluator, "harness", None), JudgeHarness) and hasattr(evaluator, "judge")


def _standard(shape: Shape) -> JudgeHarness:
    tolerance = {"tolerance": _TOLERANCE} if shape == "any" else {}
    return JudgeHarness.standard(shape, on_unfit="skip", **tolerance)


@dataclass(frozen=True)
class _Evaluation:
    """A judge under a harness."""

    judge: OpenevalsJudge
    harness: JudgeHarness

    def run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Native:
        arguments, judge = self.judge.protocol.bound(args, kwargs), self.judge.bound()
        with one_verdict(judge.run_name, arguments, **self._told) as ended:
            result = self.harness.evaluate(judge, _case(arguments), judge.model_name)
            return ended(native_result(judge, result, bare=self._bare))

    async def arun(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Native:
        arguments, judge = self.judge.protocol.bound(args, kwargs), self.judge.bound()
        with one_verdict(judge.run_name, arguments, **self._told) as ended:
            result = await self.harness.aevaluate(judge, _case(arguments), judge.model_name)
            return ended(native_result(judge, result, bare=self._bare))

    @property
    def _told(self) -> dict[str, Any]:
        logs = self.judge.details is None or not self.judge.details.raw
        return {"key": self.judge.key, "private": is_private(self.harness), "logs": logs}

    @property
    def _bare(self) -> bool:
        """Whether the design is the evaluator itself: one sample, nothing perturbed."""
        return self.harness.design.repetitions == 1 and self.harness.design.perturbations == ("none",)


def _case(arguments: Mapping[str, Any]) -> StructuredCase:
    extra = {name: value for name, value in arguments.items() if name not in PROTOCOL}
    values = {name: arguments.get(name) for name in PROTOCOL}
    return structured_case(**values, extra=extra)


def _harnessed(judge: OpenevalsJudge, harness: JudgeHarness) -> Callable[..., Any]:
    evaluation = _Evaluation(judge, harness)

    async def asynchronous(*args: Any, **kwargs: Any) -> Native:
        return await evaluation.arun(args, kwargs)

    def synchronous(*args: Any, **kwargs: Any) -> Native:
        return evaluation.run(args, kwargs)

    harnessed: Any = asynchronous if judge.asynchronous else synchronous
    harnessed.__name__ = harnessed.__qualname__ = judge.name  # where the evaluator itself has no name
    update_wrapper(harnessed, judge.function, updated=())
    harnessed.judge, harnessed.harness = judge, harness
    return harnessed  # type: ignore[no-any-return]
