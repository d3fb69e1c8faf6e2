"""The report of a run or log: a section a judge, what its cases come to, and how asking ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from judgeharness_integrations._lazy import Rendered, renderer
from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.row import Verdict

from ..calibration.candidates import Candidate
from ..calibration.controls import Controls
from ..calibration.rates import Rate
from ..calibration.saved import CalibrationReport, CalibrationState
from ..calibration.transport import ShiftTest
from ..certifying.certificate import HeldCertificate
from ..design import Design
from ..gates.gate import GateReport
from ..probability.measuring import ProbabilitySummary
from ..replay.report import JudgeReplay
from ..result import HarnessResult
from ..statistics.means import Estimate
from ..usage import Usage


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
    nothing, on the decided cases with gold. `probabilities` are of a judge that answers with them. `apart` says that
    the cases with gold are no sample of all, so that accuracy is not that of the run, `batch` which column has one
    value in those and another in all others, so that nobody can tell; empty where neither was found.
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
    probabilities: ProbabilitySummary | None = None
    apart: str = ""
    batch: str = ""

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


if TYPE_CHECKING:

    class AnnotatorTests(Protocol):
        """What was found of judges beside annotators, as `analysis.agreement` finds it."""

        def to_dict(self) -> dict[str, Any]:
            """Return it as JSON-able data."""
            ...
else:
    AnnotatorTests = Any  # pydantic has no schema of a protocol; whoever evaluates type hints sees Any


def state_text(state: str, *, not_graded: int, cases: int) -> str:
    """Return how a run ended; one that asked everything is complete only where every case got a grade.

    Args:
        state: the run's state, as `budget_exhausted`.
        not_graded: how many cases ended not graded.
        cases: of how many; those of each judge count.

    """
    if state == "complete" and not_graded:
        return f"all asked, {not_graded} of {cases} cases not graded"
    return state.replace("_", " ")


def never_asked(count: int, cases: int) -> str:
    """Return that some of all planned cases were never asked."""
    return f"{count} of {cases} {'case was' if count == 1 else 'cases were'} never asked"


def nothing_graded(cases: int) -> str:
    """Return that a judge graded none of the cases."""
    return f"nothing was graded ({counted(cases, 'case')})"


OnAbstain: TypeAlias = Literal["failure", "skipped", "passed"]
ReportState: TypeAlias = Literal["complete", "budget_exhausted", "interrupted", "judge_down", "failed", "unfinished"]


@dataclass(frozen=True, kw_only=True)
class JudgeSection:
    """One judge of a report: who it is, its anchor, its criteria, its bill, and what was not measured of it.

    `not_measured` maps a sentence of the boundary to the number of cases it holds for. `cost` is in the currency of
    the prices that were given and belongs to `usage`; None without prices. What labelled cases took for a calibration
    stands apart, in `calibration_usage` and `calibration_cost`. `cost_remarks` say why a cost is not known, where it is
    the most it can be, and whose prices it is by. `models` are the models that answered. `alerts` is said of it before
    any number. `shift` tests whether the cases are like those the calibration was measured on; where they are not, the
    calibration's state is `shifted`. `certificates` are those its decisions stand under, and whether they held;
    `unknown_certificate` says that there was one which the log does not hold.
    """

    judge: str
    models: tuple[str, ...]
    fingerprint: str | None
    calibration: CalibrationReport | None
    calibration_state: CalibrationState | None
    criteria: tuple[CriterionSummary, ...]
    cases: int
    not_asked: int
    usage: Usage
    cost: float | None
    skipped: Mapping[str, int]
    warnings: tuple[str, ...]
    not_measured: Mapping[str, int]
    calibration_usage: Usage | None = None
    calibration_cost: float | None = None
    alerts: tuple[str, ...] = ()
    cost_remarks: tuple[str, ...] = ()
    shift: ShiftTest | None = None
    certificates: tuple[HeldCertificate, ...] = ()
    unknown_certificate: str = ""

    @property
    def every_warning(self) -> tuple[str, ...]:
        """All that formats warn of: `warnings`, and that a certificate is not known."""
        return (*filter(None, (self.unknown_certificate,)), *self.warnings)

    @property
    def calibrated(self) -> bool:
        """Whether a calibration on people's or executed labels holds for what was measured."""
        state, report = self.calibration_state, self.calibration
        return state is not None and state.valid and report is not None and report.calibrated


@dataclass(frozen=True, kw_only=True)
class RunReport(Rendered):
    """A run, a log or the results of a session: `results` has one entry a judge and case, in order of appearance.

    `source` says for people where it was read. `case_texts` maps a case to what was judged, field by field, where that
    was given; reports show it, and `texts_missing` says why those of a run are not known. `annotators` is the
    alternative annotator test of the judges' decisions against people, and `annotators_reason` says why there is none.
    `gates` is what the run's own gates said at its end; formats show
    it where they are given no other. `arguments` are those with which `judgeharness report` makes it again, as far as
    that is known, and `cases_digest` is of the content of all cases the run was given, in their order.
    `of_known_size`: how many cases were to be asked is known. `beside` are the judges, runs and criteria of the
    log that are not shown: of those decided by the same labels one may have been picked. `calibrated_beside` are the
    calibrations of judges of the run that are not shown, by judge. `together` is what the run noted of
    judges that decide together, under `cascade` and `panel`; it is about all its judges.
    """

    source: str
    results: tuple[HarnessResult, ...] = field(repr=False)
    judges: tuple[JudgeSection, ...]
    run: str | None = None
    state: ReportState = "complete"
    created_at: str | None = None
    case_texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    annotators: AnnotatorTests | None = None
    annotators_reason: str | None = None
    gates: GateReport | None = None
    arguments: tuple[str, ...] = ()
    cases_digest: str | None = None
    of_known_size: bool = True
    beside: tuple[Candidate, ...] = field(default=(), repr=False)
    calibrated_beside: Mapping[str, CalibrationReport] = field(default_factory=dict, repr=False)
    together: Mapping[str, Any] = field(default_factory=dict, repr=False)
    texts_missing: str = ""

    @property
    def summaries(self) -> tuple[CriterionSummary, ...]:
        """Every judge's criteria, in order."""
        return tuple(summary for section in self.judges for summary in section.criteria)

    @property
    def cases(self) -> int:
        """Number of different cases."""
        return len({result.case_id for result in self.results})

    @property
    def state_text(self) -> str:
        """How the run ended, in words: one with cases that are not graded is not called complete."""
        results = [any(one.status == "not_graded" for one in result.criteria.values()) for result in self.results]
        never = sum(section.not_asked for section in self.judges)
        if self.state == "complete" and never:  # of a log, which does not note how its run ended
            return f"unfinished, {never_asked(never, len(results) + never)}"
        return state_text(self.state, not_graded=sum(results) + never, cases=len(results) + never)

    @property
    def graded(self) -> bool:
        """Whether any case got a grade, be it an abstention."""
        return any(one.graded for one in self.summaries)

    @property
    def stopped(self) -> bool:
        """Whether the run ended because its own gates were settled: how many cases it asked hangs on the answers."""
        return self.gates is not None and self.gates.stopped

    def unanswered(self, judge: str) -> tuple[int, int]:
        """Return how many cases of a judge have no answer at all, and of how many."""
        (section,) = (one for one in self.judges if one.judge == judge)
        silent = sum(not result.rows for result in self.results if result.judge == judge)
        return silent + section.not_asked, section.cases + section.not_asked

    @property
    def informal(self) -> bool:
        """Whether every result is a single sample: verdicts as they came, nothing was measured."""
        return bool(self.results) and all(result.informal for result in self.results)

    def to_html(self, *, gates: GateReport | None = None) -> str:
        """Return one HTML page that needs nothing else: no network, no other file."""
        return str(renderer(self, "html")(self, gates=gates))

    def to_markdown(self, *, gates: GateReport | None = None) -> str:
        """Return the report as GitHub's Markdown."""
        return str(renderer(self, "markdown")(self, gates=gates))

    def to_junit(self, *, on_abstain: OnAbstain = "failure", gates: GateReport | None = None) -> str:
        """Return the report as JUnit XML: a test case a judge, case and criterion.

        PASS passes, FAIL fails, what could not be graded is an error, an abstention is what `on_abstain` says.
        """
        return str(renderer(self, "junit")(self, on_abstain=on_abstain, gates=gates))

    def to_csv(self) -> str:
        """Return a table with a line a judge, case and criterion, which no spreadsheet takes for formulas."""
        return str(renderer(self, "csv")(self))
