"""The measurement: what a harness says about one case, and what it did not measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from judgeharness_integrations._documents import document_schema
from judgeharness_integrations._errors import AmbiguousResultError, NotGradedError, UsageError
from judgeharness_integrations._lazy import Rendered, renderer
from judgeharness_integrations.verdictlog.encoding import safe_text
from judgeharness_integrations.verdictlog.row import RETEST, Verdict, VerdictRow, is_number, verdict_text

from .aggregation.folds import Status
from .aggregation.statistics import Independence
from .calibration.measure import CriterionCalibration
from .calibration.population import column_text
from .calibration.saved import CalibrationReport, CalibrationState
from .certifying.certificate import Certificate
from .design import Design, RuleFixed
from .usage import Usage

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from .aggregation.rules import RuleLike

__all__ = [
    "CriterionResult",
    "HarnessResult",
    "OnNotGraded",
    "PerturbationSummary",
    "RunState",
    "Usage",
    "all_failed",
    "check_on_not_graded",
    "raise_where_all_failed",
]

RunState: TypeAlias = Literal["complete", "budget_exhausted", "interrupted", "judge_down"]
Distribution: TypeAlias = Mapping[Verdict, int]


@dataclass(frozen=True, kw_only=True)
class PerturbationSummary:
    """The samples under one perturbation.

    `flip_rate` is the share of (unperturbed, perturbed) pairs of samples whose verdicts differ; None without an
    unperturbed sample to compare with, and with early stopping. `swapped`: the texts stood in the other order.
    `probability_change` is how far the first answer lies from the first unperturbed one (total variation, of two labels
    |p - q|); None where they hold no probabilities.
    """

    name: str
    asked: int
    valid: int
    sample_distribution: Distribution
    flip_rate: float | None
    swapped: bool = False
    probability_change: float | None = None


@dataclass(frozen=True, kw_only=True)
class CriterionResult:
    """The measurement of one criterion.

    `verdict` is `"ABSTAIN"` when `status` is `abstained` and None when it is `not_graded`; `reason` says why.
    `sample_distribution` counts valid samples, `outcomes` all samples asked. `consistency_rate` is the modal share
    (for scores: the share within `tolerance` of the decision); `chance_consistency` what a judge choosing among
    `label_count` labels at random would show; `agreement` the unbiased share of agreeing pairs. `sd` is the sample
    standard deviation of scores. Rates that were not measured are None.

    With early stopping (`Design.curtail`) `planned` stays what would have been asked at most and `taken` is what was.
    `censored`: the samples ended early, so the distribution and all rates are those of a stopped sample, which shows
    more agreement than a whole one. `chance_consistency`, `agreement` and flip rates are None then, and also where
    sampling could have stopped but did not: they presume a number of samples that was fixed beforehand, and the cases
    that go to the end are the divided ones. `unbiased_rate` is the rate of PASS (or A) without the bias of stopping,
    where there is such an estimate (`aggregation.unbiased`).
    """

    criterion: str
    verdict: Verdict | None
    status: Status
    reason: str
    numeric: bool
    sample_distribution: Distribution
    outcomes: Mapping[str, int]
    planned: int
    consistency_rate: float | None
    chance_consistency: float | None
    agreement: float | None
    label_count: int | None
    sd: float | None
    tolerance: float | None
    perturbations: tuple[PerturbationSummary, ...]
    independence: Independence
    parser_conflicts: int = 0
    censored: bool = False
    unbiased_rate: float | None = None

    @property
    def taken(self) -> int:
        """Number of samples asked, failures included."""
        return sum(self.outcomes.values())

    @property
    def valid(self) -> int:
        """Number of valid samples."""
        return self.outcomes["ok"]

    @property
    def flip_rates(self) -> Mapping[str, float | None]:
        """Perturbation -> flip rate, for changes to the case (`none` is what they are compared with)."""
        return {p.name: p.flip_rate for p in self.perturbations if p.name != "none" and not _rewords_prompt(p.name)}

    @property
    def prompt_sensitivity(self) -> Mapping[str, float | None]:
        """Prompt variant -> flip rate: the judge's instructions changed, not the case."""
        return {p.name: p.flip_rate for p in self.perturbations if _rewords_prompt(p.name)}


def _rewords_prompt(name: str) -> bool:
    return any(part.startswith("prompt_variant") for part in name.split("+"))


@dataclass(frozen=True, kw_only=True)
class HarnessResult(Rendered):
    """The measurement of one case: one `CriterionResult` a criterion, and what produced it.

    `rows` are the verdict-log rows the measurement is computed from; it can be rebuilt from them, also under another
    rule (`judgeharness_integrations.analysis.measure.remeasure`). `skipped` maps perturbations that did not fit to
    the reason. `model_families` names makers of judge and answers, where known, as (judge, *authors). `untested`
    names versions of frameworks that took part and that their adapter was not tried with. `unasked` says of every
    sample that early stopping left out, in plan order, whether it would have swapped the texts. `probe_rows` are
    those of adversarial probes, which do not vote (`judgeharness_integrations.analysis.checking`). `ended` says why a
    judge that is down was asked nothing more, and what to do about it. Decisions that a `certificate` does not
    certify are abstentions. `test` is pytest's node id of the test that asked, in reports and records. `earlier` are
    the measurements of cheaper judges of a cascade, which did not decide the case: `usage` is that of all of them.
    `waits`: no judge of the cascade decides it, and it waits for people.
    """

    case_id: str
    judge: str
    judge_model: str | None
    criteria: Mapping[str, CriterionResult]
    design: Design
    usage: Usage
    rows: tuple[VerdictRow, ...] = field(repr=False)
    fingerprint: str | None = None
    calibration: CalibrationReport | None = None
    calibration_state: CalibrationState | None = None
    certificate: Certificate | None = None
    certificate_state: CalibrationState | None = None
    state: RunState = "complete"
    ended: str | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    model_families: tuple[str | None, ...] = ()
    temperature: float | None = None
    unasked: tuple[bool, ...] = ()
    untested: tuple[str, ...] = ()
    probe_rows: tuple[VerdictRow, ...] = field(default=(), repr=False)
    test: str | None = field(default=None, compare=False)  # who asked is no part of what was measured
    earlier: tuple[HarnessResult, ...] = field(default=(), repr=False)
    waits: bool = False

    @property
    def perturbations(self) -> tuple[str, ...]:
        """The perturbations that were asked."""
        return tuple(name for name in self.design.perturbations if name not in self.skipped)

    @property
    def repetitions(self) -> int:
        """Samples per perturbation."""
        return self.design.repetitions

    @property
    def aggregation_rule(self) -> str:
        """The rule's name, parameters included."""
        return self.design.rule.name

    @property
    def rule_fixed(self) -> RuleFixed:
        """Whether the rule was chosen before or after the samples."""
        return self.design.rule_fixed

    @property
    def counts_alone(self) -> bool:
        """Whether only counts, rule and decision are known, as of a measurement read back from a short line of text."""
        return not self.design.perturbations

    @property
    def informal(self) -> bool:
        """Whether this is a single sample: a verdict as it came, not a measurement, nor decided by a passport."""
        return self.design.passport is None and all(result.planned <= 1 for result in self.criteria.values())

    @property
    def only(self) -> CriterionResult:
        """The only criterion's result.

        Raises:
            AmbiguousResultError: there are several; read `.criteria[name]`.

        """
        if len(self.criteria) != 1:
            names = ", ".join(self.criteria)
            raise AmbiguousResultError(
                f"case {self.case_id!r} has {len(self.criteria)} criteria ({names}): read result.criteria[name]."
            )
        return next(iter(self.criteria.values()))

    @property
    def verdict(self) -> Verdict | None:
        """The only criterion's verdict."""
        return self.only.verdict

    @property
    def status(self) -> Status:
        """The only criterion's status."""
        return self.only.status

    @property
    def reason(self) -> str:
        """Why the only criterion's status is what it is."""
        return self.only.reason

    @property
    def sample_distribution(self) -> Distribution:
        """The only criterion's valid samples."""
        return self.only.sample_distribution

    @property
    def consistency_rate(self) -> float | None:
        """The only criterion's consistency."""
        return self.only.consistency_rate

    @property
    def chance_consistency(self) -> float | None:
        """The consistency a judge guessing at random would show."""
        return self.only.chance_consistency

    @property
    def agreement(self) -> float | None:
        """The only criterion's agreement between pairs of samples."""
        return self.only.agreement

    @property
    def flip_rates(self) -> Mapping[str, float | None]:
        """The only criterion's flip rates."""
        return self.only.flip_rates

    @property
    def calibration_valid(self) -> bool:
        """Whether a calibration holds for exactly this configuration."""
        return self.calibration_state is not None and self.calibration_state.valid

    @property
    def calibration_source(self) -> str | None:
        """The name of the label set behind a valid calibration, else None; labels of a model calibrate nothing."""
        return None if self._valid_calibration is None else self._valid_calibration.name

    @property
    def _valid_calibration(self) -> CalibrationReport | None:
        return self.calibration if self.calibration_valid and self.calibration and self.calibration.calibrated else None

    @property
    def calibrated_precision(self) -> float | None:
        """Precision of the rule's decision on the label set; None unless a calibration is valid."""
        return self._calibrated("precision")

    @property
    def calibrated_recall(self) -> float | None:
        """Recall of the rule's decision on the label set; None unless a calibration is valid."""
        return self._calibrated("recall")

    def calibrated(self, criterion: str) -> CriterionCalibration | None:
        """Return how right the rule is on one criterion; None unless a calibration is valid and has labels of it."""
        return None if self._valid_calibration is None else self._valid_calibration.criteria.get(criterion)

    def _calibrated(self, name: str) -> float | None:
        rate = getattr(self.calibrated(self.only.criterion), name, None)
        return None if rate is None else float(rate.value)

    def report(self) -> str:
        """Return the full text report."""
        return str(renderer(self, "text")(self))

    def to_dict(self, *, rows: bool = False) -> dict[str, Any]:
        """Return the result as JSON keeps it (`schemas/result-1.json`); `rows` includes the verdict log."""
        document: dict[str, Any] = renderer(self, "document")(self, rows=rows)
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, rule: RuleLike | None = None) -> HarnessResult:
        """Rebuild a result from `to_dict(rows=True)`, equal to the one it was written from.

        Everything that follows from the rows is measured again; numbers of the document are not read.

        Args:
            document: what `to_dict(rows=True)` returned.
            rule: the rule it was folded with, where that is a function of the caller's own.

        Raises:
            ConfigError: it is of another schema, without rows, damaged, or folded by a function of the caller's own.

        """
        result: HarnessResult = renderer(cls, "reader")(document, rule=rule)
        return result

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Let pydantic models have it as a field, written as `to_dict(rows=True)` and read by `from_dict`."""
        return document_schema(cls, read=cls.from_dict, write=lambda result: result.to_dict(rows=True))

    def __str__(self) -> str:
        """Return the text report."""
        return self.report()


OnNotGraded: TypeAlias = Literal["raise", "report"]
_LONGEST_QUOTE = 200  # characters
_ADVICE = (
    "check the judge's key, address and model (result.rows of this error hold what each said), or say "
    "on_not_graded='report' to get such a case without a verdict."
)


def check_on_not_graded(choice: object) -> None:
    """Raise a UsageError for what is neither `raise` nor `report`."""
    if choice not in ("raise", "report"):
        raise UsageError(f"on_not_graded is 'raise' or 'report', not {choice!r}.")


def all_failed(result: HarnessResult) -> bool:
    """Whether every sample that was asked failed with an error; a spent budget and an interruption are no such failure.

    An answer that was refused or could not be read is an answer: the judge can be reached.
    """
    if result.state in ("budget_exhausted", "interrupted"):
        return False
    return bool(result.rows) and all(row.outcome == "error" for row in result.rows)


def raise_where_all_failed(results: Sequence[HarnessResult], *, private: bool = False) -> None:
    """Raise for the cases whose samples all failed: the kinds of errors, their counts and what the first one said.

    Args:
        results: every case that was asked, in order.
        private: whether nothing is quoted: LangSmith notes what is raised.

    Raises:
        NotGradedError: there is such a case; it holds all the results.

    """
    failed = [result for result in results if all_failed(result)]
    if not failed:
        return
    rows = [row for result in failed for row in _samples(result)]
    kinds = Counter(row.error_kind or "unnamed error" for row in rows)
    told = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    which = f" of {len(failed)} of {len(results)} cases" if len(results) > 1 else ""
    samples = f"all {len(rows)} samples{which}" if len(rows) > 1 else "the only sample"
    said = "" if private else _first_words(rows)
    raise NotGradedError(f"not graded: {samples} failed ({told}){said}: {_ADVICE}", failed[0], results)


def _first_words(rows: Sequence[VerdictRow]) -> str:
    """Return what the first error said; rows hold it without secrets, and not at all where texts are not kept."""
    texts = ((row.error or "").partition(":")[2].strip() for row in rows)
    first = next(filter(None, texts), None)
    return "" if first is None else f', the first with "{safe_text(first, _LONGEST_QUOTE)}"'


def _samples(result: HarnessResult) -> list[VerdictRow]:
    """Return one row a sample: a call that failed has one for each criterion."""
    return list({(row.perturbation, row.repetition): row for row in result.rows}.values())


NO_VERDICT = "hold no verdict"
UNCALIBRATED = "uncalibrated: how often this rule is right was not measured"
EXPLORATORY = "rule chosen after the samples: exploratory"
COUNTS_ALONE = "read from its counts alone: perturbations, rows, single answers, cost and calibration are not known"
_PAIRWISE = frozenset({"A", "B", "TIE"})


def boundary(result: HarnessResult) -> tuple[str, ...]:
    """Return one sentence for everything this result does not stand on."""
    if result.counts_alone:
        return (COUNTS_ALONE,)
    sentences = [*_anchor(result), *_probing(result), *_unmeasured_samples(result)]
    judge, *authors = result.model_families or (None,)
    if judge is not None and judge in authors:
        sentences.append(f"judge and author share a model family ({judge}): self-preference was not measured")
    sentences += result.untested
    return tuple(dict.fromkeys(sentences))


def _anchor(result: HarnessResult) -> Iterator[str]:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        held = result.design.passport
        yield from (UNCALIBRATED,) if held is None else held[0].uncertified(held[1], result.criteria)
    elif not state.valid:
        yield f"uncalibrated: the calibration on {report.name} is {state}"
    elif not report.calibrated:
        yield f"uncalibrated: {report.word}, the labels are a model's, not people's"
    else:
        column = None if report.population is None else report.population.column
        if column is not None and (where := report.unlabelled_stratum(column_text(result.rows, column))):
            yield where
        for criterion in result.criteria:
            if criterion not in report.criteria:
                yield f"{criterion} is uncalibrated: {report.name} holds no label for it"
            elif why := report.untold(criterion):
                yield f"{criterion}: {why}" if len(result.criteria) > 1 else why
    if result.rule_fixed == "after":
        yield EXPLORATORY


def _probing(result: HarnessResult) -> Iterator[str]:
    asked = {part.partition("(")[0] for name in result.perturbations for part in name.split("+")}
    pairwise = any(_PAIRWISE & set(map(str, c.sample_distribution)) for c in result.criteria.values())
    if pairwise and not any(p.swapped for c in result.criteria.values() for p in c.perturbations):
        yield "position bias was not measured: the order of the answers was never swapped"
    if not asked & {"format_change", "whitespace", "typography"}:
        yield "sensitivity to formatting was not measured"
    if not asked & {"paraphrase", "prompt_variant"}:
        yield "sensitivity to wording was not measured"
    if result.design.curtail and len(result.perturbations) > 1:
        yield "what a perturbation changes was not measured: early stopping asks later ones only where it is still open"
    for name, reason in result.skipped.items():
        yield f"{name} was skipped: {reason.rstrip('.')}"


def _unmeasured_samples(result: HarnessResult) -> Iterator[str]:
    again = any(row.perturbation == RETEST for row in result.probe_rows)
    if result.repetitions == 1 and not result.informal and not again:
        yield "the judge's own noise was not measured: one sample per perturbation"
    if result.informal:
        yield "one sample: neither noise nor bias of the judge was measured"
    if result.state != "complete":
        yield f"the run did not finish: {result.state.replace('_', ' ')}"
    for criterion in result.criteria.values():
        yield from _criterion(criterion)


def _criterion(measured: CriterionResult) -> Iterator[str]:
    asked = measured.taken if measured.censored else measured.planned
    if failed := max(asked - measured.valid, 0):
        yield f"{failed} of {asked} samples of {measured.criterion} {NO_VERDICT}"
    if measured.censored:
        yield f"consistency of all {measured.planned} samples of {measured.criterion}: {asked} settled the decision"
    independence = measured.independence
    if independence.status == "collapsed":
        evidence = ", ".join(independence.evidence)
        yield f"repetitions collapsed ({evidence}): {independence.effective} effective of {measured.valid} samples"
    elif independence.status == "cannot tell":
        yield "whether the repetitions are independent cannot be told from short identical or missing texts"
    if measured.parser_conflicts:
        yield f"the evaluator's own parser read {measured.parser_conflicts} answers differently"


_GRADES: dict[str, Literal["passed", "failed"]] = {"PASS": "passed", "FAIL": "failed"}


@dataclass(frozen=True, kw_only=True)
class CaseOutcome:
    """`outcome` of a decision with the `reason`; `ungraded` says why one that passed is no real pass."""

    outcome: Literal["passed", "failed", "abstained", "not_graded"]
    reason: str
    ungraded: str = ""


def case_outcome(measured: CriterionResult, gold: Verdict | None) -> CaseOutcome:
    """Return what a case comes to.

    PASS passes and FAIL fails, whatever people say. Any other label passes where it equals the gold label and fails
    where it does not; without gold it is no pass or fail, nor is a score without `pass_at`: such a case counts as
    passed, and `ungraded` says so.

    Args:
        measured: the measurement of a case and criterion.
        gold: people's label; None without one.

    """
    if measured.status != "decided":
        return CaseOutcome(outcome=measured.status, reason=f"{measured.status.replace('_', ' ')}: {measured.reason}")
    decision = measured.verdict
    verdict = verdict_text(decision)
    if isinstance(decision, str) and decision in _GRADES:
        return CaseOutcome(outcome=_GRADES[decision], reason=f"verdict {verdict}")
    if is_number(decision):
        why = "a score is no pass or fail without pass_at"
        return CaseOutcome(outcome="passed", reason=f"score {verdict}", ungraded=why)
    if gold is None or is_number(gold):  # a score is neither the right label nor a wrong one
        why = f"{verdict} is no pass or fail without a gold label"
        return CaseOutcome(outcome="passed", reason=f"verdict {verdict}", ungraded=why)
    if decision == gold:
        return CaseOutcome(outcome="passed", reason=f"verdict {verdict}, as people say")
    return CaseOutcome(outcome="failed", reason=f"verdict {verdict}, people say {verdict_text(gold)}")
