"""Judges that read nothing beside a leaderboard."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.rows import both_orders, sampled

from judgeharness_integrations.analysis.ranking import RankRequest, rank
from judgeharness_integrations.verdictlog.row import VerdictRow

OTHER = {"A": "B", "B": "A"}


def log(*, swapped: bool = False, lengths: bool = False) -> list[VerdictRow]:
    """Sixty pairs, gold A on forty, by a judge that reads, one that always says A and one that tosses a coin."""
    dice, rows = random.Random(4), []  # noqa: S311 - planted judges
    for n in range(60):
        gold = "A" if n % 3 else "B"
        said = {"reader": gold if n % 10 else OTHER[gold], "constant": "A", "coin": dice.choice("AB")}
        columns = {"length_a": 5 + n % 2, "length_b": 6 - n % 2} if lengths else {}
        for judge, verdict in said.items():
            facts = {"judge": judge, "case_id": f"p{n}", "gold": gold, "attributes": columns}
            rows += both_orders([verdict], [verdict], **facts) if swapped else sampled([verdict], **facts)
    return rows


def test_every_judge_stands_beside_judges_that_read_nothing() -> None:
    report = rank(log())
    controls = report.judge("reader").controls
    assert controls is not None
    assert [(one.name, one.value) for one in controls.listed] == [
        ("constant", pytest.approx(2 / 3)),
        ("coin", 0.5),
        ("longest answer", None),
        ("first slot", pytest.approx(2 / 3)),
    ]
    first, *others = report.controls()
    assert first.startswith(
        "controls, right over all labelled cases (60): always A 0.667, a coin 0.500, the first answer 0.667"
    )
    assert {line.partition(":")[0] for line in others} == {"constant", "coin"}
    assert "constant: not better than a judge that always answers A: +0.000 [" in "\n".join(others)
    written = report.to_dict()["judges"][0]["controls"]
    assert written["listed"][0]["says"] == "always A"


def test_in_both_orders_a_coin_must_hit_twice() -> None:
    controls = rank(log(swapped=True, lengths=True)).judge("reader").controls
    assert controls is not None
    assert (controls.control("coin").value, controls.control("first slot").value) == (0.25, 0.0)
    assert controls.control("longest answer").n == 60


def test_of_several_criteria_a_control_answers_all() -> None:
    graded = [
        VerdictRow(case_id=row.case_id, judge=row.judge, verdict="yes", gold="yes", criterion="polite") for row in log()
    ]
    controls = rank([*log(), *graded], RankRequest(cluster=None)).judge("reader").controls
    assert controls is not None
    assert controls.control("constant").says == "always A + yes"
    assert controls.control("first slot").reason


def test_a_judge_without_a_labelled_pair_has_no_controls() -> None:
    rows = [*log(), *sampled(["A"], judge="idle", case_id="p99")]
    assert rank(rows).judge("idle").controls is None


def test_clusters_count_once() -> None:
    rows = log(lengths=True)
    alone = rank(rows).judge("reader").controls
    together = rank(rows, RankRequest(cluster="length_a")).judge("reader").controls
    assert alone is not None
    assert together is not None
    assert alone.value == together.value
    assert alone.best.advantage != together.best.advantage


def test_where_no_answer_counts_there_is_nothing_to_stand_beside() -> None:
    rows = [row for n in range(6) for row in sampled([None], case_id=f"p{n}", gold="A", judge="silent")]
    report = rank([*rows, *(replace(row, judge="mute") for row in rows)], RankRequest(failures="missing"))
    assert list(report.controls()) == []
