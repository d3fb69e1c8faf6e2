from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from judgeharness_integrations.judging.perturbations import format_change, name_swap, typography, whitespace

if TYPE_CHECKING:
    from collections.abc import Callable

Apply: TypeAlias = "Callable[..., Any]"

SIZE = 1_000_000
PART = 300_000
# A quadratic step would take many minutes on these; the bound leaves room for coverage and a busy machine.
SECONDS = 10.0


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("make", [format_change, name_swap, typography, whitespace])
@pytest.mark.parametrize(
    "unit",
    [
        *["*", "_", "`", " ", "\t", "\n", "#", "~", "-", '"', "' ", ".", "\u2014", " \u2014", "\u2026", "{", "[", "<a"],
        *[
            "*a ",
            "_a* ",
            "` ",
            "`` ` ",
            "(__x y__)",
            "a(",
            "https://",
            "1. ",
            ".  ",
            "\\",
            "> ",
            "|",
            "GPT-4 ",
            "x\r\n",
        ],
    ],
)
def test_long_runs_take_linear_time(apply: Apply, make: Callable[..., Any], unit: str) -> None:
    text = "a " + unit * (PART // len(unit)) + "x\n"
    begin = time.thread_time()
    apply(make(), text)
    assert time.thread_time() - begin < SECONDS


@pytest.mark.sampled(3)
@pytest.mark.untraced
@pytest.mark.parametrize("make", [format_change, typography, whitespace])
@pytest.mark.parametrize("sign", ["*", "_", "`", " "])
def test_a_megabyte_of_one_sign_is_done_within_a_second(apply: Apply, make: Callable[..., Any], sign: str) -> None:
    text = "a" + sign * SIZE + "x"
    begin = time.thread_time()
    apply(make(), text)
    assert time.thread_time() - begin < 1
