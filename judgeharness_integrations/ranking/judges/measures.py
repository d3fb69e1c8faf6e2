"""The judge table: everything that is measured of a judge beside its rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judgeharness_integrations.aggregation.grouping import by_case, by_judge
from judgeharness_integrations.ranking.arrays import Floats
from judgeharness_integrations.ranking.correctness.decisions import CriterionDecisions, Decisions
from judgeharness_integrations.ranking.credits import Credits
from judgeharness_integrations.ranking.judges.answering import answering_of
from judgeharness_integrations.ranking.judges.decidedalike import decided_alike
from judgeharness_integrations.ranking.judges.facts import JudgeFacts, facts_of
from judgeharness_integrations.ranking.judges.pairwise import chosen_first, longer_answers, pairwise_criterion
from judgeharness_integrations.ranking.judges.plainrecord import plain_record
from judgeharness_integrations.ranking.judges.spending import spending_of
from judgeharness_integrations.statistics.means import mean_interval
from judgeharness_integrations.statistics.proportions import wilson
from judgeharness_integrations.verdictlog.row import VerdictRow, voting

__all__ = ["JudgeMeasures", "judge_measures"]


@dataclass(frozen=True, kw_only=True)
class JudgeMeasures:
    """One judge. What was not measured is None.

    `accuracy` = `credit` / `pairs`, the labelled pairs it was asked about; its 95 % interval is Wilson's, with
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
    accuracy: float | None
    accuracy_ci95: tuple[float, float] | None
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
    longer = _longer(decisions, pairwise)
    found: dict[str, JudgeMeasures] = {}
    for place, judge in enumerate(matrix.judges):
        mine, known = groups[judge], facts_of(judge, facts)
        spent = spending_of(by_case(mine).values(), known)
        found[judge] = JudgeMeasures(
            judge=judge,
            **_accuracy(matrix.values[:, place]),
            **asdict(answering_of(mine, None if pairwise is None else pairwise.criterion)),
            **_prefers(longer, decisions.judges.index(judge)),
            agreement_with_judges=alike[judge],
            **asdict(spent),
            provider=known.provider,
            open=known.open,
        )
    return found


def _accuracy(credits: Floats) -> dict[str, Any]:  # noqa: A002 - the field's word
    values = credits[~np.isnan(credits)]
    n, total = len(values), float(values.sum())
    whole = not bool(np.any((values > 0) & (values < 1)))
    interval = wilson(round(total), n) if whole else _student(values)
    return {"pairs": n, "credit": total, "accuracy": total / n if n else None, "accuracy_ci95": interval}


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


def _longer(decisions: Decisions, pairwise: CriterionDecisions | None) -> tuple[Floats, Floats] | None:
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
