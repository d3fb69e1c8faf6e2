"""A small study with its leaderboard, and hostile names, for pictures of a ranking."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from judgeharness_integrations.analysis.ranking import RankReport, RankRequest
from judgeharness_integrations.analysis.ranking.panels import JudgeFacts
from judgeharness_integrations.analysis.ranking.ranking import leaderboard
from judgeharness_integrations.analysis.ranking.studying import RankStudy, study
from support.credit_matrices import answers

__all__ = ["FACTS", "HOSTILE", "SHOWN", "SKILL", "board", "found"]

HOSTILE = ("<b>$x_1$</b>", "_hidden", "a\x1b[31m\nb", "判断者 " + "x" * 80)
SHOWN = ("<b>$x_1$</b>", " _hidden", "a [31m b")
SKILL = {"best": 0.9, "good": 0.75, "fair": 0.6, "poor": 0.4}
FACTS = {
    "best": JudgeFacts(judge="best", provider="Acme", open=False),
    "good": JudgeFacts(judge="good", provider="Commons", open=True),
}


@cache
def found(method: Any = "bradley-terry", by: str | None = "domain", cut: float = 0.0) -> RankStudy:
    draw = np.random.default_rng(5)
    gold = {f"p{place}": "AB"[place % 2] for place in range(60)}
    hard = draw.uniform(-0.3, 0.3, 60)
    given = {
        judge: [
            truth if draw.random() < skill - hard[place] else "BA"["AB".index(truth)]
            for place, truth in enumerate(gold.values())
        ]
        for judge, skill in SKILL.items()
    }
    rows = answers(gold, given, domain=[("law", "art")[place % 3 == 0] for place in range(60)])
    return study(rows, RankRequest(method=method, by=by, cut=cut, facts=FACTS))


@cache
def board(method: Any = "bradley-terry", by: str | None = "domain") -> RankReport:
    return leaderboard(found(method, by))
