"""A cascade of judges, and a certificate over a whole run: where it does not cover a case, and where nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import TOKENS, Verdict, VerdictRow

from ..aggregation.cases import CaseDecision, case_decisions, standing
from ..aggregation.grouping import Clusters
from ..aggregation.rules import Rule
from ..aggregation.rules import rule as named_rule
from ..calibration.items import read_golds
from ..calibration.population import CaseFacts, Population, PopulationCount
from ..calibration.rates import Rate
from ..calibration.saved import CalibrationReport, CalibrationState, answer_expiry, load_document, save_document
from ..calibration.strata import stratum_text
from ..calibration.transport import STOPPED, ShiftTest, shift_test, transported
from ..replay.replaying import refuse_several_runs, rows_about, rows_of_judges
from ..replay.report import replay_state
from ..result import CriterionResult, HarnessResult
from ..usage import Billed, Usage, known_sum, same_model, summed
from .applying import withheld
from .certificate import Certificate, HeldCertificate
from .measuring import Labels, Wanted, certify

if TYPE_CHECKING:
    from ..probability.forecasts import AnnotatorShares
    from ..spending import Prices

__all__ = [
    "CASCADE_SCHEMA",
    "PEOPLE",
    "Cascade",
    "CascadeReport",
    "CascadeStep",
    "StepCount",
    "cascade_log",
    "certify_cascade",
]

FEWEST: Final = 2  # steps
PEOPLE: Final = "people"  # whom the last cases are left to: no judge has this name
CASCADE_SCHEMA: Final = "judgeharness.cascade/1"
_HOLDS: Final = CalibrationState(status="valid")


@dataclass(frozen=True, kw_only=True)
class CascadeStep:
    """One judge of a cascade: the rule that folds its samples, and which of its decisions stand."""

    judge: str
    rule: Rule
    certificate: Certificate
    min_valid: int | None = None  # the quorum of its samples; see `replay`

    @property
    def granted(self) -> bool:
        """Whether any of its decisions stands; where none does, nobody need ask the judge."""
        return self.certificate.granted


@dataclass(frozen=True, kw_only=True)
class Cascade:
    """Judges in the order in which they are asked about one criterion; what none of them decides is left to people.

    All decisions that stand agree with the labels at least `agreement` often with confidence 1 - `delta`: each step is
    certified at delta / steps on the cases that come to it, with labels that no step before it has seen.
    """

    criterion: str
    agreement: float
    delta: float
    steps: tuple[CascadeStep, ...]

    @property
    def granted(self) -> bool:
        """Whether any step decides."""
        return any(step.granted for step in self.steps)

    @property
    def certificates(self) -> Mapping[str, Certificate]:
        """Judge -> the certificate of its step, in order; judges without one are not asked."""
        return {step.judge: step.certificate for step in self.steps if step.granted}

    def check(self, judges: Sequence[str], rule: str | None = None) -> None:
        """Refuse judges, by name and in order, or a rule that it was not certified for, and a cascade of refusals.

        Raises:
            UsageError: in one sentence.

        """
        given, known = [name for name in judges if name != PEOPLE], [step.judge for step in self.steps]
        if given != known:
            raise UsageError(
                f"the cascade was certified for {', '.join(known):.200}, in that order, not for "
                f"{', '.join(given) or 'no judge':.200}: give these, or certify those with certify --cascade."
            )
        if rule and (other := next((step.rule.name for step in self.steps if step.rule.name != rule), None)):
            raise UsageError(f"the cascade was certified under rule {other}, not {rule}: use that rule.")
        self.check_granted()

    def check_granted(self) -> None:
        """Refuse a cascade without any certificate.

        Raises:
            UsageError: judges that only agree with themselves are no reason to stop.

        """
        if not self.granted:
            raise UsageError(
                "no step of the cascade is certified: it would leave every case to people; label more cases."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the cascade as JSON keeps it: the steps are certificates, with judge and rule."""
        return {
            "schema": CASCADE_SCHEMA,
            "criterion": self.criterion,
            "agreement": self.agreement,
            "delta": self.delta,
            "min_valid": self.steps[0].min_valid,
            "steps": [step.certificate.to_dict() for step in self.steps],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a cascade from `to_dict`.

        Raises:
            ConfigError: it is something else, as the certificate of one judge, or damaged.

        """
        if (found := data.get("schema")) != CASCADE_SCHEMA:
            raise ConfigError(
                f"not a cascade of schema {CASCADE_SCHEMA} (found {found!r:.60}): certify its judges together, with "
                "certify LOG --cascade CHEAP,STRONG --out FILE."
            )
        try:
            certificates = [Certificate.from_dict(one) for one in data["steps"]]
            steps = tuple(_step(one, min_valid=data["min_valid"]) for one in certificates)
            if len({step.judge for step in steps}) < max(FEWEST, len(steps)):
                raise ValueError("fewer than two judges, or one twice")  # noqa: TRY301 - as any other damage
            terms = float(data["agreement"]), float(data["delta"])
            return cls(criterion=str(data["criterion"]), agreement=terms[0], delta=terms[1], steps=steps)
        except (KeyError, TypeError, ValueError, AttributeError, JudgeHarnessError) as error:
            raise ConfigError(f"the cascade is incomplete or damaged ({error!s:.200}): certify it again.") from error

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the cascade as JSON and return the path."""
        return save_document(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a saved cascade.

        Raises:
            ConfigError: the file cannot be read or holds something else.

        """
        return cls.from_dict(load_document(path, "cascade"))


def _step(certificate: Certificate, *, min_valid: int | None) -> CascadeStep:
    chosen = named_rule(certificate.known_design["rule"])
    return CascadeStep(judge=certificate.judge, rule=chosen, certificate=certificate, min_valid=min_valid)


@dataclass(frozen=True, kw_only=True)
class StepCount:
    """What came to one step of a cascade: `reached` cases, of which it `decided` some with `calls` of its judge.

    Tokens are None where rows do not tell them, and so is the money of `bill`, with why, without prices. A step without
    a certificate is not asked: 0 calls.
    """

    judge: str
    reached: int
    decided: int
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    bill: Billed


@dataclass(frozen=True, kw_only=True)
class CascadeReport:
    """What a cascade makes of a log: its `steps`, the `verdicts` that stand, and the ids of cases `left` to people.

    `promised` is the agreement it was certified for, with confidence 1 - `delta`; `agreement` is the share of decided
    cases with gold that are right, None without any.
    """

    criterion: str
    promised: float
    delta: float
    cases: int
    steps: tuple[StepCount, ...]
    verdicts: Mapping[str, Verdict]
    left: tuple[str, ...]
    agreement: Rate | None

    @property
    def decided(self) -> int:
        """Cases that a judge decides."""
        return len(self.verdicts)

    @property
    def calls(self) -> int:
        """Calls of all judges."""
        return sum(step.calls for step in self.steps)

    @property
    def calls_per_decision(self) -> float | None:
        """The price of a decision in calls; None without any."""
        return self.calls / self.decided if self.decided else None

    @property
    def bill(self) -> Billed:
        """What all judges that were asked cost; None where that of one is not known."""
        return summed(step.bill for step in self.steps if step.calls)

    @property
    def cost_per_decision(self) -> float | None:
        """The price of a decision in money; None without any, and where the cost is not known."""
        cost = self.bill.cost
        return cost / self.decided if cost is not None and self.decided else None

    def to_dict(self) -> dict[str, Any]:
        """Return what documents keep of it: counts, cost and agreement, not which cases."""
        cost, remarks = self.bill
        return {
            "criterion": self.criterion,
            "promised": self.promised,
            "delta": self.delta,
            "cases": self.cases,
            "steps": [
                {name: value for name, value in vars(step).items() if name != "bill"} | {"cost": step.bill.cost}
                for step in self.steps
            ],
            "decided": self.decided,
            "left": len(self.left),
            "agreement": None if self.agreement is None else asdict(self.agreement),
            "calls": self.calls,
            "calls_per_decision": self.calls_per_decision,
            "cost": cost,
            "cost_remarks": list(remarks),
            "cost_per_decision": self.cost_per_decision,
        }


def certify_cascade(
    rows: Sequence[VerdictRow],
    steps: Sequence[tuple[str, Rule]],
    wanted: Wanted,
    labels: Labels,
    *,
    criterion: str,
    measured_at: str,
    parts: Mapping[str, Mapping[str, Any] | None] = MappingProxyType({}),
    min_valid: int | None = None,
    seed: int = 0,
    shares: AnnotatorShares = MappingProxyType({}),
) -> Cascade:
    """Certify each step on the cases that the steps before it leave.

    Votes have to show skill over the base rate, as probabilities have to: where nearly all labels are one, a judge that
    always said so would keep the cases from better ones.

    The labelled cases are dealt to the steps, whole clusters by a digest: a threshold is set by labels of its own, so
    that the cases it leaves are no choice of the labels that judge the next one.

    Args:
        rows: a log in which every judge judged, gold where people labelled.
        steps: (judge, rule), the cheapest first.
        wanted: agreement and delta of the whole cascade, and how sure decisions are.
        labels: where the labels come from.
        criterion: what is decided.
        measured_at: now, as an ISO 8601 time with offset.
        parts: judge -> the fingerprint of judge and design, where that is known.
        min_valid: the quorum; see `replay`.
        seed: of the dealing.
        shares: of the annotators; see `certify`.

    Raises:
        UsageError: fewer than two steps, a judge twice, a case in two runs of a judge, or no labels.
        UnknownNameError: a judge or the criterion is not in the log.

    """
    names = [judge for judge, _ in steps]
    if len(names) < FEWEST or len(set(names)) < len(names):
        raise UsageError("a cascade has two judges or more, each of them once, the cheapest first.")
    judges = rows_of_judges(rows_about(rows, [criterion]), names)
    refuse_several_runs(judges)
    dealt = _dealt(rows, len(steps), seed)
    own = replace(wanted, delta=wanted.delta / len(steps), skill=True)
    every = [row for mine in judges.values() for row in mine]
    left, labelled = {row.case_id for row in every}, {row.case_id for row in every if row.gold is not None}
    made: list[CascadeStep] = []
    for number, (judge, rule) in enumerate(steps):
        # cases dealt to others are left out: as unlabelled ones they would be tested for how they were chosen
        here = {name for name in left if dealt[name] == number or name not in labelled}
        some = [row for row in judges[judge] if row.case_id in here]
        if not labelled & left:
            raise UsageError(
                f"the judges before {judge!r} decide every labelled case, so that it would never be asked: leave "
                "it out, or ask for more agreement."
            )
        if not any(row.gold is not None for row in some):
            raise UsageError(
                f"no labelled case comes to {judge!r}: a cascade of {len(steps)} judges divides the labels, so label "
                "more cases."
            )
        known: dict[str, Any] = {"measured_at": measured_at, "parts": parts.get(judge), "min_valid": min_valid}
        known["shares"] = shares
        certificate = certify(some, rule, own, labels, among=judges[judge], **known)
        step = CascadeStep(judge=judge, rule=rule, certificate=certificate, min_valid=min_valid)
        made.append(step)
        left -= {case.case_id for case in _standing(step, judges[judge], left, _HOLDS)}
    return Cascade(criterion=criterion, agreement=wanted.agreement, delta=wanted.delta, steps=tuple(made))


def cascade_log(rows: Sequence[VerdictRow], cascade: Cascade, *, prices: Prices | None = None) -> CascadeReport:
    """Return what a cascade makes of a log in which its judges judged every case, or those that came to them.

    `prices` are those of a million tokens, by model.

    Raises:
        UnknownNameError: the criterion, or a judge that cases come to, is not in the log.
        UsageError: the cascade has no certificate: judges that only agree with themselves are no reason to stop; or a
            judge judged a case in two runs.

    """
    cascade.check_granted()
    names = [step.judge for step in cascade.steps]
    groups = rows_of_judges(rows_about(rows, [cascade.criterion]))
    judges = {name: groups.get(name, []) for name in names}
    refuse_several_runs(judges)
    cases = dict.fromkeys(row.case_id for mine in judges.values() for row in mine)
    left, standing_cases, counts = set(cases), dict[str, CaseDecision](), list[StepCount]()
    for step in cascade.steps:
        mine = judges[step.judge]
        if step.granted and left and not mine:
            raise UnknownNameError("judge", step.judge, groups)
        decided = list(_standing(step, mine, left, _state(step, mine)))
        # of all criteria, votes or not: what a call took stands on one of its rows
        asked = [row for row in rows if row.judge == step.judge and row.case_id in left] if step.granted else []
        counts.append(_count(step.judge, asked, (len(left), len(decided)), prices))
        standing_cases |= {case.case_id: case for case in decided}
        left -= {case.case_id for case in decided}
    clusters = Clusters.of_rows(row for mine in judges.values() for row in mine)
    said = {name: case.decision.verdict for name, case in standing_cases.items()}
    return CascadeReport(
        criterion=cascade.criterion,
        promised=cascade.agreement,
        delta=cascade.delta,
        cases=len(cases),
        steps=tuple(counts),
        verdicts={name: verdict for name, verdict in said.items() if verdict is not None},
        left=tuple(name for name in cases if name in left),
        agreement=_agreement(standing_cases.values(), clusters),
    )


def _dealt(rows: Iterable[VerdictRow], parts: int, seed: int) -> dict[str, int]:
    """Return case -> the step its label belongs to; cases of one cluster belong to the same."""
    listed = list(rows)
    clusters = Clusters.of_rows(listed)
    return {name: _part((seed, clusters.of(name)), parts) for name in {row.case_id for row in listed}}


def _part(key: Hashable, parts: int) -> int:
    return int(hashlib.sha256(repr(key).encode(errors=LONE_SURROGATES)).hexdigest()[:8], 16) % parts


def _state(step: CascadeStep, rows: Sequence[VerdictRow]) -> CalibrationState:
    """Return whether the certificate of a step holds for the rows of its judge: model, design and date, as they tell.

    Answers that do not name their model are decided by none that does: nobody knows whose they are. Rows without a
    time tell nothing against it.
    """
    known = step.certificate
    model = (known.parts or {}).get("model")
    other = next((row.model for row in rows if model and row.model and not same_model(model, row.model)), None)
    if other is not None:
        return CalibrationState(status="expired", reason=f"model {model} before, {other} now")
    if model and any(row.answered and row.model is None for row in rows):
        return CalibrationState(status="unverifiable", reason=f"of {model}, and answers do not name their model")
    expired = next(filter(None, (answer_expiry(known.measured_at, row) for row in rows)), "")
    own = CalibrationState(status="expired" if expired else "valid", reason=expired)
    return replay_state(known, rows, step.rule, own) if rows else own


def _standing(
    step: CascadeStep, rows: Sequence[VerdictRow], left: set[str], state: CalibrationState
) -> Iterator[CaseDecision]:
    """Yield the cases among those left that a step decides for good."""
    if not step.granted:
        return
    asked = withheld(step.certificate, state)
    mine = [row for row in rows if row.case_id in left]
    for case in case_decisions(mine, step.rule, min_valid=step.min_valid) if mine else ():
        stood = standing(case, mine[0].criterion, asked)
        if stood.decision.status == "decided":
            yield stood


def _count(judge: str, rows: Sequence[VerdictRow], counts: tuple[int, int], prices: Prices | None) -> StepCount:
    from ..spending import UsageSums, bill_of  # noqa: PLC0415 - loads SQLAlchemy

    calls = {(row.run, row.case_id, row.perturbation, row.repetition) for row in rows}
    tokens = {name: known_sum(getattr(row, name) for row in rows) for name in TOKENS[:2]}
    sums = UsageSums()
    sums.add(rows)
    reached, decided = counts
    bill = bill_of(sums.usages, prices)
    return StepCount(judge=judge, reached=reached, decided=decided, calls=len(calls), **tokens, bill=bill)


def _agreement(cases: Iterable[CaseDecision], clusters: Clusters) -> Rate | None:
    labelled = [
        (case.decision.verdict, case.gold, clusters.of(case.case_id))
        for case in cases
        if case.gold is not None and case.decision.verdict is not None
    ]
    read = read_golds((gold for _, gold, _ in labelled), (verdict for verdict, *_ in labelled))
    known = [(read[gold] == verdict, cluster) for verdict, gold, cluster in labelled if read[gold] is not None]
    return Rate.over([right for right, _ in known], [cluster for _, cluster in known]) if known else None


_UNCOUNTED: Final = "the certificate was saved by an earlier version, without what its cases are like: certify again"


class CertifiedCases:
    """Counts the cases of a run by criterion and stratum, as a certificate keeps counts of its labelled ones.

    Only where decisions are certified: a certificate that promises nothing needs no cases that are like its own.

    Args:
        certificate: theirs.
        clusters: which cases belong together, of cases whose facts name their ids; else those name their clusters.

    """

    def __init__(self, certificate: Certificate, clusters: Clusters | None = None) -> None:
        """Start without cases."""
        self.certificate, self._clusters = certificate, clusters
        self._labelled: dict[tuple[str, str | None], Population] = {
            (one.criterion, one.stratum): one.population
            for one in certificate.selections
            if one.threshold is not None and one.population is not None
        }
        self._counts = {place: PopulationCount(columns=one.columns) for place, one in self._labelled.items()}

    def add(self, case: CaseFacts) -> None:
        """Count a case, whose `stratum` is the value of the certificate's column."""
        for criterion, decided in case.criteria.items():
            count = self._counts.get((criterion, case.stratum))
            if count is not None:
                count.add(replace(case, criteria={criterion: decided}))

    def state(self, own: CalibrationState) -> tuple[CalibrationState, bool]:
        """Return what a certificate of this state is worth for all of these cases, and whether that was tested at all.

        The level is that of all criteria and strata together. A valid one says in its reason what was not tested.
        """
        untested: list[str] = []
        for (criterion, stratum), labelled in self._labelled.items():
            test = shift_test(
                labelled, self._counts[criterion, stratum].finish(self._clusters), tests=len(self._labelled)
            )
            where = "" if stratum is None else f"{self.certificate.stratum} {stratum_text(stratum)}: "
            state = transported(own, test)
            if state != own:
                return replace(state, reason=where + state.reason), True
            if test.shifted is None:
                untested.append(where + test.sentence)
        if not self._labelled and self.certificate.granted:
            untested.append(ShiftTest(shifted=None, reason=_UNCOUNTED).sentence)
        more = len(untested) - 1
        also = f"; nor in {more} {'other' if more == 1 else 'others'}" if more > 0 else ""
        told = replace(own, reason=untested[0] + also) if untested else own
        return told, len(untested) < len(self._labelled)


def certificate_on_run(
    held: HeldCertificate,
    cases: CertifiedCases | Iterable[CaseFacts],
    calibration: CalibrationReport | None,
    state: CalibrationState | None,
    *,
    stopped: bool = False,
) -> HeldCertificate:
    """Return a certificate as it stands for a whole run: on cases unlike the labelled ones it promises nothing.

    Decisions that were made under it stay as they are. Where its own labelled cases could not be compared, those of a
    calibration beside it that holds speak for them, and without one the state says that nothing was compared.

    Args:
        held: the certificate, and whether it holds case by case.
        cases: those of the run, counted or one by one, with the values of the certificate's column as strata.
        calibration: the one beside it.
        state: what that is worth for the run.
        stopped: whether asking ended because of what was answered: such cases are compared with no labelled ones.

    """
    given, own = held
    if not own.valid:
        return held
    if stopped:
        now, tested = replace(own, reason=ShiftTest(shifted=None, reason=STOPPED).sentence), False
    else:
        now, tested = _certified_cases(given, cases).state(own)
    if tested or calibration is None or state is None or state.status not in {"shifted", "valid"}:
        return given, now
    if state.valid:
        return held
    return given, replace(state, reason=f"by the calibration on {calibration.name}, {state.reason}")


def _certified_cases(certificate: Certificate, cases: CertifiedCases | Iterable[CaseFacts]) -> CertifiedCases:
    if isinstance(cases, CertifiedCases):
        return cases
    counted = CertifiedCases(certificate)
    for case in cases:
        counted.add(case)
    return counted


def asked_after(result: HarnessResult, earlier: Sequence[HarnessResult], *, waits: bool) -> HarnessResult:
    """Return a measurement as that of a judge of a cascade: its reasons say whom it was asked after, its usage is all.

    Args:
        result: of the last judge that was asked.
        earlier: of those before it, which decided nothing.
        waits: whether it decides nothing either, so that the case waits for people.

    """
    said = [f"asked after {', '.join(one.judge for one in earlier)}"] if earlier else []
    criteria = {
        name: replace(one, reason="; ".join(filter(None, [one.reason, *said, *_waiting(one, waits=waits)])))
        for name, one in result.criteria.items()
    }
    used = [*(one.usage for one in earlier), result.usage]
    sums: dict[str, Any] = {one.name: known_sum(getattr(usage, one.name) for usage in used) for one in fields(Usage)}
    return replace(result, criteria=criteria, usage=Usage(**sums), earlier=tuple(earlier), waits=waits)


def _waiting(measured: CriterionResult, *, waits: bool) -> list[str]:
    return ["no judge of the cascade decides it: it waits for people"] if waits and measured.status != "decided" else []
