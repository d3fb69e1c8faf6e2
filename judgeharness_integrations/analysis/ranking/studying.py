"""From rows to a ranking: which pairs are ranked by, and everything kept for the analyses that go on from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import columns_together, values_together
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..aggregation.grouping import CLUSTER, copies_together
from ..aggregation.rules import RuleLike
from ..replay.replaying import rows_of_judges
from .correctness import (
    NOT_ASKED,
    Credits,
    Decisions,
    Failures,
    Floats,
    Ints,
    Marks,
    Policy,
    Ties,
    credits_of,
    decisions_of,
)
from .panels import JudgeFacts
from .pointwise import has_scored_pairs, pairs_of_scores
from .rating import EipOptions, Method, Rating, rate

CutTies: TypeAlias = Literal["keep", "cut"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Curation:
    """Marks (pairs,) on `matrix`, each pair in one of them at most: `flagged` by people, `unanimous`, `hardest`.

    `unanswered`: no judge was asked, or no answer counts under the policy; of these nobody was right or wrong.
    `difficulty` (pairs,): Elo of a pair among the informative ones, before the cut; NaN where it has none.
    """

    matrix: Credits
    flagged: Marks
    unanimous: Marks
    unanswered: Marks
    hardest: Marks
    difficulty: Floats
    share: float
    cut_ties: CutTies

    @property
    def kept(self) -> Credits:
        """Credits of the pairs that are left."""
        return self.matrix.of_pairs(self.kept_marks)

    @property
    def kept_marks(self) -> Marks:
        """(pairs,) of `matrix`."""
        return np.asarray(~(self.flagged | self.unanimous | self.unanswered | self.hardest), np.bool_)


def curate(
    matrix: Credits, *, share: float = 0.0, cut_ties: CutTies = "keep", flagged: Marks | None = None
) -> Curation:
    """Leave out flagged, unanswered and unanimous pairs, then the hardest `share` of the rest by Bradley-Terry.

    What is unanimous and what is hard depends on the judges: curate again whenever they change. Pairs of the same
    difficulty are kept together or cut together where the share would divide them.

    Args:
        matrix: pairs x judges.
        share: of the informative pairs, from 0 to below 1.
        cut_ties: whether pairs tied at the cut are all kept or all cut.
        flagged: (pairs,) pairs that people found wanting.

    Raises:
        UsageError: the share is out of range, or pairs have no difficulty because the judges cannot be rated.

    """
    if not 0 <= share < 1:
        raise UsageError(f"the share of pairs to cut must be at least 0 and below 1, not {share}.")
    marked = np.zeros(len(matrix.pairs), np.bool_) if flagged is None else flagged
    informative = ~(marked | matrix.unanimous)
    answered = matrix.seen.any(axis=1)
    left = np.flatnonzero(informative)
    difficulty = np.full(len(matrix.pairs), np.nan)
    hardest = np.zeros(len(matrix.pairs), np.bool_)
    rating = rate(matrix.of_pairs(informative), methods=("bradley-terry",))
    difficulty[left] = rating.difficulty
    if share:
        if rating.joint is None:
            reason = rating.reasons["bradley-terry"]
            raise UsageError(f"pairs cannot be cut by difficulty: {reason}; ask more judges, or cut none.")
        hardest[left] = _hardest(difficulty[left], share, cut_ties)
    return Curation(
        matrix=matrix,
        flagged=marked,
        unanimous=matrix.unanimous & answered & ~marked,
        unanswered=~answered & ~marked,
        hardest=hardest,
        difficulty=difficulty,
        share=share,
        cut_ties=cut_ties,
    )


def _hardest(difficulty: Floats, share: float, cut_ties: CutTies) -> Marks:
    """Return marks (pairs,) of the hardest share, tied pairs together."""
    known = difficulty[~np.isnan(difficulty)]
    wanted = int(share * len(known) + 1e-9)
    if not wanted:
        return np.zeros(len(difficulty), np.bool_)
    edge = np.sort(known)[::-1][wanted - 1]
    cut = difficulty >= edge - _SAME
    if int(cut.sum()) > wanted and cut_ties == "keep":
        cut = difficulty > edge + _SAME
    return np.asarray(cut, np.bool_)


NO_VALUE: Final = "-"

_STEPS: Final = ("flagged", "unanimous_right", "unanimous_wrong", "unanswered", "hardest", "kept")


@dataclass(frozen=True, kw_only=True)
class CascadeRow:
    """Pairs with one `value` in a `column` (None: all pairs), each counted in one of the steps, which sum to `total`.

    `flagged` by people; `unanimous_right`, `unanimous_wrong`: all judges asked were; `unanswered`: none was asked, or
    every answer is missing by policy; `hardest`: cut by difficulty; `kept`. Each has a percentage of `total`.
    """

    column: str | None
    value: str
    total: int
    flagged: int
    unanimous_right: int
    unanimous_wrong: int
    unanswered: int
    hardest: int
    kept: int

    @property
    def flagged_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.flagged)

    @property
    def unanimous_right_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.unanimous_right)

    @property
    def unanimous_wrong_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.unanimous_wrong)

    @property
    def unanswered_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.unanswered)

    @property
    def hardest_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.hardest)

    @property
    def kept_percent(self) -> float | None:
        """Of `total`, 0 to 100; None without pairs."""
        return self._percent(self.kept)

    def _percent(self, count: int) -> float | None:
        return 100 * count / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Return counts and percentages as JSON keeps them."""
        counts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return counts | {f"{step}_percent": getattr(self, f"{step}_percent") for step in _STEPS}


def cascade(curation: Curation, columns: Sequence[str]) -> tuple[CascadeRow, ...]:
    """Return a row for all pairs, then for each column one for each value, pairs without one last.

    Args:
        curation: which pairs were left out, and why.
        columns: of the pairs: domain, failure type, behaviour ...

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.

    """
    steps = _steps(curation)
    every = np.ones(len(curation.matrix.pairs), np.bool_)
    rows = [_row(steps, every, None, "all")]
    for column in columns:
        values = ["" if value is None else str(value) for value in curation.matrix.column(column)]
        rows += [
            _row(steps, np.array([value == name for value in values]), column, name or NO_VALUE)
            for name in sorted({*values}, key=lambda value: (value == "", value))
        ]
    return tuple(rows)


def _steps(curation: Curation) -> dict[str, Marks]:
    """Return step -> marks (pairs,); each pair is in one."""
    matrix = curation.matrix
    right = np.nan_to_num(matrix.values).any(axis=1)
    marks = (
        curation.flagged,
        curation.unanimous & right,
        curation.unanimous & ~right,
        curation.unanswered,
        curation.hardest,
        curation.kept_marks,
    )
    return dict(zip(_STEPS, marks, strict=True))


def _row(steps: dict[str, Marks], chosen: Marks, column: str | None, value: str) -> CascadeRow:
    counts = {step: int((marks & chosen).sum()) for step, marks in steps.items()}
    return CascadeRow(column=column, value=value, total=int(chosen.sum()), **counts)


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


FLAGGED: Final = frozenset({"1", "1.0", "true", "t", "yes", "y", "x", "flagged"})
NOT_FLAGGED: Final = frozenset({"", "0", "0.0", "false", "f", "no", "n", "nan"})  # pandas writes nan for what is empty

_SAME = 1e-6  # Elo: pairs of the same pattern differ by rounding alone


@dataclass(frozen=True, kw_only=True)
class AuditCurve:
    """How many of the pairs with an audit label are among the hardest pairs.

    `points`: (share of pairs, share of pairs with the label) from (0, 0) on, hardest pairs first, pairs of the same
    difficulty at once; () where no pair with the label has a difficulty. Of the `n_pairs` that have one, `n_labelled`
    have the label; `n_unplaced` have the label and no difficulty: flagged or unanimous pairs, which ranked nobody.
    """

    column: str
    label: str
    points: tuple[tuple[float, float], ...]
    n_pairs: int
    n_labelled: int
    n_unplaced: int

    @property
    def area(self) -> float | None:
        """Area under the curve: .5 where the label has nothing to do with difficulty, more where hard pairs have it."""
        if not self.points:
            return None
        pairs, labels = np.array(self.points).T
        return float((np.diff(pairs) * (labels[1:] + labels[:-1]) / 2).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON keeps it."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"points": [list(point) for point in self.points], "area": self.area}


def audit_curve(curation: Curation, column: str) -> tuple[AuditCurve, ...]:
    """Return a curve for each label of an audit column, sorted; for marks (1, yes, x ...) one, labelled as the column.

    Args:
        curation: has the difficulty of pairs; flagged ones have none, so flag none by the same column.
        column: audit labels of pairs; empty where people found nothing.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.

    """
    texts = _texts(curation.matrix, column)
    marked = {text.casefold() for text in texts} <= FLAGGED | NOT_FLAGGED
    if marked:
        labelled = {column: _flagged(texts)}
    else:
        names = sorted({text for text in texts if text.casefold() not in ("", "nan")})
        labelled = {name: np.array([text == name for text in texts]) for name in names}
    return tuple(_curve(curation.difficulty, column, label, marks) for label, marks in labelled.items())


def flag_marks(matrix: Credits, column: str) -> Marks:
    """Return (pairs,): whether people flagged the pair in a column.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.
        UsageError: a cell is neither a mark nor none.

    """
    texts = _texts(matrix, column)
    for text in texts:
        if text.casefold() not in FLAGGED | NOT_FLAGGED:
            raise UsageError(
                f"column {column!r} holds {text!r:.60}, which neither flags a pair nor does not: write 1, true, yes or "
                "x to flag it, and 0, false, no or nothing else."
            )
    return _flagged(texts)


def _texts(matrix: Credits, column: str) -> list[str]:
    return ["" if value is None else str(value).strip() for value in matrix.column(column)]


def _flagged(texts: list[str]) -> Marks:
    return np.array([text.casefold() in FLAGGED for text in texts], np.bool_)


def _curve(difficulty: Floats, column: str, label: str, marks: Marks) -> AuditCurve:
    placed = np.flatnonzero(~np.isnan(difficulty))
    order = placed[np.argsort(-difficulty[placed], kind="stable")]
    found = np.cumsum(marks[order])
    n_pairs, n_labelled = len(order), int(marks[order].sum())
    points: tuple[tuple[float, float], ...] = ()
    if n_labelled:
        hardest_on = difficulty[order]
        ends = np.flatnonzero(np.append(hardest_on[1:] < hardest_on[:-1] - _SAME, True))
        shares = zip((ends + 1).tolist(), found[ends].tolist(), strict=True)
        points = ((0.0, 0.0), *((pairs / n_pairs, labels / n_labelled) for pairs, labels in shares))
    return AuditCurve(
        column=column,
        label=label,
        points=points,
        n_pairs=n_pairs,
        n_labelled=n_labelled,
        n_unplaced=int(marks.sum()) - n_labelled,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class RankStudy:
    """A log with the steps between its rows and a ranking.

    `rows` are those that were folded (pairs, where single answers were scored); `scored` are the scores, else empty.
    `matrix`: credits of all labelled pairs; `rating`: of those that curation kept; `groups`: value of the `by` column
    -> rating of its pairs.
    """

    request: RankRequest
    rows: Sequence[VerdictRow]
    scored: Sequence[VerdictRow]
    decisions: Decisions
    criteria: tuple[str, ...]
    matrix: Credits
    curation: Curation
    rating: Rating
    groups: Mapping[str, Rating]

    @property
    def cluster(self) -> str | None:
        """The column of what pairs come from: the one that was asked for, else `cluster` where the rows have it."""
        return _cluster_column(self.matrix, self.request)

    @property
    def flagged(self) -> Marks | None:
        """(pairs,) of `matrix`, flagged by people; None where no column was named."""
        return None if self.request.flagged is None else self.curation.flagged


def study(rows: Iterable[VerdictRow], request: RankRequest) -> RankStudy:
    """Fold, credit, curate and rate.

    Raises:
        UnknownNameError: a judge, criterion, column or rule is not known; the nearest is offered.
        UsageError: nothing has a gold label, the rule does not fit, or the method cannot be used on these credits.

    """
    mine = [row for group in rows_of_judges(rows, request.judges or None).values() for row in group]
    scored = mine if has_scored_pairs(mine) else []
    folded, _ = copies_together(pairs_of_scores(scored) if scored else mine, request.cluster or CLUSTER)
    decisions = _together(decisions_of(folded, policy_of(folded, request, scored=bool(scored))), request.by)
    criteria = tuple(request.criteria) or tuple(
        name for name, entry in decisions.criteria.items() if entry.labelled.any()
    )
    _check_orders(decisions, criteria)
    _check_rule(decisions, criteria)
    matrix = credits_of(decisions, criteria)
    _check_columns(matrix, decisions, request)
    flagged = None if request.flagged is None else flag_marks(matrix, request.flagged)
    curation = curate(matrix, share=request.cut, cut_ties=request.cut_ties, flagged=flagged)
    kept = curation.kept
    cluster = _cluster_column(kept, request)
    clusters = clusters_of(kept, cluster)
    if clusters is not None and len(np.unique(clusters)) == 1:
        raise UsageError(
            f"column {cluster!r} puts all pairs that are ranked by into one cluster, which has no error: name another "
            "one with --cluster, or leave it out."
        )
    rating = rate(kept, clusters=clusters, eip_options=request.eip)
    _check_method(rating, request)
    groups = (
        {}
        if request.by is None
        else {
            name: rate(group, methods=(request.method,), eip_options=request.eip)
            for name, group in kept.groups(request.by).items()
        }
    )
    return RankStudy(
        request=request,
        rows=folded,
        scored=scored,
        decisions=decisions,
        criteria=criteria,
        matrix=matrix,
        curation=curation,
        rating=rating,
        groups=groups,
    )


def policy_of(rows: Iterable[VerdictRow], request: RankRequest, *, scored: bool) -> Policy:
    """Return what counts as right, defaults filled in."""
    rule = request.rule
    if rule is None:
        rule = "both_orders" if any(row.swapped for row in rows) else "one_order"
    ties = request.ties or ("half" if scored else "wrong")
    return Policy.of(rule, failures=request.failures, ties=ties)


def clusters_of(matrix: Credits, column: str | None) -> Ints | None:
    """Return the number of each pair's cluster; a pair without a value is one of its own. None without a column."""
    if column is None:
        return None
    names = [
        f"c{value}" if value not in {None, ""} else f"p{pair}"
        for value, pair in zip(matrix.column(column), matrix.pairs, strict=True)
    ]
    return np.asarray(np.unique(names, return_inverse=True)[1], np.intp)


def _cluster_column(matrix: Credits, request: RankRequest) -> str | None:
    return request.cluster or (CLUSTER if CLUSTER in matrix.columns else None)


def _check_orders(decisions: Decisions, criteria: Sequence[str]) -> None:
    """Refuse a rule of both orders for a criterion of one: nobody would have been asked about it."""
    for name in criteria if decisions.policy.both_orders else ():
        orders = decisions.criterion(name).orders
        if not (orders != NOT_ASKED).all(axis=0).any():
            raise UsageError(
                f"criterion {name!r} was never answered in both orders, and {decisions.policy.rule} takes both: rank "
                "by --rule one_order, or leave the criterion out with --criterion."
            )


def _together(decisions: Decisions, by: str | None) -> Decisions:
    """Return decisions with a column for several columns together; a pair that lacks one of them has none."""
    parts = () if by is None else columns_together(by, decisions.columns)
    if by is None or by in decisions.columns or not {*parts} <= decisions.columns.keys():
        return decisions
    rows = zip(*(decisions.columns[name] for name in parts), strict=True)
    values = tuple(None if None in row else values_together([*map(str, row)]) for row in rows)
    return replace(decisions, columns={**decisions.columns, by: values})


def _check_columns(matrix: Credits, decisions: Decisions, request: RankRequest) -> None:
    groups = () if request.by is None else columns_together(request.by, matrix.columns)
    named = [name for name in (*groups, request.cluster, request.flagged) if name is not None]
    for name in (*named, CLUSTER) if request.cluster is None else named:
        if name in decisions.divided:
            raise UsageError(f"column {name!r} differs between rows of one pair: name a column that describes pairs.")
    for name in named:
        matrix.column(name)


def _check_rule(decisions: Decisions, criteria: Sequence[str]) -> None:
    """Refuse a rule of A and B on labels that it cannot read: every judge would be wrong about every pair."""
    if decisions.policy.rule != "net_preference":
        return
    other = [name for name in criteria if name in decisions.criteria and not decisions.criteria[name].pairwise]
    if other:
        raise UsageError(
            f"rule net_preference reads A, B and TIE, but criterion {other[0]!r} holds other labels: name the others "
            "with --criterion, or use both_orders."
        )


def _check_method(rating: Rating, request: RankRequest) -> None:
    """Refuse a method that these credits do not admit; judges that cannot be compared are a diagnosis instead."""
    reason = rating.reasons.get(request.method)
    if reason is not None and (request.method == "eip" or rating.joint is not None):
        raise UsageError(f"{reason}.")
