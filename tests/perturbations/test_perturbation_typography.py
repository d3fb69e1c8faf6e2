from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations import typography

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

WORD = re.compile(r"[^\W_]+")
STRAIGHT = [
    *[
        "word",
        "don't",
        "dogs'",
        '"said"',
        "'so'",
        '"',
        "'",
        " - ",
        "-",
        "...",
        "..",
        "5",
        "5'10\"",
        " ",
        "\n",
        ".",
        ",",
    ],
    *['`x "y" z`', "```\n'a' - b...\n```\n", '<a href="x">', "https://a.b/'c'...", '{"k": "v"}', "|", "(", ")", "="],
    *["\u202eabc", "e\u0301", "😀", "这", "`", "<", "{", "\\", "def f(x):\n    y\n"],
]
straight_texts = st.lists(st.sampled_from(STRAIGHT), max_size=20).map("".join)
texts = st.text() | st.lists(
    st.sampled_from([*STRAIGHT, *"\u201c\u201d\u201e\u2018\u2019\u2013\u2014\u2026"]), max_size=20
).map("".join)


@given(texts)
def test_words_stay(apply: Apply, text: str) -> None:
    assert WORD.findall(apply(typography(), text)) == WORD.findall(text)


@given(straight_texts)
def test_making_curly_and_straight_again_is_identity(apply: Apply, text: str) -> None:
    assert apply(typography(), apply(typography(), text)) == text


@given(texts)
def test_the_reason_says_whether_it_would_change(apply: Apply, text: str) -> None:
    assert (typography().fits(text) is None) == (apply(typography(), text) != text)


@pytest.mark.parametrize(
    ("straight", "curly"),
    [
        ("It's \"so\" - or 'so'...", "It\u2019s \u201cso\u201d \u2013 or \u2018so\u2019\u2026"),
        ('("In 1999", he said)', "(\u201cIn 1999\u201d, he said)"),
        ("the dogs' bones", "the dogs\u2019 bones"),
        ("\"`x` is 'y'\"", "\u201c`x` is \u2018y\u2019\u201d"),
        ('wait ... what, "eh"', "wait \u2026 what, \u201ceh\u201d"),
        ("it's 5'10\" tall", "it\u2019s 5'10\" tall"),
        ("it's 5 - 3, a....b, [...], 1...5", "it\u2019s 5 - 3, a....b, [...], 1...5"),
        (
            'it\'s `"x"` <b class="y"> {"k": "v"} https://a.b/\'c\'',
            'it\u2019s `"x"` <b class="y"> {"k": "v"} https://a.b/\'c\'',
        ),
        ("it's\n```\n'a' - b...\n```\n", "it\u2019s\n```\n'a' - b...\n```\n"),
        ("it's\n- item\n| - | - |", "it\u2019s\n- item\n| - | - |"),
    ],
)
def test_straight_becomes_curly_and_back(apply: Apply, straight: str, curly: str) -> None:
    assert apply(typography(), straight) == curly
    assert apply(typography(), curly) == straight


@pytest.mark.parametrize(
    ("curly", "straight"),
    [
        ("word\u2014word \u2014 word\u2014\u2014end", "word - word - word - end"),
        ("1990\u20131995", "1990-1995"),
        ("\u201eDeutsch\u201c \u201aso\u2018", "\"Deutsch\" 'so'"),
        ("`\u201cx\u201d` \u2026", "`\u201cx\u201d` ..."),
        ("\u2014 Author's", "\u2014 Author\u2019s"),
    ],
)
def test_curly_becomes_straight(apply: Apply, curly: str, straight: str) -> None:
    assert apply(typography(), curly) == straight


def test_every_text_goes_its_own_way(apply: Apply) -> None:
    pair = PairwiseCase(case_id="p", output="it's", output_b="it\u2019s")
    changed = apply(typography(), pair)
    assert (changed.output, changed.output_b) == ("it\u2019s", "it's")


@pytest.mark.parametrize(
    "text", ["plain words", '{"a": "it\'s - so..."}', "print('it\\'s')", "`it's`", "```\nit's\n```", '"unpaired']
)
def test_nothing_to_vary_is_a_reason(apply: Apply, text: str) -> None:
    assert apply(typography(), text) == text
    assert typography().fits(text).startswith("typography has nothing to change")


def test_one_text_to_vary_is_enough_and_an_empty_one_too_much() -> None:
    assert typography().fits(PairwiseCase(case_id="p", output="plain", output_b="it's")) is None
    assert "output" in typography().fits(AnswerCase(case_id="a", output=""))
