"""Which judge to use: judges and pairs ranked by who was right about what."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .analyses import Material, portfolio_of
    from .correctness import Credits
    from .panels import read_judge_facts
    from .ranking import leaderboard, rank
    from .rating import RankReport, rate
    from .studying import RankRequest, study

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
        "Credits": "correctness",
        "Material": "analyses",
        "RankReport": "rating",
        "RankRequest": "studying",
        "leaderboard": "ranking",
        "portfolio_of": "analyses",
        "rank": "ranking",
        "rate": "rating",
        "read_judge_facts": "panels",
        "study": "studying",
    },
)
