"""Newton's method of the order effect from a poor start, and where it gives up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.drawn_credits import rasch_credits

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking import contrasts as conditionalfit
from judgeharness_integrations.analysis.ranking import contrasts as conditionalnewton
from judgeharness_integrations.analysis.ranking import (
    contrasts as ordereffect,
)
from judgeharness_integrations.analysis.ranking import (
    jointfit as newton,
)
from judgeharness_integrations.analysis.ranking.jointfit import fit_joint, joint_model, patterns_of

ABILITY = [-0.5, 0.0, 0.5]
FIRST = rasch_credits(np.random.default_rng(1), ABILITY, 60)
SECOND = rasch_credits(np.random.default_rng(2), ABILITY, 60)
KEPT = FIRST.of_pairs(~FIRST.unanimous)


def test_a_poor_start_is_brought_home_by_shorter_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ordereffect.order_effect(FIRST, SECOND)
    monkeypatch.setattr(conditionalnewton, "_LONGEST_STEP", 1e6)
    monkeypatch.setattr(ordereffect, "_start", lambda *_: np.array([0.0, 0.0, 0.0, 6.0]))
    found = ordereffect.order_effect(FIRST, SECOND)
    assert known is not None
    assert found is not None
    assert (found.elo, found.se) == pytest.approx((known.elo, known.se))


def test_a_poor_start_of_the_conditional_fit_is_brought_home_too(monkeypatch: pytest.MonkeyPatch) -> None:
    known = conditionalfit.fit_conditional(KEPT)
    joint = newton.maximise(joint_model(patterns_of(KEPT.values)))
    assert joint is not None
    monkeypatch.setattr(conditionalnewton, "_LONGEST_STEP", 1e6)
    monkeypatch.setattr(conditionalfit, "maximise", lambda _: replace(joint, ability=np.array([6.0, -3.0, -3.0])))
    assert conditionalfit.fit_conditional(KEPT).theta == pytest.approx(known.theta, abs=1e-8)


def test_a_joint_fit_that_no_shorter_step_improves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "_LONGEST_STEP", 1e6)
    monkeypatch.setattr(newton, "_SHORTEST", 2.0)
    monkeypatch.setattr(newton, "_start", lambda model: (np.array([3.0, -1.5, -1.5]), 0 * model.total, 0.0))
    with pytest.raises(UsageError, match="has no finite maximum here"):
        fit_joint(KEPT)


@pytest.mark.parametrize("room", [newton, conditionalnewton])
def test_an_effect_that_is_not_reached_is_none(monkeypatch: pytest.MonkeyPatch, room: object) -> None:
    monkeypatch.setattr(room, "_MOST_STEPS", 1)
    assert ordereffect.order_effect(FIRST, SECOND) is None


@pytest.mark.parametrize("room", [newton, conditionalnewton])
def test_a_fit_that_is_not_reached_is_refused(monkeypatch: pytest.MonkeyPatch, room: object) -> None:
    monkeypatch.setattr(room, "_MOST_STEPS", 1)
    with pytest.raises(UsageError, match="has no finite maximum here"):
        conditionalfit.fit_conditional(KEPT)
