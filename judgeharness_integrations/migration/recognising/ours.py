"""Judges of this package's adapters, which are harnessed as they are made."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.recognising.kinds import Kind
from judgeharness_integrations.migration.recognising.langchain import SHAPES, evaluator_kind
from judgeharness_integrations.migration.site import JudgeShape
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["our_kinds"]

_CLASSES: dict[str, JudgeShape] = {
    "PairwiseJudge": "pairwise",
    "ScoreJudge": "scores",
    "CriteriaJudge": "labels",
    "LabelJudge": "labels",
}


def our_kinds(view: ModuleView, call: cst.Call, names: frozenset[str]) -> Iterator[Kind]:
    """Yield what a call makes."""
    for name in sorted(names):
        root, _, last = name.partition(".")[0], None, name.rpartition(".")[2]
        if root == "judgeharness_langchain" and last in _CLASSES:
            yield Kind(
                framework="langchain", kind=last, shape=_CLASSES[last], harnessed=True, evidence=f"{last} is a harness"
            )
        elif root == "judgeharness_langchain" and last == "load_evaluator":
            kind = evaluator_kind(view, view.argument(call, "evaluator", 0)) or "unknown"
            yield Kind(
                framework="langchain",
                kind=kind,
                shape=SHAPES.get(kind, "any"),
                harnessed=True,
                deterministic=kind not in SHAPES and kind != "unknown",
                evidence="judgeharness_langchain.load_evaluator makes harnessed evaluators",
            )
        elif root == "judgeharness_openevals" and last.endswith("_harnessed_pairwise_judge"):
            yield Kind(
                framework="openevals",
                kind="pairwise_judge",
                shape="pairwise",
                is_async="_async_" in last,
                harnessed=True,
                evidence=f"{last} makes a harnessed judge",
            )
