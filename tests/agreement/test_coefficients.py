"""Coefficients of agreement against published values, reference packages and their definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.agreement import read_panel
from judgeharness_integrations.analysis.agreement.kappa import Bootstrap, alpha, cohen, fleiss, gwet, pairwise
from judgeharness_integrations.analysis.agreement.ratings import MOST_CATEGORIES, Ratings, human_consensus

DATA = Path(__file__).parents[1] / "data"
IRR = json.loads((DATA / "golden" / "irr.json").read_text())
HUMANS = ("annotator1", "annotator2", "annotator3")
WITHOUT = Bootstrap(replicates=0)
OF_GROUPS: dict[str, Callable[..., Any]] = {"fleiss": fleiss, "gwet": gwet, "krippendorff": alpha}
MEASURED = sorted(name for name in IRR if name.rpartition("|")[2] in OF_GROUPS)


def grids(raters: int | tuple[int, int], *, missing: bool = True) -> st.SearchStrategy[Any]:
    low, high = (raters, raters) if isinstance(raters, int) else raters
    shape = st.tuples(st.integers(low, high), st.integers(2, 12))
    return shape.flatmap(lambda size: hnp.arrays(np.int64, size, elements=st.integers(-1 if missing else 0, 3)))


def reference_chance(grid: Any, weights: Any, name: str) -> float | None:
    """Gwet's and Fleiss' coefficients as they are written, item by item and pair by pair."""
    agreement, shares = [], []
    size = len(weights)
    for column in grid.T.tolist():
        said = [code for code in column if code >= 0]
        if said:
            shares.append([said.count(code) / len(said) for code in range(size)])
        if len(said) > 1:
            places = range(len(said))
            pairs = [weights[said[i]][said[j]] for i in places for j in places if i != j]
            agreement.append(sum(pairs) / len(pairs))
    if not agreement:
        return None
    mean = np.mean(shares, axis=0)
    if name == "fleiss":
        expected = sum(weights[i][j] * mean[i] * mean[j] for i in range(size) for j in range(size))
    else:
        if size < 2:
            return None
        expected = np.sum(weights) * sum(share * (1 - share) for share in mean) / (size * (size - 1))
    return None if expected > 1 - 1e-9 else (np.mean(agreement) - expected) / (1 - expected)


def weights_of(size: int, name: str) -> Any:
    place = np.arange(size)
    apart = np.abs(place[:, None] - place) / max(1, size - 1)
    return {"none": np.eye(size), "linear": 1 - apart, "quadratic": 1 - apart**2}[name]


@pytest.fixture(scope="module")
def pandalm() -> dict[str, Ratings]:
    panel = read_panel(DATA / "pandalm.csv.gz")
    humans = panel.grid(HUMANS)
    judged = np.stack([human_consensus(humans).answers, panel.grid(["gpt-3.5-turbo"])[0]])
    parsed = (judged >= 0).all(axis=0)
    return {"humans3": Ratings.of_labels(humans), "gpt35_vs_majority_974": Ratings.of_labels(judged[:, parsed])}


@pytest.mark.parametrize("name", MEASURED)
def test_published_agreement_of_pandalm(pandalm: dict[str, Ratings], name: str) -> None:
    ratings, _, coefficient = name.rpartition("|")
    found = OF_GROUPS[coefficient](pandalm[ratings])
    golden = IRR[name]
    assert found.value == pytest.approx(golden["coefficient_value"], abs=5e-6)
    assert found.observed == pytest.approx(golden["pa"], abs=5e-6)
    assert found.expected == pytest.approx(golden["pe"], abs=5e-6)
    assert found.items == (999 if ratings == "humans3" else 974)
    assert found.interval == pytest.approx(golden["confidence_interval"], abs=0.15 * golden["se"] * 2 * 1.96)


def test_there_are_goldens_to_compare_with() -> None:
    assert len(MEASURED) == 6


def test_published_kappas_of_pandalm(pandalm: dict[str, Ratings]) -> None:
    pairs, _ = pairwise(pandalm["humans3"], [(0, 1), (0, 2), (1, 2)], bootstrap=WITHOUT)
    golden = json.loads((DATA / "golden" / "pandalm.json").read_text())
    assert [pair.value for pair in pairs] == pytest.approx(golden["kappas"], abs=1e-12)
    found = cohen(pandalm["gpt35_vs_majority_974"])
    expected = IRR["cohen_gpt35_vs_majority_974"]
    assert found.value == pytest.approx(expected["kappa"], abs=1e-12)
    assert found.value == pytest.approx(golden["metrics"]["gpt-3.5-turbo|unparseable=drop"]["kappa"], abs=1e-12)
    assert found.interval == pytest.approx(expected["ci"], abs=0.006)


@pytest.mark.parametrize("metric", ["interval", "ordinal"])
def test_published_alpha_of_repeated_ratings(metric: str) -> None:
    golden = json.loads((DATA / "golden" / "repeats.json").read_text())["sets"]
    for name, values in golden.items():
        path = DATA / f"gpt4_ratings_{name.removesuffix('_eval')}.csv.gz"
        rows = np.genfromtxt(path, delimiter=",", names=True, usecols=(0, 2, 3))
        grid = np.full((3, int(rows["case_id"].max()) + 1), np.nan)
        grid[rows["repetition"].astype(int), rows["case_id"].astype(int)] = rows["verdict"]
        found = alpha(Ratings.of_numbers(grid), metric=metric, bootstrap=WITHOUT)  # type: ignore[arg-type]
        assert found.value == pytest.approx(values[f"kripp_{metric}"], abs=1e-9)


@pytest.mark.parametrize("weights", ["linear", "none", "quadratic"])
@given(grid=grids(2, missing=False))
def test_cohen_is_what_scikit_learn_says(weights: str, grid: Any) -> None:
    assume(all(len(set(row)) > 1 for row in grid.tolist()))
    found = cohen(Ratings.of_labels(grid, categories=4), weights=weights, bootstrap=WITHOUT)  # type: ignore[arg-type]
    named = None if weights == "none" else weights
    assert found.value == pytest.approx(cohen_kappa_score(*grid, labels=range(4), weights=named), abs=1e-12)


@given(grid=grids(2))
def test_cohen_is_of_the_items_both_answered(grid: Any) -> None:
    shared = grid[:, (grid >= 0).all(axis=0)]
    found = cohen(Ratings.of_labels(grid, categories=4), bootstrap=WITHOUT)
    bare = cohen(Ratings.of_labels(shared, categories=4), bootstrap=WITHOUT)
    assert (found.value, found.observed, found.items) == (bare.value, bare.observed, shared.shape[1])


@given(grid=grids((2, 5), missing=False))
def test_fleiss_is_what_statsmodels_says(grid: Any) -> None:
    assume(len(np.unique(grid)) > 1)
    counts = np.stack([(grid == code).sum(axis=0) for code in range(4)], axis=1)
    found = fleiss(Ratings.of_labels(grid), bootstrap=WITHOUT)
    assert found.value == pytest.approx(fleiss_kappa(counts), abs=1e-12)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("weights", ["linear", "none", "quadratic"])
@pytest.mark.parametrize("name", ["fleiss", "gwet"])
@given(grid=grids((2, 5)))
@settings(max_examples=60)
def test_missing_answers_count_as_gwet_wrote_it(name: str, weights: str, grid: Any) -> None:
    found = OF_GROUPS[name](Ratings.of_labels(grid, categories=4), weights=weights, bootstrap=WITHOUT)
    expected = reference_chance(grid, weights_of(4, weights), name)
    assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-9))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("metric", ["interval", "nominal", "ordinal", "ratio"])
@given(grid=grids((2, 5)))
@settings(max_examples=60)
def test_alpha_is_what_krippendorffs_own_package_says(metric: str, grid: Any) -> None:
    numbers = np.where(grid >= 0, grid * 1.5 + 1, np.nan)
    pairable = numbers[:, (grid >= 0).sum(axis=0) > 1]
    found = alpha(Ratings.of_numbers(numbers), metric=metric, bootstrap=WITHOUT)  # type: ignore[arg-type]
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        assert found.value is None
        assert found.reason
        return
    domain = np.unique(numbers[~np.isnan(numbers)])
    reference = krippendorff.alpha(pairable, level_of_measurement=metric, value_domain=domain)
    assert found.value == pytest.approx(reference, abs=1e-9)


@pytest.mark.parametrize("metric", ["interval", "ordinal"])
def test_alpha_of_numbers_that_are_all_different(metric: str) -> None:
    generator = np.random.default_rng(3)
    grid = generator.normal(size=40) + generator.normal(size=(4, 40))
    grid[generator.random(grid.shape) < 0.2] = np.nan
    found = alpha(Ratings.of_numbers(grid), metric=metric, bootstrap=WITHOUT)  # type: ignore[arg-type]
    assert found.value == pytest.approx(krippendorff.alpha(grid, level_of_measurement=metric), abs=1e-9)


def test_quadratic_kappa_of_numbers_needs_no_table_of_categories() -> None:
    generator = np.random.default_rng(4)
    grid = generator.normal(size=300) + generator.normal(size=(2, 300))
    found = cohen(Ratings.of_numbers(grid), weights="quadratic", bootstrap=WITHOUT)
    one, two = grid
    apart = ((one - two) ** 2).mean()
    by_chance = ((one[:, None] - two[None, :]) ** 2).mean()
    assert found.value == pytest.approx(1 - apart / by_chance, abs=1e-9)
    assert found.categories == 600 > MOST_CATEGORIES


def test_numbers_on_an_uneven_scale_keep_their_distances() -> None:
    grid = np.array([[1, 1, 10, 2, 2, 10], [1, 2, 10, 2, 1, 2]])
    found = cohen(Ratings.of_numbers(grid), weights="linear", bootstrap=WITHOUT)
    one, two = grid.astype(float)
    by_chance = np.abs(one[:, None] - two[None, :]).mean()
    assert found.value == pytest.approx(1 - np.abs(one - two).mean() / by_chance, abs=1e-12)


@pytest.mark.slow
@given(grid=grids((2, 4)), data=st.data())
def test_no_coefficient_depends_on_the_order_of_raters_or_items(grid: Any, data: st.DataObject) -> None:
    raters = data.draw(st.permutations(range(len(grid))))
    items = data.draw(st.permutations(range(grid.shape[1])))
    moved = grid[np.ix_(raters, items)]
    for coefficient in OF_GROUPS.values():
        found = [coefficient(Ratings.of_labels(one), bootstrap=WITHOUT).value for one in (grid, moved)]
        assert found[1] == (None if found[0] is None else pytest.approx(found[0], abs=1e-12))


@pytest.mark.parametrize(
    ("grid", "reason"),
    [
        ([[0, 1, -1], [-1, -1, 1]], "no item was answered by two of them"),
        ([[0, 0, 0], [0, 1, 0]], "one of the two never varies, so chance alone could agree as much"),
        ([[0, 0, 0], [0, 0, 0]], "one of the two never varies, so chance alone could agree as much"),
    ],
)
@pytest.mark.parametrize("weights", ["none", "quadratic"])
def test_an_undefined_kappa_is_none_and_says_why(grid: Any, reason: str, weights: str) -> None:
    found = cohen(Ratings.of_labels(grid, categories=2), weights=weights)  # type: ignore[arg-type]
    assert (found.value, found.interval, found.reason) == (None, None, reason)


@pytest.mark.parametrize("name", sorted(OF_GROUPS))
def test_one_label_alone_leaves_every_coefficient_undefined(name: str) -> None:
    found = OF_GROUPS[name](Ratings.of_labels([[1, 1, 1], [1, 1, -1]]))
    assert found.value is None
    assert found.reason == "every answer is the same, so chance alone could agree as much"
    nobody = OF_GROUPS[name](Ratings.of_labels([[-1, -1], [-1, -1]]))
    assert (nobody.value, nobody.items, nobody.reason) == (None, 0, "no item was answered by two of them")


def test_ac1_of_two_declared_labels_of_which_one_never_occurs_is_perfect() -> None:
    found = gwet(Ratings.of_labels([[1, 1, 1], [1, 1, 1]], categories=2))
    assert (found.value, found.observed, found.expected) == (1.0, 1.0, 0.0)


def test_counts_say_what_a_coefficient_rests_on() -> None:
    ratings = Ratings.of_labels([[0, 1, 0, -1, 1], [0, 1, -1, 1, 0], [-1, -1, -1, -1, -1]])
    found = fleiss(ratings, bootstrap=WITHOUT)
    assert (found.items, found.singles, found.raters, found.categories) == (3, 2, 2, 2)
    assert alpha(ratings, bootstrap=WITHOUT).singles == 0


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (cohen, "300 distinct values are no scale of categories: use quadratic weights"),
        (fleiss, "300 distinct values are no scale of categories: use alpha with metric interval"),
        (gwet, "300 distinct values are no scale of categories: use alpha with metric interval"),
        (alpha, "300 distinct values are too many for metric nominal: use interval or ordinal"),
        (lambda r: alpha(r, metric="ratio"), "300 distinct values are too many for metric ratio: use interval or"),
    ],
)
def test_numbers_that_are_no_categories_are_refused_by_the_coefficient(call: Any, problem: str) -> None:
    found = call(Ratings.of_numbers(np.arange(300.0).reshape(2, 150)))
    assert found.value is None
    assert found.reason.startswith(problem)


def test_metric_ratio_needs_numbers_from_zero() -> None:
    assert alpha(Ratings.of_numbers([[-1, 2], [1, 2]]), metric="ratio").reason == "metric ratio needs numbers from 0"


def test_kappa_of_three_raters_is_refused() -> None:
    with pytest.raises(UsageError, match="is of two raters, not of 3"):
        cohen(Ratings.of_labels(np.zeros((3, 4), int)))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Ratings.of_labels([0, 1]), "a grid of raters x items, not an array of 1 dimensions"),
        (lambda: Ratings.of_labels([[0, 4]], categories=4), "code 4 is beyond the 4 declared labels"),
        (lambda: Ratings.of_numbers([[1, 2.5]], scale=[1, 2, 3]), "2.5 is not on the declared scale"),
        (lambda: Bootstrap(replicates=-1), "-1 resamples cannot be drawn"),
        (lambda: Bootstrap(seed=-1), "the seed is a whole number from 0"),
        (lambda: Bootstrap(level=95), "lies between 0 and 1, as 0.95, not at 95"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make: Callable[[], Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        make()


@pytest.mark.parametrize(
    ("name", "weights", "title"),
    [
        ("cohen", "none", "Cohen's kappa"),
        ("cohen", "linear", "Cohen's kappa, linear weights"),
        ("fleiss", "quadratic", "Fleiss' kappa, quadratic weights"),
        ("gwet", "none", "Gwet's AC1"),
        ("gwet", "linear", "Gwet's AC2, linear weights"),
        ("alpha", "none", "Krippendorff's alpha, nominal"),
        ("alpha", "linear", "Krippendorff's alpha, ordinal"),
    ],
)
def test_a_coefficient_is_called_by_its_name(name: str, weights: str, title: str) -> None:
    ratings = Ratings.of_labels([[0, 1, 1], [0, 1, 0]])
    found, _ = pairwise(ratings, [(0, 1)], coefficient=name, weights=weights, bootstrap=WITHOUT)  # type: ignore[arg-type]
    assert found[0].title == title
    assert json.loads(json.dumps(found[0].to_dict()))["value"] == found[0].value


@pytest.mark.parametrize("name", ["alpha", "fleiss", "gwet"])
def test_any_coefficient_of_pairs_is_that_of_the_two_alone(name: str) -> None:
    generator = np.random.default_rng(5)
    grid = generator.integers(-1, 3, (3, 30))
    found, drawn = pairwise(Ratings.of_labels(grid), [(0, 1), (1, 2)], coefficient=name, bootstrap=Bootstrap())  # type: ignore[arg-type]
    shared = grid[1:, (grid[1:] >= 0).all(axis=0)]
    alone = {"alpha": alpha, "fleiss": fleiss, "gwet": gwet}[name](Ratings.of_labels(shared), bootstrap=WITHOUT)
    assert found[1].value == pytest.approx(alone.value, abs=1e-12)
    assert drawn.drawn.shape == (2000, 2)


@pytest.mark.parametrize("name", ["alpha", "cohen", "fleiss", "gwet"])
def test_pairs_of_numbers_without_categories_say_so(name: str) -> None:
    ratings = Ratings.of_numbers(np.arange(600.0).reshape(2, 300))
    found, drawn = pairwise(ratings, [(0, 1)], coefficient=name, bootstrap=Bootstrap(replicates=10))  # type: ignore[arg-type]
    assert "600 distinct values" in found[0].reason
    assert np.isnan(drawn.drawn).all()
