"""What a ranking opens with, and its page: who cannot be told from the first, who costs less, pictures by question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.ranked_study import board

from judgeharness_integrations.analysis.ranking.rating import RankReport
from judgeharness_integrations.reporting.ranking import rank_section
from judgeharness_integrations.reporting.rankpage import rank_finding, rank_page
from judgeharness_integrations.reporting.sections import Finding
from judgeharness_integrations.reporting.terminal import section_lines

if TYPE_CHECKING:
    from pathlib import Path


def priced(**money: tuple[float, float | None]) -> RankReport:
    """A ranking whose judges, from the first on, have these Elo and these costs a pair."""
    report = board()
    judges = tuple(
        replace(one, judge=name, elo=elo, measures=replace(one.measures, cost=cost))
        for one, (name, (elo, cost)) in zip(report.judges, money.items(), strict=False)
    )
    return replace(report, judges=judges)


def bargains(**money: tuple[float, float | None]) -> list[str]:
    return [line for line in rank_finding(priced(**money)).reasons if "costs 1/" in line]


def test_who_stands_as_high_for_less_is_named_the_largest_saving_first() -> None:
    found = bargains(a=(1700.2, 0.009), b=(1600.0, 0.008), c=(1600.4, 0.001), d=(1500.0, 0.004))
    assert found == [
        "c costs 1/8 as much as b and stands as high: Elo 1600 against 1600, 1.00 against 8.00 per 1,000 pairs",
        "c costs 1/4 as much as d and stands as high: Elo 1600 against 1500, 1.00 against 4.00 per 1,000 pairs",
    ]


def test_no_saving_is_named_where_the_higher_costs_more_or_nothing_is_known() -> None:
    assert bargains(a=(1700.0, 0.009), b=(1600.0, 0.001)) == []
    assert bargains(a=(1700.0, 0.003), b=(1600.0, 0.004)) == []  # less than twice
    assert bargains(a=(1700.0, None), b=(1600.0, 0.004)) == []


def test_who_cannot_be_told_from_the_first_is_named() -> None:
    report = board()
    first = replace(report.judges[0], rank_range=(1, 3))
    others = [one.judge for one in report.judges[1:]]
    near = {others[0], others[1]}

    def contrast(one: Any, *, turned: bool) -> Any:
        pair = {one.judge, one.other}
        p = 0.9 if first.judge in pair and pair & near else 0.001
        named = (one.other, one.judge) if turned else (one.judge, one.other)
        return replace(one, judge=named[0], other=named[1], p=p, p_adjusted=p)

    for turned in (False, True):
        contrasts = tuple(contrast(one, turned=turned) for one in report.contrasts)
        found = rank_finding(replace(report, judges=(first, *report.judges[1:]), contrasts=contrasts))
        (told,) = (line for line in found.reasons if "cannot be told" in line)
        assert told.startswith("2 other judges cannot be told apart from it, at a false discovery rate of 5 %: ")
        assert set(told.rpartition(": ")[2].split(", ")) == near
    without = rank_finding(replace(report, judges=(first, *report.judges[1:]), contrasts=()))
    assert any(line.endswith("at a false discovery rate of 5 %") for line in without.reasons)
    alone = rank_finding(replace(report, judges=(replace(first, rank_range=(1, 1)), *report.judges[1:])))
    assert any(line.startswith("every other judge is significantly behind it, ") for line in alone.reasons)


def test_nobody_ranked_is_said_with_what_comes_next() -> None:
    report = board()
    nobody = replace(report, judges=tuple(replace(one, rank=None) for one in report.judges))
    assert rank_finding(nobody, following="more") == Finding(
        answer="nobody is ranked: the judges cannot be compared, see below", next="more"
    )


def test_what_is_beside_the_ranking_is_folded_unless_it_was_asked_for() -> None:
    def opened(**options: Any) -> list[str]:
        section = rank_section(board(), beside=("beside it",), **options)
        return [block.title for block in section.blocks if hasattr(block, "folded") and not block.folded]

    assert "beside the ranking" not in opened()
    assert "beside the ranking" in opened(asked=True)


def test_many_that_are_not_better_than_a_control_are_named_and_few_compared() -> None:
    report = board()
    text = "\n".join(section_lines(rank_section(report)))
    beaten = [one for one in report.judges if one.controls is not None and not one.controls.beaten]
    assert ("not shown to be better than the best judge that reads nothing: " in text) == (len(beaten) > 3)


@pytest.fixture
def pictures(tmp_path: Path) -> dict[str, list[Path]]:
    """Two pictures of which one is in two files, one in two parts."""
    names = ("leaderboard.png", "leaderboard.svg", "confusion.png", "confusion_by_group.png")
    paths = {name: tmp_path / name for name in names}
    for path in paths.values():
        path.write_bytes(b"<svg/>")
    return {
        "leaderboard": [paths["leaderboard.png"], paths["leaderboard.svg"]],
        "confusion": [paths["confusion.png"], paths["confusion_by_group.png"]],
    }


def test_the_page_shows_leaderboard_then_pictures_and_folds_the_rest(pictures: dict[str, list[Path]]) -> None:
    report = priced(a=(1700.0, 0.009), b=(1600.0, 0.001), c=(1500.0, None), d=(1400.0, None))
    page = rank_page(
        rank_section(report), rank_finding(report), pictures=pictures, files=["leaderboard.csv"], priced=True
    )
    assert page.count("<h1") == 1
    assert page.count("First of 4 judges by Bradley-Terry: a") == 2  # heading and title
    assert page.count('src="data:image/svg+xml;base64,') == 1
    assert page.count('src="data:image/png;base64,') == 2
    order = (
        "Leaderboard and cost",
        "Who is right, and at what price",
        "How judges err",
        "differences",
        "leaderboard.csv",
    )
    places = [page.rindex(f">{text}") for text in order]
    assert places == sorted(places)
    assert page.count("<details") >= 2
    assert "default-src 'none'" in page


def test_a_page_without_pictures_has_no_place_for_them() -> None:
    report = board()
    page = rank_page(rank_section(report), rank_finding(report), pictures={}, files=[], priced=False)
    assert "Pictures" not in page
    assert "and cost" not in page


def test_names_on_the_page_stay_texts() -> None:
    report = priced(**{"<script>x</script>": (1700.0, None), "b": (1600.0, None)})
    page = rank_page(rank_section(report), rank_finding(report), pictures={}, files=["<b>.csv"], priced=False)
    assert "<script>x" not in page
    assert "<b>.csv" not in page
