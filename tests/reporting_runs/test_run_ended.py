"""What a run ends with: how much each judge decided, how often right, and the command that comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.rows import sampled

from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.reporting.runsection import ended_finding

FOLDER = Path("runs/first run")


def document(*judges: str, cases: str = "ABA", **changed: Any) -> dict[str, Any]:
    """The summary of a run in which each judge prefers A, and B is right about some cases."""
    rows = [
        row
        for judge in judges
        for place, gold in enumerate(cases)
        for row in sampled("AAA" if place else "AB", judge=judge, case_id=f"c{place}", gold=gold)
    ]
    found = replay(rows, "majority").judges if rows else ()
    return {
        "judges": [{"judge": one.judge, "criteria": [_entry(one)]} for one in found],
        "judged_cases": len(rows),
    } | changed


def _entry(one: Any) -> dict[str, Any]:
    interval = one.accuracy_interval
    return one.to_dict() | {
        "accuracy_95": None if interval is None else list(interval),
        "decided_with_gold": one.labelled,
    }


def test_each_judge_has_a_sentence_and_the_report_comes_next() -> None:
    found = ended_finding(document("house", "other"), FOLDER)
    assert found.answer.startswith(
        "house decided 2 of 3 cases, 1 abstained; right on 50.0 % of 2 decided cases with gold ["
    )
    assert found.reasons[0].startswith("other decided 2 of 3 cases")
    assert found.next == "judgeharness report 'runs/first run' --html 'runs/first run/report.html'"


def test_a_judge_that_is_not_better_than_a_control_is_named() -> None:
    found = ended_finding(document("house"), FOLDER)
    (told,) = found.reasons
    assert told.startswith("house: not ")
    assert "judge that always " in told
    stopped = document("house") | {"gates": {"stopped": True}}
    assert ended_finding(stopped, FOLDER).reasons == ()


def test_without_gold_nothing_is_right_and_no_control_is_beaten() -> None:
    plain = document("house")
    (entry,) = plain["judges"][0]["criteria"]
    entry |= {"accuracy": None, "accuracy_95": None, "controls": None}
    assert ended_finding(plain, FOLDER).answer == "house decided 2 of 3 cases, 1 abstained"
    assert ended_finding(plain, FOLDER).reasons == ()
    stopped = document("house")
    stopped["judges"][0]["criteria"][0]["accuracy_95"] = None
    assert ended_finding(stopped, FOLDER).answer.endswith(" with gold")


def test_many_judges_are_counted_together() -> None:
    found = ended_finding(document(*"abcde"), FOLDER)
    assert (found.answer, found.reasons) == ("5 judges made 10 of 15 decisions", ())


def test_a_run_without_answers_has_nothing_to_report() -> None:
    found = ended_finding(document(), FOLDER)
    assert (found.answer, found.next) == ("nothing was judged", "")
    assert found.document() == {"answer": "nothing was judged", "reasons": [], "next": None}
