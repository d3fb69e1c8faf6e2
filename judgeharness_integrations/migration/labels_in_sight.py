"""Whether a module compares its judge with people: names of labels, measures of agreement, verdicts against gold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.transfers import uses_of

if TYPE_CHECKING:
    from judgeharness_integrations.migration.flow import Flow
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["labels_in_sight"]

_LABELS = re.compile(
    r"human|annotat|kappa|calibrat|gold_?label|label_gold|expert|confusion_matrix|precision_score|recall_score"
    r"|classification_report|f1_score|krippendorff|labell?ed_by|CalibrationSet",
    re.IGNORECASE,
)


def labels_in_sight(view: ModuleView, flow: Flow) -> bool:
    """Whether names or keys speak of labels, or a verdict is compared with something that is not fixed."""
    return any(_speaks(view, node) or _compares(view, flow, node) for node in view.nodes)


def _speaks(view: ModuleView, node: cst.CSTNode) -> bool:
    match node:
        case cst.Name(value=name):
            return bool(_LABELS.search(name))
        case cst.SimpleString() if isinstance(view.parent(node), cst.Index):
            return isinstance(node.evaluated_value, str) and bool(_LABELS.search(node.evaluated_value))
    return False


def _compares(view: ModuleView, flow: Flow, node: cst.CSTNode) -> bool:
    """`judge(row) == row["label"]` measures the judge."""
    match node:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=right)]):
            touched = [flow.touches(side) for side in (left, right)]
            other = right if touched[0] else left
            return sum(touched) == 1 and view.value(other) is ... and bool(uses_of(view, other).names)
    return False
