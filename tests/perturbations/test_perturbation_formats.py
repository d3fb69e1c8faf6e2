from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations import format_change
from judgeharness_integrations.judging.perturbations.formats import is_json, looks_like_code, without_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

WORD = re.compile(r"[^\W_]+")
FENCE = "```python\n# *kept* _as_ it   is\n- nor `this`\n```"
pieces = st.sampled_from(
    [
        *["a", "Some words.", "5", "snake_case", "__init__", "2 * 3 * 4", "2*3", "#include", "C#", "f(*args)", "don`t"],
        *["*", "**", "***", "_", "__", "`", "``", "#", "# ", "- ", "* ", "+ ", "1. ", "> ", "|", "---", "===", "~~~"],
        *["\n", "\n\n", "\r\n", " ", "    ", "\t", "(", ")", "\\", "https://a.b/_c_", "```", '"'],
        *["\u202eabc\u202c", "e\u0301", "😀", "这是", "\u2028", "\x1c", "\ufeff", "\u00a0"],
    ]
)
texts = (st.lists(pieces, max_size=25).map("".join) | st.text()).filter(str.strip)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(texts, st.integers(0, 5))
def test_words_stay_and_the_text_changes(apply: Apply, text: str, seed: int) -> None:
    changed = apply(format_change(), text, seed)
    assert changed != text
    assert WORD.findall(changed) == WORD.findall(text)
    assert apply(format_change(), text, seed) == changed


@given(texts, st.integers(0, 5))
def test_what_is_put_on_can_be_taken_off(apply: Apply, text: str, seed: int) -> None:
    changed = apply(format_change(), text, seed)
    ruled = changed in {f"---\n\n{text}", f"{text}\n\n---"}
    event("ruled" if ruled else "formatted")
    if without_markdown(text) == text and not looks_like_code(text) and not is_json(text) and not ruled:
        assert without_markdown(changed) == text


@given(st.lists(st.sampled_from(["Words.", "# Head", "*a* b", "- c", "", "1. d"])), st.integers(0, 5))
def test_code_blocks_stay_byte_for_byte(apply: Apply, around: list[str], seed: int) -> None:
    text = "\n".join([*around, FENCE, *around])
    assert FENCE in apply(format_change(), text, seed)


@pytest.mark.parametrize(
    "text", [FENCE, f"> {FENCE[:9]}\n> *x*\n> ```", "```\nnever *closed*", "- ~~~\n  *x*\n  ~~~\n"]
)
def test_a_text_that_is_all_code_gets_a_rule_in_front(apply: Apply, text: str) -> None:
    assert apply(format_change(), text) == f"---\n\n{text}"


@pytest.mark.slow
@pytest.mark.untraced
@given(st.lists(values) | st.dictionaries(st.text(), values), st.sampled_from([None, 2]))
def test_json_keeps_its_value_and_changes_its_lines(apply: Apply, value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=indent is None)
    changed = apply(format_change(), text)
    assert changed != text
    assert json.loads(changed) == value
    assert ("\n" in changed) == ("\n" not in text)


def test_json_keeps_the_spelling_of_numbers_and_keys(apply: Apply) -> None:
    text = ' {"a": 1.10, "a": 1E400, "n": 12345678901234567890123, "e": {}, "s": "x, [y]: \\" z"}\n'
    changed = apply(format_change(), text)
    assert changed == (
        ' {\n  "a": 1.10,\n  "a": 1E400,\n  "n": 12345678901234567890123,\n  "e": {},\n  "s": "x, [y]: \\" z"\n}\n'
    )
    assert apply(format_change(), changed) == text


def test_what_only_begins_like_json_is_prose(apply: Apply) -> None:
    for text in ("[sic] words", "{braces}", "[" * 5000):
        assert apply(format_change(), text) != text
    assert "[sic] words" in apply(format_change(), "[sic] words")


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("# Title #\n\nText", "Title\n\nText"),
        ("  ## C#\r\nText", "  C#\r\nText"),
        ("# ##", "##"),
        ("**Bold**, *it*, _em_ and ***both***.", "Bold, it, em and both."),
        ("**_x_** and _**y**_", "x and y"),
        ("**bold *it* more** (*b*)", "bold it more (b)"),
        ("*open **bold** only", "*open bold only"),
        ("Use `x_y` and ``a`b``: `*`", "Use x_y and a`b: *"),
        ("- one\n* two\n+ three\n", "one\ntwo\nthree\n"),
        ("- 5 degrees\n- **7**\n- x", "- 5 degrees\n- 7\nx"),
        ("1. **First**\n    - *nested*", "1. First\n    nested"),
        ("a *b*\n\n    code *x* here", "a b\n\n    code *x* here"),
        ("Head\n====\ntext", "Head\ntext"),
        ("a\n\n---\n\nb", "a\n\n\nb"),
        ("*x*\n\n====", "x\n\n===="),
        ("*x*\n| a | b |\n|---|---|\n| *c* | d |", "x\n| a | b |\n|---|---|\n| c | d |"),
        ("*x* https://a.b/_c_/d `https://_q_`", "x https://a.b/_c_/d https://_q_"),
        ("*a*\n\n`b\n\nc` *d*", "a\n\n`b\n\nc` d"),
        ("`x` and ``y", "x and ``y"),
        ("`` ` and ` *d*", "`` and d"),
        ("` ` and `x`", "  and x"),
        ("**a _b** c", "a _b c"),
    ],
)
def test_markdown_is_taken_off(apply: Apply, marked: str, plain: str) -> None:
    assert apply(format_change(), marked) == plain


@pytest.mark.parametrize(
    "text",
    [
        *["snake_case_name", "2 * 3 * 4", "2*3*4", "#include <x>", "#hashtag", "__init__ and __name__", "f(*a, **k)"],
        *[
            "*.py and *.txt",
            "a.*, b.*",
            "/*comment*/",
            "don`t and can`t",
            r"\*literal\*",
            "> quoted",
            "1. one",
            "a ** b",
        ],
        *["*****a*****", "x_ and _y", "| a | b |\n|---|---|", "int *p, *q", "- 5", "中**重点**文", "____"],
    ],
)
def test_what_only_looks_like_markdown_stays(text: str) -> None:
    assert without_markdown(text) == text


def test_put_on_formats_vary_with_the_seed_and_are_the_same_for_both_answers(apply: Apply) -> None:
    pair = PairwiseCase(case_id="p", output="One. Two.\nThree.", output_b="Four. Five.\nSix.")
    shown = [apply(format_change(), pair, seed) for seed in range(30)]
    assert {case.output for case in shown} == {
        "**One.** Two.\nThree.",
        "# One. Two.\nThree.",
        "- One. Two.\n- Three.",
    }
    assert all(case.output[:2].strip("O") == case.output_b[:2].strip("F") for case in shown)


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("42", {"**42**"}),
        ("1. Do it. Now.\n2. Rest", {"1. **Do it.** Now.\n2. Rest"}),
        ("2 * 3 is six", {"2 * 3 is six\n\n---"}),
        ("a | b\nc | d", {"a | b\nc | d\n\n---"}),
        ("Ends with \\", {"- Ends with \\", "# Ends with \\"}),
        ("https://a.b/_c_", {"- https://a.b/_c_", "# https://a.b/_c_"}),
        (" Issue #5\n\n    code", {" **Issue #5**\n\n    code"}),
        ("W" * 81, {"**" + "W" * 81 + "**", "- " + "W" * 81}),
        ("One\ntwo\n\nThree", {"**One**\ntwo\n\nThree", "# One\ntwo\n\nThree", "- One\ntwo\n\n- Three"}),
        ("See:\n```\nx\n```", {"**See:**\n```\nx\n```", "# See:\n```\nx\n```", "- See:\n```\nx\n```"}),
        ("```x``` words", {"x words"}),
    ],
)
def test_formats_that_are_put_on(apply: Apply, text: str, formatted: set[str]) -> None:
    assert {apply(format_change(), text, seed) for seed in range(40)} == formatted


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return x * 2",
        "#include <stdio.h>\nint main() {\n  return 0;\n}\n",
        "# sum\nprint(sum(x))",
        'const s = "```";',
    ],
)
def test_bare_program_text_gets_a_fence(apply: Apply, code: str) -> None:
    changed = apply(format_change(), code)
    fence = changed.split("\n")[0]
    assert fence == "`" * (4 if "```" in code else 3)
    assert changed == f"{fence}\n{code.rstrip()}\n{fence}"


@pytest.mark.parametrize("prose", ["Steps (in order):\n- a", "- call f(x)\n  and\n  wait", "Pick the item(s)"])
def test_prose_is_not_taken_for_program_text(apply: Apply, prose: str) -> None:
    assert not apply(format_change(), prose).startswith("```")


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (" \n", "cannot change an empty text: the text."),
        (AnswerCase(case_id="a", output=""), "cannot change an empty text: output."),
        (PairwiseCase(case_id="p", output="x", output_b=" "), "cannot change an empty text: output_b."),
        (PairwiseCase(case_id="p", output="", output_b=""), "cannot change an empty text: output and output_b."),
        (5, "needs an AnswerCase, a PairwiseCase or a string, not a case of type int."),
    ],
)
def test_why_a_case_does_not_fit(case: Any, reason: str) -> None:
    assert format_change().fits(case) == f"format_change {reason}"


def test_texts_fit(apply: Apply) -> None:
    assert format_change().fits("x") is None
    assert apply(format_change(), AnswerCase(case_id="a", output="*x*")).output == "x"
