"""What a run comes to: its summary, and what several judges come to together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import typer

from judgeharness_integrations._errors import BatchesOpenError, JudgeHarnessError, UnknownNameError, UsageError
from judgeharness_integrations._version import __version__
from judgeharness_integrations.analysis.aggregation.grouping import Clusters
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.calibration.population import CaseFacts, PopulationCount
from judgeharness_integrations.analysis.calibration.saved import CalibrationReport, CalibrationState
from judgeharness_integrations.analysis.calibration.transport import STOPPED, ShiftTest, shift_test, transported
from judgeharness_integrations.analysis.certifying.applying import UncertifiedCases, withheld
from judgeharness_integrations.analysis.certifying.cascade import (
    PEOPLE,
    Cascade,
    CertifiedCases,
    cascade_log,
    certificate_on_run,
)
from judgeharness_integrations.analysis.certifying.certificate import HeldCertificate
from judgeharness_integrations.analysis.document import calibration_record
from judgeharness_integrations.analysis.measure import facts_of_result
from judgeharness_integrations.analysis.replay import CaseDecision, CriterionFold, JudgeFold
from judgeharness_integrations.analysis.replay.votes import panel_votes
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs.building import TESTED
from judgeharness_integrations.analysis.spending import Prices, UsageSums, total_usage, used
from judgeharness_integrations.judging.cascading import check_state
from judgeharness_integrations.judging.casefiles import write_queue
from judgeharness_integrations.judging.config import Config
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.redacting import redacted, without_secrets
from judgeharness_integrations.verdictlog.encoding import calibration_run, safe_text
from judgeharness_integrations.verdictlog.row import CutOff, Verdict, VerdictRow, verdict_to_json

from ._output import FailureKinds, without_replay_advice

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.design import Design
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.verdictlog import VerdictRow

    from ._run_options import RunRequest

_CASES_AT_ONCE = 256
# case id -> samples, or what yields such pairs anew each time, for plans that are not to be held in memory
Planned: TypeAlias = "Mapping[str, int] | Callable[[], Iterable[tuple[str, int]]]"


class CaseLog(Protocol):
    """A log that finds the rows of cases, such as `SqlLog`."""

    def of_cases(self, *, run: str, judge: str, case_ids: Sequence[str]) -> Mapping[str, Sequence[VerdictRow]]:
        """Return case id -> its rows; cases without rows may be missing."""
        ...

    def case_groups(self, *, run: str, judge: str | None = None) -> Iterator[Sequence[VerdictRow]]:
        """Yield the rows of a run, a case at a time."""
        ...


def planned_rows(log: CaseLog, planned: Planned, *, run: str, judge: str) -> Iterator[tuple[int, Sequence[VerdictRow]]]:
    """Yield (samples planned, rows) of every planned case, in the order of the plan."""
    plan = iter(planned() if callable(planned) else planned.items())
    while chunk := dict(islice(plan, _CASES_AT_ONCE)):
        found = log.of_cases(run=run, judge=judge, case_ids=list(chunk))
        for case_id, samples in chunk.items():
            yield samples, found.get(case_id, ())


_MOST_VERDICTS = 10_000  # a mean of scores may come to another number in every case


@dataclass(kw_only=True)
class _Verdicts:
    """How often each verdict was decided; those beyond the first 10,000 kinds are counted together."""

    counts: Counter[Verdict | None] = field(default_factory=Counter)
    others: int = 0

    def add(self, case: CaseDecision) -> None:
        if case.decision.status != "decided":
            return
        if case.decision.verdict in self.counts or len(self.counts) < _MOST_VERDICTS:
            self.counts[case.decision.verdict] += 1
        else:
            self.others += 1

    def to_dict(self) -> dict[str, Any]:
        listed = [{"verdict": verdict_to_json(verdict), "count": n} for verdict, n in self.counts.most_common()]
        return {"verdicts": listed, "other_verdicts": self.others}


class JudgeSums:
    """Folds, failures and usage of one judge: `add` every planned case once.

    Memory grows with criteria, kinds of failure and verdicts, and by a digest a case where rows have one.
    """

    def __init__(
        self,
        *,
        judge: str,
        rule: Rule,
        criteria: Sequence[str],
        min_valid: int | None,
        tolerance: float,
        tolerances: Mapping[str, float],
        certificate: HeldCertificate | None = None,
        shared: Mapping[str, Hashable] = MappingProxyType({}),
    ) -> None:
        """Start without cases.

        With a `certificate` in use, decisions that it does not certify are abstentions. `shared` is case -> cluster, of
        those that are not alone: known once all cases have been read (`clusters`).
        """
        self.certificate, self._shared = certificate, shared
        self._withheld = None if certificate is None else withheld(*certificate)
        self.uncertified, self.clusters = UncertifiedCases(), Clusters()
        self._rule = rule
        self._fold = JudgeFold(
            judge=judge, rule=rule, criteria=criteria, min_valid=min_valid, tolerance=tolerance, tolerances=tolerances
        )
        self._verdicts: dict[str, _Verdicts] = {}
        self._graded: Counter[frozenset[str]] = Counter()  # the criteria in which a case was graded -> cases
        self.failures, self.cut_off = FailureKinds(), CutOff()
        self.usage, self.labelled = UsageSums(), UsageSums()  # of its cases, and of those it is calibrated on
        self.cases = self.not_asked = self.planned = 0
        self.saved = 0  # calls that early stopping made needless

    def add(self, rows: Sequence[VerdictRow], *, planned: int) -> None:
        """Take in a planned case, also one without rows."""
        self.cases += 1
        self.planned += planned
        self.not_asked += not rows
        cluster = self._shared.get(rows[0].case_id) if rows else None
        decisions = self._fold.add(rows, planned=planned, withheld=self._withheld, cluster=cluster)
        graded = []
        for name, case in decisions.items():
            if self.certificate is not None:
                self.uncertified.add(self.certificate[0], name, case.rows)
            if case.decision.status != "not_graded":
                graded.append(name)
                self._verdicts.setdefault(name, _Verdicts()).add(case)
        self._graded[frozenset(graded)] += 1
        if decisions and all(case.censored and case.decision.status != "not_graded" for case in decisions.values()):
            self.saved += planned - max(len(case.rows) for case in decisions.values())
        if rows:
            self.clusters.add_rows(rows[0].case_id, rows, once=True)
        self.failures.add(rows)
        self.cut_off.add(rows)
        self.usage.add(rows)

    @property
    def alerts(self) -> list[str]:
        """What is to be said first of all."""
        return [self.cut_off.alert] if self.cut_off.alert else []

    def criteria(self) -> list[dict[str, Any]]:
        """Return what each criterion comes to, as the summary keeps it."""
        return [self._criterion(name, fold) for name, fold in self._fold.folds.items()]

    def _criterion(self, name: str, fold: CriterionFold) -> dict[str, Any]:
        verdicts, error = self._verdicts.get(name, _Verdicts()), None
        try:
            with without_replay_advice():
                measured = fold.finish(unasked=self.cases - fold.cases)
        except JudgeHarnessError as problem:  # the rule cannot read these answers: nothing of them is graded
            verdicts, error = _Verdicts(), str(problem)
            empty = CriterionFold(judge=fold.judge, criterion=name, rule=self._rule)
            measured = empty.finish(unasked=self.cases)
        interval = measured.accuracy_interval
        return {
            **measured.to_dict(),
            "planned_samples": self.planned,
            "taken_samples": measured.rows,
            "accuracy_95": None if interval is None else list(interval),
            "decided_with_gold": measured.labelled,
            **verdicts.to_dict(),
            "error": error,
        }

    @property
    def not_graded(self) -> int:
        """Number of cases not graded in at least one criterion."""
        folds = self._fold.folds
        if any(fold.problem is not None for fold in folds.values()):
            return self.cases
        every = frozenset(folds)
        return sum(count for names, count in self._graded.items() if names != every)


RUN_SCHEMA = "judgeharness.run/1"
_RATES = ("precision", "recall", "coverage")


@dataclass(kw_only=True)
class JudgeTally:
    """One judge of a run: what was planned (samples per case), and what its results say beyond their rows."""

    judge: Judge
    model: str | None
    plan: Plan
    planned: Planned
    states: Counter[str] = field(default_factory=Counter)
    tolerances: dict[str, float] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    rewrites: int = 0
    ended: str | None = None
    fingerprint: str | None = None
    calibration: dict[str, Any] | None = None
    calibration_report: CalibrationReport | None = None
    population: PopulationCount | None = None
    certified: CertifiedCases | None = None
    stopped: bool = False
    clusters: Clusters = field(default_factory=Clusters)

    @property
    def model_name(self) -> str | None:
        """The model that is asked, if anybody names it."""
        identity = self.judge.identity
        return self.model or (identity.model if identity is not None else None)

    def keep_to(self, opened: AbstractSet[str], *, stopped: bool = True) -> None:
        """Take only these cases for planned: the others were never to be asked, since what they would settle was.

        `stopped`: by a gate, so that they are compared with no labelled ones.
        """
        self.stopped = stopped
        every = self.planned
        pairs = every.items() if isinstance(every, Mapping) else every()
        self.planned = {case_id: samples for case_id, samples in pairs if case_id in opened}

    def add(self, result: HarnessResult, document: Mapping[str, Any]) -> None:
        """Take in the result of one case."""
        self.states[result.state] += 1
        self.rewrites += result.usage.rewrites
        self.ended = document.get("ended", self.ended)
        self.fingerprint = result.fingerprint
        self.calibration = document["calibration"] or self.calibration
        self.calibration_report = result.calibration or self.calibration_report
        self._count(result)
        self.warnings.update(dict.fromkeys(result.warnings))
        self.skipped.update(result.skipped.keys())  # counts names; a mapping would add up its reasons
        for name, measured in result.criteria.items():
            if measured.tolerance is not None:
                self.tolerances[name] = measured.tolerance

    def _count(self, result: HarnessResult) -> None:
        """Count a case for the tests against the labelled ones."""
        if result.state != "complete" or (result.calibration is None and result.certificate is None):
            return
        self.clusters.add_rows(result.case_id, result.rows)
        if result.calibration is not None and (known := result.calibration.population) is not None:
            self.population = self.population or PopulationCount(known.column, columns=known.columns)
            self.population.add(_facts(result, known.column))
        if result.certificate is not None:
            self.certified = self.certified or CertifiedCases(result.certificate, self.clusters)
            self.certified.add(_facts(result, result.certificate.stratum))

    @property
    def _shift(self) -> ShiftTest | None:
        """Whether the cases are like the labelled ones; None without a calibration that could hold for them."""
        said, report = self.calibration, self.calibration_report
        if said is None or report is None or said["status"] not in TESTED:
            return None
        if self.stopped:
            return ShiftTest(shifted=None, reason=STOPPED)
        return shift_test(report.population, (self.population or PopulationCount()).finish(self.clusters))

    @property
    def not_measured(self) -> list[str]:
        """What a calibration rests on and nobody looked at, in sentences."""
        shift = self._shift
        return [] if shift is None or shift.shifted is not None else [shift.sentence]

    @property
    def anchor(self) -> dict[str, Any] | None:
        """What the calibration is worth for the whole run: nothing where its cases are not like the labelled ones."""
        said, shift = self.calibration, self._shift
        if said is None or shift is None:
            return said
        state = CalibrationState(status=said["status"], reason=said["reason"])
        now = transported(state, shift)
        if now == state:
            return said
        withheld = {name: {**one, **dict.fromkeys(_RATES)} for name, one in said["criteria"].items()}
        return {**said, "status": now.status, "reason": now.reason, "criteria": withheld}

    def beside(self, held: HeldCertificate | None) -> HeldCertificate | None:
        """Return what a certificate is worth for the whole run: nothing where its cases are unlike labelled ones."""
        if held is None:
            return None
        said = self.anchor
        state = None if said is None else CalibrationState(status=said["status"], reason=said["reason"])
        return certificate_on_run(held, self.certified or (), self.calibration_report, state, stopped=self.stopped)


def _facts(result: HarnessResult, column: str | None) -> CaseFacts:
    """Return what is counted of a case; which others it belongs to is known after the last one."""
    return facts_of_result(result, {}, column=column, cluster=result.case_id)


def summary_document(
    config: Config,
    harness: JudgeHarness,
    tallies: Sequence[JudgeTally],
    log: CaseLog,
    *,
    stopped: BaseException | None = None,
    prices: Prices | None = None,
) -> dict[str, Any]:
    """Return the summary of a run as JSON keeps it; cases that were not finished are counted as not graded.

    Everything about answers is read from `log`, planned case by planned case, so that memory does not grow with their
    number. `prices` are those of a million tokens in and out, per model.

    `judged_cases` have a row; `not_asked_cases` have none (never asked, or cut off before an answer) and are among
    `not_graded_cases`. `planned_samples` and `taken_samples` of a criterion are over all planned cases. `usage` is what
    the rows say, those of labelled cases included; `attempts_spent` is what the budget counted: rewrites and calls
    that were cut off, too. `stopped` is what ended the run early, an interrupt or an error. `gates` are checked later,
    on the files of the run.
    """
    settings = config.model_dump(mode="json", exclude_none=True)
    judges = [_judge(tally, harness, log, settings, prices) for tally in tallies]
    error = _error(judges, stopped)
    return {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "run": harness.run,
        "state": _state(harness, tallies, stopped, error),
        "error": None if error is None else without_secrets(error, settings),
        "budget_reason": None if harness.budget is None else harness.budget.reason,
        "rule": harness.design.rule.name,
        "rule_fixed": "before",
        "perturbations": list(harness.design.perturbations),
        "repetitions": max(harness.design_for(tally.judge).repetitions for tally in tallies),
        **{
            name: sum(judge[name] for judge in judges)
            for name in ("judged_cases", "not_graded_cases", "not_asked_cases")
        },
        "attempts_spent": None if harness.budget is None else harness.budget.spent,
        "usage": total_usage([judge["usage"] for judge in judges]),
        "reused_from": _reused_from(judges),
        "judges": judges,
        "gates": None,
        "config": redacted(settings),
    }


def _error(judges: Sequence[Mapping[str, Any]], stopped: BaseException | None) -> str | None:
    unfit = next((entry["error"] for judge in judges for entry in judge["criteria"] if entry["error"]), None)
    failed = isinstance(stopped, Exception) and not isinstance(stopped, BatchesOpenError)  # which wait to be collected
    return str(stopped) if unfit is None and failed else unfit


def _state(
    harness: JudgeHarness, tallies: Sequence[JudgeTally], stopped: BaseException | None, error: str | None
) -> str:
    if error is not None:
        return "failed"
    if stopped is not None or any(tally.states["interrupted"] for tally in tallies):
        return "interrupted"
    if any(tally.ended for tally in tallies):
        return "judge_down"
    return "budget_exhausted" if harness.budget is not None and harness.budget.exhausted else "complete"


def _judge(
    tally: JudgeTally, harness: JudgeHarness, log: CaseLog, settings: Mapping[str, Any], prices: Prices | None
) -> dict[str, Any]:
    sums, identity = _sums(tally, harness, log), tally.judge.identity
    return {
        "judge": tally.judge.name,
        "model": tally.model_name,
        "identity": None if identity is None else redacted(identity.to_dict()),
        "fingerprint": tally.fingerprint,
        "plan": {**asdict(tally.plan), "total": tally.plan.total},
        "judged_cases": sums.cases - sums.not_asked,
        "not_graded_cases": sums.not_graded,
        "not_asked_cases": sums.not_asked,
        "saved_calls": sums.saved,
        "criteria": sums.criteria(),
        "failures": sums.failures.to_list(settings),
        "calibration": tally.anchor,
        "calibration_report": calibration_record(tally.calibration_report),
        **({} if (held := tally.beside(sums.certificate)) is None else {"certificate": held[0].record(held[1])}),
        "skipped_perturbations": dict(tally.skipped),
        "alerts": sums.alerts,
        "not_measured": tally.not_measured,
        "warnings": [*tally.warnings, *sums.usage.tiers.warnings, *sums.uncertified.warnings, *sums.clusters.copied],
        "usage": {**used([*sums.usage.usages, *sums.labelled.usages], prices), "rewrites": tally.rewrites},
        "calibration_usage": {**used(sums.labelled.usages, prices), "rewrites": 0} if sums.labelled.usages else None,
        "reused_from": dict(Counter(sums.usage.reused) + Counter(sums.labelled.reused)),
    }


def _sums(tally: JudgeTally, harness: JudgeHarness, log: CaseLog) -> JudgeSums:
    """Read every planned case of a judge from the log, and what calibrating it took."""
    sums = _sums_of_cases(tally, harness, log)
    if shared := sums.clusters.shared():  # what the first one of a cluster was is known after the last one
        sums = _sums_of_cases(tally, harness, log, shared=shared)
    for rows in log.case_groups(run=calibration_run(harness.run or ""), judge=tally.judge.name):
        sums.labelled.add(rows)
    return sums


def _sums_of_cases(
    tally: JudgeTally, harness: JudgeHarness, log: CaseLog, *, shared: Mapping[str, Hashable] = MappingProxyType({})
) -> JudgeSums:
    """Read every planned case of a judge from the log, a few hundred at a time."""
    design, run = harness.design_for(tally.judge), harness.run or ""
    sums = JudgeSums(
        judge=tally.judge.name,
        rule=design.rule,
        criteria=[criterion.name for criterion in tally.judge.criteria or ()],
        min_valid=design.min_valid,
        tolerance=design.tolerance,
        tolerances=tally.tolerances,
        certificate=harness.certificate_for(tally.judge, tally.model),
        shared=shared,
    )
    for planned, rows in planned_rows(log, tally.planned, run=run, judge=tally.judge.name):
        sums.add(rows, planned=planned)
    return sums


def _reused_from(judges: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for judge in judges:
        total.update(judge["reused_from"])
    return dict(total)


QUEUE: Final = "queue.jsonl"


def asked_places(config: Config, cascade: Cascade | None) -> list[int]:
    """Return the places of the judges that are asked, in order: of a cascade those that have a certificate."""
    names = [judge.name for judge in config.judges]
    return [names.index(name) for name in (names if cascade is None else cascade.certificates)]


def under_cascade(
    harness: JudgeHarness, cascade: Cascade, judges: Sequence[tuple[Judge, str | None]], request: RunRequest
) -> JudgeHarness:
    """Return the harness with the certificates of a cascade, whose judges come with the models named for them.

    Raises:
        UsageError: one of them does not hold for its judge, or the run is to end at a gate.

    """
    if request.until:
        raise UsageError("--until looks at one judge after the other: leave it out, or the key cascade.")
    harness = harness.with_certificates(cascade.certificates)
    for judge, model in judges:
        held = harness.certificate_for(judge, model)
        if held is not None and getattr(judge, "learn", None) is None:  # else its answers tell what it is
            check_state(judge.name, *held)
    return harness


def keep_queue(config: Config, cases: Iterable[AnswerCase], waiting: Collection[str], folder: Path) -> None:
    """Write the cases that no judge decides as a case file, where people come last in the cascade."""
    if (config.cascade or ())[-1:] == [PEOPLE]:
        write_queue((case for case in cases if case.case_id in waiting), folder / QUEUE)


def together(
    config: Config, cascade: Cascade | None, rows: Iterable[VerdictRow], *, design: Design, prices: Prices
) -> dict[str, Any]:
    """Return what judges that decide together come to, as the summary keeps it; nothing where none do.

    None where that cannot be told, as where asking ended before one of them was asked; why is said on standard error.
    """
    found: dict[str, Any] = {}
    try:
        if cascade is not None:
            found["cascade"] = None
            found["cascade"] = cascade_log(list(rows), cascade, prices=prices).to_dict()
        if config.panel is not None:
            found["panel"], asked = None, list(rows)
            votes = panel_votes(asked, config.panel, member_rule=design.rule, min_valid=design.min_valid)
            found["panel"] = votes.record(config.panel_rule, asked=asked, prices=prices)
    except UnknownNameError as error:
        never = f"asking ended before {safe_text(repr(error.name))} was asked"
        typer.echo(f"the judges are not summed up together: {never}.", err=True)
    except UsageError as error:
        typer.echo(f"the judges are not summed up together: {safe_text(str(error))}", err=True)
    return found
