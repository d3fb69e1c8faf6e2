"""Texts on the page: what is unseen is shown, what could act is escaped; numbers say what they are of."""

from __future__ import annotations

import json
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.report_scenes import HOSTILE

from judgeharness_integrations.reporting.html.charts import (
    decision_word,
    grouped,
    interval_text,
    percent,
)
from judgeharness_integrations.reporting.html.frame import embedded_json, isolated, visible
from judgeharness_integrations.verdictlog.encoding import counted, p_text

ANY = st.text(st.characters(), max_size=60)  # lone surrogates, too


def test_what_reorders_or_hides_text_is_shown_as_its_code_point() -> None:
    assert visible("a\u202eb\u2066c\u200bd\x00e\ud800f\U000e0041") == (
        "a[U+202E]b[U+2066]c[U+200B]d[U+0000]e[U+D800]f[U+E0041]"
    )


def test_line_breaks_of_every_kind_are_newlines_and_tabs_stay() -> None:
    assert visible("a\r\nb\rc\u2028d\u2029e\nf\tg") == "a\nb\nc\nd\ne\nf\tg"


def test_marks_that_scripts_and_emoji_need_stay() -> None:
    text = "\u200f\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert visible(text) == text


@given(ANY)
def test_a_visible_text_can_be_written_to_a_file_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert visible(shown) == shown


@given(ANY)
def test_an_isolated_text_is_one_element_with_exactly_that_text(text: str) -> None:
    html = str(isolated(text))
    inner = html.removeprefix("<bdi>").removesuffix("</bdi>")
    assert not set("<>\"'") & set(inner)
    assert unescape(inner) == visible(text)


@given(st.recursive(st.one_of(ANY, st.integers(), st.none(), st.booleans()), st.lists, max_leaves=8))
def test_embedded_data_comes_back_and_holds_no_markup(value: object) -> None:
    text = str(embedded_json({"value": value}))
    text.encode()
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"value": _seen(value)}


def _seen(value: object) -> object:
    if isinstance(value, list):
        return [_seen(part) for part in value]
    return visible(value) if isinstance(value, str) else value


@pytest.mark.parametrize("attack", HOSTILE)
def test_no_attack_ends_the_element_that_holds_it(attack: str) -> None:
    assert "<" not in str(embedded_json([attack]))


def test_a_number_that_is_no_number_is_refused_in_data() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        embedded_json({"value": float("nan")})


def test_shares_are_percent_and_only_exact_ones_are_whole() -> None:
    assert [percent(share) for share in (0, 1, 0.41666, 0.9999, None)] == [
        "0\u00a0%",
        "100\u00a0%",
        "41.7\u00a0%",
        "100.0\u00a0%",
        "\u2013",
    ]


def test_intervals_p_values_counts_and_decisions_read_well() -> None:
    assert interval_text(0.1, 0.25) == "[10.0, 25.0]"
    assert interval_text(1.0, 2.5, scale=1.0) == "[1.000, 2.500]"
    assert interval_text(None, 0.5) == interval_text(0.5, None) == ""
    assert [p_text(value) for value in (None, 0.0001, 0.25)] == ["-", "<.001", ".250"]
    assert [grouped(27235), grouped(0.5)] == ["27,235", "0.5"]
    assert [counted(1, "case"), counted(2000, "case"), counted(2, "reply", "replies")] == [
        "1 case",
        "2,000 cases",
        "2 replies",
    ]
    assert [decision_word(None), decision_word("PASS"), decision_word(7.0)] == ["NOT GRADED", "PASS", "7"]
