"""What became of a measurement: two runs compared, judge by judge and criterion by criterion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations._rendering import renderer
from judgeharness_integrations.calibration.controls import Controls
from judgeharness_integrations.comparison.configuration import ConfigurationDifference, Judged
from judgeharness_integrations.comparison.difference import Difference
from judgeharness_integrations.comparison.noise import NoiseTest
from judgeharness_integrations.comparison.power import PowerBasis
from judgeharness_integrations.comparison.states import State, Transition
from judgeharness_integrations.comparison.values import Kind
from judgeharness_integrations.reporting.runs.bill import Bill
from judgeharness_integrations.result import Distribution
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["COMPARISON_SCHEMA", "Answer", "BillChange", "ComparisonReport", "CriterionComparison", "Flip"]

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
