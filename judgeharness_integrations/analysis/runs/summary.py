"""What the cases of one judge and criterion come to, each case weighing the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.replay.report import JudgeReplay
from judgeharness_integrations.analysis.statistics.means import Estimate
from judgeharness_integrations.verdictlog.row import Verdict


@dataclass(frozen=True, kw_only=True)
class FlipRate:
    """How often verdicts with and without a perturbation differ: the mean over `cases` of each one's share of pairs.

    It holds what the perturbation changes and the judge's own noise: `CriterionSummary.noise` is the same of pairs of
    samples of `none` alone. The 95 % interval is Wilson's at that mean and number of cases, of clusters (Kish's
    effective number) where cases share one; the variance of shares is never larger than that of yes and no, so it is
    no narrower than it should be.
    """

    perturbation: str
    value: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True, kw_only=True)
class CriterionSummary:
    """One judge and criterion under one design: decisions counted over cases, never over samples.

    `cases` counts planned cases, those without any answer included (they are among `replay.not_graded`). `verdicts`
    counts decisions. `positive` is the label a pass rate is of (PASS; A of pairs), and `positive_rate` the share of all
    cases decided so: an abstention and a case that was not graded are not positive. `accuracy` is over decided cases
    with gold. `mean_score` is over decided cases. `consistency_rate`, `chance_consistency` and `agreement` are means
    over the cases that have one. `noise` says how often two samples of `none` differ, over the cases with a flip rate
    and two such samples: what a flip rate is to be read against. `repeated` counts results that measure a case again.
    `shares` are those of the most frequent labels, of all cases (see `rate_of`). `controls` are judges that read
    nothing, on the decided cases with gold.
    Intervals hold 95 % and treat results of one case or cluster as dependent (row attribute `cluster`). What was not
    measured is None.
    """

    judge: str
    criterion: str
    design: Design
    replay: JudgeReplay
    cases: int
    verdicts: Mapping[Verdict, int]
    positive: str | None
    positive_rate: Rate | None
    coverage: Rate | None
    abstention: Rate | None
    accuracy: Rate | None
    mean_score: Estimate | None
    consistency_rate: float | None
    chance_consistency: float | None
    agreement: float | None
    flips: tuple[FlipRate, ...]
    outcomes: Mapping[str, int]
    planned: int
    noise: FlipRate | None = None
    repeated: int = 0
    shares: Mapping[Verdict, Rate] = field(default_factory=dict)
    controls: Controls | None = None

    @property
    def numeric(self) -> bool:
        """Whether verdicts are scores."""
        return self.replay.kind == "numbers"

    @property
    def graded(self) -> int:
        """Number of cases with a grade, an abstention among them."""
        return self.replay.graded

    def rate_of(self, label: Verdict) -> Rate | None:
        """Return the share of all cases decided as `label`; of scores and rare labels without clusters."""
        return self.shares.get(label) or Rate.of(self.verdicts.get(label, 0), self.cases)
