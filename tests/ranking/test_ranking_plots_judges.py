"""Pictures of judges: ranks, prices, preferences, and how far the ranking holds; names as they are."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.pictures import drawn, kept_figures, size_of
from support.ranked_study import FACTS, HOSTILE, SHOWN, board, found

from judgeharness_integrations._errors import NotInstalledError
from judgeharness_integrations.analysis.ranking import RankReport
from judgeharness_integrations.analysis.ranking.analyses import Portfolio
from judgeharness_integrations.analysis.ranking.comparing import Against, Comparison, against, correlate
from judgeharness_integrations.analysis.ranking.families import SelfPreference, Variant, pareto
from judgeharness_integrations.analysis.ranking.firmness import StabilityPoint
from judgeharness_integrations.reporting import figures
from judgeharness_integrations.reporting.figures import INK
from judgeharness_integrations.reporting.rankplots import drawing as robustness
from judgeharness_integrations.reporting.rankplots import drawing as slopes
from judgeharness_integrations.reporting.rankplots import drawing as stability
from judgeharness_integrations.reporting.rankplots import (
    families as variants,
)
from judgeharness_integrations.reporting.rankplots import (
    leaderboard,
)
from judgeharness_integrations.reporting.rankplots import leaderboard as pareto_plots
from judgeharness_integrations.reporting.rankplots.drawing import draw_all, draw_robustness, draw_slopes, draw_stability
from judgeharness_integrations.reporting.rankplots.families import draw_self_preference, draw_variants
from judgeharness_integrations.reporting.rankplots.leaderboard import draw_leaderboard, draw_pareto, named_of
from judgeharness_integrations.reporting.rankplots.style import NONE, looks_of, right_aligned

pytestmark = pytest.mark.slow  # they draw


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is what a picture says: fewer pixels are drawn sooner."""
    monkeypatch.setattr(figures, "_DPI", 40)


def renamed(report: RankReport, names: tuple[str, ...] = HOSTILE) -> RankReport:
    return replace(
        report, judges=tuple(replace(one, judge=name) for one, name in zip(report.judges, names, strict=True))
    )


def test_every_picture_that_has_something_to_show_is_drawn(tmp_path: Path) -> None:
    told: list[str] = []
    made = Portfolio(report=board(), against=(slope_of(("a", "b"), scale=2000),))
    files = draw_all(found(), made, tmp_path, tell=told.append)
    assert told == [f"drawing {name}" for name in files]
    assert [name for name, paths in files.items() if paths] == ["leaderboard", "difficulty", "slopes"]
    _the_leaderboard_names_judges_by_rank_with_their_elo(drawn(files["leaderboard"], "leaderboard"))
    _slopes_of_eip_have_decimals_and_few_judges_no_correlation(drawn(files["slopes"], "slopes"))


def _the_leaderboard_names_judges_by_rank_with_their_elo(texts: list[str]) -> None:
    first = board().judges[0]
    assert first.elo is not None
    assert first.ci95 is not None
    assert [text for text in texts if text.endswith(("   1", "   2", "   3", "   4"))] == [
        f"{one.judge}   {one.rank}" for one in board().judges
    ]
    low, high = first.ci95
    assert any(text.startswith(f"{first.elo:.0f} [{low:.0f}, {high:.0f}]   ") for text in texts)
    assert {"Acme", "Commons", "provider not given", "open weights", "proprietary"} <= {*texts}
    assert {"domain: art", "domain: law", "Elo (Bradley-Terry), judges' mean 1500"} <= {*texts}
    assert f"4 judges, {board().n_pairs} pairs that tell them apart; rule: one_order" in texts


def test_by_eip_elo_stands_beside_the_scores(tmp_path: Path) -> None:
    texts = drawn(draw_leaderboard(board("eip", None), tmp_path), "leaderboard")
    assert {"EIP score", "Elo (Bradley-Terry), judges' mean 1500"} <= {*texts}
    assert not any("domain" in text for text in texts)


def test_judges_without_a_rating_say_why(tmp_path: Path) -> None:
    report = board("conditional", None)
    nothing: dict[str, Any] = {"elo": None, "se": None, "ci95": None}
    places = (("above", 1), ("rated", 2), ("rated", 3), ("apart", None))
    judges = [
        replace(one, place=place, rank=rank, **({} if place == "rated" else nothing))
        for one, (place, rank) in zip(report.judges, places, strict=True)
    ]
    judges[1] = replace(judges[1], ci95=None, right_of_labelled=None)
    changed = replace(report, judges=tuple(judges))
    texts = drawn(draw_leaderboard(changed, tmp_path), "leaderboard")
    assert any(text.startswith("never beaten: no finite Elo   ") for text in texts)
    assert any(text.startswith("cannot be compared   ") for text in texts)
    assert f"poor   {NONE}" in texts
    assert f"{judges[1].elo:.0f}" in texts
    assert any(text.startswith("Elo (conditional") for text in texts)
    nobody = replace(changed, judges=tuple(replace(one, **nothing) for one in judges))
    assert draw_leaderboard(nobody, tmp_path) == []


def test_many_judges_and_groups_stay_apart(tmp_path: Path) -> None:
    one = board().judges[0]
    groups: dict[str, float | None] = {f"g{place}": 1500.0 + place for place in range(9)} | {"empty": None}
    many = tuple(replace(one, judge=f"judge {place}", rank=place + 1, groups=groups) for place in range(32))
    texts = drawn(draw_leaderboard(replace(board(), judges=many), tmp_path), "leaderboard")
    assert {f"judge {place}   {right_aligned(str(place + 1), 2)}" for place in range(32)} <= {*texts}
    assert "each of 9 groups by domain" in texts
    width, height = size_of(tmp_path / "leaderboard.png")
    assert height / 40 > 32 * 0.2
    assert width / 40 < 10


def test_marks_of_groups_stand_below_the_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_figures(monkeypatch, leaderboard)
    draw_leaderboard(board(), tmp_path)
    marks = [line for line in kept[0].axes[0].lines if line.get_marker() not in {"o", "None"}]
    assert len(marks) == 2
    assert all(0.2 < place % 1 < 0.4 for line in marks for place in line.get_ydata())


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    texts = drawn(draw_leaderboard(renamed(board()), tmp_path), "leaderboard")
    assert all(any(text.startswith(f"{name}   ") for text in texts) for name in SHOWN)
    assert any(text.startswith("判断者 xxx") and "…" in text for text in texts)


PLACES = {"cheap": (10.0, 1400.0), "middling": (50.0, 1500.0), "worse": (60.0, 1450.0), "<b>$x_1$</b>": (90.0, 1600.0)}


def test_a_front_names_its_judges(tmp_path: Path) -> None:
    texts = drawn(draw_pareto(pareto(PLACES), tmp_path, looks=looks_of(FACTS)), "pareto_tokens")
    assert {"cheap", "middling", "<b>$x_1$</b>", "tokens per pair", "Elo", "Acme"} <= {*texts}
    assert draw_pareto([], tmp_path) == []


def test_few_judges_are_all_named_and_of_many_those_on_the_front() -> None:
    assert named_of(pareto(PLACES)) == ["cheap", "middling", "<b>$x_1$</b>", "worse"]
    assert named_of(pareto({f"j{place}": (float(place), -float(place)) for place in range(13)})) == ["j0"]


def test_money_is_on_a_logarithmic_scale_on_which_nothing_has_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    money: dict[str, Any] = {"name": "pareto_money", "x_label": "money per pair", "log": True}
    priced = {name: (x / 1e6, y) for name, (x, y) in PLACES.items()}
    texts = drawn(draw_pareto(pareto(priced), tmp_path, **money), "pareto_money")
    assert {"money per pair (log scale)", "0.00005"} <= {*texts}
    assert "costs nothing" not in texts
    kept = kept_figures(monkeypatch, pareto_plots)
    for free in (priced | {"free": (0.0, 1300.0)}, {"free": (0.0, 1300.0)}):
        draw_pareto(pareto(free), tmp_path, **money)
        assert {"costs nothing", "free"} <= {text.get_text() for text in kept.pop().axes[0].texts}


def point(fraction: float, group: str | None = None, **changes: Any) -> StabilityPoint:
    values: dict[str, Any] = {
        "method": "bradley-terry",
        "draws": 20,
        "unrated": 0,
        "placed": 0,
        "spearman": 0.8,
        "spearman_low": 0.7,
        "spearman_high": 0.9,
        "kendall": 0.6,
        "kendall_low": 0.5,
        "kendall_high": 0.7,
        "top5": None,
    }
    return StabilityPoint(group=group, fraction=fraction, **values | changes)


UNRATED = dict.fromkeys(
    ("spearman", "spearman_low", "spearman_high", "kendall", "kendall_low", "kendall_high"), None
) | {"unrated": 20}


def test_stability_has_a_panel_for_each_group_that_could_be_rated(tmp_path: Path) -> None:
    points = [
        point(0.5),
        point(0.1, **UNRATED),
        point(0.5, "<b>$x_1$</b>", top5=0.5, kendall_low=-0.4),
        point(0.5, "never", **UNRATED),
    ]
    texts = drawn(draw_stability(points, tmp_path), "stability")
    assert {"all", "<b>$x_1$</b>", "20 of 40 draws could not be rated", "share of the matches drawn"} <= {*texts}
    assert "never" not in texts
    assert texts.count("Kendall correlation") == 1
    assert "\u22120.25" in texts
    assert not any("hollow" in text for text in texts)
    assert draw_stability([point(0.5, **UNRATED)], tmp_path) == draw_stability([], tmp_path) == []


def test_shares_at_which_few_draws_were_rated_are_hollow_and_have_no_band(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_figures(monkeypatch, stability)
    draw_stability([point(0.2, unrated=11), point(0.5, unrated=10), point(0.8)], tmp_path)
    (axes,) = kept[0].axes
    hollow = [line.get_xdata() for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert hollow == [[0.2], [0.2]]  # Spearman and Kendall
    assert [area.get_datalim(axes.transData).x0 for area in axes.collections] == [0.5, 0.5]
    assert "hollow: fewer than half of the draws could be rated" in kept[0].get_suptitle().replace("\n", " ")


def test_many_groups_of_stability_are_left_to_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stability, "_MOST_PANELS", 2)
    texts = drawn(draw_stability([point(0.5, f"g{place}", method="eip") for place in range(3)], tmp_path), "stability")
    assert "g1" in texts
    assert "g2" not in texts
    assert "share of the pairs drawn" in texts
    assert "groups not drawn: 1 (in stability.csv)" in " ".join(texts)


def comparison(name: str, points: tuple[tuple[str, float, float], ...], **changes: Any) -> Comparison:
    x, y = ({judge: place[side] for judge, *place in points} for side in (0, 1))
    values: dict[str, Any] = {
        "x_label": "Elo with",
        "y_label": "Elo without",
        "group": None,
        "correlation": correlate(x, y, labels=("x", "y")) if points else None,
        "reason": None if points else "nothing compares the judges",
    }
    return Comparison(name=name, points=points, **values | changes)


ELO = (("best", 1700.0, 1690.0), ("good", 1500.0, 1520.0), ("fair", 1400.0, 1390.0))
EIP = tuple((judge, x, y / 1e4) for judge, x, y in ELO)


def test_the_robustness_sheet_has_a_line_for_each_comparison(tmp_path: Path) -> None:
    sheet = [
        comparison("with and without the cut", ELO),
        comparison("with and without the cut", ELO[:2], group="law"),
        comparison("bradley-terry against eip", EIP, y_label="EIP score"),
        comparison("one judge", ELO[:1]),
        comparison("pairwise against pointwise", ()),
    ]
    texts = drawn(draw_robustness(sheet, tmp_path, looks=looks_of(FACTS)), "robustness")
    assert {"all (3 judges)", "law (2 judges)", "EIP score, rank", "Elo with", "Acme"} <= {*texts}
    assert "\u03c1 1.000   \u03c4 1.000   r 0.994" in texts
    assert "comparisons not made: 1 (rank.json says why)" in " ".join(texts)
    assert not any("pointwise" in text for text in texts)
    assert draw_robustness(sheet[-1:], tmp_path) == []


@pytest.mark.parametrize(("judges", "ticks"), [(1, [1]), (3, [1, 2, 3]), (7, [2, 4, 6]), (65, [20, 40, 60])])
def test_ranks_have_regular_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judges: int, ticks: list[int]
) -> None:
    kept = kept_figures(monkeypatch, robustness)
    monkeypatch.setattr(robustness, "_other_scale", bool)
    points = tuple((f"j{place}", float(place), float(place)) for place in range(judges))
    draw_robustness([comparison("eip", points, x_label="Elo with a criterion of quite some length")], tmp_path)
    (axes,) = kept[0].axes
    assert axes.get_xticks().tolist() == axes.get_yticks().tolist() == ticks
    assert axes.get_xlabel() == "Elo with a criterion of\nquite some length, rank"


def test_more_groups_than_fit_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robustness, "_MOST_COLUMNS", 2)
    sheet = [comparison("cut", ELO, group=f"<b>$g_{place}$</b>") for place in range(3)]
    texts = drawn(draw_robustness(sheet, tmp_path), "robustness")
    assert "<b>$g_1$</b> (3 judges)" in texts
    assert "<b>$g_2$</b> (3 judges)" not in texts
    assert "groups not drawn: 1 (in robustness.csv)" in " ".join(texts)
    assert "not made" not in " ".join(texts)


def preference(judge: str, difference: float | None, **changes: Any) -> SelfPreference:
    known = difference is not None
    values: dict[str, Any] = {
        "family": "Acme",
        "pairs": 50 if known else 0,
        "own_rate": 0.5 + difference if known else None,
        "others_rate": 0.5 if known else None,
        "difference": difference,
        "se": 0.02 if known else None,
        "ci95": (difference - 0.04, difference + 0.04) if known else None,
        "judges": 3,
        "reason": None if known else "no pair has exactly one answer of its family",
    }
    return SelfPreference(judge=judge, **values | changes)


def test_self_preference_is_sorted_and_says_where_there_is_none(tmp_path: Path) -> None:
    entries = [
        preference("good", 0.01),
        preference("fair", None),
        preference("<b>$x_1$</b>", 0.2, ci95=None, se=None),
        preference("poor", None, reason=None),
    ]
    texts = drawn(draw_self_preference(entries, tmp_path, looks=looks_of(FACTS)), "self_preference")
    names = [text for text in texts if text in {"good", "fair", "poor", "<b>$x_1$</b>"}]
    assert names == ["<b>$x_1$</b>", "good", "fair", "poor"]
    assert {"no pair has exactly one answer of its family", "not measured"} <= {*texts}
    assert any("70%" in text and text.endswith("50") for text in texts)
    assert draw_self_preference(entries[1:2], tmp_path) == []


def slope_of(names: tuple[str, ...], *, generators: tuple[str, ...] = (), scale: float = 1.0) -> Against:
    scores = {name: (1700 - 20.0 * place) / scale for place, name in enumerate(names)}
    other = dict(zip(names, [*list(scores.values())[1:], max(scores.values()) + 5 / scale], strict=True))
    return against(scores, other, labels=("first log", "<b>$x_1$</b>"), generators=(generators, ()))


def test_slopes_have_both_ranks_of_each_judge(tmp_path: Path) -> None:
    names = (*HOSTILE, *(f"judge {place}" for place in range(8)))
    found_slopes = slope_of(names, generators=("judge 0", "judge 7"))
    texts = drawn(draw_slopes(found_slopes, tmp_path), "slopes")
    assert {
        "first log",
        "<b>$x_1$</b>",
        "rises",
        "about the same (rank \u00b11)",
        "thick, in any colour: wrote answers",
    } <= {*texts}
    assert "falls" not in texts
    assert any(text.startswith("<b>$x_1$</b>  1700") for text in texts)
    assert any(text.endswith("1705  judge 7") for text in texts)
    assert any("without judges that wrote answers" in text for text in texts)
    assert draw_slopes(replace(found_slopes, slopes=()), tmp_path) == []


def test_the_threshold_of_the_same_rank_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_figures(monkeypatch, slopes)
    scores = {f"j{place}": float(place) for place in range(3)}
    draw_slopes(against(scores, scores, labels=("a", "b"), generators=(["j0"], ())), tmp_path)
    (legend,) = kept[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["same rank", "thick, in any colour: wrote answers"]
    assert INK not in {line.get_color() for line in kept[0].axes[0].lines}


def _slopes_of_eip_have_decimals_and_few_judges_no_correlation(texts: list[str]) -> None:
    assert any(text.startswith("a  0.850") for text in texts)
    assert {"rises", "falls"} <= {*texts}
    assert not any("Spearman" in text for text in texts)


def variant(name: str, tokens: float | None, right: float | None, **changes: Any) -> Variant:
    values: dict[str, Any] = {
        "judge": f"m@{name}" if name else "m",
        "model": "m",
        "variant": name,
        "is_base": not name,
        "pairs": 50,
        "elo": None if right is None else 1500 + 100 * right,
        "pairs_compared": 50 if name else 0,
        "difference": 0.1 if name else None,
        "ci95": (0.05, 0.15) if name else None,
        "p": 0.01 if name else None,
        "p_adjusted": 0.012 if name else None,
        "on_front": False,
        "step": None,
    }
    return Variant(tokens=tokens, right_of_labelled=right, **values | changes)


VARIANTS = [
    variant("", 100.0, 0.6),
    variant("<b>$x_1$</b>", 300.0, 0.7),
    variant("long", 900.0, 0.65, p_adjusted=0.0001),
    variant("silent", None, 0.7, p_adjusted=None),
    variant("never", 50.0, None, difference=None, ci95=None),
]


def test_variants_are_shown_against_tokens_and_against_their_base(tmp_path: Path) -> None:
    texts = drawn(draw_variants(VARIANTS, tmp_path), "variants", "variants_difference")
    assert {"labelled cases judged right", "Elo", "tokens per pair", "m@<b>$x_1$</b>", "m@silent"} <= {*texts}
    assert any(".012" in text and "70.0%" in text for text in texts)
    assert any("<.001" in text for text in texts)
    assert any(text.startswith("base prompt") for text in texts)
    assert any(text.startswith("not compared") for text in texts)


def test_all_of_few_variants_are_named_beside_their_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_figures(monkeypatch, variants)
    draw_variants(VARIANTS, tmp_path)
    accuracy = kept[0].axes[0]
    assert {text.get_text() for text in accuracy.texts} == {"m", "m@<b>$x_1$</b>", "m@long"}
    step = next(line for line in accuracy.lines if line.get_color() == INK)
    bars = [line for line in accuracy.lines if line.get_linewidth() > 5]
    assert len(bars) == 2
    assert all(bar.get_zorder() < step.get_zorder() for bar in bars)


def test_variants_without_tokens_or_differences_are_not_drawn(tmp_path: Path) -> None:
    assert draw_variants([], tmp_path) == []
    alone = [replace(one, tokens=None) for one in VARIANTS]
    drawn(draw_variants(alone, tmp_path), "variants_difference")
    texts = drawn(draw_variants([replace(VARIANTS[0], elo=None)], tmp_path), "variants")
    assert "Elo" not in texts


def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    one, other = (draw_pareto(pareto(PLACES), tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_without_matplotlib_the_pip_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = board()
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NotInstalledError, match=r"pip install '\.\[report\]'"):
        draw_leaderboard(report, tmp_path)
