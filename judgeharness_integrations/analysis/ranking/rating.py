"""Judges rated by every method at once, EIP among them; who is first, why a method says nothing; the report of it all.

EIP: judges rank high by being right where right is rare, pairs by defeating judges that are seldom defeated. Two
probability vectors that each follow from the other, as in PageRank, with damping.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations._lazy import Rendered
from judgeharness_integrations.verdictlog.encoding import counted, listed

from ..calibration.controls import Controls
from .contrasts import (
    PLACES,
    ConditionalFit,
    Connections,
    Contrast,
    OrderEffect,
    Place,
    connections_of,
    fit_conditional,
)
from .correctness import Credits, Floats, Ints
from .jointfit import JointFit, fit_joint
from .judgetable import JudgeMeasures
from .panels import Panel


def one_thread() -> AbstractContextManager[Any]:
    """Return a context within which linear algebra keeps to one thread."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - few rank a hundred times over

    limited: AbstractContextManager[Any] = threadpool_limits(1)
    return limited


_MOST_ROUNDS = 100_000


@dataclass(frozen=True, kw_only=True)
class EipOptions:
    """`alpha`: damping; `tolerance`: L1 change of both vectors at which to stop; `low`, `high`: the range of scores.

    `all_equal`: the score of everybody where all are equal and nothing can be stretched over the range.

    Raises:
        UsageError: a value is out of range.

    """

    alpha: float = 0.85
    tolerance: float = 1e-10
    low: float = 0.0
    high: float = 1.0
    all_equal: float = 0.5

    def __post_init__(self) -> None:
        """Refuse values under which nothing converges."""
        if not 0 <= self.alpha < 1:
            raise UsageError(f"EIP's alpha must be at least 0 and below 1, not {self.alpha}.")
        if not self.tolerance > 0:
            raise UsageError(f"EIP's tolerance must be above 0, not {self.tolerance}.")
        if not all(map(math.isfinite, (self.low, self.high, self.all_equal))):
            raise UsageError("EIP's range and the score of equals must be finite numbers.")
        if not self.low < self.high:
            raise UsageError(f"EIP's range must rise, not go from {self.low} to {self.high}.")


@dataclass(frozen=True, kw_only=True, eq=False)
class EipScores:
    """`judges`, `pairs`: scores over the declared range, a pair's is its difficulty; `*_mass`: before that, sum 1."""

    judges: Floats
    pairs: Floats
    judges_mass: Floats
    pairs_mass: Floats
    options: EipOptions
    rounds: int


def eip(matrix: Credits, options: EipOptions | None = None) -> EipScores:
    """Score judges and pairs.

    Args:
        matrix: every judge asked about every pair, no pair unanimous.
        options: damping, tolerance and range.

    Raises:
        UsageError: a judge was not asked about a pair, a pair is unanimous, or the vectors do not settle.

    """
    options = options or EipOptions()
    if not matrix.complete:
        raise UsageError("EIP needs every judge on every pair: ask the missing ones, or rank by bradley-terry.")
    if not matrix.pairs or bool(matrix.unanimous.any()):
        raise UsageError("EIP needs pairs that are not unanimous: leave the others out.")
    right = matrix.values
    wrong = 1 - right
    to_judges = right / np.maximum(right.sum(axis=1, keepdims=True), 1)  # (pairs, judges)
    to_pairs = (wrong / np.maximum(wrong.sum(axis=0, keepdims=True), 1)).T  # (judges, pairs)
    pairs, judges = (np.full(size, 1 / size) for size in right.shape)
    for rounds in range(1, _MOST_ROUNDS + 1):
        new_pairs = _damped(to_pairs.T @ judges, options.alpha)
        new_judges = _damped(to_judges.T @ new_pairs, options.alpha)
        change = np.abs(new_pairs - pairs).sum() + np.abs(new_judges - judges).sum()
        pairs, judges = new_pairs, new_judges
        if change < options.tolerance:
            return EipScores(
                judges=_stretched(judges, options),
                pairs=_stretched(pairs, options),
                judges_mass=judges,
                pairs_mass=pairs,
                options=options,
                rounds=rounds,
            )
    raise UsageError(f"EIP did not settle to {options.tolerance} in {_MOST_ROUNDS} rounds: raise its tolerance.")


def _damped(flow: Floats, alpha: float) -> Floats:
    mass = alpha * flow + (1 - alpha) / len(flow)
    return np.asarray(mass / mass.sum(), np.float64)


def _stretched(mass: Floats, options: EipOptions) -> Floats:
    low, high = float(mass.min()), float(mass.max())
    if high - low <= options.tolerance:
        return np.full(len(mass), options.all_equal)
    return np.asarray(options.low + (options.high - options.low) * (mass - low) / (high - low), np.float64)


Method: TypeAlias = Literal["bradley-terry", "conditional", "eip"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)

_NOBODY = "fewer than two judges can be compared: some pair has to tell them apart"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rating:
    """Informative credits and what the methods make of them.

    `matrix`: all judges, no unanimous pair. The fits are of the judges that can be rated together (see `Connections`)
    and of the pairs that tell those apart; None where a method cannot be used; `reasons`: method -> why.
    """

    matrix: Credits
    connections: Connections
    joint: JointFit | None = None
    conditional: ConditionalFit | None = None
    eip: EipScores | None = None
    reasons: Mapping[Method, str] = field(default_factory=dict)

    def scores(self, method: Method) -> dict[str, float]:
        """Return judge -> Elo (EIP: score) of the judges that the method rates; empty where it cannot be used."""
        if method == "eip":
            return {} if self.eip is None else _named(self.matrix.judges, self.eip.judges)
        fit = self.joint if method == "bradley-terry" else self.conditional
        return {} if fit is None else _named(fit.judges, fit.elo)

    @property
    def difficulty(self) -> Floats:
        """(pairs,) of `matrix`, on the judges' scale; infinite where all rated judges agree, NaN without any."""
        if self.joint is None:
            return np.full(len(self.matrix.pairs), np.nan)
        known = dict(zip(self.joint.pairs, self.joint.difficulty.tolist(), strict=True))
        rated = self.matrix.of_judges(self.joint.judges).values
        right = np.nan_to_num(rated, nan=0.0).sum(axis=1) > 0
        asked = ~np.isnan(rated).all(axis=1)
        beyond = np.where(asked, np.where(right, -np.inf, np.inf), np.nan)
        return np.array([known.get(pair, beyond[place]) for place, pair in enumerate(self.matrix.pairs)], np.float64)


def method_named(name: str) -> Method:
    """Return the method of a name.

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    for method in METHODS:
        if method == name:
            return method
    raise UnknownNameError("method", name, METHODS)


def rate(
    matrix: Credits,
    *,
    methods: Sequence[Method] = METHODS,
    clusters: Ints | None = None,
    eip_options: EipOptions | None = None,
) -> Rating:
    """Rate judges by their credits; unanimous pairs are left out.

    Args:
        matrix: pairs x judges.
        methods: which to use.
        clusters: (pairs,) number of each pair's cluster, for the errors; each pair is one when None.
        eip_options: parameters of EIP.

    """
    informative = ~matrix.unanimous
    kept = matrix.of_pairs(informative)
    connections = connections_of(kept)
    rated = kept.of_judges(connections.judges("rated"))
    telling = ~rated.unanimous
    rated = rated.of_pairs(telling)
    mine = None if clusters is None else np.unique(clusters[informative][telling], return_inverse=True)[1]
    reasons: dict[Method, str] = {}
    joint = conditional = scores = None
    problem = _problem(connections)
    for method in methods:
        try:
            if method == "eip":
                scores = eip(kept, eip_options)
            elif problem is not None:
                reasons[method] = problem
            elif method == "bradley-terry":
                joint = fit_joint(rated, clusters=mine)
            else:
                conditional = fit_conditional(rated, clusters=mine)
        except UsageError as error:
            reasons[method] = str(error).rstrip(".")
    return Rating(
        matrix=kept, connections=connections, joint=joint, conditional=conditional, eip=scores, reasons=reasons
    )


def _problem(connections: Connections) -> str | None:
    apart = connections.judges("apart")
    if apart:
        return "the judges fall into groups that nothing compares, and one scale for all of them would mean nothing"
    return _NOBODY if len(connections.judges("rated")) < 2 else None  # noqa: PLR2004 - two are compared


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


_DECIMALS = 6  # ratings of judges with the same credits differ by rounding alone


def ranked(scores: Mapping[str, float]) -> dict[str, int]:
    """Return name -> rank, 1 for the highest; the same score shares the better rank."""
    rounded = {name: round(score, _DECIMALS) for name, score in scores.items()}
    ordered = sorted(rounded.values())
    return {name: 1 + len(ordered) - bisect_right(ordered, score) for name, score in rounded.items()}


def ranks_of(rating: Rating, method: Method, matrix: Credits) -> dict[str, int]:
    """Return judge -> rank; judges that nothing compares are left out, all of them where no scale holds all.

    Judges that are never beaten come first and those that never win come last, by their share of credit. Where each
    judge beats the next and is never beaten by it, nobody has a rating and all are ranked so.
    """
    scores = rating.scores(method)
    if method == "eip" or rating.connections.judges("apart"):
        return ranked(scores)
    if not scores and len(rating.connections.judges("rated")) != 1:
        return {}
    earned = np.nansum(matrix.values, axis=0) / np.maximum(matrix.seen.sum(axis=0), 1)
    share = dict(zip(matrix.judges, earned.tolist(), strict=True))
    found: dict[str, int] = {}
    for place in ("above", "rated", "below"):
        judges = rating.connections.judges(place)
        values = scores if place == "rated" and scores else share
        found |= {name: rank + len(found) for name, rank in ranked({judge: values[judge] for judge in judges}).items()}
    return found


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
