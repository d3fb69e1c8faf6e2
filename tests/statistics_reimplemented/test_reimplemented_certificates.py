"""Certificates written again from docs/answers/right.md, and compared on random votes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying import Wanted, certify
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.verdictlog import VerdictRow

VOTES = 9
PERCENTS = (10, 20, 30, 40, *range(50, 101, 2))


def certified(sure: list[int], right: list[bool | None], *, agreement: float, delta: float) -> int | None:
    """Return the fewest votes for its label with which a decision is certified; None: refused.

    Thresholds: of the surest q of all n decisions the last one's score, that of place ceil(q n), from the surest down.
    Of m labelled decisions at or above it k are wrong: p = P(Binomial(m, 1 - agreement) <= k). Begun where
    agreement^m <= delta; the first p above delta ends it, and the threshold before it is certified.
    """
    ordered = sorted(sure, reverse=True)
    found = None
    for threshold in dict.fromkeys(ordered[math.ceil(percent * len(sure) / 100) - 1] for percent in PERCENTS):
        labelled = [one for votes, one in zip(sure, right, strict=True) if votes >= threshold and one is not None]
        if agreement ** len(labelled) > delta:
            continue
        if binom.cdf(labelled.count(False), len(labelled), 1 - agreement) > delta:
            break
        found = threshold
    return found


@pytest.mark.slow
def test_a_certificate_is_the_last_threshold_before_the_first_test_that_fails() -> None:
    random = np.random.default_rng(11)
    outcomes = []
    for _ in range(20):
        rows, sure, right = [], [], []
        agreement, delta = float(random.choice([0.8, 0.9, 0.95])), float(random.choice([0.05, 0.1, 0.2]))
        sharp = random.uniform(0.2, 2)
        for case in range(int(random.integers(40, 250))):
            truth, passes = random.random() < 0.5, int(random.binomial(VOTES, random.beta(sharp, sharp)))
            known = random.random() < 0.6
            said, votes = passes > VOTES / 2, max(passes, VOTES - passes)
            truth = said if random.random() < 0.5 + 0.5 * (votes / VOTES) ** 2 else truth
            sure.append(votes)
            right.append(bool(said == truth) if known else None)
            gold = ("PASS" if truth else "FAIL") if known else None
            for vote in range(VOTES):
                verdict = "PASS" if vote < passes else "FAIL"
                rows.append(VerdictRow(case_id=f"c{case}", verdict=verdict, repetition=vote, gold=gold))
        wanted = Wanted(agreement=agreement, delta=delta)
        [given] = certify(
            rows, rule("majority"), wanted, Labels(name="people"), measured_at="2026-11-01T12:00:00+00:00"
        ).selections
        mine = certified(sure, right, agreement=agreement, delta=delta)
        assert (None if given.threshold is None else round(given.threshold * VOTES)) == mine
        assert (given.refusal is None) == (mine is not None)
        assert given.covered == (0 if mine is None else sum(votes >= mine for votes in sure))
        outcomes.append(mine)
    assert outcomes.count(None) >= 3
    assert len(set(outcomes)) >= 4
