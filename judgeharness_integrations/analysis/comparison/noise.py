"""Do more decisions flip, and more decidedly, than the judge's own noise makes? Samples change places between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from judgeharness_integrations.analysis.comparison.exchange import (
    CaseOutcomes,
    CaseSamples,
    Exchangeable,
    exchangeable,
    null_distribution,
)
from judgeharness_integrations.analysis.comparison.pairing import Pair
from judgeharness_integrations.analysis.comparison.splits import (
    CountSplits,
    RowSplits,
    ScoreSplits,
    affordable,
    folds_scores,
)

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class NoiseTest:
    """Flipped decisions against those that samples changing places between the two runs would give.

    Over `cases` cases with samples that can change places: `observed` flips, `expected` ones with their 95 % range
    (`low`, `high`). `p_count` is the chance of at least as many; `p`, which the report tests, that of flips between
    samples at least as far apart, summed over cases: it also sees a judge that was sure of one answer and is now sure
    of another one. `p_of_case` is the chance, case by case, of a flip at least as decided. `copied` and `collapsed`
    cases are not among `cases`. `reason` says why there is no test; everything else is None then.
    """

    cases: int
    observed: int | None
    expected: float | None
    low: int | None
    high: int | None
    p_count: float | None
    p: float | None
    permutations: int | None
    copied: int = 0
    collapsed: int = 0
    reason: str = ""
    p_of_case: Mapping[str, float] = field(default_factory=dict, repr=False)


def noise_test(pairs: Sequence[Pair], *, tolerance: float | None, seed: int, permutations: int) -> NoiseTest:
    """Test whether decisions flip more than samples of one source would make them.

    Null hypothesis: a case's samples under one perturbation come from the same distribution in both runs. Then they
    may change places; the rule folds them again. Every way to change places is looked at where there are few, and
    drawn with the seed where there are many.

    Args:
        pairs: the cases.
        tolerance: how far a score moves without flipping; None for labels.
        seed: of the permutations.
        permutations: how many; fewer with a caller's own rule or a certificate by a column, which read each sample.

    """
    found = exchangeable(pairs)
    reason = _reason(found, len(pairs))
    if reason:
        return NoiseTest(
            cases=0,
            observed=None,
            expected=None,
            low=None,
            high=None,
            p_count=None,
            p=None,
            permutations=None,
            copied=found.copied,
            collapsed=found.collapsed,
            reason=reason,
        )
    own = any(side.reads_rows for case in found.cases for side in case.sides)
    count = affordable(len(found.cases), permutations) if own else permutations
    outcomes = _outcomes(found.cases, own=own, tolerance=tolerance, seed=seed, count=count)
    return _tested(outcomes, found, seed=seed, permutations=count)


def _reason(found: Exchangeable, pairs: int) -> str:
    """Return why the judge's noise cannot be told; empty where it can."""
    if found.stopped:
        return (
            "sampling stopped early, so that the number of samples depends on the answers: they may not change places; "
            "measure once without curtail"
        )
    if found.cases:
        return ""
    if found.copied == pairs:
        return "both runs hold the same paid answers: nothing was asked twice; run again with --fresh"
    if found.copied + found.collapsed == pairs:
        return "the samples of a case are copies of one another (cache or temperature 0): they show no noise"
    return (
        "one sample a case and run: the judge's own noise cannot be told from a change; ask at least twice "
        "(repetitions: 2)"
    )


def _outcomes(
    cases: Sequence[CaseSamples], *, own: bool, tolerance: float | None, seed: int, count: int
) -> list[CaseOutcomes]:
    random = np.random.default_rng([seed, 1])
    rows = (row for case in cases for stratum in case.strata for side in stratum for row in side)
    numeric = any(isinstance(row.verdict, (int, float)) for row in rows)
    splits: RowSplits | ScoreSplits | CountSplits
    if own:
        splits = RowSplits(tolerance=tolerance, permutations=count, random=random)
    elif numeric and all(folds_scores(side.rule) and side.held is None for case in cases for side in case.sides):
        splits = ScoreSplits(tolerance=tolerance or 0.0, permutations=count, random=random)
    else:
        splits = CountSplits(tolerance=tolerance, permutations=count, random=random)
    return [splits.outcomes(case) for case in cases]


def _tested(outcomes: Sequence[CaseOutcomes], found: Exchangeable, *, seed: int, permutations: int) -> NoiseTest:
    null = null_distribution(outcomes, seed=seed, permutations=permutations)
    flips, evidence = sum(case.flipped for case in outcomes), sum(case.evidence for case in outcomes)
    low, high = np.quantile(null.flips, (0.025, 0.975), method="inverted_cdf")
    margin = _ROUNDING * max(1.0, evidence) * max(1, len(outcomes))
    return NoiseTest(
        cases=len(outcomes),
        observed=flips,
        expected=float(sum(_chance(case) for case in outcomes)),
        low=int(low),
        high=int(high),
        p_count=float((1 + np.sum(null.flips >= flips)) / (1 + permutations)),
        p=float((1 + np.sum(null.evidence >= evidence - margin)) / (1 + permutations)),
        permutations=permutations,
        copied=found.copied,
        collapsed=found.collapsed,
        p_of_case={case.case_id: case.p for case in outcomes if case.flipped},
    )


def _chance(case: CaseOutcomes) -> float:
    return float(case.flips.mean() if case.chances is None else case.chances[case.flips].sum())
