"""Who else decided about the same labelled texts."""

from __future__ import annotations

from typing import Any

import pytest

from judgeharness_integrations.analysis.aggregation.cases import case_decisions
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.calibration.candidates import (
    candidates_beside,
    labelled_candidates,
    one_of,
    rivals_of,
)
from judgeharness_integrations.analysis.calibration.transport import labelled_alone, labels_apart
from judgeharness_integrations.verdictlog import VerdictRow


def row(case_id: str = "c", gold: Any = "A", **more: Any) -> VerdictRow:
    return VerdictRow(case_id=case_id, verdict="A", gold=gold, **{"judge": "j", "run": "r", "criterion": "x"} | more)


def asked(text: str, pair: str) -> dict[str, str]:
    return {"text_digest": text, "pair_digest": pair}


@pytest.mark.parametrize(
    ("other", "meets"),
    [
        (row(run="s"), True),
        (row(judge="k"), True),
        (row(judge="k", gold="B"), True),  # of one criterion, labels are one's own affair
        (row(criterion="y"), True),
        (row(criterion="y", gold="B"), False),
        (row(criterion="y", gold=0.5), False),
        (row("d", run="s"), False),
        (row("d", run="s", attributes=asked("1", "p")), True),
        (row("d", run="s", attributes=asked("2", "p")), True),
        (row("d", criterion="y", attributes=asked("2", "p"), gold="B"), True),  # with its answers exchanged
        (row("d", criterion="y", attributes=asked("2", "p")), False),
        (row("d", criterion="y", attributes=asked("1", "p")), True),
        (row("d", run="s", attributes={"text_digest": "2"}), False),
    ],
)
def test_the_same_labels_decide_about_the_same_texts(other: VerdictRow, meets: bool) -> None:  # noqa: FBT001 - a case of the table
    mine, theirs = labelled_candidates([row(attributes=asked("1", "p")), other])
    assert bool(rivals_of(mine, [theirs])) is meets


def test_what_is_shown_is_not_beside_itself() -> None:
    shown, *rest = rows = [
        row(),
        row(run="s"),
        row(run="r/calibration"),  # the labelled cases of the run itself
        row(gold=None, judge="unlabelled"),
        row(criterion="*", judge="failing"),
        row("d", run="s"),
    ]
    beside = candidates_beside(rows, [shown])
    assert [(one.run, set(one.labels)) for one in beside] == [("s", {"c", "d"})]
    assert candidates_beside(rest) == tuple(labelled_candidates(rest))


def test_among_how_many_it_is_said_in_words() -> None:
    mine, judge, run = labelled_candidates([row(), row(judge="k"), row(judge="k", run="s")])
    assert one_of(mine, []) == ""
    assert one_of(mine, [judge]) == "one of 2 judges on these labels"
    assert one_of(mine, [judge, run]) == "one of 3 candidates (judges, runs, criteria) on these labels"


def labelled(golds: list[str], criterion: str) -> list[VerdictRow]:
    return [row(f"c{place}", gold, criterion=criterion) for place, gold in enumerate(golds)]


def other_way(golds: list[str], places: list[int]) -> list[str]:
    return [("FAIL" if gold == "PASS" else "PASS") if place in places else gold for place, gold in enumerate(golds)]


EVEN = ["PASS", "FAIL"] * 30
RARE = ["FAIL", "FAIL"] + ["PASS"] * 58
PASSES = ["PASS"] * 60


@pytest.mark.parametrize(
    ("golds", "others", "meets"),
    [
        pytest.param(EVEN, other_way(EVEN, [7]), True, id="one label differs"),
        pytest.param(EVEN, other_way(EVEN, list(range(8))), True, id="kappa .73"),
        pytest.param(EVEN, other_way(EVEN, list(range(15))), False, id="kappa .5"),
        pytest.param(EVEN, ["PASS", "PASS", "FAIL", "FAIL"] * 15, False, id="independent labels"),
        pytest.param(EVEN[:10], other_way(EVEN[:10], [3]), True, id="one of ten"),
        pytest.param(EVEN[:8], ["PASS", "PASS", "FAIL", "FAIL"] * 2, False, id="few and independent"),
        pytest.param(RARE, other_way(RARE, [0]), True, id="one of two rare labels"),
        pytest.param(PASSES, other_way(PASSES, [0]), True, id="labels of one kind"),
        pytest.param(PASSES, EVEN, False, id="labels of one kind and others"),
        pytest.param(EVEN, ["good" if gold == "PASS" else "bad" for gold in EVEN], True, id="other words"),
        pytest.param(EVEN, other_way(EVEN, list(range(60))), True, id="the opposite is asked"),
        pytest.param([str(n % 12) for n in range(60)], [f"{n % 12}.5" for n in range(60)], False, id="many scores"),
    ],
)
def test_another_criterion_asks_the_same_where_its_labels_agree_far_beyond_chance(
    golds: list[str],
    others: list[str],
    meets: bool,  # noqa: FBT001 - a case of the table
) -> None:
    mine, theirs = labelled_candidates([*labelled(golds, "x"), *labelled(others, "y")])
    assert bool(rivals_of(mine, [theirs])) is meets


def test_a_case_known_by_its_id_and_its_texts_is_compared_once() -> None:
    golds, others = (
        ["FAIL"] * 3 + ["PASS"] * 27,
        ["FAIL"] * 6 + ["PASS"] * 24,
    )  # twice as many would be enough for kappa
    rows = [
        row(f"c{place}", gold, criterion=name, attributes={"text_digest": str(place)})
        for name, column in (("x", golds), ("y", others))
        for place, gold in enumerate(column)
    ]
    mine, theirs = labelled_candidates(rows)
    assert rivals_of(mine, [theirs]) == [theirs]


def test_labels_on_every_case_of_a_log_are_a_sample_of_it() -> None:
    cases = list(case_decisions([row(f"c{n}") for n in range(30)], rule("majority")))
    assert labels_apart("x", cases, "so") == ""


def test_a_column_that_labelled_and_other_cases_share_tells_nobody_apart() -> None:
    rows = [row(f"c{n}", "A" if n < 30 else None, attributes={"kind": "k", "part": f"p{n // 30}"}) for n in range(60)]
    assert labelled_alone("x", case_decisions(rows, rule("majority"))).startswith(
        "part is p0 in all cases with a label"
    )
