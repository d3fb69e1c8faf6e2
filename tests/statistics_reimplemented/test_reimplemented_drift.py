"""The answers of daily drift checks written again from their definition, on random days of a noisy judge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from judgeharness_integrations import CalibrationSet, JudgeHarness
from judgeharness_integrations.analysis.calibration.drift import drift
from judgeharness_integrations.analysis.sequential import wrong_evidence

Floats = NDArray[np.float64]

ALPHA = 0.05
TILTS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)


def drifting(wrong: NDArray[np.int64]) -> Floats:
    """Evidence on each day t = 2, 3, ... over anchors i of w_it, wrong or not, with q_it the mean of w_i1 ... w_it.

    A bet with tilt h gains g_t = product over i of e^(h w_it) / (1 - q_it + q_it e^h). A sixth of the capital is for
    each h. The bet that begins on day t has 1 / (t (t - 1)) of that, on later days than the second e^-|h| as much; what
    is not bet is kept. E_t = kept + the mean over h of the sum over begun d <= t of stake_d * g_d * ... * g_t.
    """
    days = len(wrong)
    gains = np.ones((len(TILTS), days + 1))
    for t in range(2, days + 1):
        q = wrong[:t].mean(axis=0)
        for place, h in enumerate(TILTS):
            gains[place, t] = np.prod(np.exp(h * wrong[t - 1]) / (1 - q + q * np.exp(h)))
    evidence = []
    for t in range(2, days + 1):
        total = 0.0
        for place, h in enumerate(TILTS):
            stakes = {d: (1.0 if d == 2 else np.exp(-abs(h))) / (d * (d - 1)) for d in range(2, t + 1)}
            total += 1 - sum(stakes.values()) + sum(stakes[d] * np.prod(gains[place, d : t + 1]) for d in stakes)
        evidence.append(total / len(TILTS))
    return np.array(evidence)


@pytest.mark.parametrize("later", [0.1, 0.3, 0.8])
def test_the_evidence_of_drift_bets_every_day_against_all_days_so_far(later: float) -> None:
    random = np.random.default_rng(9)
    for _ in range(10):
        days, anchors = int(random.integers(2, 40)), int(random.integers(1, 50))
        noise = np.where(np.arange(days) < days // 2, 0.1, later)[:, None]
        wrong = (random.random((days, anchors)) < noise).astype(np.int64)
        np.testing.assert_allclose(wrong_evidence(wrong), drifting(wrong), rtol=1e-10)


def test_the_first_check_has_half_of_alpha_and_the_evidence_of_later_ones_the_other_half() -> None:
    """First: the exact two-sided sign test of worse against better gives p <= alpha / 2; later: E_t >= 2 / alpha."""
    random = np.random.default_rng(12)
    harness = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority")
    cases = [{"case_id": f"c{place}", "output": str(place)} for place in range(20)]
    labels = CalibrationSet("people", [(case, "PASS") for case in cases])
    answers = []
    for later in (0.1, 0.4, 0.6, 0.7):
        chances = [0.1, later, *[max(later, 0.1)] * 6]
        wrong = np.array([random.random(len(cases)) < chance for chance in chances]).astype(np.int64)
        days = [
            harness.calibrate(lambda case, day=day: "FAIL" if day[int(case["output"])] else "PASS", labels)
            for day in wrong
        ]
        for day in range(1, len(days)):
            past = [
                {(case["case_id"], "verdict"): float(w) for case, w in zip(cases, one, strict=True)} for one in wrong
            ]
            found = drift(days[0], days[day].items, anchors=None, alpha=ALPHA, past=past[1:day]).criteria["verdict"]
            worse, better = int((wrong[day] > wrong[0]).sum()), int((wrong[day] < wrong[0]).sum())
            p = binomtest(worse, worse + better).pvalue if worse + better else 1.0
            evidence = float(drifting(wrong[: day + 1])[-1])
            drifted = p <= ALPHA / 2 if day == 1 else evidence >= 2 / ALPHA
            np.testing.assert_allclose(found.p, p, rtol=1e-9)
            assert (found.answer == "drifted") == drifted
            answers.append((day == 1, drifted))
            if day > 1:
                assert found.evidence is not None
                np.testing.assert_allclose(found.evidence, evidence, rtol=1e-9)
                assert found.evidence_needed == 2 / ALPHA
    assert len(set(answers)) == 4
