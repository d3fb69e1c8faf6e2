"""One place in a file where a judge is made or asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import libcst as cst

__all__ = ["Framework", "JudgeShape", "JudgeSite"]

Framework: TypeAlias = Literal["langchain", "openevals", "langsmith", "adk", "handwritten"]
JudgeShape: TypeAlias = Literal["pairwise", "labels", "scores", "any"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeSite:
    """A judge in a file.

    Args:
        framework: whose judge it is.
        kind: the evaluator's name (`pairwise_string`, `llm_as_judge`, `LangChainStringEvaluator`, a metric of ADK);
            `invoke` for a model that is asked by hand, `run_evaluator` where that happens in an evaluator of LangSmith;
            `unknown` where only running the code tells.
        shape: what its verdicts are.
        node: the libcst call that makes or asks it; None in a config.
        line, column, end_line, end_column: lines count from 1, columns from 1, the end is exclusive.
        name: the variable it is bound to (`self.judge` for an attribute).
        is_async: whether it is asked with `await`; None where that is not seen.
        harnessed: a harness asks it already.
        deterministic: it asks no model (exact match, regex, JSON, distances).
        samples: how often the code asks it about one case; None for an unknown number of times.
        evidence: why it is taken for a judge.
        definition: of a judge of another scanned file, the file and line where it is made or asked; `node` is then its
            first use here and `uses` are all of them.

    """

    framework: Framework
    kind: str
    shape: JudgeShape
    node: cst.Call | None
    line: int
    column: int
    end_line: int
    end_column: int
    name: str | None = None
    is_async: bool | None = None
    harnessed: bool = False
    deterministic: bool = False
    samples: int | None = 1
    evidence: str
    definition: tuple[Path, int] | None = None
    uses: tuple[cst.Call, ...] = ()
