"""Judged rates corrected with labels: golden values, ppi-python, by hand, and every trap that was met."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import ppi_py
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.calibration.corrected import (
    CorrectedRate,
    corrected_rate,
    corrected_rate_of_counts,
)
from judgeharness_integrations.analysis.calibration.estimators import ppi_plus_plus, tenenbein
from judgeharness_integrations.analysis.calibration.rogangladen import Sample, rogan_gladen

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "golden" / "corrected_rate.json").read_text())


def sample(labels: list[bool], judged: list[bool], rest: list[bool], clusters: list[int] | None = None) -> Sample:
    n, total = len(labels), len(labels) + len(rest)
    keys = list(range(total)) if clusters is None else clusters
    return Sample(
        labels=np.array(labels, dtype=bool),
        judged=np.array(judged, dtype=bool),
        rest=np.array(rest, dtype=bool),
        label_clusters=keys[:n],
        rest_clusters=keys[n:],
    )


def drawn(  # noqa: PLR0917 - a truth
    rng: np.random.Generator, rate: float, sensitivity: float, specificity: float, n: int, total: int
) -> Sample:
    truth = rng.random(total) < rate
    judged = np.where(truth, rng.random(total) < sensitivity, rng.random(total) >= specificity)
    return sample(truth[:n].tolist(), judged[:n].tolist(), judged[n:].tolist())


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"p={case['p']}")
def test_rogan_gladen_and_both_intervals_are_golden(case: dict[str, Any]) -> None:
    found = rogan_gladen(
        judged=case["p"],
        n=case["n"],
        sensitivity=case["q1"],
        positives=case["m1"],
        specificity=case["q0"],
        negatives=case["m0"],
    )
    assert found is not None
    assert found.lee is not None
    assert found.raw == pytest.approx(case["theta_raw"], abs=1e-12)
    assert min(1.0, max(0.0, found.raw)) == pytest.approx(case["theta_clipped"], abs=1e-12)
    assert found.se == pytest.approx(case["delta_se"], abs=1e-12)
    assert found.delta == pytest.approx(case["delta_ci"], abs=1e-12)
    assert [min(1.0, max(0.0, end)) for end in found.lee] == pytest.approx(case["lee_ci"], abs=1e-12)


def of_golden(case: dict[str, Any]) -> CorrectedRate:
    return corrected_rate_of_counts(
        judged_passes=round(case["p"] * case["n"]),
        judged_total=case["n"],
        sensitivity=(round(case["q1"] * case["m1"]), case["m1"]),
        specificity=(round(case["q0"] * case["m0"]), case["m0"]),
        labels_are="other_mix",
    )


def test_counts_of_another_mix_choose_rogan_gladen_with_the_lee_interval() -> None:
    report = of_golden(GOLDEN[0])
    assert report.best is not None
    assert report.chosen == "rogan_gladen"
    assert report.best.estimate == pytest.approx(1 / 6)
    assert report.best.interval == pytest.approx(GOLDEN[0]["lee_ci"])
    assert report["rogan_gladen_delta"].interval == pytest.approx(GOLDEN[0]["delta_ci"])
    assert str(report.judged).endswith("(400/1000)")
    assert (report.items, report.labelled, report.clusters) == (1000, 400, None)
    assert report.best.basis == "400/1000 judged positive, sensitivity 180/200, specificity 140/200"
    assert not any("alone" in note for note in report.notes)  # labels of another mix know nothing of these items


def test_a_correction_outside_0_to_1_says_so_and_has_no_zero_width_interval() -> None:
    report = of_golden(GOLDEN[-1])
    assert GOLDEN[-1]["lee_ci"] == [0.0, 0.0]
    best = report.best
    assert best is not None
    assert best.outside
    assert (best.estimate, best.interval) == (0.0, None)
    assert best.raw == pytest.approx(-0.1)
    assert best.raw_high is not None
    assert best.raw_high < 0
    assert any("lies outside [0, 1]" in note for note in report.notes)
    delta = report["rogan_gladen_delta"]
    assert delta.outside
    assert (delta.estimate, delta.interval, delta.raw_low) == (0.0, None, None)
    assert delta.reason == (
        "no interval: it holds from 10 items of each kind on, and there are 4 unlabelled items judged positive"
    )
    reaching = corrected_rate_of_counts(
        judged_passes=40, judged_total=500, sensitivity=(90, 100), specificity=(90, 100), labels_are="other_mix"
    )
    told = reaching["rogan_gladen_delta"]  # its interval still reaches into [0, 1]
    assert told.outside
    assert told.interval is not None
    assert told.interval[0] == 0.0


@pytest.mark.parametrize(
    ("sensitivity", "specificity", "reason"),
    [
        ((10, 20), (10, 20), "sensitivity and specificity sum to 1 or less"),
        ((3, 10), (7, 10), "sensitivity and specificity sum to 1 or less"),
        ((2, 10), (5, 10), "sensitivity and specificity sum to 1 or less"),
        ((0, 0), (7, 10), "no labelled item is positive"),
        ((7, 10), (0, 0), "no labelled item is negative"),
    ],
)
def test_a_judge_that_tells_nothing_apart_corrects_nothing(
    sensitivity: tuple[int, int], specificity: tuple[int, int], reason: str
) -> None:
    report = corrected_rate_of_counts(
        judged_passes=40, judged_total=100, sensitivity=sensitivity, specificity=specificity, labels_are="other_mix"
    )
    assert report.chosen is None
    assert not report["rogan_gladen"].applicable
    assert report["rogan_gladen"].reason.startswith(reason)
    assert report["rogan_gladen"].interval is None
    assert report.notes[0].startswith(f"nothing can be chosen: {reason}")
    chance = any("no better than chance" in note for note in report.notes)
    assert chance == (sensitivity[1] > 0 and specificity[1] > 0)
    assert rogan_gladen(judged=0.4, n=0, sensitivity=0.9, positives=9, specificity=0.9, negatives=9) is None


def test_a_judge_that_may_be_a_coin_is_called_one() -> None:
    report = corrected_rate_of_counts(
        judged_passes=50, judged_total=100, sensitivity=(6, 10), specificity=(5, 10), labels_are="other_mix"
    )
    assert any("cannot tell the judge from chance" in note for note in report.notes)
    tiny = rogan_gladen(judged=0.5, n=100, sensitivity=0.5, positives=2, specificity=0.501, negatives=1000)
    assert tiny is not None
    assert tiny.lee is not None
    least = rogan_gladen(judged=0.5, n=100, sensitivity=1.0, positives=1, specificity=0.01, negatives=1000)
    assert least is not None
    assert least.lee is None  # with two more items a class it is no better than chance
    without = corrected_rate_of_counts(
        judged_passes=50, judged_total=100, sensitivity=(1, 1), specificity=(10, 1000), labels_are="other_mix"
    )
    assert without.chosen is None
    assert without["rogan_gladen"].reason.startswith("no interval")
    assert without["rogan_gladen_delta"].outside


def test_abstentions_count_as_not_positive_or_the_rate_is_another_one() -> None:
    """600 of 1000 items are PASS; the judge abstains on a tenth of them and on half of the others.

    Rogan and Gladen over decided items alone find the rate among decided items, .730 where the truth is .600.
    """
    rng, size = np.random.default_rng(18), 40_000
    truth = rng.random(size) < 0.6
    abstained = rng.random(size) < np.where(truth, 0.1, 0.5)
    passed = truth ^ (rng.random(size) < 0.1)  # nine of ten right, wherever it decides
    labels = [label if place % 4 == 0 else None for place, label in enumerate(truth.tolist())]
    report = corrected_rate(
        judged=(passed & ~abstained).tolist(), labels=labels, labels_are="other_mix", undecided=int(abstained.sum())
    )
    assert report.best is not None
    assert report.undecided == abstained.sum()
    assert report.best.estimate == pytest.approx(0.6, abs=0.015)
    decided = np.flatnonzero(~abstained).tolist()
    trap = corrected_rate(
        judged=passed[~abstained].tolist(), labels=[labels[place] for place in decided], labels_are="other_mix"
    )
    assert trap.best is not None
    assert trap.best.estimate == pytest.approx(0.730, abs=0.015)


random_samples = st.tuples(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40),
    st.lists(st.booleans(), min_size=1, max_size=60),
)


@pytest.mark.slow
@settings(max_examples=80)
@given(random_samples)
def test_ppi_plus_plus_is_ppi_pythons(data: tuple[list[tuple[bool, bool]], list[bool]]) -> None:
    pairs, rest = data
    y, f, u = (np.array(side, dtype=float) for side in (*zip(*pairs, strict=True), rest))
    assume(np.concatenate((f, u)).std() > 0)  # it divides by the variance of the decisions
    found = ppi_plus_plus(sample(*map(list, zip(*pairs, strict=True)), rest))  # type: ignore[arg-type]
    assert found is not None
    assert found.estimate == pytest.approx(ppi_py.ppi_mean_pointestimate(y, f, u).item(), abs=1e-12)
    low, high = (side.item() for side in ppi_py.ppi_mean_ci(y, f, u, alpha=0.05))
    if found.interval is None:
        assert low == pytest.approx(high, abs=1e-9)
    else:
        assert found.interval == pytest.approx((low, high), abs=1e-9)


def test_ppi_plus_plus_needs_labels_and_other_items() -> None:
    assert ppi_plus_plus(sample([True], [True], [True])) is None
    assert ppi_plus_plus(sample([True, False], [True, False], [])) is None
    constant = ppi_plus_plus(sample([True, False, True], [True] * 3, [True] * 5))
    assert constant is not None
    assert constant.weight == 0.0
    assert constant.estimate == pytest.approx(2 / 3)


def test_tenenbein_by_hand() -> None:
    """Labels of 40 of 200 items: 18 of 20 judged PASS are, 4 of 20 judged FAIL are; 60 of the other 160 are PASS."""
    found = tenenbein(
        sample(
            [True] * 18 + [False] * 2 + [True] * 4 + [False] * 16,
            [True] * 20 + [False] * 20,
            [True] * 60 + [False] * 100,
        )
    )
    assert found is not None
    share = 80 / 200
    value = share * 0.9 + (1 - share) * 0.2
    within = share * 0.9 * 0.1 + (1 - share) * 0.2 * 0.8
    reliability = 1 - within / (value * (1 - value))
    assert found.estimate == pytest.approx(value)
    assert found.reliability == pytest.approx(reliability)
    variance = value * (1 - value) * ((1 - reliability) / 40 + reliability / 200)
    assert found.se == pytest.approx(math.sqrt(variance))


def test_the_interval_of_tenenbein_adds_the_margins_of_each_answer_in_squares() -> None:
    """The labels of `test_tenenbein_by_hand`, Jeffreys' intervals by SciPy."""
    labels = [True] * 18 + [False] * 2 + [True] * 4 + [False] * 16
    found = tenenbein(sample(labels, [True] * 20 + [False] * 20, [True] * 60 + [False] * 100))
    assert found is not None
    value = 0.4 * 0.9 + 0.6 * 0.2
    shares = 1.959963984540054**2 * (0.4 * 0.9**2 + 0.6 * 0.2**2 - value**2) / 200
    for place, end in ((0.025, 0), (0.975, 1)):
        margins = [beta.ppf(place, 18.5, 2.5) - 0.9, beta.ppf(place, 4.5, 16.5) - 0.2]
        half = math.sqrt((0.4 * margins[0]) ** 2 + (0.6 * margins[1]) ** 2 + shares)
        assert found.interval is not None
        assert found.interval[end] == pytest.approx(value + (half if end else -half))


def test_no_decision_is_an_answer_of_its_own_where_five_labels_tell_its_rate() -> None:
    """Half of the items without a decision are good, of those judged bad a tenth: the mix of the two is told apart."""
    judged = [True] * 20 + [False] * 20 + [None] * 10
    labels = [True] * 20 + [True] * 2 + [False] * 18 + [True] * 5 + [False] * 5
    rest: list[bool | None] = [*[True] * 100, *[False] * 40, *[None] * 160]
    report = corrected_rate(judged=[*judged, *rest], labels=[*labels, *[None] * 300], labels_are="random")
    assert report.best is not None
    assert report.undecided == 170
    assert report.best.estimate == pytest.approx((120 * 1 + 60 * 0.1 + 170 * 0.5) / 350)
    assert report.best.basis.endswith("170 of all without a decision, an answer of its own")
    few = [True] * 20 + [False] * 26 + [None] * 4
    together = corrected_rate(judged=[*few, *rest], labels=[*labels, *[None] * 300], labels_are="random")
    assert together.best is not None
    assert together.best.estimate == pytest.approx((120 * 1 + 230 * 7 / 30) / 350)
    assert together.best.basis.endswith("100/300 other items judged positive")


def test_tenenbein_is_the_maximum_of_the_likelihood() -> None:
    rng = np.random.default_rng(4)
    data = drawn(rng, 0.4, 0.8, 0.7, 60, 300)
    found = tenenbein(data)
    assert found is not None

    def likelihood(rate: float, sensitivity: float, specificity: float) -> float:
        passed = {True: sensitivity, False: 1 - specificity}
        total = 0.0
        for label, judged in zip(data.labels.tolist(), data.judged.tolist(), strict=True):
            chance = passed[label] if judged else 1 - passed[label]
            total += math.log((rate if label else 1 - rate) * chance)
        share = rate * sensitivity + (1 - rate) * (1 - specificity)
        return total + sum(math.log(share if judged else 1 - share) for judged in data.rest.tolist())

    judged_share = (data.judged.sum() + data.rest.sum()) / 300
    if_passed, if_failed = (float(data.labels[data.judged == side].mean()) for side in (True, False))
    rate = found.estimate
    best = likelihood(rate, judged_share * if_passed / rate, (1 - judged_share) * (1 - if_failed) / (1 - rate))
    for step in np.random.default_rng(5).normal(scale=0.01, size=(40, 3)):
        moved = np.array([rate, judged_share * if_passed / rate, (1 - judged_share) * (1 - if_failed) / (1 - rate)])
        assert likelihood(*(moved + step)) < best


def test_tenenbein_needs_labels_of_both_answers_that_were_given() -> None:
    assert tenenbein(sample([], [], [True])) is None
    assert tenenbein(sample([True, True], [True, True], [False])) is None
    never = tenenbein(sample([True, False], [True, True], [True]))
    assert never is not None
    assert never.estimate == 0.5
    nobody = tenenbein(sample([False, False], [True, False], [False] * 9))
    assert nobody is not None
    assert (nobody.estimate, nobody.se, nobody.reliability) == (0.0, None, None)
    assert nobody.interval is not None
    assert nobody.interval[0] == 0.0
    assert nobody.interval[1] > 0.3


@pytest.mark.parametrize(("labels_are", "chosen"), [("random", "tenenbein"), ("other_mix", "rogan_gladen")])
def test_the_declared_assumption_chooses(labels_are: Any, chosen: str) -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(500) < 0.6
    judged = np.where(truth, rng.random(500) < 0.9, rng.random(500) < 0.2).tolist()
    labels = [bool(label) if place % 5 == 0 else None for place, label in enumerate(truth)]
    report = corrected_rate(judged=judged, labels=labels, labels_are=labels_are)
    assert report.chosen == chosen
    assert report.judged is not None
    assert report.judged.trials == report.items == (500 if labels_are == "random" else 400)
    assert [estimate.method for estimate in report.estimates] == [
        "labels_alone",
        "ppi_plus_plus",
        "tenenbein",
        "rogan_gladen",
        "rogan_gladen_delta",
    ]
    assert all(estimate.applicable for estimate in report.estimates)
    document = report.to_dict()
    assert document["schema"] == "judgeharness.corrected_rate/1"
    assert [one["method"] for one in document["estimates"] if one["chosen"]] == [chosen]
    assert json.loads(json.dumps(document, allow_nan=False)) == json.loads(json.dumps(document))
    undeclared = corrected_rate(judged=judged, labels=labels)
    assert (undeclared.chosen, undeclared.best) == (None, None)
    assert undeclared.notes[0].startswith("nothing is chosen")


def test_the_worth_of_a_good_judge_is_said_in_labels() -> None:
    report = of_sample(np.random.default_rng(2), 0.5, 0.9, 0.9, 100, 2000)
    assert any(note.startswith("with the judge, the 100 labels are worth as much as ") for note in report.notes)
    best, powered = report.best, report["ppi_plus_plus"]
    assert best is not None
    assert best.se is not None
    alone = report["labels_alone"]
    assert alone.se is not None
    assert best.se < alone.se
    assert powered.weight is not None
    assert 0 < powered.weight < 1


def test_a_judge_that_has_not_erred_yet_is_worth_what_its_interval_says() -> None:
    judged = [True] * 6 + [False] * 2 + [True] * 76 + [False] * 36
    report = corrected_rate(judged=judged, labels=[True] * 6 + [False] * 2 + [None] * 112, labels_are="random")
    alone, sampled = (report[name].interval for name in ("labels_alone", "tenenbein"))
    worth = 8 * ((alone[1] - alone[0]) / (sampled[1] - sampled[0])) ** 2
    assert f"with the judge, the 8 labels are worth as much as {worth:.0f} labels alone" in report.notes


def of_sample(  # noqa: PLR0917 - a truth
    rng: np.random.Generator, rate: float, sensitivity: float, specificity: float, n: int, total: int
) -> CorrectedRate:
    data = drawn(rng, rate, sensitivity, specificity, n, total)
    labels: list[bool | None] = [*data.labels.tolist(), *[None] * len(data.rest)]
    return corrected_rate(judged=[*data.judged.tolist(), *data.rest.tolist()], labels=labels, labels_are="random")


def test_a_judge_that_adds_nothing_is_told_so() -> None:
    against = corrected_rate(
        judged=[False, True] * 20 + [False, True] * 25, labels=[*[True, False] * 20, *[None] * 50], labels_are="random"
    )
    assert against["ppi_plus_plus"].weight == 0.0
    assert any("adds nothing over the 40 labels alone: its decisions do not" in note for note in against.notes)
    assert any("no better than chance" in note for note in against.notes)
    weak = of_sample(np.random.default_rng(3), 0.5, 0.55, 0.55, 200, 2000)
    assert any("adds nothing over the 200 labels alone: the interval gets" in note for note in weak.notes)
    everyone = corrected_rate(judged=[True, False] * 10, labels=[True, False] * 10, labels_are="random")
    assert everyone.chosen == "labels_alone"
    assert any("adds nothing over the labels alone: every item is labelled" in note for note in everyone.notes)
    assert not everyone["rogan_gladen"].applicable
    assert everyone["rogan_gladen"].reason == "every item is labelled: there is nothing to correct"


def test_plain_ppi_would_be_worse_than_labels_alone_for_a_weak_judge() -> None:
    """The reason for lambda: at lambda = 1 the noise of the judge comes on top of that of the labels."""
    data = drawn(np.random.default_rng(6), 0.5, 0.6, 0.6, 200, 4000)
    y, f, u = (side.astype(float) for side in (data.labels, data.judged, data.rest))
    plain = math.sqrt((y - f).var() / 200 + u.var() / len(u))
    found = ppi_plus_plus(data)
    assert found is not None
    assert found.se is not None
    assert found.labels_se is not None
    assert found.se <= found.labels_se < plain


def test_labels_without_spread_have_no_interval_by_ppi_and_labels_alone_are_chosen() -> None:
    judged = [*[True] * 48, *[False] * 2]
    report = corrected_rate(judged=judged, labels=[*[True] * 10, *[None] * 40], labels_are="random")
    assert report["ppi_plus_plus"].applicable
    assert report["ppi_plus_plus"].interval is None
    assert report["ppi_plus_plus"].reason
    assert report.chosen == "labels_alone"
    assert not report["tenenbein"].applicable
    assert report["tenenbein"].reason == "one of the judge's answers was never labelled"
    assert "what the judge adds cannot be told: the 10 labels are all alike" in report.notes
    assert not any("Tenenbein" in note or "do not go with" in note for note in report.notes)
    assert (report["labels_alone"].se, report["ppi_plus_plus"].se) == (None, None)


def test_one_cluster_of_labels_tells_nothing_of_the_judge() -> None:
    labels = [True, True, False, True, False, *[None] * 20]
    judged = [True, True, False, False, False, *[True, False] * 10]
    report = corrected_rate(judged=judged, labels=labels, clusters=["a"] * 5 + list(range(20)), labels_are="random")
    assert "what the judge adds cannot be told: the 5 labels are of one cluster" in report.notes
    assert report["labels_alone"].se is None
    none = corrected_rate(judged=judged, labels=[None] * 25, labels_are="random")
    assert "what the judge adds cannot be told: it needs two labels or more" in none.notes


def test_clusters_alike_make_no_interval_narrower_and_no_gain_of_it() -> None:
    """Pairs of one good and one bad item: the clustered error is 0, that of independent items is not."""
    labels = [True, False] * 20 + [None] * 40
    judged = [True, False] * 10 + [False, True] * 4 + [True, False] * 26
    report = corrected_rate(
        judged=judged, labels=labels, clusters=[place // 2 for place in range(80)], labels_are="random"
    )
    alone = report["labels_alone"]
    assert alone.se == pytest.approx(math.sqrt(0.25 / 40))
    widths = [one.interval[1] - one.interval[0] for one in (alone, report["ppi_plus_plus"])]
    told = any("are worth as much as" in note for note in report.notes)
    assert told == (widths[1] < 0.97 * widths[0])


def test_no_error_seen_is_no_delta_interval_of_width_zero() -> None:
    report = corrected_rate_of_counts(judged_passes=0, judged_total=50, sensitivity=(9, 9), specificity=(8, 8))
    delta = report["rogan_gladen_delta"]
    assert (delta.estimate, delta.se, delta.interval) == (0.0, None, None)
    assert delta.reason == "no error was seen and all items are judged alike: no interval can be told"
    assert report["rogan_gladen"].interval is not None


def test_counts_of_millions_are_quick_and_of_more_are_refused() -> None:
    many = corrected_rate_of_counts(
        judged_passes=400_000, judged_total=1_000_000, sensitivity=(180, 200), specificity=(140, 200)
    )
    assert many.judged.trials == 1_000_000
    with pytest.raises(UsageError, match="items are more than 10,000,000"):
        corrected_rate_of_counts(judged_passes=1, judged_total=999_999_999_999, sensitivity=(1, 1), specificity=(1, 1))


def test_labels_that_are_judged_like_the_others_may_be_a_random_sample() -> None:
    report = of_sample(np.random.default_rng(9), 0.5, 0.8, 0.8, 200, 1000)
    assert not any("hardly" in note or "contradict" in note for note in report.notes)
    constant = corrected_rate(judged=[True] * 9, labels=[True, False, True, *[None] * 6], labels_are="random")
    assert not any("hardly" in note for note in constant.notes)


def test_nothing_labelled_is_said_for_every_estimator() -> None:
    report = corrected_rate(judged=[True, False], labels=[None, None], labels_are="random")
    assert report.chosen is None
    assert not any(estimate.applicable for estimate in report.estimates)
    assert all(estimate.reason and estimate.estimate is None for estimate in report.estimates)
    assert report["labels_alone"].reason == "no item is labelled"
    assert report.judged is not None
    nothing = corrected_rate(judged=[], labels=[], labels_are="other_mix")
    assert nothing["rogan_gladen"].reason == "no unlabelled item was judged: there is nothing to correct"
    none = corrected_rate_of_counts(judged_passes=0, judged_total=0, sensitivity=(2, 2), specificity=(2, 2))
    assert none["ppi_plus_plus"].reason == nothing["rogan_gladen"].reason
    assert (nothing.judged, nothing.to_dict()["judged"]) == (None, None)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: corrected_rate(judged=[True], labels=[]), UsageError, "one label"),
        (lambda: corrected_rate(judged=[True], labels=[None], clusters=[]), UsageError, "one cluster"),
        (
            lambda: corrected_rate(judged=[True], labels=[None], labels_are="mixed"),  # type: ignore[arg-type]
            UnknownNameError,
            "sampling assumption 'mixed'",
        ),
        (
            lambda: corrected_rate_of_counts(judged_passes=5, judged_total=4, sensitivity=(1, 2), specificity=(1, 2)),
            UsageError,
            "5 of 4 is no count",
        ),
        (
            lambda: corrected_rate_of_counts(judged_passes=1, judged_total=4, sensitivity=(-1, 2), specificity=(1, 2)),
            UsageError,
            "-1 of 2 is no count",
        ),
    ],
)
def test_wrong_use_is_one_sentence(call: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_clusters_of_one_change_nothing() -> None:
    rng = np.random.default_rng(10)
    truth = (rng.random(300) < 0.5).tolist()
    judged = [label if chance < 0.85 else not label for label, chance in zip(truth, rng.random(300), strict=True)]
    labels = [label if place < 80 else None for place, label in enumerate(truth)]
    plain = corrected_rate(judged=judged, labels=labels, labels_are="random")
    alone = corrected_rate(judged=judged, labels=labels, clusters=list(range(300)), labels_are="random")
    assert alone == plain


def test_copies_of_items_tell_nothing_new() -> None:
    rng = np.random.default_rng(11)
    truth = (rng.random(200) < 0.5).tolist()
    judged = [label if chance < 0.85 else not label for label, chance in zip(truth, rng.random(200), strict=True)]
    labels = [label if place < 80 else None for place, label in enumerate(truth)]
    once = corrected_rate(judged=judged, labels=labels, labels_are="random")
    copied = corrected_rate(judged=judged * 3, labels=labels * 3, clusters=list(range(200)) * 3, labels_are="random")
    assert copied.clusters == 200
    for method in ("labels_alone", "ppi_plus_plus", "tenenbein"):
        first, again = once[method], copied[method]  # type: ignore[index]
        assert first.se is not None
        assert again.estimate == pytest.approx(first.estimate, abs=2e-3)
        assert again.se == pytest.approx(first.se, rel=0.05)
    assert copied["rogan_gladen"].reason == "its intervals take items for independent, which they are not"


def test_labels_in_one_cluster_tell_no_error() -> None:
    report = corrected_rate(
        judged=[True, False, True, False, True, True],
        labels=[True, False, False, False, None, None],
        clusters=["a", "a", "a", "a", "b", "c"],
        labels_are="random",
    )
    for method in ("ppi_plus_plus", "tenenbein"):
        assert report[method].estimate is not None  # type: ignore[index]
        assert (report[method].se, report[method].interval) == (None, None)  # type: ignore[index]
        assert report[method].reason  # type: ignore[index]
    assert report["labels_alone"].se is None
    assert report["labels_alone"].interval == (0.0, 1.0)
