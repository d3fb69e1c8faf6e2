"""What configuration files and `judgeharness adapters` know about Google ADK; imports no framework."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_adk.perturbing import PERTURBATIONS
from judgeharness_adk.versions import TESTED
from judgeharness_integrations.adapters import Adapter, JudgeSpec
from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.perturbations import Rewriter

if TYPE_CHECKING:
    from judgeharness_integrations.testing import Bench

__all__ = ["ADAPTER"]


def _build_judge(spec: JudgeSpec) -> Judge:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)  # ADK says so of its own classes
        from judgeharness_adk.configuring import judge_from_spec  # noqa: PLC0415 - imports google-adk

        return judge_from_spec(spec)


def _build_rewriter(model: str, options: Mapping[str, Any]) -> Rewriter:
    from judgeharness_adk.configuring import rewriter_of  # noqa: PLC0415

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
