"""Bars, whiskers, histograms and colours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import first, measured
from support.rows import sampled

from judgeharness_integrations.reporting.html.charts import Tones, bar, histogram, whisker

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=6)


def share(text: str) -> float:
    return float(text.removesuffix("%"))


@given(COUNTS)
def test_the_parts_of_a_bar_lie_side_by_side_and_fill_it(counts: list[int]) -> None:
    drawn = bar((str(place), count, "pass") for place, count in enumerate(counts))
    assert drawn.total == sum(counts)
    assert [one.count for one in drawn.segments] == [count for count in counts if count]
    ends = [share(one.x) + share(one.width) for one in drawn.segments]
    starts = [share(one.x) for one in drawn.segments[1:]] + ([100.0] if ends else [])
    assert starts == pytest.approx(ends, abs=0.02)


def test_a_bar_says_what_it_shows() -> None:
    drawn = bar([("PASS", 3, "pass"), ("FAIL", 0, "fail"), ("failed", 1, "failed")])
    assert drawn.words == "3\u00d7 PASS, 1\u00d7 failed"
    assert bar([]).words == "none"


def test_a_whisker_stands_on_its_axis_and_never_leaves_it() -> None:
    drawn = whisker(0.25, 0.1, 0.5, mark=2.0)
    assert (drawn.at, drawn.low, drawn.high, drawn.mark) == ("25%", "10%", "50%", "100%")
    centred = whisker(-0.1, axis=(-0.2, 0.2))
    assert (centred.at, centred.low, centred.high, centred.mark) == ("25%", None, None, None)
    assert whisker(3.0, axis=(3.0, 3.0)).at == "0%"


@given(st.dictionaries(st.floats(-1e100, 1e100), st.integers(1, 9), min_size=1, max_size=40))
def test_a_histogram_counts_every_score_once(scores: dict[float, int]) -> None:
    drawn = histogram(scores)
    assert drawn is not None
    assert sum(column.count for column in drawn.columns) == sum(scores.values())
    assert max(column.count for column in drawn.columns) == drawn.tallest
    assert all(0 <= share(column.x) <= 100 for column in drawn.columns)


def test_the_axis_of_a_histogram_is_true_also_where_no_score_is() -> None:
    drawn = histogram({1: 2, 1.5: 1, 4: 3})
    assert drawn is not None
    assert [(column.label, column.count) for column in drawn.columns] == [
        *(("1", 2), ("1.5", 1), ("2", 0), ("2.5", 0), ("3", 0), ("3.5", 0), ("4", 3))
    ]
    assert drawn.words == "1: 2, 1.5: 1, 4: 3"


def test_scores_on_no_grid_are_counted_in_ranges() -> None:
    drawn = histogram({score / 7 + score**2: 1 for score in range(30)})
    assert drawn is not None
    assert len(drawn.columns) == 20
    assert drawn.columns[0].label.endswith(" to")


def test_a_single_score_is_one_narrow_column_in_the_middle() -> None:
    drawn = histogram({7: 4})
    assert drawn is not None
    assert [(column.x, column.width) for column in drawn.columns] == [("41.20%", "17.60%")]


def test_there_is_no_histogram_without_scores() -> None:
    assert histogram({}) is None


def test_known_verdicts_have_their_own_colours_and_other_labels_one_each() -> None:
    labels = sampled(["PASS", "good", "bad", frozenset({"x"})])
    colours = Tones([measured([*labels, *sampled([3, 7, 5, 3], criterion="score")], rule_name=first)])
    assert [colours.of("verdict", word) for word in ("PASS", "ABSTAIN", None)] == ["pass", "abstain", "ungraded"]
    others = [colours.of("verdict", word) for word in ("bad", "good", frozenset({"x"}))]
    assert len(set(others)) == 3
    assert [colours.of("score", score) for score in (3, 5, 7)] == ["score-1", "score-4", "score-7"]


def test_a_lone_score_has_a_colour_of_the_middle() -> None:
    assert Tones([measured(sampled([4, 4]), rule_name="median")]).of("verdict", 4) == "score-4"
