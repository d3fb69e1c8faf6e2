from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.verdictlog.row import (
    VerdictRow,
    is_number,
    verdict_from_json,
    verdict_text,
    verdict_to_json,
)


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (None, None),
        ("", None),
        ("   ", None),
        (" PASS ", "PASS"),
        (True, "PASS"),
        (False, "FAIL"),
        (7, 7),
        (7.5, 7.5),
        (["b", "a", "b"], frozenset({"a", "b"})),
        (("a",), frozenset({"a"})),
        ({"a"}, frozenset({"a"})),
        ([], frozenset()),
    ],
)
def test_a_json_value_stands_for_a_verdict(value: object, verdict: object) -> None:
    assert verdict_from_json(value) == verdict


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 1e300, 10**400, 10**5000, [1], [""], [["a"]], {"a": 1}, object(), b"A"],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_a_verdict_is_a_value_error(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each kind has its own sentence
        verdict_from_json(value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, True),
        (-1.5, True),
        (True, False),
        ("1", False),
        (float("nan"), False),
        (float("inf"), False),
        (10**400, False),
    ],
    ids=str,
)
def test_a_number_is_finite(value: object, number: bool) -> None:  # noqa: FBT001
    assert is_number(value) is number


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (None, "-"),
        ("A", "A"),
        (7, "7"),
        (7.0, "7"),
        (0.1 + 0.2, "0.3"),
        (frozenset({"b", "a"}), "{a, b}"),
        (frozenset(), "{}"),
    ],
)
def test_a_verdict_for_people(verdict: object, text: str) -> None:
    assert verdict_text(verdict) == text  # type: ignore[arg-type]


verdicts = st.one_of(
    st.text(min_size=1).map(str.strip).filter(bool),
    st.integers(-(10**20), 10**20),
    st.floats(-1e100, 1e100, allow_nan=False),
    st.frozensets(st.text(min_size=1), max_size=4),
    st.none(),
)


@given(verdicts)
def test_a_verdict_survives_json(verdict: object) -> None:
    assert verdict_from_json(verdict_to_json(verdict)) == verdict  # type: ignore[arg-type]


def test_the_key_and_validity_of_a_row() -> None:
    row = VerdictRow(case_id="c", verdict="A", run="r", judge="j", criterion="k", perturbation="p", repetition=2)
    assert row.key == ("r", "c", "j", "k", "p", 2)
    assert row.ok
    assert VerdictRow(case_id="c", verdict=frozenset()).ok
    assert VerdictRow(case_id="c", verdict=0).ok
    assert not VerdictRow(case_id="c", verdict=None, outcome="refused").ok
