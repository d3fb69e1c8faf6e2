"""Pictures of pairs and labels: difficulty, class bias, confusion, audits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.pictures import drawn, kept_figures
from support.ranked_study import SKILL, found

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.ranking.families import (
    NO_DECISION,
    ClassBias,
    Confusion,
    class_bias,
    confusions,
)
from judgeharness_integrations.analysis.ranking.studying import AuditCurve, Curation
from judgeharness_integrations.reporting import figures
from judgeharness_integrations.reporting.rankplots import families as classbias
from judgeharness_integrations.reporting.rankplots import families as confusion_plots
from judgeharness_integrations.reporting.rankplots import leaderboard as difficulty
from judgeharness_integrations.reporting.rankplots.families import draw_class_bias, draw_confusion
from judgeharness_integrations.reporting.rankplots.leaderboard import draw_audit, draw_difficulty
from judgeharness_integrations.reporting.rankplots.style import NONE

pytestmark = pytest.mark.slow  # they draw


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested is what a picture says: fewer pixels are drawn sooner."""
    monkeypatch.setattr(figures, "_DPI", 40)


def test_difficulty_is_shown_by_group_with_the_cut(tmp_path: Path) -> None:
    curation = found(cut=0.2).curation
    texts = drawn(draw_difficulty(curation, tmp_path, by="domain"), "difficulty")
    assert {"all pairs", "law", "art", "Difficulty of pairs by domain", "pairs  median"} <= {*texts}
    assert any(text.endswith(f"; dashed: {int(curation.hardest.sum())} pairs are cut from here on") for text in texts)


def of_difficulties(values: list[float], groups: list[str | None]) -> Curation:
    """Return a curation of so many pairs; NaN has no difficulty."""
    curation = found(by=None).curation
    marks = np.zeros(len(values), np.bool_)
    matrix = curation.matrix.of_pairs(np.arange(len(curation.matrix.pairs)) < len(values))
    return replace(
        curation,
        matrix=replace(matrix, columns={"group": tuple(groups)}),
        difficulty=np.array(values),
        flagged=marks,
        unanimous=marks,
        hardest=marks,
    )


def test_pairs_beyond_the_scale_are_counted_and_few_are_points(tmp_path: Path) -> None:
    values = [1500.0] * 6 + [1400.0, 1450.0, np.inf] + [np.inf, np.inf, -np.inf] + [np.nan] * 2
    groups = ["same"] * 6 + ["few"] * 3 + ["all pairs"] * 3 + ["none", None]
    texts = drawn(draw_difficulty(of_difficulties(values, groups), tmp_path, by="group"), "difficulty")
    assert {"same", "few"} <= {*texts}
    assert "none" not in texts
    assert texts.count("all pairs") == 1  # a group of that name has no pair with finite difficulty
    assert any(text.endswith("(1 off the scale)") for text in texts)
    assert any(text.endswith("(4 off the scale)") for text in texts)
    texts = drawn(
        draw_difficulty(of_difficulties([1.0, 2.0, np.inf, np.inf, np.inf], ["all pairs"] * 5), tmp_path), "difficulty"
    )
    assert any(f"{NONE}  (3 off the scale)" in text for text in texts)


def test_many_difficulties_are_violins_and_few_are_discs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_figures(monkeypatch, difficulty)
    many = of_difficulties([*np.linspace(1400, 1600, 12)], [*["many"] * 10, "two", "one"])
    draw_difficulty(many, tmp_path)
    draw_difficulty(many, tmp_path, by="group")
    draw_difficulty(of_difficulties([1400.0] * 3 + [1500.0], [None] * 4), tmp_path)
    assert [len(figure.axes[0].collections) for figure in kept] == [1, 4, 0]  # one look, whatever a group has
    assert ["discs" in figure.get_suptitle() for figure in kept] == [False, False, True]
    sizes = [line.get_markersize() for line in kept[2].axes[0].lines]
    assert sizes[0] ** 2 == pytest.approx(3 * sizes[1] ** 2)  # the area of a disc is the number of its pairs


def test_without_difficulties_there_is_no_violin(tmp_path: Path) -> None:
    assert draw_difficulty(of_difficulties([np.inf, np.nan], ["g", "g"]), tmp_path, by="group") == []
    with pytest.raises(UnknownNameError, match="unknown column 'grp'"):
        draw_difficulty(of_difficulties([1.0, 2.0], ["g", "g"]), tmp_path, by="grp")


def biases(**changes: Any) -> list[ClassBias]:
    made = class_bias(found().decisions, "verdict", by="domain")
    return [replace(one, **changes) for one in made]


def test_class_bias_is_a_map_for_all_data_and_each_group(tmp_path: Path) -> None:
    made = biases()
    texts = drawn(draw_class_bias(made, tmp_path, order=["poor", "unknown"]), "class_bias")
    assert {"all", "art", "law", "A", "B", "percentage points"} <= {*texts}
    assert [text for text in texts if text in SKILL] == ["poor", "best", "good", "fair"]
    assert draw_class_bias([], tmp_path) == []


def test_cells_without_a_bias_stay_empty_and_sure_ones_are_bold(tmp_path: Path) -> None:
    one = biases()[0]
    made = [
        replace(one, judge="a", label="A", bias=0.25, ci95=(0.1, 0.4)),
        replace(one, judge="a", label="B", bias=-0.25, ci95=(-0.6, 0.1)),
        replace(one, judge="b", label="A", bias=None, ci95=None),
    ]
    texts = drawn(draw_class_bias(made, tmp_path), "class_bias")
    assert {"+25", "\u221225"} <= {*texts}
    svg = (tmp_path / "class_bias.svg").read_text(encoding="utf-8")
    assert svg.count("font-weight: 700; font-size: 8px") == 1


def test_no_decision_does_not_set_the_colours_of_the_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_figures(monkeypatch, classbias)
    one = biases()[0]
    given = replace(one, label="A", bias=-0.2)
    for undecided in (0.8, 0.1):
        draw_class_bias([given, replace(one, label=NO_DECISION, bias=undecided)], tmp_path)
    assert [figure.axes[0].images[0].get_clim() for figure in kept] == [(-0.2, 0.2)] * 2
    beyond = [figure.axes[0].images[0].colorbar for figure in kept]
    assert [None if bar is None else bar.extend for bar in beyond] == ["max", "neither"]


def test_many_groups_of_class_bias_are_left_to_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_figures(monkeypatch, classbias)
    monkeypatch.setattr(classbias, "_MOST_PANELS", 2)
    whole = [one for one in biases() if one.group is None]
    made = [replace(one, group=f"g{place}") for place in range(3) for one in whole]
    draw_class_bias([*whole, *made, *(replace(one, criterion="tone") for one in made)], tmp_path)
    draw_class_bias(made, tmp_path)
    titles = [[axes.get_title(loc="left") for axes in figure.axes[:-1]] for figure in kept]
    assert titles == [["all"], ["g0", "g1"]]
    assert "(groups not shown: 3)" in kept[0].get_suptitle()
    assert "(groups not shown: 1)" in kept[1].get_suptitle()


def test_confusion_has_a_panel_for_each_judge_and_each_group(tmp_path: Path) -> None:
    made = confusions(found().decisions, "verdict", by="domain")
    texts = drawn(draw_confusion(made, tmp_path, order=["poor"]), "confusion", "confusion_by_group")
    order = [text for text in texts if text in {*SKILL, "all judges"}]
    assert order == ["all judges", "poor", "best", "good", "fair"]
    assert {"art", "law", "predicted", "true"} <= {*texts}
    share = made[0].row_normalised[0]
    assert share is not None
    assert f"{100 * share[0]:.0f} %" in texts
    assert draw_confusion([], tmp_path) == []


def confusion(labels: tuple[str, ...], counts: tuple[tuple[int, ...], ...], judge: str | None = None) -> Confusion:
    return Confusion(
        judge=judge, group=None, criterion="topic", true_labels=labels, predicted_labels=labels, counts=counts
    )


def test_many_labels_are_colours_alone(tmp_path: Path) -> None:
    counts = tuple(tuple(int(row == column and row) for column in range(9)) for row in range(9))
    made = confusion(tuple(f"class {place}" for place in range(9)), counts)
    texts = drawn(draw_confusion([made], tmp_path), "confusion")
    assert {"class 8", "all judges"} <= {*texts}
    assert not any(text.endswith(" %") for text in texts)


def test_of_many_judges_the_first_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion_plots, "_CONFUSION_MOST_PANELS", 3)
    made = [confusion(("A",), ((1,),), judge) for judge in (None, *(f"j{place}" for place in range(4)))]
    texts = drawn(draw_confusion(made, tmp_path), "confusion")
    assert "Confusion, the first 2 of 4 judges" in texts
    assert "j1" in texts
    assert "j2" not in texts


def test_criteria_stand_beside_each_other_and_groups_that_do_not_fit_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_figures(monkeypatch, confusion_plots)
    one = confusion(("A",), ((1,),))
    criteria, groups = ("x", "y", "z"), tuple(f"g{place}" for place in range(5))
    draw_confusion([replace(one, criterion=name, group=group) for name in criteria for group in groups], tmp_path)
    draw_confusion([replace(one, group=group) for group in groups], tmp_path)
    panels = [axes for axes in kept[0].axes if axes.get_title(loc="left")]
    lines = [[axes.get_title(loc="left") for axes in panels[start : start + 3]] for start in range(0, 12, 3)]
    assert lines == [[f"{name}, {group}" for name in criteria] for group in groups[:4]]
    assert [len({round(axes.get_position().x0, 6) for axes in panels}), len(panels)] == [3, 12]
    assert "by group, the first 4 of 5 groups" in kept[0].get_suptitle()
    assert "of 5 groups" not in kept[1].get_suptitle()


def test_criteria_with_other_labels_are_named(tmp_path: Path) -> None:
    one = Confusion(
        judge=None,
        group=None,
        criterion="tone",
        true_labels=("<b>$x_1$</b>", "B"),
        predicted_labels=("<b>$x_1$</b>", "B", "no decision"),
        counts=((1, 1, 2), (0, 0, 0)),
    )
    other = replace(one, criterion="_form", true_labels=("B",), counts=((0, 4, 0),))
    texts = drawn(draw_confusion([one, other], tmp_path), "confusion")
    assert {"tone, all judges", "_form, all judges", "<b>$x_1$</b>", "50 %"} <= {text.strip() for text in texts}


def curve(label: str, n_labelled: int, points: tuple[tuple[float, float], ...]) -> AuditCurve:
    return AuditCurve(column="audit", label=label, points=points, n_pairs=9, n_labelled=n_labelled, n_unplaced=0)


def test_audit_curves_are_labelled_with_how_many_pairs_they_rest_on(tmp_path: Path) -> None:
    line = ((0.0, 0.0), (0.5, 1.0), (1.0, 1.0))
    curves = [curve(f"label {place}", place, line) for place in range(1, 14)]
    texts = drawn(draw_audit([*curves, curve("<b>$x_1$</b>", 20, line), curve("none", 0, ())], tmp_path), "audit")
    assert {"<b>$x_1$</b> (20 pairs, area 0.75)", "label 13 (13 pairs, area 0.75)"} <= {*texts}
    assert not any(text.startswith(("label 1 ", "label 2 ", "none")) for text in texts)
    assert "Audit labels over the difficulty of 9 pairs: audit (12 of 14 labels)" in " ".join(texts)
    drawn(draw_audit(curves[:1], tmp_path), "audit")
    assert draw_audit([curve("none", 0, ())], tmp_path) == []
