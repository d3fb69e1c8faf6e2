"""Named rules: the rows of one case and criterion -> a decision, and the statistics that belong beside it."""

from ..statistics.proportions import sign_test, wilson
from .curtailing import curtails, needed, settled
from .folds import Decision, Status, abstained, decided, not_graded
from .rules import RULE_NAMES, Rule, RuleLike, decide, quorum, rule
from .statistics import (
    PositionBias,
    VarianceSplit,
    agreement,
    chance_consistency,
    modal_share,
    position_bias,
    variance_split,
)

__all__ = [
    "RULE_NAMES",
    "Decision",
    "PositionBias",
    "Rule",
    "RuleLike",
    "Status",
    "VarianceSplit",
    "abstained",
    "agreement",
    "chance_consistency",
    "curtails",
    "decide",
    "decided",
    "modal_share",
    "needed",
    "not_graded",
    "position_bias",
    "quorum",
    "rule",
    "settled",
    "sign_test",
    "variance_split",
    "wilson",
]
