"""Several judges as one panel: how alike they err, and what their majority reaches."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.credit_matrices import NONE, matrix
from support.drawn_credits import DATA

from judgeharness_integrations import read_log
from judgeharness_integrations.analysis.ranking.panels import Panel, panels
from judgeharness_integrations.analysis.ranking.ranking import rank
from judgeharness_integrations.analysis.ranking.studying import RankRequest, study
from judgeharness_integrations.verdictlog.row import VerdictRow


def drawn(seed: int, *, pairs: int = 60, judges: int = 4, shape: tuple[float, float] = (1, 3)) -> np.ndarray[Any, Any]:
    """Credits of judges that err together: each pair has a difficulty of its own."""
    rng = np.random.default_rng(seed)
    hard = rng.beta(*shape, (pairs, 1))
    return (rng.random((pairs, judges)) >= hard).astype(np.float64)


def mean_phi(values: np.ndarray[Any, Any]) -> float:
    """The mean of all correlations, one by one."""
    found = [
        float(np.corrcoef(values[:, one], values[:, other])[0, 1])
        for one, other in itertools.combinations(range(values.shape[1]), 2)
    ]
    return math.fsum(found) / len(found)


def whole(values: Any, **options: Any) -> Panel:
    return panels(matrix(values), **options)[-1]


@pytest.mark.slow
def test_the_published_judges_err_together() -> None:
    # 65 prompts and models on LLMBar (Zeng et al. 2024): more prompts of one model are hardly another judge
    found = study(read_log(DATA / "llmbar.csv.gz"), RankRequest(rule="both_orders"))
    every = panels(found.matrix)
    assert [len(one.judges) for one in every] == [3, 5, 9, 65]
    nine = every[2]
    assert {name.partition("/")[0] for name in nine.judges} == {"GPT-4"}
    assert (nine.pairs, nine.left_out, nine.alike, nine.reason) == (419, 0, (), "")
    assert nine.correlation == pytest.approx(0.6671, abs=1e-4)
    assert nine.effective == pytest.approx(1.420, abs=1e-3)
    assert nine.majority == pytest.approx(346 / 419)
    assert nine.independent == pytest.approx(0.9854, abs=1e-4)
    assert nine.best == pytest.approx(348 / 419)  # no majority of the nine is as good as one of them
    of_gpt4 = [name for name in found.matrix.judges if name.startswith("GPT-4/")]
    prompts = panels(found.matrix.of_judges(of_gpt4))[-1]
    assert len(prompts.judges) == 15
    assert prompts.effective == pytest.approx(1.535, abs=1e-3)
    assert "as much as 1.5 independent judges" in prompts.sentence


@pytest.mark.parametrize("seed", range(5))
def test_the_correlation_is_the_mean_of_all_and_its_interval_the_jackknife(seed: int) -> None:
    values = drawn(seed)
    clusters = np.arange(60) // 2 if seed % 2 else np.arange(60)
    found = whole(values, clusters=clusters)
    assert found.correlation is not None
    assert found.correlation == pytest.approx(mean_phi(values))
    without = np.array([mean_phi(values[clusters != one]) for one in np.unique(clusters)])
    moved = without - without.mean()
    error = math.sqrt((len(moved) - 1) / len(moved) * float(moved @ moved))
    degrees = float((moved**2).sum() ** 2 / (moved**4).sum()) - 1
    width = float(stats.t.ppf(0.975, degrees)) * error / (1 - found.correlation**2)
    center = math.atanh(found.correlation)
    assert found.correlation_ci95 == pytest.approx((math.tanh(center - width), math.tanh(center + width)))
    assert found.effective == pytest.approx(4 / (1 + 3 * found.correlation))
    assert found.correlation_ci95 is not None
    assert found.effective_ci95 == pytest.approx(tuple(4 / (1 + 3 * end) for end in reversed(found.correlation_ci95)))


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3), min_size=4, max_size=9),
)
def test_independence_promises_what_all_combinations_of_answers_do(rows: list[list[float]]) -> None:
    values = np.array(rows)
    promised = (
        sum(1 for combined in itertools.product(*(values[:, judge] for judge in range(3))) if sum(combined) > 1.5)
        / len(rows) ** 3
    )
    found = whole(values)
    assert found.independent == pytest.approx(promised)
    assert found.majority == pytest.approx(float((values.sum(axis=1) > 1.5).mean()))
    assert found.best == pytest.approx(values.mean(axis=0).max())
    assert found.majority_ci95 is not None
    assert found.majority_ci95[0] <= found.majority <= found.majority_ci95[1]  # type: ignore[operator]


def test_one_judge_is_no_panel_and_two_have_no_majority() -> None:
    values = drawn(1, judges=2)
    assert panels(matrix(values[:, :1].tolist())) == ()
    found = whole(values)
    assert found.correlation is not None
    assert (found.majority, found.independent, found.reason) == (None, None, "two judges have no majority")
    assert found.sentence.startswith("2 judges together, on 60 pairs asked of each: errors correlate at ")
    assert found.sentence.endswith("; not measured: two judges have no majority")


def test_only_pairs_asked_of_every_judge_count() -> None:
    values = drawn(2, judges=3)
    values[:5, 0] = NONE
    found = whole(values)
    assert (found.pairs, found.left_out) == (55, 5)
    assert found.correlation == pytest.approx(mean_phi(values[5:]))
    apart = whole([[1, NONE, 1], [NONE, 0, 0]])
    assert (apart.pairs, apart.left_out, apart.majority, apart.best) == (0, 2, None, None)
    assert apart.sentence.endswith("on 0 pairs asked of each: not measured: no pair was asked of every one of them")
    assert [len(one.judges) for one in panels(matrix([[1, NONE, 0], [0, NONE, 1]]))] == [2]  # b was never asked


def test_judges_that_hardly_err_have_no_correlation() -> None:
    values = drawn(3)
    values[:, 0] = 1
    values[:, 1] = 0
    values[0, 1] = 1  # right once: without that pair nothing is left to correlate
    found = whole(values)
    assert found.alike == ("a", "b")
    assert found.correlation is not None
    assert found.correlation == pytest.approx(mean_phi(values[:, 2:]))
    assert found.effective == pytest.approx(2 / (1 + found.correlation))
    values[:, 2] = 1
    nobody = whole(values)
    assert (nobody.correlation, nobody.effective, nobody.alike) == (None, None, ())
    assert nobody.reason == "fewer than two of them are right, and wrong, often enough"
    assert nobody.majority is not None
    assert whole(values, clusters=np.zeros(60, np.intp)).correlation is None


def test_judges_that_always_err_together_are_worth_one_and_have_no_interval() -> None:
    one = drawn(4)[:, :1]
    found = whole(np.hstack([one, one, one]))
    assert (found.correlation, found.effective) == (pytest.approx(1), pytest.approx(1))
    assert (found.correlation_ci95, found.effective_ci95) == (None, None)
    assert found.majority == pytest.approx(float(one.mean()))
    against = whole(np.hstack([one, 1 - one]))
    assert against.correlation == pytest.approx(-1)
    assert (against.effective, against.correlation_ci95) == (None, None)
    assert "independent judges" not in against.sentence


def test_an_interval_beyond_what_judges_can_cancel_out_has_no_effective_number() -> None:
    values = 1 - np.tile(np.eye(3), (4, 1))  # a pair, one judge wrong
    values[:2] = 1
    found = whole(values)
    assert found.correlation is not None
    assert found.correlation > -1 / 2  # three judges cannot be correlated any less
    assert found.correlation_ci95 is not None
    assert found.correlation_ci95[0] < -1 / 2
    assert found.effective == pytest.approx(3 / (1 + 2 * found.correlation))
    assert found.effective_ci95 is None


def test_credits_that_no_tie_makes_have_no_promise() -> None:
    values = drawn(6)
    values[0, 0] = 0.3
    found = whole(values)
    assert found.independent is None
    assert found.reason == "what independence promises is worked out for credits of 0, 1/2 and 1"
    assert "independence" in found.sentence
    assert found.majority is not None


def test_the_order_of_pairs_changes_nothing() -> None:
    values = drawn(7)
    turned = values[::-1]
    keys = np.arange(60) // 3
    one, other = whole(values, clusters=keys), whole(turned, clusters=keys[::-1].copy())
    assert one.correlation == pytest.approx(other.correlation)
    assert one.correlation_ci95 == pytest.approx(other.correlation_ci95)
    assert one.majority_ci95 == pytest.approx(other.majority_ci95)


def test_a_report_holds_its_panels() -> None:
    rows = [
        VerdictRow(case_id=f"p{pair}", judge=f"j{judge}", verdict="A" if right else "B", gold="A")
        for pair, answers in enumerate(drawn(8, pairs=20, judges=3).tolist())
        for judge, right in enumerate(answers)
    ]
    report = rank(rows)
    assert len(report.panels) == 1
    kept = report.to_dict()["panels"][0]
    assert (sorted(kept["judges"]), kept["pairs"]) == (["j0", "j1", "j2"], 20)
    assert kept["correlation_ci95"] == list(report.panels[0].correlation_ci95 or ())
    shown = report._repr_html_()  # what a notebook shows
    assert "several judges together" in shown
    assert f"<bdi>{report.panels[0].effective:.1f}</bdi>" in shown


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "judges", "shape"), [(50, 3, (2, 8)), (100, 9, (0.3, 1.7)), (400, 9, (0.3, 1.7))])
def test_the_interval_holds_the_planted_correlation(pairs: int, judges: int, shape: tuple[float, float]) -> None:
    truth, inside, told = 1 / (sum(shape) + 1), 0, 0
    for seed in range(500):
        found = whole(drawn(seed, pairs=pairs, judges=judges, shape=shape))
        if found.correlation_ci95 is not None:
            told += 1
            inside += found.correlation_ci95[0] <= truth <= found.correlation_ci95[1]
    assert told >= 495
    assert inside / told >= 0.92  # .927, .960 and .951 over 4,000 studies
