"""The judge table: everything that is measured of a judge beside its rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from judgeharness_integrations.verdictlog.encoding import LENGTH_COLUMNS
from judgeharness_integrations.verdictlog.row import VerdictRow, finite_number, voting

from ..aggregation.grouping import by_case, by_criterion, by_judge
from ..aggregation.rules import samples_planned
from ..aggregation.statistics import agreement
from ..calibration.controls import Controls, label_controls
from ..replay.report import PositionCounts
from ..statistics.means import mean_interval
from ..statistics.proportions import wilson
from ..usage import Billed, Price, Spent, summed
from .correctness import ABSTAINED, NOT_ASKED, Credits, CriterionDecisions, Decisions, Floats, Ints
from .panels import JudgeFacts, facts_of, plain_record


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Counts of the answers among the `rows` of a judge, and rates over its samples; see `JudgeMeasures`."""

    rows: int
    unparsed: int
    failed: int
    agreement: float | None
    consistency: float | None
    first_slot_rate: float | None


def answering_of(rows: Sequence[VerdictRow], pairwise: str | None) -> Answering:
    """Return how one judge answers.

    Args:
        rows: all its rows.
        pairwise: the criterion that is a choice between A and B.

    """
    failed = {answer_key(row) for row in rows if row.outcome != "ok"}
    unparsed = {answer_key(row) for row in rows if row.outcome == "unparsed"}
    groups = {name: list(by_case(mine).values()) for name, mine in by_criterion(rows).items()}
    chosen = groups if pairwise is None else {pairwise: groups.get(pairwise, [])}
    cases = [case for group in chosen.values() for case in group]
    fixed = not any(samples_planned(case) for case in cases)
    position = PositionCounts()
    for case in groups.get(pairwise, ()) if fixed and pairwise is not None else ():
        position.add(case)
    found = position.measured()
    return Answering(
        rows=len(rows),
        unparsed=len(unparsed),
        failed=len(failed),
        agreement=_agreement(cases) if fixed else None,
        consistency=found["position_consistency"],
        first_slot_rate=found["first_slot_rate"],
    )


def answer_key(row: VerdictRow) -> Hashable:
    """Return what is the same for all rows of one call, which may answer several criteria at once."""
    return row.key if row.call_id is None else (row.run, row.judge, row.call_id)


def _agreement(cases: Iterable[Sequence[VerdictRow]]) -> float | None:
    shares = (agreement(Counter(row.verdict for row in case if row.verdict is not None)) for case in cases)
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None


def pairwise_criterion(decisions: Decisions) -> CriterionDecisions | None:
    """Return the first criterion that is a choice between A and B."""
    return next((entry for entry in decisions.criteria.values() if entry.pairwise), None)


def chosen_first(entry: CriterionDecisions, *, undecided: float) -> Floats:
    """Return (pairs, judges): 1 where A was chosen, 0 where B, NaN for failures and where a judge was not asked.

    Args:
        entry: a choice between A and B.
        undecided: the value of a tie and of no decision.

    """
    chosen = np.full(entry.codes.shape, np.nan)
    for label, value in (("A", 1.0), ("B", 0.0), ("TIE", undecided)):
        chosen[entry.codes == entry.coded(label)] = value
    chosen[entry.codes == ABSTAINED] = undecided
    return chosen


def longer_answers(decisions: Decisions) -> Floats | None:
    """Return (pairs,): 1 where A is the longer answer, 0 where B, NaN where they are as long or a length is unknown.

    None without columns `length_a` (or `length`) and `length_b` of numbers.
    """
    for names in LENGTH_COLUMNS:
        if all(name in decisions.columns for name in names):
            first, second = (np.array([*map(finite_number, decisions.columns[name])], dtype=float) for name in names)
            return np.where(first > second, 1.0, np.where(second > first, 0.0, np.nan))
    return None


def judge_controls(
    decisions: Decisions, criteria: Sequence[str], matrix: Credits, *, clusters: Ints | None = None
) -> dict[str, Controls | None]:
    """Return judge -> the controls on the labelled pairs it was asked about; None for one asked about none.

    Right is what earns the whole credit. Of several criteria a control answers all of them: the constant gives the
    commonest combination of gold labels, the coin draws one of those that occur.

    Args:
        decisions: what the judges decided.
        criteria: those that are ranked by.
        matrix: credits of the labelled pairs.
        clusters: (pairs,) of `matrix`; each pair stands alone without.

    """
    entries = [decisions.criterion(name) for name in criteria]
    place = {pair: number for number, pair in enumerate(decisions.pairs)}
    kept = [place[pair] for pair in matrix.pairs]
    golds = [" + ".join(entry.labels[entry.gold[number]] for entry in entries) for number in kept]
    choice = len(entries) == 1 and entries[0].pairwise
    labels = frozenset(entries[0].labels if len(entries) == 1 else golds)
    lengths = longer_answers(decisions) if choice else None
    longer = [None] * len(kept) if lengths is None else [_longer(float(lengths[number])) for number in kept]
    keys: Sequence[Hashable] = range(len(kept)) if clusters is None else clusters.tolist()
    found: dict[str, Controls | None] = {}
    for column, judge in enumerate(matrix.judges):
        asked = np.flatnonzero(matrix.seen[:, column])
        found[judge] = label_controls(
            [golds[one] for one in asked],
            [bool(matrix.values[one, column] == 1) for one in asked],
            [keys[one] for one in asked],
            labels=labels,
            longer=[longer[one] for one in asked],
            both_orders=decisions.policy.rule == "both_orders",
            of="labelled",
        )
    return found


def _longer(value: float) -> str | None:
    return None if np.isnan(value) else "A" if value else "B"


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Means over the pairs whose rows report them, all samples of a pair summed; None where none does.

    `tokens` are read and written, over pairs that report both. `cost` is of those, in the currency of the prices; None
    where a price is missing for what was read, written or served (see `Price`), which `cost_remarks` say.
    """

    tokens: float | None
    input_tokens: float | None
    output_tokens: float | None
    cost: float | None
    cost_remarks: tuple[str, ...] = ()


def spending_of(pairs: Iterable[Sequence[VerdictRow]], facts: JudgeFacts) -> Spending:
    """Return what a judge takes.

    Args:
        pairs: all rows of the judge, pair by pair.
        facts: its prices.

    """
    read: list[int] = []
    written: list[int] = []
    both: list[int] = []
    bills: list[Billed] = []
    for rows in pairs:
        into = [row.input_tokens for row in rows if row.input_tokens is not None]
        out = [row.output_tokens for row in rows if row.output_tokens is not None]
        if into:
            read.append(sum(into))
        if out:
            written.append(sum(out))
        if into and out:
            both.append(sum(into) + sum(out))
            bills.append(_bill(rows, facts.price))
    bill = summed(bills)
    return Spending(
        tokens=_mean(both),
        input_tokens=_mean(read),
        output_tokens=_mean(written),
        cost=bill.cost / len(bills) if bills and bill.cost is not None else None,
        cost_remarks=bill.remarks,
    )


def _bill(rows: Iterable[VerdictRow], price: Price | None) -> Billed:
    """Return what the rows of a pair cost; a row that reports one count of tokens alone took nothing of the other."""
    if price is None:
        return Billed(None)
    spent = (Spent.of(row) for row in rows if row.input_tokens is not None or row.output_tokens is not None)
    whole = (one._replace(input_tokens=one.input_tokens or 0, output_tokens=one.output_tokens or 0) for one in spent)
    return summed(map(price.billed, whole))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def decided_alike(criteria: Iterable[CriterionDecisions], judges: int) -> Floats:
    """Return (judges, judges): share of pairs asked of both that both decided, and alike; NaN where there is none.

    A failed answer and no decision are equal to nothing, so they count against it; criteria count one by one.
    """
    alike = np.zeros((judges, judges))
    asked = np.zeros((judges, judges))
    for entry in criteria:
        seen = (entry.codes != NOT_ASKED).astype(np.float64)
        asked += seen.T @ seen
        decided = entry.codes >= 0
        for judge in range(judges):
            mine = entry.codes[:, judge]
            alike[judge] += ((entry.codes == mine[:, None]) & decided).sum(axis=0)
    return np.where(asked > 0, alike / np.maximum(asked, 1), np.nan)


@dataclass(frozen=True, kw_only=True)
class JudgeMeasures:
    """One judge. What was not measured is None.

    `right_of_labelled` = `credit` / `pairs`, the labelled pairs it was asked about; its 95 % interval is Wilson's, with
    fractional credit Student's. `agreement`: mean over cases of the share of agreeing pairs of samples.
    `consistency`: share of pairs of samples that differ in the order alone and gave the same verdict;
    `first_slot_rate`: wins of the answer shown first among all wins, over the same. With early stopping these three are
    None. `prefers_longer`: share of its `prefers_longer_pairs`, decided for A or B and of known, unequal lengths, in
    which it chose the longer answer; `better_longer`: share of those with gold A or B (`better_longer_pairs`) in which
    gold names the longer one, as often as a judge that is always right prefers it. `agreement_with_judges`: mean over
    the other judges of the share of pairs on which the two decide the same; no decision agrees with nobody. Of several
    criteria, the choice between A and B is where the samples are looked at, and all where none is;
    `agreement_with_judges` is over all.

    Counts of answers, one a call however many criteria and `rows` of the log it answers: `unparsed`, and `failed` in
    whatever way, about one criterion or more. Tokens and `cost` (money) are means a pair, all its samples summed, over
    the pairs that report them; `cost_remarks` say where it is the most it can be, or why it is not known.
    """

    judge: str
    pairs: int
    credit: float
    right_of_labelled: float | None
    right_of_labelled_ci95: tuple[float, float] | None
    agreement: float | None
    consistency: float | None
    first_slot_rate: float | None
    prefers_longer: float | None
    prefers_longer_pairs: int
    better_longer: float | None
    better_longer_pairs: int
    agreement_with_judges: float | None
    unparsed: int
    failed: int
    rows: int
    tokens: float | None
    input_tokens: float | None
    output_tokens: float | None
    cost: float | None
    provider: str | None
    open: bool | None
    cost_remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON keeps them."""
        return plain_record(self)


def judge_measures(
    rows: Sequence[VerdictRow],
    decisions: Decisions,
    matrix: Credits,
    *,
    facts: Mapping[str, JudgeFacts] | None = None,
) -> dict[str, JudgeMeasures]:
    """Measure every judge of `matrix`.

    Args:
        rows: the log that was folded.
        decisions: what its judges decided.
        matrix: their credits on the labelled pairs.
        facts: judge -> provider, openness and prices.

    """
    groups = by_judge(voting(rows))
    pairwise = pairwise_criterion(decisions)
    alike = _alike(decisions)
    longer = _longer_of_measures(decisions, pairwise)
    found: dict[str, JudgeMeasures] = {}
    for place, judge in enumerate(matrix.judges):
        mine, known = groups[judge], facts_of(judge, facts)
        spent = spending_of(by_case(mine).values(), known)
        found[judge] = JudgeMeasures(
            judge=judge,
            **_right(matrix.values[:, place]),
            **asdict(answering_of(mine, None if pairwise is None else pairwise.criterion)),
            **_prefers(longer, decisions.judges.index(judge)),
            agreement_with_judges=alike[judge],
            **asdict(spent),
            provider=known.provider,
            open=known.open,
        )
    return found


def _right(credits: Floats) -> dict[str, Any]:  # noqa: A002 - the field's word
    values = credits[~np.isnan(credits)]
    n, total = len(values), float(values.sum())
    whole = not bool(np.any((values > 0) & (values < 1)))
    interval = wilson(round(total), n) if whole else _student(values)
    return {
        "pairs": n,
        "credit": total,
        "right_of_labelled": total / n if n else None,
        "right_of_labelled_ci95": interval,
    }


def _student(values: Floats) -> tuple[float, float] | None:
    found = mean_interval(values)
    return None if found is None else (max(0.0, found[0]), min(1.0, found[1]))


def _alike(decisions: Decisions) -> dict[str, float | None]:
    """Return judge -> mean share of decisions it has in common with another; None without another."""
    shares = decided_alike(decisions.criteria.values(), len(decisions.judges))
    np.fill_diagonal(shares, np.nan)
    known = [row[~np.isnan(row)] for row in shares]
    return {
        judge: float(mine.mean()) if len(mine) else None for judge, mine in zip(decisions.judges, known, strict=True)
    }


def _longer_of_measures(decisions: Decisions, pairwise: CriterionDecisions | None) -> tuple[Floats, Floats] | None:
    """Return what was chosen, (pairs, judges), and what is better, (pairs, 1): 1 the longer answer, 0 the other one.

    NaN where nothing is told.
    """
    longer = longer_answers(decisions)
    if longer is None or pairwise is None:
        return None
    length = longer[:, None]
    sides = (pairwise, replace(pairwise, codes=pairwise.gold[:, None]))
    first = (chosen_first(side, undecided=np.nan) for side in sides)
    chosen, better = (np.where(np.isnan(length), np.nan, np.where(length > 0, side, 1 - side)) for side in first)
    return chosen, better


def _prefers(longer: tuple[Floats, Floats] | None, place: int) -> dict[str, Any]:
    told = better = np.empty(0)
    if longer is not None:
        decided = ~np.isnan(longer[0][:, place])
        told, better = longer[0][decided, place], longer[1][decided, 0]
        better = better[~np.isnan(better)]
    return {
        "prefers_longer": float(told.mean()) if len(told) else None,
        "prefers_longer_pairs": len(told),
        "better_longer": float(better.mean()) if len(better) else None,
        "better_longer_pairs": len(better),
    }
