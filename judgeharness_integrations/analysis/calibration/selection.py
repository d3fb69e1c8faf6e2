"""Labels selected by verdict: a test whether having a label goes with what the judge decided, and what it spoils."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from judgeharness_integrations.analysis.calibration.items import LabelledItem
from judgeharness_integrations.analysis.calibration.strata import fisher_p
from judgeharness_integrations.verdictlog.plain import p_text
from judgeharness_integrations.verdictlog.row import is_number, verdict_text

__all__ = ["SELECTION_LEVEL", "WITHHELD", "Selection", "selection_by_sureness", "selection_of", "selection_of_items"]

SELECTION_LEVEL: Final = 0.01
_TWO: Final = 2
_SEED: Final = 0
_DRAWS: Final = 101
_LONGEST: Final = 40
# averages over what the judge decided: they follow the share of each decision among the labelled items
WITHHELD: Final = "withheld, as the labelled cases were selected by what the judge decided"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How often each decision occurs among labelled and other cases, and the `p` that labels were drawn regardless.

    `labelled` and `unlabelled` map a decision to cases. `p` is that of Fisher's exact test of one decision
    against all others, where there are several times their number (Bonferroni); `decision` is the one it is of.
    """

    labelled: Mapping[str, int]
    unlabelled: Mapping[str, int]
    decision: str
    p: float

    @property
    def found(self) -> bool:
        """Whether the labelled cases were selected by verdict: p is at most `SELECTION_LEVEL`."""
        return self.p <= SELECTION_LEVEL

    @property
    def counts(self) -> str:
        """How often the decision is made about labelled cases and about the others."""
        mine, others = sum(self.labelled.values()), sum(self.unlabelled.values())
        hits, missing = self.labelled.get(self.decision, 0), self.unlabelled.get(self.decision, 0)
        word = "none" if not hits else str(hits)
        return (
            f"{word} of {mine} labelled cases and {missing} of {others} without a label are judged "
            f"{self.decision:.{_LONGEST}} (p {p_text(self.p)})"
        )

    @property
    def sentence(self) -> str:
        """What was found and what is to be done."""
        return self.told("what averages over decisions is withheld (precision of a decision is not)")

    def told(self, what: str) -> str:
        """Return what was found, what follows from it, and what is to be done."""
        found = f"the labelled cases were selected by what the judge decided: {self.counts}"
        return f"{found}; {what}: label a random sample of the cases"


def selection_of(
    decisions: Sequence[str], labelled: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Selection | None:
    """Test whether having a label depends on the decision: Fisher's exact test (Fisher 1935, section 21.02).

    Labels drawn at random, whatever the judge is like, are called selected in at most `SELECTION_LEVEL` of studies.
    Items that share a cluster are labelled and decided together: one item of each is drawn, 101 times over, and p is
    twice the median (multiple outputation, Follmann, Proschan and Leifer 2003; the bound is Rueger's of 1978).

    Args:
        decisions: one an item.
        labelled: whether it has a label.
        clusters: which cluster it is in; without, each stands alone.

    Returns:
        None where nothing can be compared: all are labelled, none is, or all are decided alike.

    """
    mine, others = (
        Counter(one for one, has in zip(decisions, labelled, strict=True) if has == side) for side in (True, False)
    )
    seen = sorted({*mine, *others})
    if not mine or not others or len(seen) < _TWO:
        return None
    tables = _tables([seen.index(one) for one in decisions], labelled, clusters, len(seen))
    factor = (1 if len(seen) == _TWO else len(seen)) * (1 if len(tables) == 1 else 2)
    found = [
        (statistics.median(_p(with_label, without, place) for with_label, without in tables), one)
        for place, one in enumerate(seen)
    ]
    least, decision = min(found, key=lambda pair: (pair[0], mine[pair[1]]))
    return Selection(labelled=dict(mine), unlabelled=dict(others), decision=decision, p=min(1.0, factor * least))


def selection_by_sureness(
    scores: Sequence[float], labelled: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Selection | None:
    """Test whether surer decisions have labels more often; see `selection_of`.

    Labels of the surest decisions alone say nothing of the others, whatever was decided; more labels of unsure ones do
    no harm to what is certified of all: None. Scores are compared by whether they reach their median, or where that is
    the least of them, by whether they are above it.
    """
    if not scores or min(scores) == max(scores):
        return None
    middle, least = statistics.median_high(scores), min(scores)
    split = middle if middle > least else min(score for score in scores if score > least)
    sure = f"at least {split:.3g} sure"
    told = [sure if score >= split else f"less than {split:.3g} sure" for score in scores]
    found = selection_of(told, labelled, clusters)
    if found is None:
        return None
    mine, others = (side.get(sure, 0) / sum(side.values()) for side in (found.labelled, found.unlabelled))
    return found if mine > others else None


def _p(labelled: Sequence[int], others: Sequence[int], place: int) -> float:
    hits, other_hits = labelled[place], others[place]
    return fisher_p(hits, sum(labelled) - hits, other_hits, sum(others) - other_hits)


def _tables(
    codes: Sequence[int], labelled: Sequence[bool], clusters: Sequence[Hashable] | None, kinds: int
) -> list[tuple[list[int], list[int]]]:
    """Return how often each decision occurs with and without a label: once, or for each draw of one item a cluster."""
    import numpy as np  # noqa: PLC0415 - few calibrations have cases without a label

    keys = range(len(codes)) if clusters is None else clusters
    places: dict[Hashable, int] = {}
    groups = np.array([places.setdefault(key, len(places)) for key in keys])
    code, has = np.array(codes), np.array(labelled, dtype=bool)
    sizes = np.bincount(groups)
    order, starts = np.argsort(groups, kind="stable"), np.cumsum(sizes) - sizes
    drawn = np.random.default_rng(_SEED)
    tables = []
    for _ in range(1 if len(sizes) == len(code) else _DRAWS):
        chosen = order[starts + (drawn.random(len(sizes)) * sizes).astype(int)]
        sides = (code[chosen][has[chosen] == side] for side in (True, False))
        first, second = (np.bincount(side, minlength=kinds).tolist() for side in sides)
        tables.append((first, second))
    return tables


def selection_of_items(
    items: Iterable[LabelledItem], criterion: str, clusters: Mapping[str, Hashable] | None = None
) -> Selection | None:
    """Test the decisions about one criterion; items without gold are the others. See `selection_of`.

    Scores are compared by whether they are above their median.

    Args:
        items: of any criteria.
        criterion: the one that is tested.
        clusters: what a case shares with others; without, each stands alone.

    """
    items = [item for item in items if item.criterion == criterion]
    scores = [float(item.verdict) for item in items if item.status == "decided" and is_number(item.verdict)]  # type: ignore[arg-type]
    middle = statistics.median(scores) if scores else None
    return selection_of(
        [_decision(item, middle) for item in items],
        [item.gold is not None for item in items],
        [(clusters or {}).get(item.case_id, item.case_id) for item in items],
    )


def _decision(item: LabelledItem, middle: float | None) -> str:
    if item.status != "decided" or item.verdict is None:
        return "ABSTAIN" if item.status == "abstained" else "NOT_GRADED"
    if middle is None or not is_number(item.verdict):
        return verdict_text(item.verdict)
    return f"above {middle:g}" if float(item.verdict) > middle else f"at most {middle:g}"  # type: ignore[arg-type]
