from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.comparing import Comparison
from judgeharness_integrations.analysis.ranking.correctness import Decisions, Policy, credits_of, decisions_of
from judgeharness_integrations.analysis.ranking.firmness import robustness
from judgeharness_integrations.analysis.ranking.rating import rate
from judgeharness_integrations.analysis.ranking.studying import curate
from judgeharness_integrations.verdictlog.row import VerdictRow

JUDGES = tuple("abcdef")


def rows(criteria: Sequence[str] = ("verdict",), *, pairs: int = 90, seed: int = 0) -> list[VerdictRow]:
    """Verdicts of judges of rising ability about pairs of random difficulty, in two domains."""
    rng = np.random.default_rng(seed)
    easiness = rng.normal(0, 1, pairs)
    return [
        VerdictRow(
            case_id=f"p{pair}",
            judge=judge,
            criterion=criterion,
            verdict="A" if rng.random() < 1 / (1 + np.exp(-easiness[pair] - 0.25 * place)) else "B",
            gold="A",
            attributes={"domain": ("law", "tax")[pair % 2]},
        )
        for pair in range(pairs)
        for place, judge in enumerate(JUDGES)
        for criterion in criteria
    ]


def decided(log: Sequence[VerdictRow]) -> Decisions:
    return decisions_of(log, Policy.of("one_order"))


def one(found: Sequence[Comparison], name: str, group: str | None = None) -> Comparison:
    (comparison,) = (entry for entry in found if (entry.name, entry.group) == (name, group))
    return comparison


def sides(comparison: Comparison) -> tuple[dict[str, float], dict[str, float]]:
    return {name: x for name, x, _ in comparison.points}, {name: y for name, _, y in comparison.points}


def test_the_sheet_of_one_criterion() -> None:
    decisions = decided(rows())
    found = robustness(decisions, ("verdict",), share=0.3)
    assert [(entry.name, entry.x_label, entry.y_label) for entry in found] == [
        ("with and without the cut", "Elo, hardest 30 % cut", "Elo, no pair cut"),
        ("bradley-terry against eip", "Bradley-Terry Elo", "EIP score"),
    ]
    assert all(entry.group is None and entry.reason is None and entry.left_out == 0 for entry in found)
    matrix = credits_of(decisions)
    whole, kept = rate(matrix), rate(curate(matrix, share=0.3).kept)
    cut, uncut = sides(one(found, "with and without the cut"))
    assert uncut == pytest.approx(whole.scores("bradley-terry"))
    assert cut == pytest.approx(kept.scores("bradley-terry"))
    assert cut != pytest.approx(uncut)
    elo, score = sides(one(found, "bradley-terry against eip"))
    assert (elo, score) == (cut, pytest.approx(kept.scores("eip")))
    assert all(entry.correlation is not None and entry.correlation.judges == 6 for entry in found)


def test_a_cut_that_takes_no_pair_is_compared_with_nothing() -> None:
    found = one(robustness(decided(rows()), ("verdict",)), "with and without the cut")
    assert (found.x_label, found.points, found.correlation) == ("Elo, hardest 5 % cut", (), None)
    assert found.reason == "the cut takes no pair: the hardest are tied, or too few"


def test_criteria_but_the_first_are_taken_away_in_turn() -> None:
    decisions = decided(rows(("verdict", "type", "round")))
    found = robustness(decisions, ("verdict", "type", "round"))
    assert [entry.name for entry in found[:2]] == ["with and without type", "with and without round"]
    with_type, without_type = sides(found[0])
    assert (found[0].x_label, found[0].y_label) == ("Elo with type", "Elo without type")
    assert with_type == pytest.approx(rate(credits_of(decisions)).scores("bradley-terry"))
    assert without_type == pytest.approx(rate(credits_of(decisions, ("verdict", "round"))).scores("bradley-terry"))


def test_what_remains_may_have_no_gold() -> None:
    log = [replace(row, gold=None if row.criterion == "verdict" else row.gold) for row in rows(("verdict", "type"))]
    found = one(robustness(decided(log), ("verdict", "type")), "with and without type")
    assert (found.points, found.correlation) == ((), None)
    assert found.reason is not None
    assert found.reason.startswith("no pair has a gold label")


def test_groups_follow_all_data_curated_as_one() -> None:
    decisions = decided(rows())
    found = robustness(decisions, ("verdict",), share=0.1, by="domain")
    assert [entry.group for entry in found] == [None, "law", "tax"] * 2
    assert found[0].x_label == "Elo, hardest 10 % cut"
    kept = curate(credits_of(decisions), share=0.1).kept
    law, _ = sides(one(found, "with and without the cut", "law"))
    assert law == pytest.approx(rate(kept.groups("domain")["law"]).scores("bradley-terry"))
    assert one(found, "bradley-terry against eip", "tax").correlation.group == "tax"


def test_flagged_pairs_are_left_out_on_every_side() -> None:
    log = rows(("verdict", "type"))
    flagged = np.arange(90) < 15
    found = robustness(decided(log), ("verdict", "type"), flagged=flagged)
    without = robustness(decided([row for row in log if int(row.case_id[1:]) >= 15]), ("verdict", "type"))
    for entry, other in zip(found, without, strict=True):
        for mine, theirs in zip(sides(entry), sides(other), strict=True):
            assert mine == pytest.approx(theirs)


def test_missing_cells_leave_eip_out_with_its_reason() -> None:
    log = [row for row in rows() if (row.case_id, row.judge) != ("p3", "b")]
    found = one(robustness(decided(log), ("verdict",)), "bradley-terry against eip")
    assert found.points == ()
    assert found.reason is not None
    assert found.reason.startswith("EIP needs every judge on every pair")


def test_a_cut_of_pairs_without_difficulty_has_its_reason() -> None:
    log = [replace(row, verdict="A" if row.judge == "a" else "B") for row in rows() if row.judge in "ab"]
    found = robustness(decided(log), ("verdict",))
    cut, methods = found
    assert cut.reason is not None
    assert "cannot be cut by difficulty" in cut.reason
    assert methods.reason is not None
    assert "fewer than two judges" in methods.reason


def test_a_group_may_be_cut_away_whole() -> None:
    log = [
        replace(row, attributes={"domain": "hard" if row.case_id == "hard" else "rest"})
        for row in (
            *rows(),
            *(
                VerdictRow(case_id="hard", judge=judge, verdict="A" if judge == "a" else "B", gold="A")
                for judge in JUDGES
            ),
        )
    ]
    found = one(robustness(decided(log), ("verdict",), share=0.1), "with and without the cut")
    assert found.reason is None
    grouped = robustness(decided(log), ("verdict",), share=0.1, by="domain")
    gone = one(grouped, "with and without the cut", "hard")
    assert gone.reason == "no pair of 'hard' is left for 'Elo, hardest 10 % cut'"


def test_a_judge_that_one_side_cannot_rate_is_left_out_and_counted() -> None:
    decisions = decided(
        [
            replace(row, verdict="A") if row.judge == "f" and row.criterion == "verdict" else row
            for row in rows(("verdict", "type"))
        ]
    )
    found = one(robustness(decisions, ("verdict", "type")), "with and without type")
    assert [name for name, _, _ in found.points] == list("abcde")
    assert found.left_out == 1


@pytest.mark.slow
def test_scores_of_answers_are_held_against_verdicts_on_the_same_pairs_and_judges() -> None:
    pairwise, pointwise = rows(), rows(seed=7)
    mine = [row for row in pairwise if row.judge != "a"]
    theirs = [
        replace(row, criterion="score", attributes={}) for row in reversed(pointwise) if int(row.case_id[1:]) >= 20
    ] + [replace(row, case_id=f"new {row.case_id}", criterion="score") for row in pointwise]
    found = robustness(decided(mine), ("verdict",), by="domain", pointwise=decided(theirs))
    whole = one(found, "pairwise against pointwise")
    assert (whole.x_label, whole.y_label) == ("pairwise Elo", "pointwise Elo")

    def common(log: Sequence[VerdictRow], domain: str | None = None) -> dict[str, float]:
        kept = [row for row in log if row.judge != "a" and int(row.case_id[1:]) >= 20]
        kept = [row for row in kept if domain in (None, row.attributes["domain"])]
        return rate(credits_of(decided(kept))).scores("bradley-terry")

    for group in (None, "law", "tax"):
        x, y = sides(one(found, "pairwise against pointwise", group))
        assert x == pytest.approx(common(pairwise, group))
        assert y == pytest.approx(common(pointwise, group))


def test_criteria_of_the_same_name_are_compared() -> None:
    theirs = decided(rows(("verdict", "other"), seed=3))
    found = one(robustness(decided(rows()), ("verdict",), pointwise=theirs), "pairwise against pointwise")
    _, y = sides(found)
    assert y == pytest.approx(rate(credits_of(theirs, ("verdict",))).scores("bradley-terry"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"judge": "somebody else"}, "no judge is in both logs under the same name"),
        ({"case_id": "another pair"}, "no pair is in both logs under the same name"),
        ({"gold": None}, "no pair has a gold label"),
    ],
)
def test_logs_that_share_nothing_have_a_reason(change: dict[str, str | None], reason: str) -> None:
    theirs = [replace(row, **change) for row in rows() if (row.case_id, row.judge) == ("p1", "a")]
    found = one(robustness(decided(rows()), ("verdict",), pointwise=decided(theirs)), "pairwise against pointwise")
    assert found.reason is not None
    assert found.reason.startswith(reason)


def test_what_the_ranking_could_not_use_is_refused() -> None:
    decisions = decided(rows())
    with pytest.raises(UsageError, match="below 1"):
        robustness(decisions, ("verdict",), share=1.0)
    with pytest.raises(UnknownNameError, match="criterion 'verdit'"):
        robustness(decisions, ("verdit",))
    with pytest.raises(UnknownNameError, match="column 'domian'"):
        robustness(decisions, ("verdict",), by="domian")


def test_comparisons_are_json() -> None:
    log = [row for row in rows() if row.judge != "b" or len(row.case_id) > 2]  # ten pairs b was not asked about
    cut, methods = (
        json.loads(json.dumps(entry.to_dict(), allow_nan=False))
        for entry in robustness(decided(log), ("verdict",), share=0.3)
    )
    assert (cut["judges"], len(cut["points"]), cut["correlation"]["judges"]) == (6, 6, 6)
    assert cut["points"][0][0] == "a"
    assert (methods["judges"], methods["points"], methods["correlation"]) == (0, [], None)
