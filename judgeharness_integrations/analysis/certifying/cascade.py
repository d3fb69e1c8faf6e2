"""A cascade of judges: a case goes to the next one where the certificate of the cheaper one does not cover it."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.cases import CaseDecision, case_decisions, standing
from judgeharness_integrations.analysis.aggregation.clusters import Clusters
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.calibration.items import read_golds
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.analysis.calibration.saved import CalibrationState
from judgeharness_integrations.analysis.certifying.applying import withheld
from judgeharness_integrations.analysis.certifying.certificate import Certificate
from judgeharness_integrations.analysis.certifying.measuring import Labels, Wanted, certify
from judgeharness_integrations.analysis.replay.replaying import refuse_several_runs, rows_about, rows_of_judges
from judgeharness_integrations.analysis.usage import known_sum
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import TOKENS, Verdict, VerdictRow

FEWEST: Final = 2  # steps
_HOLDS: Final = CalibrationState(status="valid")


@dataclass(frozen=True, kw_only=True)
class CascadeStep:
    """One judge of a cascade: the rule that folds its samples, and which of its decisions stand."""

    judge: str
    rule: Rule
    certificate: Certificate

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


@dataclass(frozen=True, kw_only=True)
class StepCount:
    """What came to one step of a cascade: `reached` cases, of which it `decided` some with `calls` of its judge.

    Tokens are None where rows do not tell them. A step without a certificate is not asked: 0 calls.
    """

    judge: str
    reached: int
    decided: int
    calls: int
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, kw_only=True)
class CascadeReport:
    """What a cascade makes of a log: its `steps`, the `verdicts` that stand, and the ids of cases `left` to people.

    `agreement` is the share of decided cases with gold that are right; None without any.
    """

    criterion: str
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


def certify_cascade(
    rows: Sequence[VerdictRow],
    steps: Sequence[tuple[str, Rule]],
    wanted: Wanted,
    labels: Labels,
    *,
    criterion: str,
    measured_at: str,
    seed: int = 0,
) -> Cascade:
    """Certify each step on the cases that the steps before it leave.

    The labelled cases are dealt to the steps, whole clusters by a digest: a threshold is set by labels of its own, so
    that the cases it leaves are no choice of the labels that judge the next one.

    Args:
        rows: a log in which every judge judged, gold where people labelled.
        steps: (judge, rule), the cheapest first.
        wanted: agreement and delta of the whole cascade, and how sure decisions are.
        labels: where the labels come from.
        criterion: what is decided.
        measured_at: now, as an ISO 8601 time with offset.
        seed: of the dealing.

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
    own = replace(wanted, delta=wanted.delta / len(steps))
    left = {row.case_id for mine in judges.values() for row in mine}
    made: list[CascadeStep] = []
    for number, (judge, rule) in enumerate(steps):
        mine = [row if dealt[row.case_id] == number else replace(row, gold=None) for row in judges[judge]]
        some = [row for row in mine if row.case_id in left]
        if not any(row.gold is not None for row in some):
            raise UsageError(
                f"no labelled case comes to {judge!r}: a cascade of {len(steps)} judges divides the labels, so label "
                "more cases."
            )
        step = CascadeStep(
            judge=judge, rule=rule, certificate=certify(some, rule, own, labels, measured_at=measured_at)
        )
        made.append(step)
        left -= {case.case_id for case in _standing(step, judges[judge], left)}
    return Cascade(criterion=criterion, agreement=wanted.agreement, delta=wanted.delta, steps=tuple(made))


def cascade_log(rows: Sequence[VerdictRow], cascade: Cascade) -> CascadeReport:
    """Return what a cascade makes of a log in which its judges judged every case.

    Raises:
        UnknownNameError: a judge or the criterion is not in the log.
        UsageError: the cascade has no certificate: judges that only agree with themselves are no reason to stop; or a
            judge judged a case in two runs.

    """
    if not cascade.granted:
        raise UsageError("no step of the cascade is certified: it would leave every case to people; label more cases.")
    judges = rows_of_judges(rows_about(rows, [cascade.criterion]), [step.judge for step in cascade.steps])
    refuse_several_runs(judges)
    cases = dict.fromkeys(row.case_id for mine in judges.values() for row in mine)
    left, standing_cases, counts = set(cases), dict[str, CaseDecision](), list[StepCount]()
    for step in cascade.steps:
        mine = judges[step.judge]
        decided = list(_standing(step, mine, left))
        counts.append(_count(step, [row for row in mine if row.case_id in left], len(left), len(decided)))
        standing_cases |= {case.case_id: case for case in decided}
        left -= {case.case_id for case in decided}
    clusters = Clusters.of_rows(row for mine in judges.values() for row in mine)
    said = {name: case.decision.verdict for name, case in standing_cases.items()}
    return CascadeReport(
        criterion=cascade.criterion,
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


def _standing(step: CascadeStep, rows: Sequence[VerdictRow], left: set[str]) -> Iterator[CaseDecision]:
    """Yield the cases among those left that a step decides for good."""
    if not step.granted:
        return
    asked = withheld(step.certificate, _HOLDS)
    mine = [row for row in rows if row.case_id in left]
    for case in case_decisions(mine, step.rule) if mine else ():
        stood = standing(case, mine[0].criterion, asked)
        if stood.decision.status == "decided":
            yield stood


def _count(step: CascadeStep, rows: Sequence[VerdictRow], reached: int, decided: int) -> StepCount:
    asked = rows if step.granted else ()
    calls = {(row.run, row.case_id, row.perturbation, row.repetition) for row in asked}
    tokens = {name: known_sum(getattr(row, name) for row in asked) for name in TOKENS[:2]}
    return StepCount(judge=step.judge, reached=reached, decided=decided, calls=len(calls), **tokens)


def _agreement(cases: Iterable[CaseDecision], clusters: Clusters) -> Rate | None:
    labelled = [
        (case.decision.verdict, case.gold, clusters.of(case.case_id))
        for case in cases
        if case.gold is not None and case.decision.verdict is not None
    ]
    read = read_golds((gold for _, gold, _ in labelled), (verdict for verdict, *_ in labelled))
    known = [(read[gold] == verdict, cluster) for verdict, gold, cluster in labelled if read[gold] is not None]
    return Rate.over([right for right, _ in known], [cluster for _, cluster in known]) if known else None
