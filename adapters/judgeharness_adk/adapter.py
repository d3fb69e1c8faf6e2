"""The versions of Google ADK the adapter was tried with; imports no framework."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec, VersionRange
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.perturbations import Perturbation, Rewriter

if TYPE_CHECKING:
    from judgeharness_adk.invocations import InvocationCase
    from judgeharness_integrations.judging.bench import Bench
    from judgeharness_integrations.judging.cases import Case
    from judgeharness_integrations.judging.perturbations import Context

__all__ = ["ADAPTER", "PERTURBATIONS", "TESTED", "position_swap", "rubric_order"]


TESTED: Mapping[str, VersionRange] = MappingProxyType({"google-adk": VersionRange(lowest="2.8", newest="2.13")})


_FEWEST = 2


def rubric_order() -> Perturbation:
    """Return the perturbation that shows the rubrics (or the sentences of `hallucinations_v1`) in another order."""
    return Perturbation("rubric_order", _reordered, fits=_one_question, contextual=True)


def position_swap() -> Perturbation:
    """Return the perturbation that shows the reference before the response; verdicts stay as they are."""
    return Perturbation("position_swap", _swapped, fits=_one_response, swaps=True)


def _reordered(case: InvocationCase, context: Context) -> InvocationCase:
    order = list(range(len(case.questions)))
    while order == sorted(order):
        context.random.shuffle(order)
    return replace(case, questions=tuple(case.questions[place] for place in order))


def _one_question(case: Case) -> str | None:
    questions = getattr(case, "questions", None)
    if questions is None:
        return f"rubric_order needs an ADK invocation, not a {type(case).__name__}."
    return None if len(questions) >= _FEWEST else "rubric_order needs two rubrics at least: the judge is shown one."


def _swapped(case: InvocationCase) -> InvocationCase:
    return replace(case, reference_first=not case.reference_first)


def _one_response(case: Case) -> str | None:
    if getattr(case, "swappable", False):
        return None
    return "position_swap needs two texts side by side: this prompt shows the judge one response."


PERTURBATIONS: Mapping[str, Callable[[], Perturbation]] = MappingProxyType(
    {"position_swap": position_swap, "rubric_order": rubric_order}
)


def _build_judge(spec: JudgeSpec) -> Judge:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)  # ADK says so of its own classes
        from judgeharness_adk.options import judge_from_spec  # noqa: PLC0415 - imports google-adk

        return judge_from_spec(spec)


def _build_rewriter(model: str, options: Mapping[str, Any]) -> Rewriter:
    from judgeharness_adk.options import rewriter_of  # noqa: PLC0415

    return rewriter_of(model, options)


def _read_cases(path: Path) -> list[AnswerCase]:
    from judgeharness_adk.evalsets import read_eval_set  # noqa: PLC0415

    return [*read_eval_set(path)]


def _benches() -> Sequence[Bench]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)
        from judgeharness_adk.bench import benches  # noqa: PLC0415

        return benches()


ADAPTER = Adapter(
    name="adk",
    extras={"adk": ("google.adk", "rouge_score")},
    build_judge=_build_judge,
    build_rewriter=_build_rewriter,
    read_cases=_read_cases,
    perturbations=PERTURBATIONS,
    benches=_benches,
    tested=TESTED,
)
