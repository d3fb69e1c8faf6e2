"""What became of a measurement: two runs compared, judge by judge and criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._rendering import renderer
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.comparison.configuration import ConfigurationDifference, Judged
from judgeharness_integrations.analysis.comparison.difference import Difference, Measure, PowerBasis
from judgeharness_integrations.analysis.comparison.noise import NoiseTest
from judgeharness_integrations.analysis.comparison.pairing import State, Transition
from judgeharness_integrations.analysis.comparison.values import Kind
from judgeharness_integrations.analysis.result import Distribution
from judgeharness_integrations.analysis.runs.building import Bill
from judgeharness_integrations.verdictlog.row import Verdict

COMPARISON_SCHEMA: Final = "judgeharness.comparison/1"

Answer: TypeAlias = Literal[
    "no difference found", "worse", "better", "different", "flips more than noise", "cannot tell"
]
_ORDER: Final[tuple[Answer, ...]] = (
    "worse",
    "better",
    "different",
    "flips more than noise",
    "cannot tell",
    "no difference found",
)


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A case whose decision became another one.

    `p` is the chance of a flip between samples at least as far apart when they change places between the runs; None
    where that cannot be told.
    """

    case_id: str
    before: State
    after: State
    before_distribution: Distribution
    after_distribution: Distribution
    gold: Verdict | None
    p: float | None


@dataclass(frozen=True, kw_only=True)
class CriterionComparison:
    """One criterion of one judge, before and after, over `cases` that both runs measured.

    `main` is the difference that is tested, `beside` are further ones without a part in the report's level. `answer`
    follows from the adjusted p-values `p_adjusted` (of `main`) and `noise_p_adjusted`; `reason` says why. `level` is
    what the test of `main` has to reach by itself. `minimum_detectable` is the smallest change, in units of `main`,
    that it finds with 80 % power. `cases_needed` are those that find a change of `detect`. `flips` are sorted by how
    unlikely they are under noise. `repeated` are cases with several measurements, paired in order and one cluster each,
    `unpaired` the measurements of theirs that the other run has no partner for. `controls_before` and `controls_after`
    are judges that read nothing beside each side, on its decided cases with one gold label; None without any.
    """

    judge: str
    judge_after: str
    criterion: str
    kind: Kind
    positive: str | None
    cases: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    relabelled: tuple[str, ...]
    transitions: tuple[Transition, ...]
    main: Difference | None
    beside: tuple[Difference, ...]
    noise: NoiseTest
    flips: tuple[Flip, ...] = field(repr=False)
    answer: Answer
    reason: str
    p_adjusted: float | None
    noise_p_adjusted: float | None
    level: float | None
    minimum_detectable: float | None
    detect: float
    cases_needed: int | None
    power_basis: PowerBasis | None = field(default=None, repr=False)
    repeated: tuple[str, ...] = ()
    unpaired: int = 0
    controls_before: Controls | None = None
    controls_after: Controls | None = None

    def predicted_power(self, drop: float = 0.1) -> float | None:
        """Return the probability that this comparison finds a change of `drop`.

        It follows from the discordance (or the spread) that was seen and from `level`; that the other tests of the
        report are found as well can only raise it. `drop` is a share of all cases, for scores of their range. None
        where nothing varies enough to tell.
        """
        return None if self.power_basis is None else self.power_basis.power(drop)


@dataclass(frozen=True, kw_only=True)
class BillChange:
    """What a judge used and cost in each run, all its cases counted; see `Bill`."""

    judge: str
    judge_after: str
    before: Bill
    after: Bill


@dataclass(frozen=True, kw_only=True)
class ComparisonReport:
    """Two runs, or two judges, compared on the cases both measured.

    `before` and `after` say where they were read. All tests form one family (weighted Holm at `alpha`), so that two
    runs of one judge are found to differ at most that often. `judges_before` and `judges_after` are those that only one
    run has, `criteria_before` and `criteria_after` such (judge, criterion) pairs. `bills` are what each judge cost.
    `sequential`: level and intervals hold however often one looks while cases are added. `stopped` are the sides whose
    run ended because gates of its own were settled. `unvaried` are sentences about judged systems that answer every
    input with one text, `copies` about cases that ask what others ask. `shifted` says of which run's judges the cases
    are not like those their calibration was measured on, `certificates` which certificates decisions stand under, and
    whether they hold.
    """

    before: str
    after: str
    run_before: str | None
    run_after: str | None
    alpha: float
    seed: int
    judged: Judged
    configuration: tuple[ConfigurationDifference, ...]
    criteria: tuple[CriterionComparison, ...]
    judges_before: tuple[str, ...]
    judges_after: tuple[str, ...]
    criteria_before: tuple[tuple[str, str], ...]
    criteria_after: tuple[tuple[str, str], ...]
    same_run: bool
    sequential: bool = False
    stopped: tuple[Literal["before", "after"], ...] = ()
    bills: tuple[BillChange, ...] = ()
    unvaried: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """The answer that weighs most: worse, better, different, flips more than noise, cannot tell, no difference."""
        given: list[Answer] = [one.answer for one in self.criteria]
        return min(given, key=_ORDER.index)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON keeps it (schema `judgeharness.comparison/1`)."""
        document: dict[str, Any] = renderer(self, "document")(self)
        return document

    def to_markdown(self) -> str:
        """Return the comparison as GitHub's Markdown."""
        return str(renderer(self, "markdown")(self))

    def to_html(self) -> str:
        """Return one HTML page that needs nothing else."""
        return str(renderer(self, "html")(self))

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(renderer(self, "fragment")(self))


_MEASURES: Final[Mapping[Measure, str]] = {
    "positive_rate": "rate of",
    "right_of_labelled": "right of all labelled",
    "mean_score": "mean score",
    "mean_error": "mean distance from gold",
    "label_shares": "shares of labels",
    "coverage": "coverage",
    "abstention": "abstention",
    "consistency_rate": "consistency",
}
_SCORES: Final = frozenset({"mean_score", "mean_error"})


def shares(one: Difference) -> bool:
    """Whether a measure is a share, told in per cent and its changes in points; scores have units of their own."""
    return one.measure not in _SCORES


def measure_text(one: Difference) -> str:
    """Return what is measured: `rate of PASS`."""
    return _MEASURES[one.measure] + (f" {one.of}" if one.of else "")


def value_text(one: Difference, value: float | None) -> str:
    """Return `71.5 %` of shares, `6.125` of scores, `-` of what is not known."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if shares(one) else f"{value:.3f}"


def size_text(one: Difference, size: float) -> str:
    """Return a size without a sign: `8.1 points`, or `0.412`."""
    return f"{100 * size:.1f} points" if shares(one) else f"{size:.3f}"


def interval_text(one: Difference) -> str:
    """Return `[-12.0, -2.1]` in points or units, or `no interval`."""
    if one.low is None or one.high is None:
        return "no interval"
    scale, digits = (100, 1) if shares(one) else (1, 3)
    return f"[{scale * one.low:+.{digits}f}, {scale * one.high:+.{digits}f}]"


def change_text(one: Difference) -> str:
    """Return `rate 71.5 % -> 64.0 % of 200: -7.5 points [-12.0, -2.1]`, or how many labels changed."""
    if one.difference is None:
        return f"{measure_text(one)}: {one.rose} of {one.n} cases changed"
    change = f"{100 * one.difference:+.1f} points" if shares(one) else f"{one.difference:+.3f}"
    sides = f"{value_text(one, one.before)} -> {value_text(one, one.after)} of {one.n}"
    return f"{measure_text(one)} {sides}: {change} {interval_text(one)}"
