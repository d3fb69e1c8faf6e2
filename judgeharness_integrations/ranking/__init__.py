"""Which judge to use: judges and pairs ranked by who was right about what."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.ranking.analyses import Material
    from judgeharness_integrations.ranking.credits import Credits
    from judgeharness_integrations.ranking.judges.facts import read_judge_facts
    from judgeharness_integrations.ranking.portfolio import portfolio_of
    from judgeharness_integrations.ranking.ranking import leaderboard, rank
    from judgeharness_integrations.ranking.rating import rate
    from judgeharness_integrations.ranking.report import RankReport
    from judgeharness_integrations.ranking.request import RankRequest
    from judgeharness_integrations.ranking.studying import study

__all__ = [
    "Credits",
    "Material",
    "RankReport",
    "RankRequest",
    "leaderboard",
    "portfolio_of",
    "rank",
    "rate",
    "read_judge_facts",
    "study",
]

# Loaded at first use: numpy and scipy are for those who rank.
__getattr__ = lazy(
    __name__,
    {
        "Credits": "credits",
        "Material": "analyses",
        "RankReport": "report",
        "RankRequest": "request",
        "leaderboard": "ranking",
        "portfolio_of": "portfolio",
        "rank": "ranking",
        "rate": "rating",
        "read_judge_facts": "judges.facts",
        "study": "studying",
    },
)
