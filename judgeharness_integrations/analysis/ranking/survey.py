"""What recorded verdicts say about judges that were shown every pair in both orders: a survey of a whole log.

Every figure is of labelled pairs that stand in the log; intervals of several judges take the pairs for the clusters,
since a hard pair is hard for many of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..calibration.controls import Controls
from ..calibration.rates import Rate
from ..certifying.sequence import fewest_accepted, p_values
from ..statistics.proportions import holm
from .correctness import NOT_ASKED, Decisions, Floats, Marks, Policy, credits_of, decisions_of
from .families import paired_difference
from .judgetable import judge_controls, pairwise_criterion
from .panels import model_and_variant

LABELS: Final = 150
AGREEMENTS: Final = (0.9, 0.8)
DELTA: Final = 0.1
_DRAWS: Final = 400
_LEVEL: Final = 0.05
_FEWEST_JUDGES: Final = 2


@dataclass(frozen=True, kw_only=True)
class SurveyedJudge:
    """One judge; rates are None where nothing was answered.

    `flips`: of the pairs answered in both orders, those whose verdict changes. `one_call`: right answers of single
    calls in either order, failures among the wrong ones. `coverage`: labelled pairs on which both orders agree;
    `agreeing`: right ones of these. `certified`: agreement with people -> the share of draws of labels that certify it
    for the pairs on which both orders agree. `controls`: of one call in the order as given.
    """

    judge: str
    model: str
    flips: Rate | None
    one_call: Rate | None
    coverage: Rate | None
    agreeing: Rate | None
    certified: Mapping[float, float]
    controls: Controls | None


@dataclass(frozen=True, kw_only=True)
class OrderOfJudges:
    """What the order of answers does to a leaderboard of `judges`, asked in both, by the share of right answers.

    `moved` judges stand on another place in the other order; `inverted` of `compared` pairs of judges the other way
    round. `significant` pairs differ at p < .05 in one order, of `tested`, both orders together; `lost` of these do not
    in the other one, and `reversed_` point the other way there. Of `neighbours` on the leaderboard of both orders
    `apart` differ at p < .05, `apart_together` by Holm's method for all of them.
    """

    judges: int
    moved: int
    inverted: int
    compared: int
    tested: int
    significant: int
    lost: int
    reversed_: int
    neighbours: int
    apart: int
    apart_together: int


@dataclass(frozen=True, kw_only=True)
class Certified:
    """How many judges are certified for an `agreement` from `labels` drawn at random: the mean, and 5 and 95 % points.

    `able` judges agree so often on all pairs of the log on which both their orders say the same.
    """

    agreement: float
    labels: int
    expected: float
    low: int
    high: int
    able: int


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What the verdicts of a log say about its judges, all of them together.

    `flips`: verdicts in one order that differ in the other; `prompts`: those of two prompts of one model in the same
    order, None where no model has several. `one_call`, `coverage`, `agreeing`: as of one judge.
    """

    judges: tuple[SurveyedJudge, ...]
    pairs: int
    flips: Rate
    prompts: Rate | None
    one_call: Rate
    coverage: Rate
    agreeing: Rate | None
    order: OrderOfJudges
    certified: tuple[Certified, ...]
    delta: float = DELTA

    @property
    def unbeaten(self) -> tuple[SurveyedJudge, ...]:
        """The judges that are not shown to be better than the best control."""
        return tuple(one for one in self.judges if one.controls is None or not one.controls.beaten)

    def to_dict(self) -> dict[str, Any]:
        """Return the survey as JSON keeps it."""
        kept = asdict(self)
        kept["order"]["reversed"] = kept["order"].pop("reversed_")
        for one, judge in zip(kept["judges"], self.judges, strict=True):
            one["certified"] = {f"{agreement:g}": share for agreement, share in judge.certified.items()}
        return {"schema": "judgeharness.survey/1", **kept}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Verdicts:
    """Labelled pairs in both orders: `codes` and whether they are `right`, (2, pairs, judges).

    Of (pairs, judges): whether either order was `asked`, both were `answered`, and say the `same`.
    """

    codes: NDArray[np.int32]
    right: Marks
    asked: Marks
    answered: Marks
    same: Marks

    @property
    def correct(self) -> Marks:
        """Whether both orders say the same, and it is right."""
        both: Marks = np.logical_and(self.same, self.right[0])
        return both


def survey(rows: Iterable[VerdictRow], *, labels: int = LABELS, separator: str = "@", seed: int = 0) -> Survey:
    """Survey the judges of a log of pairs that were shown in both orders, with gold labels.

    Args:
        rows: of several judges.
        labels: drawn at random for the certificates.
        separator: what divides the name of a judge into its model and its prompt.
        seed: of the draws.

    Raises:
        UsageError: there is no choice between two answers with gold, no second order, or a single judge.

    """
    decisions = decisions_of(rows, Policy(rule="one_order"))
    found = _verdicts(decisions)
    models = [_model(judge, separator) for judge in decisions.judges]
    drawn = min(labels, len(found.same))
    chances = _certificates(found, drawn, seed)
    controls = judge_controls(decisions, [_criterion(decisions)], credits_of(decisions, [_criterion(decisions)]))
    judges = tuple(
        _judge(found, place, judge=judge, model=models[place], controls=controls[judge], chances=chances)
        for place, judge in enumerate(decisions.judges)
    )
    pooled = _pooled(found)
    flips, one_call, coverage = pooled["flips"], pooled["one_call"], pooled["coverage"]
    if flips is None or one_call is None or coverage is None:
        raise UsageError("no pair was answered in both orders: a survey needs judges that were shown each pair twice.")
    return Survey(
        judges=judges,
        pairs=len(found.same),
        flips=flips,
        prompts=_between_prompts(found, models),
        one_call=one_call,
        coverage=coverage,
        agreeing=pooled["agreeing"],
        order=_order(found),
        certified=tuple(_certified(found, drawn, chances, one) for one in AGREEMENTS),
    )


def _model(judge: str, separator: str) -> str:
    return model_and_variant(judge)[0] if separator == "@" else judge.partition(separator)[0]


def _criterion(decisions: Decisions) -> str:
    entry = pairwise_criterion(decisions)
    if entry is None or not entry.labelled.any():
        raise UsageError("a survey is of choices between two answers, with gold labels: this log holds none.")
    return entry.criterion


def _verdicts(decisions: Decisions) -> _Verdicts:
    entry = decisions.criterion(_criterion(decisions))
    if len(decisions.judges) < _FEWEST_JUDGES:
        raise UsageError("a survey is of several judges: this log holds one, of which `judgeharness report` says more.")
    orders, gold = entry.orders[:, entry.labelled], entry.gold[entry.labelled][:, None]
    answered: Marks = np.all(orders >= 0, axis=0)
    return _Verdicts(
        codes=orders,
        right=orders == gold,
        asked=orders != NOT_ASKED,
        answered=answered,
        same=answered & (orders[0] == orders[1]),
    )


def _judge(
    found: _Verdicts,
    place: int,
    *,
    judge: str,
    model: str,
    controls: Controls | None,
    chances: Mapping[float, NDArray[np.bool_]],
) -> SurveyedJudge:
    answered, same = found.answered[:, place], found.same[:, place]
    asked = found.asked[:, :, place]
    pairs = np.broadcast_to(np.arange(asked.shape[1]), asked.shape)
    return SurveyedJudge(
        judge=judge,
        model=model,
        flips=Rate.of(int((answered & ~same).sum()), int(answered.sum())),
        one_call=_rate(found.right[:, :, place][asked], pairs[asked]),
        coverage=Rate.of(int(same.sum()), int(asked.all(axis=0).sum())),
        agreeing=Rate.of(int(found.correct[:, place].sum()), int(same.sum())),
        certified={agreement: float(passed[:, place].mean()) for agreement, passed in chances.items()},
        controls=controls,
    )


def _rate(hits: NDArray[np.bool_], pairs: NDArray[np.int_]) -> Rate | None:
    """Return the rate of hits; those about one pair belong together."""
    return Rate.over(hits.tolist(), pairs.tolist())


def _pooled(found: _Verdicts) -> dict[str, Rate | None]:
    """Return the rates of all judges together."""
    pairs = np.broadcast_to(np.arange(found.same.shape[0])[:, None], found.same.shape)
    both, each = found.asked.all(axis=0), np.broadcast_to(pairs, found.asked.shape)
    return {
        "flips": _rate(~found.same[found.answered], pairs[found.answered]),
        "one_call": _rate(found.right[found.asked], each[found.asked]),
        "coverage": _rate(found.same[both], pairs[both]),
        "agreeing": _rate(found.right[0][found.same], pairs[found.same]),
    }


def _between_prompts(found: _Verdicts, models: Sequence[str]) -> Rate | None:
    """Return how often two prompts of a model give a pair, in the order as given, different verdicts."""
    hits: list[NDArray[np.bool_]] = []
    pairs: list[NDArray[np.int_]] = []
    codes = found.codes[0]
    for one, other in combinations(range(len(models)), 2):
        if models[one] == models[other]:
            both = np.flatnonzero((codes[:, one] >= 0) & (codes[:, other] >= 0))
            hits.append(codes[both, one] != codes[both, other])
            pairs.append(both)
    return _rate(np.concatenate(hits), np.concatenate(pairs)) if hits else None


def _order(found: _Verdicts) -> OrderOfJudges:
    """Compare the leaderboards of the two orders, of the judges that were asked in both."""
    credit = np.where(found.asked, found.right, np.nan)[:, :, found.asked.any(axis=1).all(axis=0)]
    accuracy = np.nanmean(credit, axis=1)
    places = rankdata(-accuracy, axis=1)
    couples = list(combinations(range(accuracy.shape[1]), 2))
    apart = np.array([[_difference(side, *couple) for couple in couples] for side in credit]).reshape(2, -1, 2)
    way = np.sign(apart[:, :, 0])
    significant = apart[:, :, 1] < _LEVEL
    other = ~significant[::-1]
    board = np.argsort(-np.nanmean(accuracy, axis=0), kind="stable")
    mean = np.nanmean(credit, axis=0)
    p = [_difference(mean, *couple)[1] for couple in pairwise(board)]
    return OrderOfJudges(
        judges=accuracy.shape[1],
        moved=int((places[0] != places[1]).sum()),
        inverted=int((way[0] * way[1] < 0).sum()),
        compared=len(couples),
        tested=2 * len(couples),
        significant=int(significant.sum()),
        lost=int((significant & other).sum()),
        reversed_=int((significant & (way * way[::-1] < 0)).sum()),
        neighbours=len(p),
        apart=sum(one < _LEVEL for one in p),
        apart_together=sum(one < _LEVEL for one in holm(p)),
    )


def _difference(credit: Floats, one: int, other: int) -> tuple[float, float]:
    """Return how much more often the first judge is right, and the p-value; 0 and 1 where they share no pair."""
    found = paired_difference(credit[:, one], credit[:, other])
    return (0.0, 1.0) if found is None else (found.mean, 1.0 if found.p is None else found.p)


def _certificates(found: _Verdicts, labels: int, seed: int) -> dict[float, NDArray[np.bool_]]:
    """Return agreement -> (draws, judges): whether labels drawn at random certify the pairs both orders agree on.

    Two votes have one threshold at which a pair is decided, so each certificate is one exact test.
    """
    pairs = found.same.shape[0]
    drawn = np.zeros((_DRAWS, pairs))
    rng = np.random.default_rng(seed)
    for draw in drawn:
        draw[rng.choice(pairs, labels, replace=False)] = 1
    accepted = (drawn @ found.same).astype(int)
    wrong = accepted - (drawn @ found.correct).astype(int)
    passed = {}
    for agreement in AGREEMENTS:
        p = p_values(wrong, accepted, accepted, np.minimum(accepted, 1), risk=1 - agreement)
        passed[agreement] = (p <= DELTA) & (accepted >= fewest_accepted(agreement=agreement, delta=DELTA))
    return passed


def _certified(
    found: _Verdicts, labels: int, chances: Mapping[float, NDArray[np.bool_]], agreement: float
) -> Certified:
    counts = chances[agreement].sum(axis=1)
    low, high = np.quantile(counts, (0.05, 0.95))
    decided = np.maximum(found.same.sum(axis=0), 1)
    return Certified(
        agreement=agreement,
        labels=labels,
        expected=float(counts.mean()),
        low=math.floor(low),
        high=math.ceil(high),
        able=int((found.correct.sum(axis=0) / decided >= agreement).sum()),
    )
