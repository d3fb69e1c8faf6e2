"""Scores of probabilities against scikit-learn and by hand: Brier, log, skill, Murphy's parts, the area under ROC."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from support.planted_probabilities import pairs, planted, worthless

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis import probability
from judgeharness_integrations.analysis.probability.forecasts import Forecasts, labelled_answers
from judgeharness_integrations.analysis.probability.maps import FLOOR, checked, distance, floored
from judgeharness_integrations.analysis.probability.scores import (
    auc,
    auc_change,
    brier_scores,
    brier_skill,
    log_scores,
    log_skill,
    murphy,
    resolution_change,
)
from judgeharness_integrations.analysis.statistics.means import clustered_error


def three(n: int, seed: int) -> Forecasts:
    random = np.random.default_rng(seed)
    truth = random.dirichlet(np.ones(3), n)
    labels = np.eye(3)[[random.choice(3, p=row) for row in truth]]
    options = ("A", "B", "TIE")
    return Forecasts(options=options, probabilities=truth, labels=labels, clusters=tuple(range(n)))


def test_the_public_names_are_there() -> None:
    assert set(probability.__all__) <= set(dir(probability))
    assert probability.FLOOR == FLOOR


def test_brier_scores_are_those_of_scikit_learn_halved_over_all_options() -> None:
    found, _ = planted(200, 1)
    labels, p = found.labels[:, 0], found.probabilities[:, 0]
    assert brier_scores(found.probabilities, found.labels).mean() == pytest.approx(brier_score_loss(labels, p))
    more = three(200, 2)
    theirs = brier_score_loss(more.labels.argmax(axis=1), more.probabilities, labels=[0, 1, 2], scale_by_half=True)
    assert brier_scores(more.probabilities, more.labels).mean() == pytest.approx(theirs)


def test_log_scores_are_those_of_scikit_learn_above_the_floor() -> None:
    random = np.random.default_rng(3)
    p = random.uniform(0.01, 0.99, 300)
    found = pairs(p, (random.random(300) < p).astype(float))
    theirs = log_loss(found.labels[:, 0], p)
    assert log_scores(found.probabilities, found.labels).mean() == pytest.approx(theirs)


def test_a_right_answer_at_zero_costs_the_floor_and_no_more() -> None:
    [score] = log_scores(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]))
    assert score == pytest.approx(-math.log(FLOOR / (1 + FLOOR)))
    assert floored([0.0, 1.0]) == [pytest.approx(FLOOR / (1 + FLOOR)), pytest.approx(1 / (1 + FLOOR))]


def test_a_soft_label_counts_as_the_people_behind_it() -> None:
    soft = pairs(np.array([0.7, 0.2]), np.array([0.45, 0.1]), ("a", "b"))
    votes = np.repeat([1.0, 0.0, 1.0, 0.0], [9, 11, 2, 18])
    hard = pairs(np.repeat([0.7, 0.2], 20), votes, tuple(np.repeat(["a", "b"], 20)))
    for scores in (brier_scores, log_scores):
        assert scores(soft.probabilities, soft.labels).mean() == pytest.approx(
            scores(hard.probabilities, hard.labels).mean()
        )
    for measure in (brier_skill, log_skill, auc):
        assert measure(soft).value == pytest.approx(measure(hard).value)  # type: ignore[union-attr]


def test_skill_is_0_at_the_base_rate_and_1_where_all_is_right() -> None:
    y = np.repeat([1.0, 0.0], [30, 70])
    assert brier_skill(pairs(np.full(100, 0.3), y)).value == pytest.approx(0)  # type: ignore[union-attr]
    assert log_skill(pairs(np.full(100, 0.3), y)).value == pytest.approx(0)  # type: ignore[union-attr]
    best = brier_skill(pairs(y, y))
    assert best is not None
    assert best.value == best.high == 1
    assert best.low is not None
    assert 0.8 < best.low < 1


def test_no_constant_beats_the_base_rate() -> None:
    found = worthless("constant", 200, 1)
    for p in np.linspace(0, 1, 21):
        for measure in (brier_skill, log_skill):
            one = measure(pairs(np.full(200, p), found.labels[:, 0]))
            assert one is not None
            assert one.value <= 1e-12


def test_skill_of_labels_that_are_all_the_same_is_not_measured() -> None:
    found = pairs(np.full(10, 0.9), np.ones(10))
    measured = (brier_skill(found), log_skill(found), auc(found), auc_change(found, found))
    assert [*measured, resolution_change(found, found)] == [None] * 5


def test_answers_of_one_cluster_have_no_interval() -> None:
    found = pairs(np.array([0.9, 0.2, 0.6]), np.array([1.0, 0.0, 0.0]), ("a", "a", "a"))
    for measured in (brier_skill(found), auc(found)):
        assert measured is not None
        assert measured.low is None


def test_copies_widen_every_interval() -> None:
    found, _ = planted(40, 5)
    copies = found.part(np.ones(40, dtype=bool))
    many = Forecasts(
        options=found.options,
        probabilities=np.repeat(found.probabilities, 10, axis=0),
        labels=np.repeat(found.labels, 10, axis=0),
        clusters=tuple(np.repeat(np.arange(40), 10).tolist()),
    )
    for measure in (brier_skill, log_skill, auc):
        one, other = measure(copies), measure(many)
        assert one is not None
        assert other is not None
        assert (other.low, other.high) == (pytest.approx(one.low, abs=0.01), pytest.approx(one.high, abs=0.01))


@pytest.mark.parametrize("bins", [None, 4])
def test_brier_is_reliability_less_resolution_plus_uncertainty(bins: int | None) -> None:
    for found in (planted(300, 6, slope=2)[0], three(150, 7), pairs(np.full(50, 0.8), np.repeat([1.0, 0.0], 25))):
        parts = murphy(found, bins=bins)
        assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(parts.brier)
        assert parts.brier == pytest.approx(brier_scores(found.probabilities, found.labels).mean())


def test_of_as_many_probabilities_as_bins_the_parts_are_murphys_own() -> None:
    random = np.random.default_rng(8)
    p = np.repeat([0.1, 0.5, 0.9], 40)
    found = pairs(p, (random.random(120) < p).astype(float))
    parts, y = murphy(found, bins=3), found.labels[:, 0].reshape(3, 40).mean(axis=1)
    assert parts.reliability == pytest.approx(((np.array([0.1, 0.5, 0.9]) - y) ** 2).mean())
    assert parts.resolution == pytest.approx(((y - y.mean()) ** 2).mean())
    assert parts.uncertainty == pytest.approx(y.mean() * (1 - y.mean()))


def test_a_constant_has_no_resolution() -> None:
    assert murphy(worthless("constant", 100, 1)).resolution == pytest.approx(0)


def test_the_area_is_that_of_scikit_learn_ties_counting_half() -> None:
    found, _ = planted(200, 9, digits=1)
    measured = auc(found)
    assert measured is not None
    assert measured.value == pytest.approx(roc_auc_score(found.labels[:, 0], found.probabilities[:, 0]))


def test_its_standard_error_is_delongs() -> None:
    found, _ = planted(150, 10, digits=2)
    p, y = found.probabilities[:, 0], found.labels[:, 0]
    wins = np.sign(p[y == 1][:, None] - p[y == 0][None, :]) / 2 + 0.5
    delong = math.sqrt(wins.mean(axis=1).var(ddof=1) / len(wins) + wins.mean(axis=0).var(ddof=1) / wins.shape[1])
    from judgeharness_integrations.analysis.probability.scores import _auc

    measured = _auc(found)
    assert measured is not None
    error = clustered_error(measured[1].tolist(), found.clusters)
    assert error is not None
    assert error[0] == pytest.approx(delong, rel=0.01)


def test_a_perfect_order_is_worth_as_many_trials_as_the_rarer_label_has() -> None:
    y = np.repeat([1.0, 0.0], [10, 90])
    measured = auc(pairs(0.4 + y / 10, y))
    assert measured is not None
    assert (measured.value, measured.high) == (1, 1)
    assert measured.low == pytest.approx(10 / (10 + stats.t.ppf(0.975, 99) ** 2))


def test_the_area_is_of_two_options_alone() -> None:
    assert auc(three(50, 11)) is None


def test_a_rising_map_changes_neither_order_nor_bins() -> None:
    found, _ = planted(200, 12)
    p = found.probabilities[:, 0] ** 2
    changed = found.answered(np.c_[p, 1 - p])
    ordered, resolved = auc_change(found, changed), resolution_change(found, changed)
    assert ordered is not None
    assert ordered.value == 0
    assert resolved is not None
    assert abs(resolved.value) < 0.05


def test_a_map_that_says_the_same_of_all_loses_order_and_resolution() -> None:
    found, _ = planted(200, 13)
    flat = found.answered(np.full((200, 2), 0.5))
    for change in (auc_change(found, flat), resolution_change(found, flat)):
        assert change is not None
        assert change.high is not None
        assert change.high < -0.1


def test_the_event_of_more_options_is_the_most_probable_one_and_ties_share_it() -> None:
    answers = [{"A": 0.5, "B": 0.3, "TIE": 0.2}, {"A": 0.4, "B": 0.4, "TIE": 0.2}]
    found = labelled_answers(answers, ["A", {"A": 0.5, "TIE": 0.5}])
    p, y = found.event
    assert (p.tolist(), y.tolist()) == ([0.5, 0.4], [1.0, 0.25])
    assert not found.hard


def test_probabilities_are_brought_to_the_sum_of_1_and_to_the_order_of_the_options() -> None:
    assert checked({"B": 0.33, "A": 0.66}, ("A", "B")) == {"A": pytest.approx(2 / 3), "B": pytest.approx(1 / 3)}
    assert checked({"A": 1.0}, ("A", "B")) == {"A": 1.0, "B": 0.0}


@pytest.mark.parametrize(
    ("answer", "options", "sentence"),
    [
        ({"A": 0.5, "C": 0.5}, ("A", "B"), "'C' is none of the options A, B: ask the same question."),
        ({"A": 1.0}, None, "probabilities must name at least two options"),
        ({"A": 1.5, "B": -0.5}, None, "a probability must be a number from 0 to 1"),
        ({"A": 0.5, "B": 0.6}, None, "must sum to 1, not 1.1"),
    ],
)
def test_what_is_no_distribution_is_refused(
    answer: dict[str, float], options: tuple[str, ...] | None, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        checked(answer, options)


def test_answers_labels_and_clusters_are_as_many() -> None:
    with pytest.raises(UsageError, match="there are 1 answers, 2 labels and 1 clusters"):
        labelled_answers([{"A": 1, "B": 0}], ["A", "B"])
    with pytest.raises(UsageError, match="there are 0 answers"):
        labelled_answers([], [])
    found = labelled_answers([{"A": 1, "B": 0}], ["B"], options=("B", "A"), clusters=["x"])
    assert found.options == ("B", "A")
    assert found.labels.tolist() == [[1.0, 0.0]]
    assert found.clusters == ("x",)


def test_distance_is_a_metric_from_0_to_1() -> None:
    assert distance({"A": 0.7, "B": 0.3}, {"A": 0.6, "B": 0.4}) == pytest.approx(0.1)
    assert distance({"A": 1.0}, {"B": 1.0}) == 1
    random = np.random.default_rng(14)
    one, other, third = (dict(zip("ABC", row, strict=True)) for row in random.dirichlet(np.ones(3), 3))
    assert distance(one, third) <= distance(one, other) + distance(other, third) + 1e-12
