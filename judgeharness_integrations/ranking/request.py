"""What a ranking is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgeharness_integrations.aggregation.rules import RuleLike
from judgeharness_integrations.ranking.correctness.policy import Failures, Ties
from judgeharness_integrations.ranking.curation import CutTies
from judgeharness_integrations.ranking.eip import EipOptions
from judgeharness_integrations.ranking.judges.facts import JudgeFacts
from judgeharness_integrations.ranking.rating import Method

__all__ = ["RankRequest"]


@dataclass(frozen=True, kw_only=True)
class RankRequest:
    """Options of a ranking.

    `rule` None: `both_orders` where the log shows pairs in both orders, else `one_order`. `criteria` empty: all that
    have gold, jointly. `ties` None: half credit for verdicts derived from scores, else wrong. `by`: a column to rank by
    group, or several with commas between, which divide together; `cluster`: a column of what pairs come from, None
    for `cluster` where the rows have it; `flagged`: a column that marks pairs people found wanting; `cut`: the share of
    hardest pairs to leave out. `facts`: judge -> what is known about it.
    """

    method: Method = "bradley-terry"
    rule: RuleLike | None = None
    criteria: Sequence[str] = ()
    judges: Sequence[str] = ()
    failures: Failures = "wrong"
    ties: Ties | None = None
    by: str | None = None
    cluster: str | None = None
    flagged: str | None = None
    cut: float = 0.0
    cut_ties: CutTies = "keep"
    eip: EipOptions = field(default_factory=EipOptions)
    facts: Mapping[str, JudgeFacts] = field(default_factory=dict)
