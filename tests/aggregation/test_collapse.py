from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import sampled

from judgeharness_integrations.analysis.aggregation.statistics import Independence, independence
from judgeharness_integrations.verdictlog.row import VerdictRow

LONG = "The first answer cites the source, the second does not. " * 5


def evident(*samples: dict[str, Any]) -> list[VerdictRow]:
    rows = sampled(["PASS"] * len(samples))
    return [replace(row, **changes) for row, changes in zip(rows, samples, strict=True)]


CASES = [
    ("not repeated", evident({}), None, "not repeated", 1, ()),
    ("no valid sample", sampled([None, None]), None, "not repeated", 0, ()),
    ("nothing known", evident({}, {}), None, "cannot tell", 2, ()),
    ("short identical texts", evident({"raw": "A"}, {"raw": "A"}), None, "cannot tell", 2, ()),
    ("different texts", evident({"raw": "A"}, {"raw": "A."}, {"raw": "A"}), None, "independent", 3, ()),
    ("reasoning is a text too", evident({"reasoning": "x"}, {"reasoning": "y"}), None, "independent", 2, ()),
    (
        "long identical texts",
        evident({"raw": LONG}, {"raw": LONG}, {}),
        None,
        "collapsed",
        2,
        ("identical long texts",),
    ),
    (
        "a response id again",
        evident(*[{"raw": "A", "attributes": {"response_id": "r1"}} for _ in range(3)]),
        None,
        "collapsed",
        1,
        ("repeated response id",),
    ),
    (
        "a response id again, without texts",
        evident(*[{"attributes": {"response_id": "r1"}} for _ in range(3)]),
        None,
        "collapsed",
        1,
        ("repeated response id",),
    ),
    (
        "different answers under one response id",
        evident(*[{"raw": str(i), "attributes": {"response_id": "r1"}} for i in range(3)]),
        None,
        "independent",
        3,
        (),
    ),
    (
        "different verdicts under one response id",
        evident({"attributes": {"response_id": "r1"}}, {"attributes": {"response_id": "r1"}, "verdict": "FAIL"}),
        None,
        "cannot tell",
        2,
        (),
    ),
    (
        "a cache hit",
        evident({"raw": "x"}, {"raw": "y", "attributes": {"cached": "shared"}}),
        None,
        "collapsed",
        1,
        ("cache hit",),
    ),
    (
        "a namespaced cache entry is a sample of its own",
        evident({"raw": "x"}, {"raw": "y", "attributes": {"cached": "namespaced"}}),
        None,
        "independent",
        2,
        (),
    ),
    ("temperature 0", evident({"raw": "A"}, {"raw": "A"}, {"raw": "A"}), 0, "collapsed", 1, ("temperature 0",)),
    ("temperature 0, answers differ", evident({"raw": "A"}, {"raw": "B"}), 0, "independent", 2, ()),
    ("temperature above 0", evident({"raw": "A"}, {"raw": "A"}), 0.7, "cannot tell", 2, ()),
]


@pytest.mark.parametrize(
    ("rows", "temperature", "status", "effective", "evidence"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_collapse_is_reported_on_evidence(
    rows: list[VerdictRow], temperature: float | None, status: str, effective: int, evidence: tuple[str, ...]
) -> None:
    found = independence(rows, temperature=temperature)
    assert found == Independence(status=status, effective=effective, evidence=evidence)  # type: ignore[arg-type]


def test_perturbations_are_looked_at_one_by_one() -> None:
    rows = [
        *evident({"raw": "x"}, {"raw": "y"}),
        *(replace(row, perturbation="format_change") for row in evident({"raw": LONG}, {"raw": LONG})),
    ]
    found = independence(rows)
    assert (found.status, found.effective) == ("collapsed", 3)
    same_text_under_two = [evident({"raw": LONG})[0], replace(evident({"raw": LONG})[0], perturbation="format_change")]
    assert independence(same_text_under_two).status == "not repeated"


def test_one_group_without_texts_makes_the_whole_undecidable() -> None:
    rows = [*evident({"raw": "x"}, {"raw": "y"}), *(replace(row, perturbation="p") for row in evident({}, {}))]
    assert independence(rows).status == "cannot tell"


known = st.fixed_dictionaries(
    {
        "raw": st.sampled_from([None, "A", LONG, LONG + "!"]),
        "attributes": st.sampled_from(
            [
                {},
                {"response_id": "r1"},
                {"response_id": "r2"},
                {"cached": "shared"},
                {"response_id": "r1", "cached": "shared"},
            ]
        ),
    }
)


@given(st.lists(known, min_size=1, max_size=6), st.sampled_from([None, 0, 1]), st.randoms())
def test_the_order_of_rows_proves_nothing(samples: list, temperature: float | None, random: object) -> None:
    rows = evident(*samples)
    found = independence(rows, temperature=temperature)
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert independence(shuffled, temperature=temperature) == found
    assert 1 <= found.effective <= len(rows)
