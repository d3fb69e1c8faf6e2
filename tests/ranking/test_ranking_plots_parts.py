"""What pictures of a ranking are made of."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Annotation, Text

from judgeharness_integrations.reporting.figures import COLOURS, GREY, new_figure, styled
from judgeharness_integrations.reporting.rankplots.leaderboard import along, step_of
from judgeharness_integrations.reporting.rankplots.style import (
    PLAIN,
    Cell,
    Looks,
    draw_heat,
    group_title,
    head,
    label_height,
    looks_of,
    name_points,
    new_panels,
    right_aligned,
    short_name,
    short_names,
    signed,
    title_of,
)


class Facts(NamedTuple):
    provider: str | None
    open: bool | None = None


def test_a_long_name_loses_its_middle() -> None:
    assert short_name("a" * 20 + "b" * 20, 11) == "aaaaa…bbbbb"
    assert short_name("judge", 5) == "judge"
    assert short_name("") == "(no name)"
    assert short_name("_hidden") == " _hidden"


@given(st.lists(st.text(), unique=True, max_size=8), st.integers(6, 40))
def test_names_are_told_apart_and_can_be_shown(names: list[str], limit: int) -> None:
    shown = short_names(names, limit)
    assert list(shown) == names
    assert len(set(shown.values())) == len(names)
    assert all(text.isprintable() and text and not text.startswith("_") for text in shown.values())
    assert all(len(text) <= limit + len(" (8) ") or text.startswith("(no name)") for text in shown.values())


def test_names_that_look_alike_are_numbered() -> None:
    names = ["a\x00b", "a b", "a  b"]
    assert list(short_names(names).values()) == ["a b", "a b (2)", "a b (3)"]


def test_judges_of_one_provider_share_a_colour_and_proprietary_ones_are_hollow() -> None:
    known = {"a": Facts("X", open=True), "b": Facts("Y", open=False), "c": Facts("X", open=False), "d": Facts(None)}
    looks = looks_of(known)
    assert looks.colour("a") == looks.colour("c") == COLOURS[0]
    assert looks.colour("b") == COLOURS[1]
    assert looks.colour("d") not in (COLOURS[0], COLOURS[1])
    assert looks.marker("a")["markerfacecolor"] == COLOURS[0]
    assert looks.marker("c")["markerfacecolor"] == "white"
    assert looks.marker("d")["markerfacecolor"] == looks.colour("d")
    labels = [handle.get_label() for handle in looks.handles()]
    assert labels == ["X", "Y", "provider not given", "open weights", "proprietary"]


def test_many_providers_share_grey() -> None:
    looks = looks_of({f"j{place}": Facts(f"p{place}") for place in range(10)} | {"k": Facts("p9")})
    assert looks.colour("j9") == COLOURS[0]
    assert looks.colour("j8") == GREY
    assert list(looks.providers)[-1] == "3 other providers"
    assert len(looks.providers) == len(COLOURS)
    assert looks_of({f"j{place}": Facts(f"p{place}") for place in range(8)}).colour("j7") == COLOURS[7]


def test_without_facts_all_look_the_same_and_nothing_is_explained() -> None:
    looks = looks_of({"a": Facts(None), "b": Facts(None)})
    assert looks.colour("a") == looks.colour("b") == Looks().colour("whoever") == PLAIN
    assert looks.handles() == Looks().handles() == []


def test_where_all_are_proprietary_nobody_needs_a_legend_for_openness_of_weights() -> None:
    labels = [handle.get_label() for handle in looks_of({"a": Facts("X", open=False)}).handles()]
    assert labels == ["X", "proprietary"]
    assert [handle.get_label() for handle in looks_of({"a": Facts("X", open=True)}).handles()] == ["X"]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(3.2, 0, "+3"), (-3.2, 0, "\u22123"), (0.4, 0, "0"), (-0.4, 0, "0"), (-0.04, 1, "0.0"), (0.26, 1, "+0.3")],
)
def test_differences_have_a_sign_and_nought_has_none(value: float, digits: int, text: str) -> None:
    assert signed(value, digits) == text


def test_numbers_are_padded_by_the_width_of_a_digit() -> None:
    assert right_aligned("940", 4) == "\u2007940"


def test_a_title_names_the_criterion_where_there_are_several() -> None:
    assert group_title("quality", None, ["quality", "quality"]) == "all"
    assert group_title("quality", "law", ["quality", "tone"]) == "quality, law"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("short", "short"),
        ("Adversarial/Neighbor", "Adversarial/\nNeighbor"),
        ("abcdefghijklmnopqrstuvwx", "abcdefghijklmno\npqrstuvwx"),
        ("x" * 60, "x" * 14 + "…\n" + "x" * 13),
    ],
)
def test_a_long_title_takes_two_lines(text: str, title: str) -> None:
    _, (axes,) = new_figure(1)
    title_of(axes, text, width=1.25)
    assert axes.get_title(loc="left") == title


def test_heads_are_wrapped_and_given_room() -> None:
    figure, _ = new_figure(1, width=3, height=2)
    head(figure, "word " * 15, "note")
    assert figure.get_suptitle().count("\n") == 3
    assert figure.get_size_inches().tolist() == pytest.approx([3, 2.8])


@pytest.mark.parametrize(("panels", "lines"), [(1, [1]), (3, [3]), (4, [2, 2]), (5, [3, 2]), (7, [3, 3, 1])])
def test_panels_stand_in_even_lines(panels: int, lines: list[int]) -> None:
    figure, rows = new_panels(panels)
    assert [len(row) for row in rows] == lines
    assert [axes.axison for axes in figure.axes] == [True] * panels + [False] * (len(figure.axes) - panels)


def test_numbers_can_be_read_on_their_colour() -> None:
    _, (axes,) = new_figure(1)
    cells = [[Cell(value=0.0, text="pale"), Cell(value=1.0, text="dark", bold=True), Cell(value=None), Cell(value=0.5)]]
    draw_heat(axes, cells, rows=["j"], columns=["A", "B", "C", "D"], colours="Blues", limits=(0, 1))
    pale, dark = axes.texts
    assert (dark.get_color(), dark.get_fontweight()) == ("white", "bold")
    assert pale.get_color() != "white"
    assert np.ma.getmaskarray(axes.images[0].get_array()).tolist() == [[False, False, True, False]]


def test_long_labels_of_columns_stand_aslant_and_take_room() -> None:
    for columns, angle in ((["A", "B"], 0), (["no decision", "B"], 35)):
        _, (axes,) = new_figure(1)
        draw_heat(axes, [[Cell(value=0.0)] * 2], rows=["j"], columns=columns, colours="Blues", limits=(0, 1))
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {angle}
    assert label_height(["A"]) == 0
    assert label_height(["no decision"]) < label_height(["no decision at all"]) == label_height(["x" * 200])


def test_a_step_goes_right_and_then_up() -> None:
    assert step_of([(1, 5), (3, 7)], 9) == [(1, 5), (3, 5), (3, 7), (9, 7)]


def test_places_along_a_line_are_even_on_a_logarithmic_scale() -> None:
    _, (axes,) = new_figure(1)
    axes.set_xscale("log")
    places = along(axes, (1, 5), (10_000, 7))
    assert places[len(places) // 2] == pytest.approx((100, 6))


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.05, 0.002])
def test_names_of_points_stand_inside_and_not_on_each_other(step: float) -> None:
    named = [(f"a judge with quite a name {place}", step * place, 0.6 * step * place) for place in range(12)]
    others = [(0.6, 0.5), (0.5, 0.4)]
    with styled():
        figure, (axes,) = new_figure(1, width=6, height=5)
        axes.plot(*zip(*[place[1:] for place in named], *others, strict=True), "o")
        axes.margins(0.1)
        name_points(figure, axes, named, others)
        figure.draw_without_rendering()
    notes = [note for note in axes.texts if isinstance(note, Annotation)]
    assert [note.get_text() for note in notes] == [name for name, *_ in named]
    frame = axes.get_window_extent().padded(1)
    boxes = [Text.get_window_extent(note) for note in notes]
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 <= box.y1 <= frame.y1 for box in boxes)
    assert not any(one.padded(-1).overlaps(other.padded(-1)) for one, other in combinations(boxes, 2))
    crowded = step < 0.01
    assert any(note.arrow_patch is not None for note in notes) is crowded


def test_without_points_nothing_is_named() -> None:
    figure, (axes,) = new_figure(1)
    name_points(figure, axes, [])
    assert not axes.texts
