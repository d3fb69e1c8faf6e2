"""The samples of one case that may change places between two runs: those under the same perturbation and order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judgeharness_integrations.aggregation.deciding import decide
from judgeharness_integrations.aggregation.grouping import by_criterion
from judgeharness_integrations.aggregation.rules import Bound, ByKind, Rule
from judgeharness_integrations.certifying.applying import withheld
from judgeharness_integrations.certifying.certificate import HeldCertificate
from judgeharness_integrations.certifying.sureness import COLUMN
from judgeharness_integrations.comparison.pairing import Pair
from judgeharness_integrations.comparison.states import State
from judgeharness_integrations.replay.deciding import CaseDecision, standing
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.columns import columns_together
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CaseSamples", "Exchangeable", "Side", "copied", "exchangeable"]

_REUSED_FROM = "reused_from"  # attribute of a copied row: the run that paid for the answer


@dataclass(frozen=True, slots=True)
class Side:
    """How one side decides about samples of a criterion: its rule, and what its certificate leaves standing.

    `stratum` holds the columns of the case that tell its stratum of the certificate.
    """

    rule: Rule
    planned: int
    min_valid: int | None
    criterion: str = ""
    held: HeldCertificate | None = None
    stratum: tuple[tuple[str, str | float], ...] = ()

    @property
    def key(self) -> Hashable:
        """What tells sides apart that decide about equal counts of samples in different ways."""
        held = None if self.held is None else (self.held[0].name, self.held[0].measured_at, self.held[1])
        return self.rule.name, self.planned, self.min_valid, self.criterion, held, self.stratum

    @property
    def reads_rows(self) -> bool:
        """Whether more counts than the verdicts of samples and their order."""
        by_column = self.held is not None and self.held[0].score.startswith(COLUMN)
        return by_column or not isinstance(self.rule.function, (Bound, ByKind))

    def state(self, rows: Sequence[VerdictRow]) -> State:
        """Return what samples of a case come to."""
        decision = decide(rows, self.rule, planned=self.planned, min_valid=self.min_valid)
        if self.held is not None:
            case = CaseDecision(case_id=rows[0].case_id, rows=rows, decision=decision, gold=None)
            decision = standing(case, self.criterion, withheld(*self.held)).decision
        return State(decision.status, decision.verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSamples:
    """One case: strata of (samples before, samples after) that may change places, and those that stay on their side.

    A stratum is a perturbation in one order of the texts. Samples of a perturbation that one side did not ask about
    stay where they are (`fixed`).
    """

    case_id: str
    strata: tuple[tuple[tuple[VerdictRow, ...], tuple[VerdictRow, ...]], ...]
    fixed: tuple[tuple[VerdictRow, ...], tuple[VerdictRow, ...]]
    sides: tuple[Side, Side]

    @property
    def tells(self) -> bool:
        """Whether changing places can tell anything: with one sample each it changes nothing but the runs' names."""
        return len(self.strata) > 1 or any(len(before) + len(after) > 2 for before, after in self.strata)  # noqa: PLR2004


@dataclass(frozen=True, kw_only=True)
class Exchangeable:
    """The cases of a criterion whose samples may change places, and how many may not: copies and collapsed samples."""

    cases: tuple[CaseSamples, ...]
    copied: int
    collapsed: int
    stopped: bool


def exchangeable(pairs: Sequence[Pair]) -> Exchangeable:
    """Return what of the pairs a permutation of samples may look at."""
    cases: list[CaseSamples] = []
    copies = collapses = 0
    for pair in pairs:
        if copied(pair):
            copies += 1
        elif any(side.independence.status == "collapsed" for side in pair.sides):
            collapses += 1
        else:
            cases.append(_samples(pair))
    return Exchangeable(
        cases=tuple(case for case in cases if case.tells),
        copied=copies,
        collapsed=collapses,
        stopped=any(pair.before.design.curtail or pair.after.design.curtail for pair in pairs),
    )


def copied(pair: Pair) -> bool:
    """Whether both sides hold answers that were paid for once, in one of the runs or in a third one."""
    if not any(_REUSED_FROM in row.attributes for result in (pair.before, pair.after) for row in result.rows):
        return False
    before, after = ({_origin(row) for row in result.rows} for result in (pair.before, pair.after))
    return not before.isdisjoint(after)


def _origin(row: VerdictRow) -> tuple[str, str, int]:
    return str(row.attributes.get(_REUSED_FROM, row.run)), row.perturbation, row.repetition


def _samples(pair: Pair) -> CaseSamples:
    before, after = (_by_stratum(result, pair.criterion) for result in (pair.before, pair.after))
    shared = sorted(before.keys() & after.keys())
    sides = [_side(result, pair.criterion) for result in (pair.before, pair.after)]
    return CaseSamples(
        case_id=pair.name,
        strata=tuple((tuple(before[key]), tuple(after[key])) for key in shared),
        fixed=(tuple(_others(before, after)), tuple(_others(after, before))),
        sides=(sides[0], sides[1]),
    )


def _side(result: HarnessResult, criterion: str) -> Side:
    given, design = result.certificate, result.design
    state, column = result.certificate_state, None if given is None else given.stratum
    said = {name: value for row in reversed(result.rows) for name, value in row.attributes.items()} if column else {}
    return Side(
        rule=design.rule,
        planned=result.criteria[criterion].planned,
        min_valid=design.min_valid,
        criterion=criterion,
        held=None if given is None or state is None else (given, state),
        stratum=tuple((name, said[name]) for name in columns_together(column or "", set(said)) if name in said),
    )


def _by_stratum(result: HarnessResult, criterion: str) -> Mapping[tuple[bool, str], list[VerdictRow]]:
    rows: Sequence[VerdictRow] = result.rows
    if any(row.criterion != criterion for row in rows):
        rows = by_criterion(rows, list(result.criteria))[criterion]
    strata: dict[tuple[bool, str], list[VerdictRow]] = {}
    for row in rows:
        strata.setdefault((row.swapped, row.perturbation), []).append(row)
    return strata


def _others(
    mine: Mapping[tuple[bool, str], list[VerdictRow]], theirs: Mapping[tuple[bool, str], list[VerdictRow]]
) -> Iterator[VerdictRow]:
    for key in sorted(mine.keys() - theirs.keys()):
        yield from mine[key]
