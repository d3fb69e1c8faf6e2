"""Texts as cells of a spreadsheet."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.verdictlog.encoding import QUOTE, defused


@given(st.text())
def test_a_quote_taken_off_gives_the_text_back(text: str) -> None:
    cell = defused(text)
    assert cell.removeprefix(QUOTE) == text
    assert not cell.startswith(tuple("=+-@\t\r\n")) or math.isfinite(float(cell))


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-a1", "-1e", "@now", "\tx", "\rx", "\nx", "\uff1d1", "'quoted"])
def test_what_could_run_has_a_quote_before_it(text: str) -> None:
    assert defused(text) == QUOTE + text


@pytest.mark.parametrize("text", ["", "plain", "1=1", "a-b", "-1.5", "+2", "-1e-3"])
def test_what_runs_nowhere_stays(text: str) -> None:
    assert defused(text) == text
