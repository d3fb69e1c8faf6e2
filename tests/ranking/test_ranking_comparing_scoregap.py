from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking import Material, RankRequest, leaderboard, portfolio_of, study
from judgeharness_integrations.analysis.ranking.pointwise import score_gaps
from judgeharness_integrations.verdictlog.row import VerdictRow


def scored(pair: str, first: Any, second: Any, gold: Any, **fields: Any) -> list[VerdictRow]:
    """Both rows of a pair."""
    return [
        VerdictRow(
            case_id=f"{pair}{side}",
            verdict=score,
            outcome="unparsed" if score is None else "ok",
            gold=gold,
            attributes={"pair": pair, "side": side},
            **fields,
        )
        for side, score in (("A", first), ("B", second))
    ]


def test_the_gap_is_the_better_minus_the_worse_over_pairs() -> None:
    rows = [
        *scored("1", 8, 5, "A"),
        *scored("2", 4, 6, "B"),
        *scored("3", 7, 6, "B"),
        *scored("4", 5, 5, "A"),
        *scored("5", 9, 1, "TIE"),
        *scored("6", 9, 1, None),
        *scored("7", 9, None, "A"),
    ]
    (found,) = score_gaps(rows)
    gaps = np.array([3.0, 2.0, -1.0, 0.0])
    low, high = stats.t.interval(0.95, 3, gaps.mean(), stats.sem(gaps))
    assert (found.judge, found.criterion, found.pairs, found.unscored) == ("judge", "verdict", 4, 1)
    assert (found.mean, found.sd) == (pytest.approx(1.0), pytest.approx(gaps.std(ddof=1)))
    assert found.se == pytest.approx(stats.sem(gaps))
    assert found.ci95 == pytest.approx((low, high))
    assert (found.right, found.ties, found.accuracy) == (2, 1, 0.625)


def test_samples_of_a_pair_count_once_with_their_mean() -> None:
    rows = [
        *scored("1", 8, 5, "A", repetition=0),
        *scored("1", 6, 7, "A", repetition=1),
        *scored("1", 6, None, "A", repetition=2),
        *scored("2", 0.1, 0.3, "B", repetition=0),
        *scored("2", 0.3, 0.1, "B", repetition=1),
    ]
    (found,) = score_gaps(rows)
    assert (found.pairs, found.unscored, found.mean) == (2, 0, 0.5)
    assert (found.right, found.ties) == (1, 1)


def test_judges_and_criteria_have_gaps_of_their_own() -> None:
    rows = [
        *scored("1", 8, 5, "A", judge="j", criterion="help"),
        *scored("1", 1, 5, "B", judge="j", criterion="harm"),
        *scored("1", 5, 8, None, judge="k", criterion="help"),
    ]
    assert [(gap.judge, gap.criterion, gap.mean) for gap in score_gaps(rows)] == [
        ("j", "help", 3.0),
        ("j", "harm", 4.0),
        ("k", "help", -3.0),
    ]


def test_one_pair_has_a_mean_and_no_interval() -> None:
    (found,) = score_gaps(scored("1", 8, 5, "A"))
    assert (found.pairs, found.mean, found.sd, found.se, found.ci95) == (1, 3.0, None, None, None)


def test_gaps_that_never_vary_tell_no_interval() -> None:
    (found,) = score_gaps([*scored("1", 8, 5, "A"), *scored("2", 5, 2, "A")])
    assert (found.sd, found.se, found.ci95) == (0.0, 0.0, None)


def test_without_gold_nothing_is_measured() -> None:
    (found,) = score_gaps(scored("1", 8, 5, None))
    assert (found.pairs, found.unscored) == (0, 0)
    assert (found.mean, found.sd, found.se, found.ci95, found.accuracy) == (None,) * 5


def test_rows_without_a_pair_are_refused() -> None:
    with pytest.raises(UsageError, match="give each its `pair` and its `side`"):
        score_gaps([VerdictRow(case_id="c", verdict=3)])


def test_gaps_are_json() -> None:
    found = score_gaps([*scored("1", 8, 5, "A"), *scored("2", 5, 3, "A")])[0]
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["ci95"] == pytest.approx(list(found.ci95))
    assert plain["pairs"] == 2
    assert score_gaps(scored("1", 8, 5, "A"))[0].to_dict()["ci95"] is None


def test_scores_beside_a_log_of_pairs_have_gaps_and_else_a_reason() -> None:
    pairs = [
        VerdictRow(case_id=str(number), judge=judge, verdict="A" if number % 2 else "B", gold="A")
        for number in range(1, 5)
        for judge in ("one", "two")
    ]
    found = study(pairs, RankRequest())
    material = Material(found=found, report=leaderboard(found), scores=scored("1", 8, 5, "A"))
    (gap,) = portfolio_of(material, names=["score_gaps"]).score_gaps
    assert (gap.pairs, gap.mean, gap.right) == (1, 3, 1)
    without = Material(found=found, report=leaderboard(found), unscored="nobody scored an answer")
    assert portfolio_of(without, names=["score_gaps"]).absent == {"score_gaps": "nobody scored an answer"}
    silent = Material(found=found, report=leaderboard(found))
    assert portfolio_of(silent, names=["score_gaps"]).absent == {"score_gaps": "no scores of single answers"}
