from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations import whitespace
from judgeharness_integrations.judging.perturbations.formats import chunks

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

pieces = st.sampled_from(
    [
        *[
            "Word",
            "End.",
            "End?!",
            "5.",
            " ",
            "  ",
            "\t",
            "\n",
            "\n\n",
            "\n\n\n",
            "\r\n",
            "\r",
            "`a.  b`",
            "```",
            "~~~\n",
        ],
        *["```\n", "\\", "\u00a0", "\u3000", "\u2028", "😀", "\u202eabc", "e\u0301", "|", "- x", "    y", "f(x);\n"],
    ]
)
texts = (st.lists(pieces, max_size=25).map("".join) | st.text()).filter(str.strip)


def code_of(text: str) -> list[str]:
    return [chunk.text for chunk in chunks(text) if chunk.code]


@given(texts, st.integers(0, 20))
def test_only_whitespace_changes_and_it_does(apply: Apply, text: str, seed: int) -> None:
    changed = apply(whitespace(), text, seed)
    assert changed != text
    assert changed.split() == text.split()
    assert code_of(changed) == code_of(text)
    assert apply(whitespace(), text, seed) == changed


@given(texts, st.integers(0, 20))
def test_a_tidy_text_is_loosened_and_tidied_again(apply: Apply, text: str, seed: int) -> None:
    once = apply(whitespace(), text, seed)
    tidy, loose = (text, once) if len(once) > len(text) else (once, apply(whitespace(), once, seed))
    assert len(loose) > len(tidy)
    assert apply(whitespace(), loose, seed) == tidy


@given(texts, st.integers(0, 20))
def test_indentation_stays(apply: Apply, text: str, seed: int) -> None:
    def indents(lines: list[str]) -> list[str]:
        return [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip(" \t\r")]

    assert indents(apply(whitespace(), text, seed).split("\n")) == indents(text.split("\n"))


@given(st.dictionaries(st.text(), st.just("One.  Two. Three.\n\n\n")), st.sampled_from([None, 1]), st.integers(0, 20))
def test_json_keeps_its_value(apply: Apply, value: Any, indent: int | None, seed: int) -> None:
    text = json.dumps(value, indent=indent)
    changed = apply(whitespace(), text, seed)
    assert changed != text
    assert json.loads(changed) == value


def test_loose_whitespace_is_tidied(apply: Apply) -> None:
    text = "\n\nOne.  Two. \r\n\n\n \n  Three.   `a.  b`\n```\nx.  y \n\n\n```\n\n\n\nEnd  \n\n"
    assert apply(whitespace(), text) == "One. Two.\r\n\n  Three. `a.  b`\n```\nx.  y \n\n\n```\n\nEnd"


def test_tidy_whitespace_is_loosened_in_several_ways(apply: Apply) -> None:
    text = "One. Two.\tThree. `a. b`\n\nBroken\\\nEnd"
    assert {apply(whitespace(), text, seed) for seed in range(60)} == {
        f"One.{gap}Two.\tThree.{gap}`a. b`{end}\n{blank}Broken\\\nEnd{end}\n"
        for gap in (" ", "  ")
        for blank in ("\n", "\n\n")
        for end in ("", " ")
    }


@pytest.mark.parametrize("text", ["```\nx\n```", "```\nnever closed", "Word\n~~~\n~~~ x"])
def test_a_text_that_ends_in_code_gets_its_newline_in_front(apply: Apply, text: str) -> None:
    changed = apply(whitespace(), text)
    assert changed.startswith("\n")
    assert code_of(changed) == code_of(text)


@pytest.mark.parametrize("seed", range(10))
def test_strings_in_bare_program_text_stay(apply: Apply, seed: int) -> None:
    assert '"Hi. There"' in apply(whitespace(), 'say("Hi. There")', seed)


def test_both_answers_are_loosened_the_same_way(apply: Apply) -> None:
    pair = PairwiseCase(case_id="p", output="One. Two.", output_b="One. Two.")
    for seed in range(10):
        changed = apply(whitespace(), pair, seed)
        assert changed.output == changed.output_b


@pytest.mark.parametrize("seed", range(10))
def test_inline_code_ends_with_its_paragraph(apply: Apply, seed: int) -> None:
    assert "`D. E`" in apply(whitespace(), "A `b.\n\nC. `D. E` F.", seed)


def test_an_empty_text_does_not_fit() -> None:
    reason = whitespace().fits(AnswerCase(case_id="a", output="\n \t"))
    assert reason == "whitespace cannot change an empty text: output."
    assert whitespace().fits(" x ") is None
