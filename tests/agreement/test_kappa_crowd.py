"""Agreement of so many raters that pairs have no intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from judgeharness_integrations.analysis.agreement import Panel, agreement_table
from judgeharness_integrations.analysis.agreement import coefficients as crowd
from judgeharness_integrations.analysis.agreement.coefficients import cohen_values, shared_items
from judgeharness_integrations.analysis.agreement.kappa import COEFFICIENTS, Bootstrap, pairwise
from judgeharness_integrations.analysis.agreement.ratings import Ratings

GRIDS = hnp.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(1, 9)), elements=st.integers(-1, 3))
ONE = Bootstrap(replicates=1)


@pytest.mark.parametrize("weights", ["linear", "none", "quadratic"])
@pytest.mark.parametrize("as_sparse", [False, True])
@given(grid=GRIDS)
def test_products_of_matrices_give_the_kappas_of_pairs(grid: Any, weights: Any, *, as_sparse: bool) -> None:
    ratings = Ratings.of_numbers(np.where(grid >= 0, grid**2.0, np.nan))
    pairs = [(one, two) for one in range(len(grid)) for two in range(one + 1, len(grid))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowd, "_SPARSE", 2.0 if as_sparse else -1.0)
        found = pairwise(ratings, pairs, weights=weights, bootstrap=Bootstrap(replicates=0))[0]
    expected = pairwise(ratings, pairs, weights=weights, bootstrap=ONE)[0]
    for mine, theirs in zip(found, expected, strict=True):
        for name in ("value", "observed", "expected"):
            wanted = getattr(theirs, name)
            assert getattr(mine, name) == (None if wanted is None else pytest.approx(wanted, abs=1e-9)), name
        assert (mine.items, mine.raters, mine.categories) == (theirs.items, theirs.raters, theirs.categories)
        assert bool(mine.reason) == (mine.value is None)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_without_resamples_the_items_a_pair_does_not_share_change_nothing(name: Any) -> None:
    grid = np.random.default_rng(2).integers(-1, 3, (4, 30))
    ratings = Ratings.of_labels(grid, categories=3)
    pairs = [(0, 1), (1, 3), (0, 2)]
    found = pairwise(ratings, pairs, coefficient=name, bootstrap=Bootstrap(replicates=0))[0]
    expected = pairwise(ratings, pairs, coefficient=name, bootstrap=ONE)[0]
    assert [one.value for one in found] == pytest.approx([one.value for one in expected])
    assert [one.items for one in found] == [one.items for one in expected]


def test_items_are_counted_where_both_answered() -> None:
    first, second = np.array([[0, -1, 2], [-1, -1, 0]]), np.array([[1, 1, -1]])
    assert shared_items(first, second).tolist() == [[1.0], [0.0]]
    values, items = cohen_values(Ratings.of_labels(first), [], "none")
    assert (len(values.value), len(items)) == (0, 0)


def crowd_panel(raters: int, items: int, answers: int) -> Panel:
    """A few raters an item, and a judge of every item."""
    rng = np.random.default_rng(6)
    said: dict[str, dict[str, str]] = {f"w{rater:02d}": {} for rater in range(raters)}
    for item in range(items):
        truth = rng.integers(0, 3)
        for rater in rng.choice(raters, answers, replace=False).tolist():
            said[f"w{rater:02d}"][f"i{item}"] = "abc"[truth if rng.random() < 0.7 else rng.integers(0, 3)]
        said.setdefault("judge", {})[f"i{item}"] = "abc"[truth]
    said["idle"] = {"i_other": "a"}
    return Panel.from_annotations(said)


def test_a_crowd_has_values_of_the_pairs_that_share_items_and_intervals_of_all_at_once() -> None:
    panel = crowd_panel(70, 150, 3)
    humans = panel.select(["w*", "idle"])
    table = agreement_table(panel, humans=humans, candidates=["judge"], bootstrap=Bootstrap(replicates=100))
    assert table.crowd
    assert len(table.pairs) + table.unshared == 71 * 70 // 2 + 71
    assert 0 < len(table.pairs) <= 150 * 3 + 70
    assert {pair.coefficient.interval for pair in table.pairs} == {None}
    assert min(pair.coefficient.items for pair in table.pairs) == 1
    rows = {row.rater: row for row in table.raters}
    assert {row.interval for row in table.raters} == {None}
    assert (rows["idle"].mean, rows["idle"].humans) == (None, 0)
    (known,) = [rater for rater in rows if rater == max(rows, key=lambda name: rows[name].humans * (name != "judge"))]
    mine = [
        pair.coefficient.value for pair in table.pairs if known in {pair.first, pair.second} and pair.role == "human"
    ]
    defined = [value for value in mine if value is not None]
    assert rows[known].humans == len(defined) > 0
    assert rows[known].mean == pytest.approx(np.mean(defined))
    assert all(group.interval for group in table.groups)
    assert table.consensus[0].coefficient.interval is not None
    assert (table.to_dict()["crowd"], table.to_dict()["unshared"]) == (True, table.unshared)


def test_few_raters_are_no_crowd_and_keep_pairs_without_common_items() -> None:
    panel = Panel.from_annotations({"a": {"1": "x"}, "b": {"2": "x"}})
    table = agreement_table(panel, humans=["a", "b"])
    assert (table.crowd, table.unshared, len(table.pairs)) == (False, 0, 1)
