"""The verdict on a judge's probabilities: worthless judges fail it, planted ones pass it with a map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.planted_probabilities import pairs, planted, sigmoid, worthless

from judgeharness_integrations.analysis.probability import Forecasts, assess, report
from judgeharness_integrations.analysis.probability.report import too_few
from judgeharness_integrations.analysis.statistics.means import Estimate

WORTHLESS = ("constant", "base_rate", "shuffled", "certain")


@pytest.mark.parametrize("kind", WORTHLESS)
def test_a_worthless_judge_fails(kind: str) -> None:
    for seed in range(2):
        found = assess(worthless(kind, 100, seed), seed=seed)
        assert not found.passes
        assert any("skill over the base rate" in reason for reason in found.reasons)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("n", [100, 500])
@pytest.mark.parametrize("kind", WORTHLESS)
def test_worthless_judges_pass_in_less_than_25_of_1000_samples(kind: str, n: int) -> None:
    passed = [assess(worthless(kind, n, seed), seed=seed).passes for seed in range(320)]
    assert np.mean(passed) <= 0.025


def test_a_good_judge_that_is_overconfident_passes_with_its_map_alone() -> None:
    found = assess(planted(500, 1, slope=2, bias=0.8)[0])
    assert found.passes
    assert found.reasons == ()
    assert found.raw.calibration.over
    assert not found.mapped.calibration.over
    assert found.map.kind == "temperature+bias"
    assert sum(found.kinds.values()) == found.folds == 5
    assert found.n == found.clusters == 500
    assert found.base_rates["PASS"] + found.base_rates["FAIL"] == pytest.approx(1)
    assert found.mapped.log_score < found.raw.log_score
    assert found.mapped.murphy.reliability < found.raw.murphy.reliability
    assert sum(point.n for point in found.mapped.curve) == 500


@pytest.mark.sampled(3)
@pytest.mark.parametrize("plant", [{"slope": 2.0}, {"slope": 2.0, "bias": 0.8}, {"slope": 0.5, "bias": -0.5}], ids=str)
def test_the_excess_error_out_of_fold_holds_0(plant: dict[str, float]) -> None:
    errors = [assess(planted(500, seed, **plant)[0]).mapped.calibration for seed in range(12)]  # type: ignore[arg-type]
    assert sum(error.over for error in errors) <= 1


def test_a_judge_of_three_options_is_measured() -> None:
    random = np.random.default_rng(2)
    truth = random.dirichlet(np.full(3, 0.5), 400)
    labels = np.eye(3)[[random.choice(3, p=row) for row in truth]]
    sharp = truth**2 * [1.0, 2.0, 0.5] + 1e-9
    judge = Forecasts(
        options=("A", "B", "TIE"),
        probabilities=(sharp / sharp.sum(axis=1, keepdims=True)).round(3),
        labels=labels,
        clusters=tuple(range(400)),
    )
    found = assess(judge)
    assert found.passes
    assert found.auc_change is None
    assert found.map.kind == "temperature+bias"
    assert found.map.temperature == pytest.approx(0.5**-1, rel=0.35)


@pytest.mark.slow
def test_a_judge_with_little_skill_is_told_how_many_labels_would_show_it() -> None:
    weak = {"slope": 2.0, "spread": 0.8}
    found = [assess(planted(100, seed, **weak)[0]) for seed in range(12)]  # type: ignore[arg-type]
    assert all(one.labels_needed is None for one in found if one.passes)
    told = [one.labels_needed for one in found if one.labels_needed is not None]
    assert len(told) >= 4
    assert all(number > 100 for number in told)
    many = int(np.median(told))
    assert np.mean([assess(planted(many, seed, **weak)[0]).passes for seed in range(12)]) >= 0.8  # type: ignore[arg-type]


def test_no_number_of_labels_shows_a_skill_that_is_not_there() -> None:
    for kind in ("constant", "base_rate"):
        assert assess(worthless(kind, 100, 1)).labels_needed is None
    assert assess(pairs(np.linspace(0.6, 0.9, 40), np.ones(40))).labels_needed is None


def test_copies_of_a_few_cases_do_not_pass() -> None:
    few = worthless("shuffled", 8, 3)
    p, y = np.repeat(few.event[0], 40), np.repeat(few.event[1], 40)
    found = assess(pairs(p, y, tuple(np.repeat(np.arange(8), 40).tolist())))
    assert found.reasons[0] == "8 independent labels tell too little: label 30 cases or more."


def test_labels_that_are_all_the_same_show_nothing() -> None:
    found = assess(pairs(np.linspace(0.6, 0.9, 40), np.ones(40)))
    assert found.reasons == ("all labels are the same: nothing shows that the judge tells them apart.",)


def test_a_map_that_loses_order_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = Estimate(value=-0.1, low=-0.15, high=-0.05, n=100)
    monkeypatch.setattr(report, "auc_change", lambda *_: lost)
    monkeypatch.setattr(report, "resolution_change", lambda *_, bins: replace(lost, high=0.01))
    assert assess(planted(300, 4)[0]).reasons == (
        "the map changes the area under the ROC curve by -0.100 [-0.150, -0.050]: it is worse than raw.",
    )


def test_probabilities_that_no_map_mends_fail_by_their_calibration_error() -> None:
    random = np.random.default_rng(5)
    z = random.normal(0, 2, 3000)
    y = (random.random(3000) < sigmoid(2 * z)).astype(float)
    bent = sigmoid(np.where(z > 0, 4 * z, z / 4 - 2))
    judge = Forecasts(
        options=("A", "B", "C"),
        probabilities=np.c_[bent, (1 - bent) / 2, (1 - bent) / 2],
        labels=np.c_[y, (1 - y) * (np.arange(3000) % 2), (1 - y) * ((np.arange(3000) + 1) % 2)],
        clusters=tuple(range(3000)),
    )
    [reason] = assess(judge).reasons
    assert reason.startswith("the calibration error, ")
    assert reason.endswith("of a perfect judge at this n.")


def test_the_same_seed_gives_the_same_report_whatever_the_order() -> None:
    found, _ = planted(120, 6)
    p, y = found.event
    names = tuple(f"case {number}" for number in range(120))
    order = np.random.default_rng(7).permutation(120)
    one, other = assess(pairs(p, y, names)), assess(pairs(p[order], y[order], tuple(names[i] for i in order)))
    assert one.mapped.brier_skill == pytest.approx(other.mapped.brier_skill) or (
        one.mapped.brier_skill is not None
        and other.mapped.brier_skill is not None
        and one.mapped.brier_skill.value == pytest.approx(other.mapped.brier_skill.value)
    )
    assert one.passes == other.passes


def test_one_label_tells_too_little() -> None:
    assert too_few(1) == "1 independent label tells too little: label 30 cases or more"
