"""What a ranking says: judges in order, with intervals, what the numbers rest on, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations._lazy import Rendered
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.ranking.contrasts import PLACES, Connections, Contrast, OrderEffect, Place
from judgeharness_integrations.analysis.ranking.judgetable import JudgeMeasures
from judgeharness_integrations.analysis.ranking.panels import Panel
from judgeharness_integrations.analysis.ranking.rating import Method
from judgeharness_integrations.verdictlog.encoding import counted, listed

_ENOUGH_CLUSTERS = 20


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """Facts about one ranking.

    `cells` of `cells_total` judge-pair cells of the ranked pairs hold an answer that counts. `inflation`: SD of the
    joint Elo over that of the conditional one; `inflation_expected`: J / (J - 1). `reasons`: method -> why it was not
    used. `clusters` of pairs the errors rest on, by `cluster` (a column; None: each pair is one). `one_order`: cells of
    labelled pairs that a rule of both orders leaves out, since they were asked about in one. `same_number`: labels that
    write one number in several ways and count as different. `unread`: gold labels that cannot be compared with the
    answers (`calibration.words.read_golds`).
    """

    connections: Connections
    cells: int
    cells_total: int
    clusters: int
    cluster: str | None
    inflation: float | None
    inflation_expected: float | None
    order_effect: OrderEffect | None
    log_likelihood: float | None
    steps: int | None
    eip: Mapping[str, float] | None
    one_order: int
    same_number: tuple[str, ...]
    reasons: Mapping[Method, str]
    unread: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as JSON keeps them."""
        nested = ("connections", "order_effect", "eip", "same_number", "reasons")
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in nested}
        return plain | {
            "connected": self.connections.connected,
            "never_beaten": list(self.connections.judges("above")),
            "never_winning": list(self.connections.judges("below")),
            "not_comparable": list(self.connections.judges("apart")),
            "no_answer": list(self.connections.judges("unseen")),
            "order_effect": None if self.order_effect is None else self.order_effect.to_dict(),
            "eip": None if self.eip is None else dict(self.eip),
            "same_number": list(self.same_number),
            "reasons": dict(self.reasons),
            "notes": list(self.sentences()),
        }

    def sentences(self) -> tuple[str, ...]:
        """Return what a reader has to know, a sentence each."""
        return (*self._joint(), *self._few(), *self._separated(), *self._left_out())

    def _joint(self) -> Iterator[str]:
        if self.inflation_expected is not None:
            conditional = (
                ""
                if self.inflation is None
                else " Conditional maximum likelihood conditions the pairs away: here joint Elo is spread "
                f"{self.inflation:.3f} times as wide."
            )
            yield (
                "Bradley-Terry as published fits judges and pairs together (joint maximum likelihood); every pair "
                "brings a parameter of its own, which spreads the ratings by about J / (J - 1) = "
                f"{self.inflation_expected:.3f} and makes their intervals too narrow.{conditional}"
            )

    def _few(self) -> Iterator[str]:
        if self.log_likelihood is not None and self.clusters < _ENOUGH_CLUSTERS:
            clusters = "pairs" if self.cluster is None else f"clusters of pairs (by {self.cluster})"
            yield (
                f"Errors rest on {self.clusters} {clusters}; with fewer than {_ENOUGH_CLUSTERS}, 95 % intervals "
                "are too narrow: they cover about 68 % of the time with 2 of them, 86 % with 5, 93 % with 10."
            )

    def _separated(self) -> Iterator[str]:
        above, below, apart, unseen = (self.connections.judges(place) for place in PLACES[1:])
        ranked_above, ranked_below = (
            ("", "") if apart else ("; ranked above by what is right", "; ranked below by what is right")
        )
        if unseen:
            yield f"{listed(unseen)}: no answer that counts about any pair that is ranked by, so no rank."
        if above:
            yield (
                f"{listed(above)}: never wrong where a rated judge is right, so no finite Elo exists (complete "
                f"separation, Ford's condition){ranked_above}."
            )
        if below:
            yield (
                f"{listed(below)}: never right where a rated judge is wrong, so no finite Elo exists (complete "
                f"separation, Ford's condition){ranked_below}."
            )
        if apart:
            yield (
                f"{listed(apart)}: no chain of pairs compares them with the others (a disconnected graph), "
                "so nobody has Elo here; rank each group alone, or ask judges of both groups about the same pairs."
            )

    def _left_out(self) -> Iterator[str]:
        missing = self.cells_total - self.cells
        if missing:
            yield (
                f"{missing} of {self.cells_total} judge-pair cells hold no answer that counts; the other cells of "
                "their pairs are used all the same."
            )
        if self.one_order:
            yield (
                f"{_cells(self.one_order)} of pairs with gold left out: answered in one order alone, and the rule "
                "takes both; --rule one_order takes the order as given."
            )
        if self.unread:
            told = counted(self.unread, "gold label")
            yield f"{told} cannot be read beside such answers and count as none."
        if self.same_number:
            yield (
                f"labels {' and '.join(map(repr, self.same_number))} are one number and count as different labels: "
                "write them alike, or leave out --labels."
            )
        for method, reason in self.reasons.items():
            yield f"{method} was not used: {reason}."


def _cells(count: int) -> str:
    return counted(count, "judge-pair cell")


_NESTED = ("measures", "groups", "controls")
RANK_SCHEMA = "judgeharness.rank/1"


@dataclass(frozen=True, kw_only=True)
class JudgeRank:
    """One judge. Elo and errors in Elo points; None where a judge cannot be rated (see `place`) or a method not used.

    `elo`, `se`, `ci95`: of the chosen method (Bradley-Terry beside EIP), judges' mean 1500. `elo_published`,
    `se_published`: joint Bradley-Terry in the gauges of the paper. `rank_range`: the ranks that no significant
    difference speaks against. `right_of_labelled` = `correct` / `n`: credit over all labelled pairs it was asked about,
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
    right_of_labelled: float | None
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
    pairs that ask what others ask, `apart` about judges whose labelled pairs are no sample of all
    that they were asked about.
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
    apart: tuple[str, ...] = ()

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
                "apart": list(self.apart),
            }
        )
