"""What a ranking says: judges in order, with intervals, and what the numbers rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations._rendering import Rendered
from judgeharness_integrations.calibration.controls import Controls
from judgeharness_integrations.ranking.bradleyterry.connections import Place
from judgeharness_integrations.ranking.bradleyterry.contrasts import Contrast
from judgeharness_integrations.ranking.diagnostics import Diagnostics
from judgeharness_integrations.ranking.judges.measures import JudgeMeasures
from judgeharness_integrations.ranking.judges.panels import Panel
from judgeharness_integrations.ranking.rating import Method

__all__ = ["RANK_SCHEMA", "JudgeRank", "RankReport"]

_NESTED = ("measures", "groups", "controls")
RANK_SCHEMA = "judgeharness.rank/1"


@dataclass(frozen=True, kw_only=True)
class JudgeRank:
    """One judge. Elo and errors in Elo points; None where a judge cannot be rated (see `place`) or a method not used.

    `elo`, `se`, `ci95`: of the chosen method (Bradley-Terry beside EIP), judges' mean 1500. `elo_published`,
    `se_published`: joint Bradley-Terry in the gauges of the paper. `rank_range`: the ranks that no significant
    difference speaks against. `accuracy` = `correct` / `n`: credits over all labelled pairs the judge was asked about,
    before curation. `groups`: value of the `by` column -> what the method gives among the pairs of that group,
    Elo or EIP score. `controls`: judges that read nothing, on the labelled pairs it was asked about.
    """

    judge: str
    rank: int | None
    rank_range: tuple[int, int] | None
    place: Place
    elo: float | None
    se: float | None
    ci95: tuple[float, float] | None
    elo_published: float | None
    se_published: float | None
    elo_conditional: float | None
    se_conditional: float | None
    ci95_conditional: tuple[float, float] | None
    eip: float | None
    correct: float
    n: int
    accuracy: float | None
    measures: JudgeMeasures
    groups: Mapping[str, float | None] = field(default_factory=dict)
    controls: Controls | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the judge as JSON keeps it, what was measured of it beside its ratings."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in _NESTED}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return (
            plain
            | {name: value for name, value in self.measures.to_dict().items() if name not in plain}
            | {"groups": dict(self.groups), "controls": None if self.controls is None else self.controls.to_dict()}
        )


@dataclass(frozen=True, kw_only=True)
class RankReport(Rendered):
    """A leaderboard: judges by rank, those without one last.

    Pairs: `n_pairs_total` with a gold label, of which `n_flagged` by people, `n_unanimous` (all judges right, or all
    wrong), `n_unanswered` (no answer that counts) and `n_cut` (the hardest share) are left out; `n_pairs` are ranked
    by. `n_unlabelled` pairs have no gold.
    `cut`: the share of the hardest that was asked for; with ties at the cut kept or cut, `n_cut` may be far from it.
    `panels`: what the best of several judges, and all of them, are worth together, on all labelled pairs. `unvaried`
    are sentences about judged systems that answer every input with one text, where texts are known, `copies` about
    pairs that ask what others ask.
    """

    method: Method
    rule: str
    failures: str
    ties: str
    criteria: tuple[str, ...]
    by: str | None
    n_pairs_total: int
    n_unlabelled: int
    n_flagged: int
    n_unanimous: int
    n_unanswered: int
    n_cut: int
    n_pairs: int
    cut: float
    cut_ties: str
    judges: tuple[JudgeRank, ...]
    contrasts: tuple[Contrast, ...]
    diagnostics: Diagnostics
    panels: tuple[Panel, ...] = ()
    unvaried: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def rated(self) -> tuple[JudgeRank, ...]:
        """The judges that have Elo."""
        return tuple(entry for entry in self.judges if entry.elo is not None)

    def controls(self) -> Iterator[str]:
        """Yield what judges that read nothing get right, and which judges are not better than the best of them.

        A single line says what they get right, on the pairs of the judge that was asked about most.
        """
        known = [(entry.judge, entry.controls) for entry in self.judges if entry.controls is not None]
        if known:
            yield max((found for _, found in known), key=lambda found: found.n).line
        yield from (f"{judge}: {found.finding}" for judge, found in known if not found.beaten)

    def judge(self, name: str) -> JudgeRank:
        """Return a judge's entry.

        Raises:
            UnknownNameError: no judge of that name was ranked; the nearest is offered.

        """
        for entry in self.judges:
            if entry.judge == name:
                return entry
        raise UnknownNameError("judge", name, [entry.judge for entry in self.judges])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON keeps it (schema `judgeharness.rank/1`)."""
        nested = ("judges", "contrasts", "diagnostics", "criteria", "panels")
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in nested}
        return (
            {"schema": RANK_SCHEMA}
            | plain
            | {
                "criteria": list(self.criteria),
                "judges": [entry.to_dict() for entry in self.judges],
                "contrasts": [contrast.to_dict() for contrast in self.contrasts],
                "diagnostics": self.diagnostics.to_dict(),
                "panels": [panel.to_dict() for panel in self.panels],
                "unvaried": list(self.unvaried),
                "copies": list(self.copies),
            }
        )
