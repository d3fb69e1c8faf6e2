"""Calibration maps: fitted, chosen out of fold, kept as numbers in JSON, and applied without the libraries that fit."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from support.planted_probabilities import pairs, planted, sigmoid

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.probability import Forecasts, ProbabilityMap, choose, cross_fit, fit, mapped
from judgeharness_integrations.analysis.probability.maps import KINDS, MapKind
from judgeharness_integrations.analysis.probability.report import candidates, fold_of

OPTIONS = ("PASS", "FAIL")
FITTED = {kind: fit(planted(600, 1, slope=2, bias=0.8)[0], kind) for kind in KINDS}


def true_error(found: Forecasts, truth: Any, by: ProbabilityMap) -> float:
    return float(np.abs(mapped(found, by).probabilities[:, 0] - truth).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_is_numbers_in_json(kind: MapKind) -> None:
    one = FITTED[kind]
    assert ProbabilityMap.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert one.kind == kind
    assert one.labels == 600


@pytest.mark.parametrize("kind", KINDS)
@given(p=st.floats(0, 1))
def test_every_map_makes_a_distribution_and_keeps_the_order(kind: MapKind, p: float) -> None:
    one = FITTED[kind]
    answer = one.apply({"FAIL": 1 - p, "PASS": p})
    assert list(answer) == list(OPTIONS)
    assert sum(answer.values()) == pytest.approx(1)
    assert all(0 <= value <= 1 for value in answer.values())
    assert answer["PASS"] <= one.apply({"PASS": min(1.0, p + 0.1), "FAIL": max(0.0, 0.9 - p)})["PASS"] + 1e-9


def test_no_map_changes_nothing() -> None:
    assert FITTED["none"].apply({"PASS": 0.0, "FAIL": 1.0}) == {"PASS": 0.0, "FAIL": 1.0}


def test_a_map_of_three_options_by_hand() -> None:
    one = ProbabilityMap(
        kind="temperature+bias", options=("A", "B", "TIE"), temperature=2.0, biases=(0.0, 0.5, -0.5), labels=9
    )
    powers = np.sqrt([0.6, 0.3, 0.1]) * np.exp([0, 0.5, -0.5])
    assert list(one.apply({"A": 0.6, "B": 0.3, "TIE": 0.1}).values()) == pytest.approx((powers / powers.sum()).tolist())
    assert str(one) == "temperature 2, bias A +0.000, B +0.500, TIE -0.500"


def test_maps_say_what_they_are() -> None:
    assert str(FITTED["none"]) == "no map: the probabilities as they are"
    assert str(FITTED["temperature"]).startswith("temperature 2.2")
    assert str(FITTED["isotonic"]) == f"isotonic, {len(FITTED['isotonic'].knots)} knots"


def test_a_map_of_another_question_is_refused() -> None:
    with pytest.raises(UsageError, match="'A' is none of the options PASS, FAIL"):
        FITTED["temperature"].apply({"A": 0.5, "B": 0.5})


BROKEN: list[tuple[MapKind, dict[str, Any], str]] = [
    ("none", {"kind": "beta"}, "kind"),
    ("none", {"options": ["PASS"]}, "options"),
    ("none", {"options": ["PASS", "PASS"]}, "options"),
    ("isotonic", {"options": ["A", "B", "TIE"]}, "options"),
    ("temperature", {"temperature": 0.0}, "temperature"),
    ("temperature", {"temperature": float("nan")}, "temperature"),
    ("temperature", {"biases": [0.1, 0.2]}, "biases"),
    ("temperature+bias", {"biases": []}, "biases"),
    ("temperature+bias", {"biases": [0.1, "0.2"]}, "biases"),
    ("none", {"labels": -1}, "labels"),
    ("none", {"knots": [[0.1, 0.2]]}, "knots"),
    ("isotonic", {"knots": []}, "knots"),
    ("isotonic", {"knots": [[0.1, 0.5], [0.2, 0.4]]}, "knots"),
    ("isotonic", {"knots": [[0.1, 0.5], [0.1, 0.6]]}, "knots"),
    ("isotonic", {"knots": [[0.1, 1.5]]}, "knots"),
]


@pytest.mark.parametrize(("kind", "change", "key"), BROKEN)
def test_what_is_no_map_is_refused_with_the_key(kind: MapKind, change: dict[str, Any], key: str) -> None:
    with pytest.raises(UsageError, match=f"'{key}' of a calibration map is missing or holds no part of one"):
        ProbabilityMap.from_dict(FITTED[kind].to_dict() | change)


def test_a_map_without_a_key_is_refused() -> None:
    with pytest.raises(UsageError, match="'kind' of a calibration map"):
        ProbabilityMap.from_dict({})


def test_a_map_is_applied_without_numpy_scipy_and_scikit_learn() -> None:
    program = (
        "import json, sys\n"
        "from judgeharness_integrations.analysis.probability.maps import ProbabilityMap\n"
        f"one = ProbabilityMap.from_dict(json.loads({json.dumps(FITTED['isotonic'].to_dict())!r}))\n"
        "print(one.apply({'PASS': 0.5, 'FAIL': 0.5})['PASS'], 'numpy' in sys.modules, 'scipy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    value, *loaded = ran.stdout.split()
    assert float(value) == FITTED["isotonic"].apply({"PASS": 0.5, "FAIL": 0.5})["PASS"]
    assert loaded == ["False", "False"]


def test_the_isotonic_map_is_that_of_scikit_learn() -> None:
    found, _ = planted(700, 2, slope=2)
    p, y = found.event
    ends = 1 / 702
    theirs = IsotonicRegression(y_min=ends, y_max=1 - ends, out_of_bounds="clip").fit(p, y)
    grid = np.r_[p.min() / 2, np.linspace(0, 1, 301)]
    ours = mapped(pairs(grid, grid), fit(found, "isotonic")).probabilities[:, 0]
    assert ours == pytest.approx(theirs.predict(grid), abs=1e-9)


def test_temperature_and_bias_are_platts_map_of_scikit_learn_where_nothing_shrinks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from judgeharness_integrations.analysis.probability import report

    monkeypatch.setattr(report, "SHRINKAGE", 1e6)
    found, _ = planted(2000, 3, slope=2, bias=0.8, spread=1.0)
    p = np.clip(found.event[0], 0.01, 0.99)
    found = pairs(p, found.event[1])
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(np.log(p / (1 - p))[:, None], found.event[1])
    ours = fit(found, "temperature+bias")
    assert 1 / ours.temperature == pytest.approx(platt.coef_[0, 0], rel=0.01)
    assert ours.biases[0] - ours.biases[1] == pytest.approx(platt.intercept_[0], abs=0.01)


def test_five_labels_hardly_move_a_map() -> None:
    found = pairs(np.array([0.9, 0.8, 0.9, 0.7, 0.95]), np.zeros(5))
    one = fit(found, "temperature+bias")
    assert one.temperature < 4
    assert abs(one.biases[0]) < 1.5
    assert sum(one.biases) == pytest.approx(0, abs=1e-6)


def test_an_inverted_judge_is_not_turned_round() -> None:
    found, _ = planted(500, 4)
    inverted = found.answered(found.probabilities[:, ::-1])
    one = fit(inverted, "temperature+bias")
    assert one.temperature > 5
    assert one.apply({"PASS": 0.9, "FAIL": 0.1})["PASS"] >= one.apply({"PASS": 0.1, "FAIL": 0.9})["PASS"]


def test_isotonic_is_of_two_options_and_from_500_clusters_on() -> None:
    found, _ = planted(500, 5)
    assert candidates(found) == KINDS
    assert "isotonic" not in candidates(found.part(np.arange(500) < 499))
    random = np.random.default_rng(6)
    three = Forecasts(
        options=("A", "B", "TIE"),
        probabilities=random.dirichlet(np.ones(3), 600),
        labels=np.eye(3)[random.integers(3, size=600)],
        clusters=tuple(range(600)),
    )
    assert "isotonic" not in candidates(three)
    with pytest.raises(UsageError, match="an isotonic map is one of two options, not 3"):
        fit(three, "isotonic")
    assert choose(three).map.kind in KINDS[:3]


def test_folds_hold_whole_clusters_and_do_not_depend_on_the_order() -> None:
    found, _ = planted(60, 7)
    keys = tuple(f"case {number // 3}" for number in range(60))
    grouped = pairs(found.event[0], found.event[1], keys)
    folds = fold_of(grouped)
    assert np.bincount(folds).tolist() == [12] * 5
    assert all(len({fold for fold, key in zip(folds, keys, strict=True) if key == one}) == 1 for one in keys)
    order = np.random.default_rng(8).permutation(60)
    turned = pairs(found.event[0][order], found.event[1][order], tuple(keys[place] for place in order))
    assert fold_of(turned).tolist() == folds[order].tolist()
    assert fold_of(grouped, seed=1).tolist() != folds.tolist()
    assert cross_fit(turned).mapped.probabilities == pytest.approx(cross_fit(grouped).mapped.probabilities[order])


def test_one_cluster_fits_no_map() -> None:
    one = pairs(np.array([0.1, 0.9]), np.array([0.0, 1.0]), ("a", "a"))
    for folds, clusters in ((5, ("a", "a")), (1, ("a", "b"))):
        with pytest.raises(UsageError, match="takes labels of two clusters and two folds or more"):
            choose(pairs(one.event[0], one.event[1], clusters), folds=folds)


def test_of_two_clusters_each_fold_is_left_with_one_and_keeps_the_simplest_map() -> None:
    two = pairs(np.array([0.1, 0.9]), np.array([0.0, 1.0]))
    assert cross_fit(two).kinds == {"none": 2}


def test_no_label_is_mapped_by_a_map_that_saw_it() -> None:
    found, _ = planted(100, 9, slope=2)
    before = cross_fit(found).mapped.probabilities
    changed = found.labels.copy()
    changed[17] = 1 - changed[17]
    other = Forecasts(options=found.options, probabilities=found.probabilities, labels=changed, clusters=found.clusters)
    after = cross_fit(other).mapped.probabilities
    fold = fold_of(found)
    assert (before[fold == fold[17]] == after[fold == fold[17]]).all()
    assert not np.allclose(before[fold != fold[17]], after[fold != fold[17]])


def test_the_choice_is_made_out_of_fold_and_said() -> None:
    chosen = choose(planted(500, 10, slope=2, bias=0.8)[0])
    assert chosen.map.kind == "temperature+bias"
    assert list(chosen.scores) == list(KINDS)
    assert chosen.scores["temperature+bias"] == min(chosen.scores.values())
    assert choose(planted(500, 10)[0], kinds=["none"]).map.kind == "none"


PLANTS = [{"slope": 2.0}, {"slope": 2.0, "bias": 0.8}, {"slope": 0.5, "bias": -0.5}, {"bias": 1.0}, {"slope": 1.0}]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_the_true_error_after_the_map_is_below_three_hundredths(plant: dict[str, float]) -> None:
    errors = []
    for seed in range(21):
        found, truth = planted(500, seed, **plant)  # type: ignore[arg-type]
        errors.append(true_error(found, truth, choose(found).map))
    assert np.median(errors) < 0.03


def test_a_map_learnt_from_soft_labels_of_twenty_people_is_nearer_to_the_truth() -> None:
    errors = []
    for seed in range(11):
        random = np.random.default_rng(seed)
        z = random.normal(0, 1.5, 200)
        found = pairs(sigmoid(2 * z + 0.8).round(2), random.binomial(20, sigmoid(z)) / 20)
        errors.append(true_error(found, sigmoid(z), choose(found).map))
    assert np.median(errors) < 0.015


def test_another_judges_map_makes_calibrated_probabilities_worse() -> None:
    found, truth = planted(1000, 11)
    assert true_error(found, truth, FITTED["temperature+bias"]) > true_error(found, truth, FITTED["none"]) + 0.05
