"""Google ADK as the core finds it by its entry point; imports no framework."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.perturbations import Rewriter

from ._seams import TESTED, loading
from .perturbations import PERTURBATIONS

if TYPE_CHECKING:
    from judgeharness_integrations.judging.adapterkit import Bench

__all__ = ["ADAPTER", "TESTED"]


def _build_judge(spec: JudgeSpec) -> Judge:
    with loading(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)  # ADK says so of its own classes
        from .options import judge_from_spec  # noqa: PLC0415 - imports google-adk

        return judge_from_spec(spec)


def _build_rewriter(model: str, options: Mapping[str, Any]) -> Rewriter:
    from .options import rewriter_of  # noqa: PLC0415

    return rewriter_of(model, options)


def _read_cases(path: Path) -> list[AnswerCase]:
    with loading():
        from .invocations import read_eval_set  # noqa: PLC0415

    return [*read_eval_set(path)]


def _benches() -> Sequence[Bench]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)
        from .bench import benches  # noqa: PLC0415

        return benches()


ADAPTER = Adapter(
    name="adk",
    extras={"adk": ("google.adk", "rouge_score")},
    build_judge=_build_judge,
    tiers=frozenset({"flex"}),
    build_rewriter=_build_rewriter,
    read_cases=_read_cases,
    perturbations=PERTURBATIONS,
    benches=_benches,
    tested=TESTED,
)
