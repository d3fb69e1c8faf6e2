"""Controls: judges that read nothing, computed on the same labelled cases without a call."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, Self, TypeAlias

from judgeharness_integrations.verdictlog.encoding import LENGTH_COLUMNS, counted
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

from ..statistics import CONFIDENCE
from ..statistics.means import Estimate, estimate, z_quantile
from ..statistics.proportions import wilson_of
from .rates import Rate

__all__ = [
    "Control",
    "Controls",
    "controls_of",
    "label_controls",
    "longer_answer",
    "longer_of",
    "unmeasured_controls",
]

_PAIR: Final = ("A", "B")
_PAIRWISE: Final = frozenset({*_PAIR, "TIE"})
_GRADED: Final = frozenset({"PASS", "FAIL"})
_ONE_ANSWER: Final = "it compares two answers, and these cases hold one"
_NO_COIN: Final = "a scale has no two sides to draw from"
_NEVER: Final = (_ONE_ANSWER, _NO_COIN)
_LONGEST_NAME: Final = 60
_WHOLE: Final = (0, 1)
_JUDGES: Final = {
    "coin": "a coin",
    "longest answer": "a judge that always prefers the longer answer",
    "first slot": "a judge that always prefers the first answer",
}

Denominator: TypeAlias = Literal["decided", "labelled"]


@dataclass(frozen=True, kw_only=True)
class Control:
    """A judge that reads nothing: `name` is its kind, `says` what it answers.

    `value` is its share of right answers over `n` cases, of scores its mean absolute error; `advantage` is how much
    better the measured judge is on the same cases, with its interval. What is not measured is None, and `reason`
    says why.
    """

    name: str
    says: str
    value: float | None = None
    n: int = 0
    advantage: Estimate | None = None
    reason: str = ""

    @property
    def judge(self) -> str:
        """Who answers so, in words."""
        return _JUDGES.get(self.name, f"a judge that always answers {self.says.removeprefix('always ')}")


@dataclass(frozen=True, kw_only=True)
class Controls:
    """A judge beside its controls: `value` is its share of right decisions among `n` cases with gold.

    These are the decided ones, or all labelled ones (`of`), of which what is not decided is not right. Of scores
    (`scored`) `value` is the mean absolute error.
    """

    value: float
    n: int
    scored: bool
    listed: tuple[Control, ...]
    of: Denominator = "decided"

    @property
    def unproven_lead(self) -> str:
        """The judge's lead on the longer answer where its interval holds 0 or less; else, or not measured, empty."""
        longest = next((control for control in self.listed if control.name == "longest answer"), None)
        lead = None if longest is None else longest.advantage
        if longest is None or lead is None or (lead.low is not None and lead.low > 0):
            return ""
        return f"{self._ahead(lead)} {self._cases(longest.n)}"

    def control(self, name: str) -> Control:
        """Return the control of a kind: `constant`, `coin`, `longest answer` or `first slot`."""
        return next(one for one in self.listed if one.name == name)

    @property
    def best(self) -> Control | None:
        """The control that the judge is least ahead of, of equal ones the first; None where none is measured."""
        measured = [(one.advantage.value, one) for one in self.listed if one.advantage is not None]
        return min(measured, key=lambda pair: pair[0])[1] if measured else None

    @property
    def beaten(self) -> bool:
        """Whether the judge is better than the best control: the interval of its advantage lies above 0."""
        advantage = None if self.best is None else self.best.advantage
        return advantage is not None and advantage.low is not None and advantage.low > 0

    @property
    def caution(self) -> str:
        """Which judge that reads nothing is as good, in a few words; empty where none is, or none is measured."""
        best = self.best
        if best is None or best.value is None or self.beaten:
            return ""
        share = f"mean error {best.value:.3g}" if self.scored else f"{100 * best.value:.0f} %"
        return f"{self.standing} ({share})"

    @property
    def worse(self) -> bool:
        """Whether the judge is worse than the best control: the interval of its advantage lies below 0."""
        advantage = None if self.best is None else self.best.advantage
        return advantage is not None and advantage.high is not None and advantage.high < 0

    @property
    def standing(self) -> str:
        """How the judge stands to the best control, as a predicate; empty where none is measured."""
        if (best := self.best) is None or best.advantage is None:
            return ""
        ahead = "not shown to be better than" if best.advantage.value > 0 else "not better than"
        word = "better than" if self.beaten else "worse than" if self.worse else ahead
        return f"{word} {best.judge}"

    @property
    def sentence(self) -> str:
        """What was found, and which controls it was not compared with that could have been measured."""
        return "; ".join(filter(None, (self.finding, self.missing)))

    @property
    def missing(self) -> str:
        """Which controls it was not compared with that could have been measured; empty where none is missing."""
        names = [] if self.best is None else [one.says for one in self.shown if one.value is None]
        return f"not compared with {' and '.join(names)}" if names else ""

    @property
    def finding(self) -> str:
        """Whether the judge is better than the best control, in a sentence, with the paired difference."""
        return self._found()

    @property
    def told(self) -> str:
        """What every control comes to, and whether the judge is better than the best, on which cases said once."""
        return f"{self.line}; {self._found(beside=True)}"

    def _found(self, *, beside: bool = False) -> str:
        best = self.best
        if best is None or (found := best.advantage) is None:
            return f"not compared with a control: {self.listed[0].reason}"
        cases = "" if beside and best.n == self.n else f" {self._cases(best.n)}"
        return f"{self.standing}: {self._ahead(found)}{cases}"

    def _ahead(self, lead: Estimate) -> str:
        ends = "(no interval)" if lead.low is None else f"[{lead.low:+.3f}, {lead.high:+.3f}]"
        return f"{lead.value:+.3f} {ends} {'smaller mean error' if self.scored else 'in the share right'}"

    @property
    def shown(self) -> tuple[Control, ...]:
        """The controls there are for such cases, also those that were not measured."""
        return tuple(one for one in self.listed if one.reason not in _NEVER)

    @property
    def line(self) -> str:
        """What every control comes to, and why one is not measured that could have been."""
        told = [f"{one.says} {one.value:.3f}{self._of(one)}" for one in self.shown if one.value is not None]
        missing = [f"{one.name} not measured ({one.reason})" for one in self.shown if one.value is None]
        what = "mean error" if self.scored else "right"
        return f"controls, {what} {self._cases(self.n)}: {', '.join([*told, *missing])}"

    def to_dict(self) -> dict[str, Any]:
        """Return the controls as JSON keeps them."""
        return {**asdict(self), "listed": [asdict(one) for one in self.listed]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return what `to_dict` or `dataclasses.asdict` was made of."""
        advantages = [None if one["advantage"] is None else Estimate(**one["advantage"]) for one in data["listed"]]
        listed = (Control(**{**one, "advantage": found}) for one, found in zip(data["listed"], advantages, strict=True))
        return cls(**{**data, "listed": tuple(listed)})

    def _of(self, one: Control) -> str:
        return "" if one.n == self.n else f" (of {one.n})"

    def _cases(self, count: int) -> str:
        part = "" if count == self.n else f"{count} of "
        if self.of == "labelled":
            return f"over {part}all labelled cases ({self.n})"
        return f"on {part}the same {counted(self.n, 'decided case')}"


@dataclass(frozen=True, kw_only=True)
class _Cases:
    """Cases with gold, decided ones or all labelled ones: labels as texts, and the cluster of each.

    `right`: whether the judge is, or the share of samples that are; `first` the same of who prefers the first answer.
    `asked`: orders that must all be right.
    """

    golds: Sequence[str]
    right: Sequence[float]
    clusters: Sequence[Hashable]
    counts: Sequence[int]
    labels: frozenset[str]
    longer: Sequence[str | None]
    first: Sequence[float]
    asked: int
    confidence: float

    @property
    def n(self) -> int:
        return sum(self.counts)

    @property
    def whole(self) -> bool:
        """Whether the judge is right or wrong about every case."""
        return all(one in _WHOLE for one in self.right)

    @property
    def pairwise(self) -> bool:
        return self.labels <= _PAIRWISE and not self.labels.isdisjoint(_PAIR)


def controls_of(
    golds: Sequence[Verdict],
    verdicts: Sequence[Verdict],
    clusters: Sequence[Hashable],
    *,
    longer: Sequence[str | None] | None = None,
    confidence: float = CONFIDENCE,
) -> Controls | None:
    """Compare a judge with judges that read nothing; None without any case.

    `constant` always gives the commonest gold label (of scores the median, which errs least), `coin` draws one of the
    labels with equal chance and counts with what is expected of it, `longest answer` prefers the longer of two answers,
    `first slot` the first one in the order of the case. The constant is chosen on these very cases, which favours it.

    Args:
        golds: one a decided case; all labels, or all numbers.
        verdicts: what the judge decided.
        clusters: which cluster each case is in.
        longer: the longer answer of each pair, A or B; None where that is not known or none is.
        confidence: of intervals.

    """
    if not golds:
        return None
    if is_number(golds[0]):
        return _of_scores([float(one) for one in golds], [float(one) for one in verdicts], clusters, confidence)  # type: ignore[arg-type]
    named, said = ([verdict_text(one) for one in side] for side in (golds, verdicts))
    right = [gold == verdict for gold, verdict in zip(named, said, strict=True)]
    return label_controls(
        named, right, clusters, labels=frozenset({*named, *said}), longer=longer, confidence=confidence
    )


def label_controls(
    golds: Sequence[str],
    right: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    labels: frozenset[str],
    longer: Sequence[str | None] | None = None,
    first: Sequence[float] | None = None,
    both_orders: bool = False,
    counts: Sequence[int] | None = None,
    of: Denominator = "decided",
    confidence: float = CONFIDENCE,
) -> Controls | None:
    """Compare a judge of labels with judges that read nothing; None without any case. See `controls_of`.

    Args:
        golds: one a case.
        right: whether the judge was, or the share of samples of the case that were.
        clusters: which cluster each case is in.
        labels: every label that can be answered, as far as that is known.
        longer: the longer answer of each pair, A or B.
        first: what `right` is of who prefers the first answer; without, that of the case's own order.
        both_orders: right is who is right in each of the two orders: a coin must hit twice, the first slot never is.
        counts: how many cases each entry stands for, all of them independent; one without.
        of: whether these are the decided cases, or all labelled ones.
        confidence: of intervals.

    """
    if not golds:
        return None
    cases = _Cases(
        golds=golds,
        right=right,
        clusters=clusters,
        counts=[1] * len(golds) if counts is None else counts,
        labels=labels,
        longer=[None] * len(golds) if longer is None else longer,
        first=[gold == _PAIR[0] and not both_orders for gold in golds] if first is None else first,
        asked=2 if both_orders else 1,
        confidence=confidence,
    )
    frequency: Counter[str] = Counter()
    for gold, count in zip(golds, cases.counts, strict=True):
        frequency[gold] += count
    commonest = min(frequency, key=lambda label: (-frequency[label], label))
    listed = (
        _paired("constant", f"always {commonest:.{_LONGEST_NAME}}", cases, [gold == commonest for gold in golds]),
        _coin(cases),
        *(_of_pairs(cases) if cases.pairwise else _without_pairs()),
    )
    return Controls(value=_mean(right, cases.counts), n=cases.n, scored=False, listed=listed, of=of)


def _mean(shares: Sequence[float], counts: Sequence[int]) -> float:
    return math.fsum(share * count for share, count in zip(shares, counts, strict=True)) / sum(counts)


def _of_pairs(cases: _Cases) -> Iterator[Control]:
    said = "the longer answer"
    if any(cases.longer):
        hits = [None if one is None else one == gold for one, gold in zip(cases.longer, cases.golds, strict=True)]
        yield _paired("longest answer", said, cases, hits)
    else:
        why = "neither texts that were read nor columns length_a and length_b say which answer is longer"
        yield Control(name="longest answer", says=said, reason=why)
    yield _paired("first slot", "the first answer", cases, cases.first)


def _without_pairs() -> Iterator[Control]:
    yield Control(name="longest answer", says="the longer answer", reason=_ONE_ANSWER)
    yield Control(name="first slot", says="the first answer", reason=_ONE_ANSWER)


def _paired(name: str, says: str, cases: _Cases, hits: Sequence[float | None]) -> Control:
    """Return a control with an answer to every case, or to those where it is not None."""
    found = [
        (right, hit, cluster, count)
        for right, hit, cluster, count in zip(cases.right, hits, cases.clusters, cases.counts, strict=True)
        if hit is not None
    ]
    value = _mean([hit for _, hit, _, _ in found], [count for *_, count in found])
    advantage = _advantage(found, cases.confidence)
    return Control(name=name, says=says, value=value, n=advantage.n, advantage=advantage)


def _advantage(found: Sequence[tuple[float, float, Hashable, int]], confidence: float) -> Estimate:
    """Return how much more often the first of two is right; Tango's interval where every case stands alone.

    Else, and where cases are right in a share of their samples, the t interval of the clustered standard error.
    """
    from ..statistics.paired import tango_interval  # noqa: PLC0415 - loads SciPy

    n, clusters = sum(count for *_, count in found), [cluster for _, _, cluster, _ in found]
    value = math.fsum((first - second) * count for first, second, _, count in found) / n
    whole = all(first in _WHOLE and second in _WHOLE for first, second, *_ in found)
    if not whole or len(set(clusters)) < len(clusters):
        told = estimate(value, [first - second - value for first, second, *_ in found], clusters, confidence=confidence)
        if told.low is None or told.high is None:
            return told
        return replace(told, low=max(-1.0, told.low), high=min(1.0, told.high))  # no shares differ by more
    gained, lost = (
        sum(count for first, second, _, count in found if (first, second) == side) for side in ((1, 0), (0, 1))
    )
    low, high = tango_interval(gained, lost, n, confidence=confidence)
    return Estimate(value=value, low=low, high=high, n=n)


def _coin(cases: _Cases) -> Control:
    """Return the judge that draws one of the labels: what is expected of it has no spread of its own."""
    labels = (
        frozenset(_PAIR) if cases.pairwise else cases.labels | (_GRADED if cases.labels <= _GRADED else frozenset())
    )
    if len(labels) == 1:
        return Control(name="coin", says="a coin", reason="there is one label alone")
    n = cases.n
    value = (
        sum(count for gold, count in zip(cases.golds, cases.counts, strict=True) if gold in labels)
        / n
        / len(labels) ** cases.asked
    )
    mean = _mean(cases.right, cases.counts)
    low, high = _share_interval(cases, mean)
    advantage = Estimate(value=mean - value, low=low - value, high=high - value, n=n)
    return Control(name="coin", says="a coin", value=value, n=n, advantage=advantage)


def _share_interval(cases: _Cases, mean: float) -> tuple[float, float]:
    """Return Wilson's interval of the judge's share; where cases are right in part, as if each were right or wrong."""
    if cases.whole and len(cases.golds) == cases.n:
        rate = Rate.over([bool(hit) for hit in cases.right], cases.clusters, confidence=cases.confidence)
        if rate is not None:  # pragma: no branch - there are cases
            return rate.low, rate.high
    return wilson_of(mean, cases.n, z_quantile(cases.confidence))


def _of_scores(
    golds: Sequence[float], scores: Sequence[float], clusters: Sequence[Hashable], confidence: float
) -> Controls:
    middle, n = statistics.median(golds), len(golds)
    own, constant = (
        [abs(gold - said) for gold, said in zip(golds, side, strict=True)] for side in (scores, [middle] * n)
    )
    ahead = [second - first for first, second in zip(own, constant, strict=True)]
    value = math.fsum(ahead) / n
    listed = (
        Control(
            name="constant",
            says=f"always {middle:g}",
            value=math.fsum(constant) / n,
            n=n,
            advantage=estimate(value, [one - value for one in ahead], clusters, confidence=confidence),
        ),
        Control(name="coin", says="a coin", reason=_NO_COIN),
        *_without_pairs(),
    )
    return Controls(value=math.fsum(own) / n, n=n, scored=True, listed=listed)


def unmeasured_controls(value: float, n: int, reason: str) -> Controls:
    """Return a judge's mean absolute error over `n` cases without controls, and why they were not measured."""
    constant = Control(name="constant", says="a constant", reason=reason)
    coin = Control(name="coin", says="a coin", reason=_NO_COIN)
    return Controls(value=value, n=n, scored=True, listed=(constant, coin, *_without_pairs()))


def longer_answer(first: object, second: object) -> str | None:
    """Return the longer of two answers, A or B, by their lengths or texts; None where neither is, or one is unknown."""
    lengths = [len(one) if isinstance(one, str) else one for one in (first, second)]
    if not all(isinstance(one, (int, float)) and math.isfinite(one) for one in lengths) or lengths[0] == lengths[1]:
        return None
    return "A" if lengths[0] > lengths[1] else "B"  # type: ignore[operator]


def longer_of(texts: Mapping[str, str], columns: Mapping[str, object]) -> str | None:
    """Return the longer answer of a case, by its texts `output` and `output_b`, else by columns of its log."""
    if texts.get("output") is not None and texts.get("output_b") is not None:
        return longer_answer(texts["output"], texts["output_b"])
    first = next((names for names in LENGTH_COLUMNS if all(name in columns for name in names)), None)
    return None if first is None else longer_answer(*(_length(columns[name]) for name in first))


def _length(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
