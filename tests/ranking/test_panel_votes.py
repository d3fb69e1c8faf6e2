"""A panel of judges: votes of members, folded like samples, and how alike they err."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.panels import panel_errors
from judgeharness_integrations.analysis.replay import replay
from judgeharness_integrations.analysis.replay.votes import MEMBER, panel_votes
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.row import Verdict

JUDGES = ("a", "b", "c")


def planted(cases: int = 200, *, shared: float = 0.0, error: float = 0.2) -> list[VerdictRow]:
    """Three judges that err in a share of cases, of which a part is the same for all; two samples each."""
    source = random.Random(3)  # noqa: S311 - planted judges
    rows = []
    for number in range(cases):
        together = source.random() < shared
        common = source.random() < error
        for judge in JUDGES:
            wrong = common if together else source.random() < error
            said = VerdictRow(
                case_id=f"c{number}",
                judge=judge,
                verdict="FAIL" if wrong else "PASS",
                gold="PASS",
                attributes={"topic": "x", "planned_samples": 2},
            )
            rows += [said, replace(said, repetition=1)]
    return rows


def test_each_member_has_one_vote_a_case_in_its_place() -> None:
    votes = panel_votes(planted(2), JUDGES)
    assert votes.name == "panel(a+b+c)"
    assert [(row.case_id, row.attributes[MEMBER], row.repetition) for row in votes.rows[:2]] == [
        ("c0", "a", 0),
        ("c1", "a", 0),
    ]
    assert {row.repetition for row in votes.rows} == {0, 1, 2}
    assert all(set(row.attributes) == {"topic", MEMBER} for row in votes.rows)
    assert votes.member_rule == "majority | median"


def test_the_majority_of_independent_judges_is_right_more_often_than_each() -> None:
    rows = planted()
    alone = [one.accuracy for one in replay(rows, "majority").judges]
    together = replay(panel_votes(rows, JUDGES).rows, "majority").judges[0].accuracy
    assert together is not None
    assert all(together > (one or 0) for one in alone)


def test_a_member_that_abstains_is_a_vote_for_nobody() -> None:
    rows = [
        VerdictRow(case_id="c", judge="a", verdict="PASS"),
        VerdictRow(case_id="c", judge="b", verdict="PASS"),
        VerdictRow(case_id="c", judge="b", verdict="FAIL", repetition=1),
    ]
    votes = panel_votes(rows, ["a", "b"])
    assert [(row.verdict, row.outcome) for row in votes.rows] == [("PASS", "ok"), (None, "ok")]
    assert votes.rows[1].reasoning == "tie between FAIL, PASS at 1 each"
    assert replay(votes.rows, "strict_majority").judges[0].abstained == 1


@pytest.mark.parametrize(
    ("labels", "rule"),
    [(("PASS", "FAIL"), "majority"), (("PASS", "FAIL"), "strict_majority"), ((1, 9), "median"), ((1, 9), "mode")],
)
def test_a_panel_of_members_that_abstain_abstains(labels: tuple[Verdict, Verdict], rule: str) -> None:
    member_rule = "mode" if rule in ("median", "mode") else "majority"
    rows = [
        VerdictRow(case_id="c", judge=judge, verdict=label, repetition=place)
        for judge in JUDGES
        for place, label in enumerate(labels)
    ]
    (panel,) = replay(panel_votes(rows, JUDGES, member_rule=member_rule).rows, rule).judges
    assert (panel.abstained, panel.not_graded) == (1, 0)


def test_a_panel_of_members_that_were_not_graded_is_not_graded() -> None:
    rows = [VerdictRow(case_id="c", judge=judge, verdict=None, outcome="error") for judge in JUDGES]
    (panel,) = replay(panel_votes(rows, JUDGES).rows, "majority").judges
    assert (panel.abstained, panel.not_graded) == (0, 1)


def test_judges_that_err_together_are_worth_fewer() -> None:
    independent = panel_errors(panel_votes(planted(), JUDGES), "verdict")
    alike = panel_errors(panel_votes(planted(shared=0.9), JUDGES), "verdict")
    assert independent.effective is not None
    assert alike.effective is not None
    assert independent.effective > 2.2
    assert alike.effective < 1.7
    assert "errors correlate at" in alike.sentence


@pytest.mark.parametrize(
    ("members", "problem"),
    [(["a"], "two members or more"), (["a", "a"], "each of them once"), (["a", "x"], "'x'")],
)
def test_a_panel_needs_judges_of_the_log(members: list[str], problem: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=problem):
        panel_votes(planted(1), members)


def test_a_panel_is_not_called_like_a_member() -> None:
    with pytest.raises(UsageError, match="called 'a' already"):
        panel_votes(planted(1), JUDGES, name="a")


def test_how_alike_members_err_takes_labels_of_the_criterion() -> None:
    votes = panel_votes(planted(3), JUDGES)
    with pytest.raises(UnknownNameError, match="criterion"):
        panel_errors(votes, "tone")
    unlabelled = [VerdictRow(case_id="c", judge=judge, verdict="PASS") for judge in JUDGES]
    with pytest.raises(UsageError, match="has a gold label"):
        panel_errors(panel_votes(unlabelled, JUDGES), "verdict")


@pytest.mark.parametrize("members", [["a", "b"], ["a", "b", "c"]])
def test_how_alike_members_err_is_not_known_where_one_of_them_never_answers(members: list[str]) -> None:
    rows = [replace(row, verdict=None, outcome="error") if row.judge == "b" else row for row in planted(20)]
    with pytest.raises(UsageError, match="no decision of 'b' about 'verdict' has a gold label"):
        panel_errors(panel_votes(rows, members), "verdict")


def test_members_that_judged_in_runs_of_their_own_are_one_panel() -> None:
    rows = [replace(row, run=f"run of {row.judge}") for row in planted(20)]
    votes = panel_votes(rows, JUDGES)
    (measured,) = replay(votes.rows, "majority").judges
    assert measured.cases == 20
    assert {row.run for row in votes.rows} == {""}


def test_a_member_that_judged_a_case_in_two_runs_is_refused() -> None:
    rows = planted(2)
    with pytest.raises(
        UsageError, match="judge 'a' judged case 'c0' in the runs '' and 'again': give the rows of one run"
    ):
        panel_votes([*rows, *(replace(row, run="again") for row in rows)], JUDGES)


def test_a_judge_of_the_log_that_is_no_member_keeps_its_name() -> None:
    rows = planted(2)
    with pytest.raises(UsageError, match="a judge is called 'c' already"):
        panel_votes(rows, ["a", "b"], name="c")
