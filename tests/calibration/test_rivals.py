"""Who else decided about the same labelled texts."""

from __future__ import annotations

from typing import Any

import pytest

from judgeharness_integrations.analysis.calibration.rivals import (
    candidates_beside,
    labelled_candidates,
    one_of,
    rivals_of,
)
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
