"""Judges by family, price and prompt, and the classes they prefer and mistake."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from judgeharness_integrations._errors import UnknownNameError, UsageError

from ..statistics.means import mean_interval, t_p, z_p
from ..statistics.paired import tango_interval
from ..statistics.proportions import step_up
from .correctness import (
    ABSTAINED,
    FAILED,
    NOT_ASKED,
    Credits,
    CriterionDecisions,
    Decisions,
    Floats,
    Ints,
    Marks,
    Policy,
)
from .judgetable import chosen_first
from .panels import JudgeFacts, family_of, model_and_variant, plain_record


@dataclass(frozen=True, kw_only=True)
class ParetoPoint:
    """A judge at `x` (tokens or money, little is good) and `y` (Elo or share that is right, much is good)."""

    judge: str
    x: float
    y: float
    on_front: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the point as JSON keeps it."""
        return plain_record(self)


def pareto(points: Mapping[str, tuple[float, float]]) -> tuple[ParetoPoint, ...]:
    """Return judges by rising x, then falling y, with the front marked.

    A judge is on the front where no other has at most its x and at least its y, one of them better. Judges at the
    same point are on it together.

    Raises:
        UsageError: a coordinate is not finite.

    """
    for judge, place in points.items():
        if not all(map(math.isfinite, place)):
            raise UsageError(f"judge {judge!r} has no finite place {place}: leave it out.")
    best, front_x = -math.inf, math.nan
    found: list[ParetoPoint] = []
    for judge, (x, y) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1], item[0])):
        on_front = y > best or (y == best and x == front_x)
        if on_front:
            best, front_x = y, x
        found.append(ParetoPoint(judge=judge, x=x, y=y, on_front=on_front))
    return tuple(found)


_AUTHORS = ("author", "author_b")
_ENOUGH = 2  # pairs of which there is a spread


@dataclass(frozen=True, kw_only=True)
class SelfPreference:
    """One judge on the `pairs` of which exactly one answer is of its `family`.

    `own_rate`: share on which it chose that answer, `others_rate`: mean share at which judges of other families did, on
    the same pairs; a tie and no decision count half, failures are left out. `difference` with its standard error and
    Student's 95 % interval, one value a pair. `judges`: how many others decided any of the pairs; those of the rival's
    family are among them. `reason`: why nothing was measured.
    """

    judge: str
    family: str
    pairs: int
    own_rate: float | None
    others_rate: float | None
    difference: float | None
    se: float | None
    ci95: tuple[float, float] | None
    judges: int
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON keeps it."""
        return plain_record(self)


def self_preference(
    decisions: Decisions, criterion: str, facts: Mapping[str, JudgeFacts] | None = None
) -> tuple[SelfPreference, ...]:
    """Compare each judge with judges of other families, where the log says who wrote both answers.

    Empty without columns `author` and `author_b`, and for a criterion that is no choice between A and B.

    Args:
        decisions: of all judges.
        criterion: the choice between A and B.
        facts: judge or author -> facts; see `family_of` for how families are told.

    Raises:
        UnknownNameError: the criterion is not known.

    """
    entry = decisions.criterion(criterion)
    if not entry.pairwise or not all(name in decisions.columns for name in _AUTHORS):
        return ()
    families = [family_of(judge, facts) for judge in decisions.judges]
    authors = [_families(decisions.columns[name], facts) for name in _AUTHORS]
    chosen = chosen_first(entry, undecided=0.5)
    return tuple(_measured(decisions.judges, families, place, chosen, authors) for place in range(len(families)))


def _families(authors: Sequence[str | float | None], facts: Mapping[str, JudgeFacts] | None) -> tuple[str | None, ...]:
    known = {cell: None if cell is None else family_of(str(cell), facts).casefold() for cell in set(authors)}
    return tuple(known[cell] for cell in authors)


def _measured(
    judges: Sequence[str], families: Sequence[str], place: int, chosen: Floats, authors: Sequence[Sequence[str | None]]
) -> SelfPreference:
    family = families[place].casefold()
    first, second = (np.array([one == family for one in side], np.bool_) for side in authors)
    known = np.array([None not in pair for pair in zip(*authors, strict=True)], np.bool_)
    sided = known & (first != second)
    chosen = np.where(first[:, None], chosen, 1 - chosen)[sided]
    others = np.array([other.casefold() != family for other in families], np.bool_)
    return _entry(judges[place], families[place], chosen[:, place], chosen[:, others])


def _entry(judge: str, family: str, mine: Floats, theirs: Floats) -> SelfPreference:
    """Compare choices of one family's answer, `mine` (pairs,) with `theirs` (pairs, judges)."""
    counted: Marks = ~np.isnan(theirs)
    both = ~np.isnan(mine) & counted.any(axis=1)
    mine, theirs, counted = mine[both], theirs[both], counted[both]
    n = len(mine)
    if not n:
        reason = _reason(both, theirs.shape[1])
        return SelfPreference(
            judge=judge,
            family=family,
            pairs=0,
            own_rate=None,
            others_rate=None,
            difference=None,
            se=None,
            ci95=None,
            judges=0,
            reason=reason,
        )
    shares = np.where(counted, theirs, 0.0).sum(axis=1) / counted.sum(axis=1)
    differences = mine - shares
    return SelfPreference(
        judge=judge,
        family=family,
        pairs=n,
        own_rate=float(mine.mean()),
        others_rate=float(shares.mean()),
        difference=float(differences.mean()),
        se=float(differences.std(ddof=1)) / n**0.5 if n >= _ENOUGH else None,
        ci95=mean_interval(differences),
        judges=int(counted.any(axis=0).sum()),
        reason=None,
    )


def _reason(sided: Marks, others: int) -> str:
    if not len(sided):
        return "no pair has exactly one answer of its family"
    if not others:
        return "no judge of another family to compare with"
    return "it and a judge of another family decided none of the pairs with one answer of its family"


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """Mean credit of one judge minus that of another over the `n` pairs both were asked about.

    `ci95` and the two-sided `p` go together: Tango's score interval and McNemar's test (without correction) for whole
    credits, Student's for fractional ones. None where nothing varies, as far as the method then tells nothing.
    """

    n: int
    mean: float
    ci95: tuple[float, float] | None
    p: float | None


def paired_difference(one: Floats, other: Floats) -> PairedDifference | None:
    """Return the difference of two judges' credits (pairs,), NaN where not asked; None where they share no pair."""
    shared = ~(np.isnan(one) | np.isnan(other))
    one, other = one[shared], other[shared]
    if not len(one):
        return None
    if np.isin(np.concatenate([one, other]), (0.0, 1.0)).all():
        return _whole(int(np.sum(one > other)), int(np.sum(one < other)), len(one))
    return _fractional(one - other)


def _whole(gained: int, lost: int, n: int) -> PairedDifference:
    discordant = gained + lost
    z = abs(gained - lost) / math.sqrt(discordant) if discordant else None
    return PairedDifference(
        n=n,
        mean=(gained - lost) / n,
        ci95=tango_interval(gained, lost, n),
        p=None if z is None else float(z_p(z)),
    )


def _fractional(differences: Floats) -> PairedDifference:
    n, mean = len(differences), float(differences.mean())
    interval = mean_interval(differences)
    if interval is None:
        return PairedDifference(n=n, mean=mean, ci95=None, p=None)
    t = abs(mean) * math.sqrt(n) / float(differences.std(ddof=1))
    return PairedDifference(n=n, mean=mean, ci95=interval, p=t_p(t, n - 1))


_BASE = "base"
_COMPARED = 2


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One prompt of a model; `variant` is empty for the model's bare name.

    `right_of_labelled`: mean credit over `pairs`. `difference`: that minus that of the base over the `pairs_compared`
    both were asked about, with its 95 % interval and p-value; see `PairedDifference`. `p_adjusted` over all variants
    (Benjamini-Hochberg). `on_front`: no variant of any model is as accurate for fewer tokens; `step`: its place on that
    front, from the fewest tokens. The base itself has no difference.
    """

    judge: str
    model: str
    variant: str
    is_base: bool
    pairs: int
    right_of_labelled: float | None
    elo: float | None
    tokens: float | None
    pairs_compared: int
    difference: float | None
    ci95: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    on_front: bool
    step: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the variant as JSON keeps it."""
        return plain_record(self)


def variants(
    matrix: Credits, elo: Mapping[str, float | None], tokens: Mapping[str, float | None]
) -> tuple[Variant, ...]:
    """Return the variants of every model that has several, the base first.

    The base of a model is the judge of its bare name, else `model@base`, else its first judge.

    Args:
        matrix: pairs x judges.
        elo: judge -> Elo, of those that are rated.
        tokens: judge -> mean tokens a pair.

    """
    bases = _bases(matrix.judges)
    chosen = matrix.of_judges(tuple(bases))
    credit = dict(zip(chosen.judges, chosen.values.T, strict=True))
    compared = {
        judge: None if judge == base else paired_difference(credit[judge], credit[base])
        for judge, base in bases.items()
    }
    adjusted = _adjusted(compared)
    right = {judge: _mean(values) for judge, values in credit.items()}
    steps = _steps(right, tokens)
    return tuple(
        Variant(
            judge=judge,
            model=model_and_variant(judge)[0],
            variant=model_and_variant(judge)[1],
            is_base=judge == base,
            pairs=int(np.sum(~np.isnan(credit[judge]))),
            right_of_labelled=right[judge],
            elo=elo.get(judge),
            tokens=tokens.get(judge),
            p_adjusted=adjusted[judge],
            on_front=judge in steps,
            step=steps.get(judge),
            **_of(compared[judge]),
        )
        for judge, base in bases.items()
    )


def _bases(judges: Sequence[str]) -> dict[str, str]:
    """Return judge -> base of its model, model by model, of models with several judges."""
    models: dict[str, list[str]] = {}
    for judge in judges:
        models.setdefault(model_and_variant(judge)[0], []).append(judge)
    bases: dict[str, str] = {}
    for model, mine in models.items():
        if len(mine) < _COMPARED:
            continue
        base = next((name for name in (model, f"{model}@{_BASE}") if name in mine), mine[0])
        bases |= dict.fromkeys([base, *mine], base)
    return bases


def _adjusted(compared: Mapping[str, PairedDifference | None]) -> dict[str, float | None]:
    p = np.array([np.nan if one is None or one.p is None else one.p for one in compared.values()], np.float64)
    values = step_up(p).tolist()
    return {judge: None if np.isnan(value) else value for judge, value in zip(compared, values, strict=True)}


def _mean(values: Floats) -> float | None:
    asked = values[~np.isnan(values)]
    return float(asked.mean()) if len(asked) else None


def _steps(right: Mapping[str, float | None], tokens: Mapping[str, float | None]) -> dict[str, int]:
    points: dict[str, tuple[float, float]] = {}
    for judge, y in right.items():
        x = tokens.get(judge)
        if x is not None and y is not None:
            points[judge] = (x, y)
    front = [point.judge for point in pareto(points) if point.on_front]
    return {judge: step for step, judge in enumerate(front)}


def _of(found: PairedDifference | None) -> dict[str, Any]:
    return {
        "pairs_compared": 0 if found is None else found.n,
        "difference": None if found is None else found.mean,
        "ci95": None if found is None else found.ci95,
        "p": None if found is None else found.p,
    }


NO_DECISION: Final = "no decision"


def pair_groups(decisions: Decisions, by: str | None) -> dict[str | None, Marks]:
    """Return group -> marks (pairs,): all pairs under None, then each value of the column `by`, sorted.

    Raises:
        UnknownNameError: there is no such column; the nearest is offered.
        UsageError: the column differs between rows of one pair.

    """
    groups: dict[str | None, Marks] = {None: np.ones(len(decisions.pairs), np.bool_)}
    if by is None:
        return groups
    if by in decisions.divided:
        raise UsageError(f"column {by!r} differs between the rows of one pair: to group pairs, give each one value.")
    if by not in decisions.columns:
        raise UnknownNameError("column", by, decisions.columns)
    values = ["" if value is None else str(value) for value in decisions.columns[by]]
    return groups | {name: np.array([value == name for value in values]) for name in sorted({*values} - {""})}


def counted(entry: CriterionDecisions, policy: Policy) -> Marks:
    """Return (pairs, judges): pairs with gold that the judge was asked about.

    An answer that failed is one of them, unless the policy takes it as not asked.
    """
    absent = entry.codes == NOT_ASKED
    if policy.failures == "missing":
        absent |= entry.codes == FAILED
    return np.asarray(entry.labelled[:, None] & ~absent, np.bool_)


def labels_found(entry: CriterionDecisions, chosen: Marks) -> tuple[Ints, Ints]:
    """Return the codes of labels that are gold, and of those that are gold or were given, on (pairs, judges) marks."""
    gold = np.unique(entry.gold[chosen.any(axis=1)])
    given = entry.codes[chosen]
    return gold.astype(np.intp), np.union1d(gold, given[given >= 0]).astype(np.intp)


@dataclass(frozen=True, kw_only=True)
class ClassBias:
    """One label of one judge, in one group of pairs (None: all): given on `predicted` of `n` pairs, gold on `true`.

    `n` counts the labelled pairs that the judge was asked about. Where any answer is no decision, that is the last
    label: never gold, and what all other labels lack. Shares and
    `bias` are None where n is 0. Gold and answer are paired: `se` is that of the mean difference, None below two pairs,
    and `ci95` Tango's score interval (1998), which has a width also where answers and gold agree throughout.
    """

    judge: str
    group: str | None
    criterion: str
    label: str
    n: int
    predicted: int
    true: int
    predicted_share: float | None
    true_share: float | None
    bias: float | None
    se: float | None
    ci95: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the bias as JSON keeps it."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"ci95": None if self.ci95 is None else list(self.ci95)}


def class_bias(decisions: Decisions, criterion: str, *, by: str | None = None) -> tuple[ClassBias, ...]:
    """Return the bias of each judge for each label, by group; every group lists all labels, () without gold.

    Args:
        decisions: of judges about pairs, under the policy's rule.
        criterion: which.
        by: column that groups pairs; all pairs come first.

    Raises:
        UnknownNameError: the criterion or the column is not known.
        UsageError: the column differs between rows of one pair.

    """
    entry = decisions.criterion(criterion)
    chosen = counted(entry, decisions.policy)
    labels = labels_found(entry, chosen)[1].tolist()
    undecided = [ABSTAINED] if bool((entry.codes[chosen] < 0).any()) and labels else []
    return tuple(
        found
        for group, marks in pair_groups(decisions, by).items()
        for place, judge in enumerate(decisions.judges)
        for label in [*labels, *undecided]
        for found in [_of_label(entry, marks & chosen[:, place], (judge, place), group, label)]
    )


def _of_label(
    entry: CriterionDecisions, pairs: Marks, judge: tuple[str, int], group: str | None, label: int
) -> ClassBias:
    codes = entry.codes[pairs, judge[1]]
    given, gold = codes < 0 if label < 0 else codes == label, entry.gold[pairs] == label
    n, predicted, true, both = len(gold), int(given.sum()), int(gold.sum()), int((given & gold).sum())
    gained, lost = predicted - both, true - both
    bias = (gained - lost) / n if n else None
    se = None
    if bias is not None and n > 1:
        se = math.sqrt(max(0.0, gained + lost - n * bias**2) / (n - 1) / n)
    return ClassBias(
        judge=judge[0],
        group=group,
        criterion=entry.criterion,
        label=entry.labels[label] if label >= 0 else NO_DECISION,
        n=n,
        predicted=predicted,
        true=true,
        predicted_share=predicted / n if n else None,
        true_share=true / n if n else None,
        bias=bias,
        se=se,
        ci95=tango_interval(gained, lost, n) if n else None,
    )


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Answers of one judge (None: all judges pooled) in one group of pairs (None: all).

    `counts`: a row for each of `true_labels`, in it a number for each of `predicted_labels`, of which the last is
    "no decision" where any judge abstained or failed.
    """

    judge: str | None
    group: str | None
    criterion: str
    true_labels: tuple[str, ...]
    predicted_labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def n(self) -> int:
        """How many answers were counted."""
        return sum(map(sum, self.counts))

    @property
    def row_normalised(self) -> tuple[tuple[float, ...] | None, ...]:
        """Shares of each row, which sum to 1; None for a row without an answer."""
        return tuple(tuple(count / sum(row) for count in row) if any(row) else None for row in self.counts)

    def cells(self) -> Iterator[dict[str, Any]]:
        """Yield each cell as one row of a table; `share` is of the cells with the same true label."""
        for true, row, shares in zip(self.true_labels, self.counts, self.row_normalised, strict=True):
            for place, predicted in enumerate(self.predicted_labels):
                yield {
                    "judge": self.judge,
                    "group": self.group,
                    "criterion": self.criterion,
                    "true": true,
                    "predicted": predicted,
                    "count": row[place],
                    "share": None if shares is None else shares[place],
                }

    def to_dict(self) -> dict[str, Any]:
        """Return the matrix as JSON keeps it."""
        return {
            "judge": self.judge,
            "group": self.group,
            "criterion": self.criterion,
            "n": self.n,
            "true_labels": list(self.true_labels),
            "predicted_labels": list(self.predicted_labels),
            "counts": [list(row) for row in self.counts],
            "row_normalised": [None if row is None else list(row) for row in self.row_normalised],
        }


def confusions(decisions: Decisions, criterion: str, *, by: str | None = None) -> tuple[Confusion, ...]:
    """Return the matrix of all judges pooled and of each, by group; all have the same labels. () without gold.

    Args:
        decisions: of judges about pairs, under the policy's rule.
        criterion: which.
        by: column that groups pairs; all pairs come first.

    Raises:
        UnknownNameError: the criterion or the column is not known.
        UsageError: the column differs between rows of one pair.

    """
    entry = decisions.criterion(criterion)
    chosen = counted(entry, decisions.policy)
    gold, labels = labels_found(entry, chosen)
    groups = pair_groups(decisions, by)
    undecided = bool((entry.codes[chosen] < 0).any())
    predicted = tuple(entry.labels[code] for code in labels) + (NO_DECISION,) * undecided
    if not len(gold):
        return ()
    return tuple(
        Confusion(
            judge=judge,
            group=group,
            criterion=criterion,
            true_labels=tuple(entry.labels[code] for code in gold),
            predicted_labels=predicted,
            counts=tuple(tuple(row) for row in counts.tolist()),
        )
        for group, marks in groups.items()
        for judge, counts in _tables(decisions.judges, entry, chosen & marks[:, None], (gold, labels), len(predicted))
    )


def _tables(
    judges: tuple[str, ...], entry: CriterionDecisions, chosen: Marks, labels: tuple[Ints, Ints], width: int
) -> Iterator[tuple[str | None, Ints]]:
    """Yield (name, counts): of all judges under None, then of each."""
    gold, given = labels
    pairs, judge = np.nonzero(chosen)
    codes = entry.codes[pairs, judge]
    column = np.where(codes < 0, width - 1, np.searchsorted(given, codes))
    row = np.searchsorted(gold, entry.gold[pairs])
    shape = (len(judges), len(gold), width)
    counts = np.bincount(np.ravel_multi_index((judge, row, column), shape), minlength=int(np.prod(shape)))
    tables = counts.reshape(shape)
    yield None, tables.sum(axis=0)
    yield from zip(judges, tables, strict=True)
