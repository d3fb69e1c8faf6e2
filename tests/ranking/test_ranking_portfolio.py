"""All analyses of a study, the tables they make, and the files those are written to."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking import RankRequest
from judgeharness_integrations.analysis.ranking.analyses import ANALYSES, Material, Portfolio, portfolio_of
from judgeharness_integrations.analysis.ranking.ranking import leaderboard, versus
from judgeharness_integrations.analysis.ranking.studying import study
from judgeharness_integrations.reporting.rankpage import flat, tables_of, write_csv, write_document, write_tables
from judgeharness_integrations.verdictlog import VerdictRow

# pairs x judges: who is right; each judge beats each other one somewhere
RIGHT = {
    "one": "1111110111",
    "two": "1111011000",
    "two@long": "1101111010",
    "three": "0010011100",
}


def log(right: dict[str, str] = RIGHT, **columns: Sequence[str]) -> list[VerdictRow]:
    """Rows of pairs whose better answer is A."""
    return [
        VerdictRow(
            case_id=f"p{pair}",
            judge=judge,
            verdict="A" if mark == "1" else "B",
            gold="A",
            attributes={name: values[pair] for name, values in columns.items()},
        )
        for judge, marks in right.items()
        for pair, mark in enumerate(marks)
    ]


def material(rows: Iterable[VerdictRow], *, audit: str | None = None, **request: Any) -> Material:
    found = study(rows, RankRequest(**request))
    return Material(found=found, report=leaderboard(found), audit=audit, draws=2)


def made_of(rows: Iterable[VerdictRow], **request: Any) -> Portfolio:
    return portfolio_of(material(rows, **request))


@pytest.mark.slow
def test_every_analysis_has_results_or_a_reason() -> None:
    made = made_of(log())
    assert set(made.results) | set(made.absent) == set(ANALYSES)
    assert not set(made.results) & set(made.absent)
    assert set(made.absent) == {"groups", "audit", "tokens", "money", "self_preference", "score_gaps", "against"}
    assert all(made.absent.values())
    document = made.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_named_analyses_alone_run_in_order_and_are_told() -> None:
    told: list[str] = []
    made = portfolio_of(material(log()), names=("stability", "methods"), tell=told.append)
    assert told == ["methods", "stability"]
    assert set(made.results) == {"methods", "stability"}
    assert not made.absent


@pytest.mark.slow
def test_groups_are_held_against_the_whole() -> None:
    made = made_of(log(kind="aaaaabbbbb"), by="kind")
    assert {one.group for one in made.groups} <= {"a", "b"}
    assert {row.column for row in made.cascade} == {None, "kind"}
    assert {one.group for one in made.class_bias} == {None, "a", "b"}


@pytest.mark.slow
def test_a_column_of_many_values_is_no_kind_of_pairs() -> None:
    right = {name: marks * 3 for name, marks in RIGHT.items()}
    numbered = "".join(chr(ord("a") + place) for place in range(26)) + "ABCD"
    made = made_of(log(right, number=numbered, half="ab" * 15, same="s" * 30))
    assert {row.column for row in made.cascade} == {None, "half"}


@pytest.mark.slow
def test_audit_labels_leave_no_pair_out() -> None:
    made = portfolio_of(material(log(mark="0001000010"), audit="mark"))
    assert [curve.n_labelled for curve in made.audit] == [2]
    by_flags = portfolio_of(material(log(mark="0001000010"), flagged="mark"))
    assert [curve.n_labelled for curve in by_flags.audit] == [2]
    assert by_flags.report.n_flagged == 2


@pytest.mark.slow
def test_audit_labels_of_no_pair_are_said() -> None:
    made = portfolio_of(material(log(mark="0000000000"), audit="mark"))
    assert made.absent["audit"] == "no pair that has a difficulty has a label in column 'mark'"


def test_self_preference_and_costs_where_the_log_has_them() -> None:
    rows = [
        replace(row, input_tokens=10 + len(row.judge), output_tokens=5)
        for row in log(author=["one"] * 5 + ["three"] * 5, author_b=["three"] * 5 + ["one"] * 5)
    ]
    made = made_of(rows)
    assert {one.judge for one in made.self_preference if one.difference is not None} == {"one", "three"}
    assert {one.judge: one.x for one in made.tokens} == {name: 15 + len(name) for name in RIGHT}
    assert {one.judge for one in made.variants} == {"two", "two@long"}


def costed(right: dict[str, str]) -> list[VerdictRow]:
    return [replace(row, input_tokens=10, output_tokens=len(row.judge)) for row in log(right)]


@pytest.mark.slow
def test_judges_beyond_elo_are_said_to_be_on_no_front() -> None:
    made = made_of(costed(RIGHT | {"best": "1111111111"}))
    assert {one.judge for one in made.tokens} == set(RIGHT)
    assert made.left_out == {"tokens": ("best",)}  # nothing is known of money
    assert made.to_dict()["left_out"] == {"tokens": ["best"]}
    assert made_of(costed(RIGHT)).left_out == {}


def test_where_nobody_has_elo_the_front_says_so() -> None:
    made = made_of(costed({"one": "111", "two": "110", "three": "100"}))
    assert made.absent["tokens"] == "no judge whose use is known has Elo"
    assert made.absent["money"] == ANALYSES["money"].needs
    assert made.left_out == {}


def test_two_judges_have_no_rank_correlation() -> None:
    made = made_of(log({"one": "1101", "two": "0111"}))
    assert made.absent["stability"] == "a rank correlation needs 3 judges that are ranked"


@pytest.mark.slow
def test_without_a_choice_between_a_and_b_nobody_prefers_a_side() -> None:
    rows = [replace(row, verdict="PASS" if row.verdict == "A" else "FAIL", gold="PASS") for row in log()]
    assert "self_preference" in made_of(rows).absent


@pytest.mark.slow
def test_scores_of_single_answers() -> None:
    rows = [
        VerdictRow(
            case_id=f"p{pair}{side}",
            judge=judge,
            verdict=float(7 if (side == "A") == (mark == "1") else 3),
            gold="A",
            attributes={"pair": f"p{pair}", "side": side},
        )
        for judge, marks in RIGHT.items()
        for pair, mark in enumerate(marks)
        for side in "AB"
    ]
    scored = material(rows)
    assert {one.judge: one.right for one in portfolio_of(scored).score_gaps} == {
        name: marks.count("1") for name, marks in RIGHT.items()
    }
    both = replace(material(log()), pointwise=scored.found)
    made = portfolio_of(both, names=("robustness", "score_gaps"))
    assert len(made.score_gaps) == len(RIGHT)
    [compared] = [one for one in made.robustness if one.name == "pairwise against pointwise"]
    assert all(x == pytest.approx(y) for _, x, y in compared.points)


# Another log


def test_the_same_judges_elsewhere_are_curated_anew() -> None:
    mine, theirs = log(), log({name: marks[::-1] for name, marks in RIGHT.items() if name != "three"})
    found = versus(study(mine, RankRequest()), theirs, labels=("mine", "theirs"))
    assert (found.name, found.name_against) == ("mine", "theirs")
    assert {slope.judge for slope in found.slopes} == set(RIGHT) - {"three"}
    assert all(slope.elo == pytest.approx(slope.elo_against) for slope in found.slopes)
    assert found.correlation_without_generators is None
    assert found.unrated == ()


def test_scores_without_errors_have_no_intervals_of_their_changes() -> None:
    mine, theirs = log(), log({name: marks[::-1] for name, marks in RIGHT.items()})
    found = versus(study(mine, RankRequest(method="eip")), theirs, labels=("mine", "theirs"))
    assert {slope.judge for slope in found.slopes} == set(RIGHT)
    assert (found.changes, found.own_sets) == ((), ())
    assert versus(study(mine, RankRequest()), theirs, labels=("mine", "theirs")).changes


def test_judges_that_are_never_wrong_in_one_log_are_named() -> None:
    mine = log(RIGHT | {"best": "1111111111", "worst": "0000000000"})
    theirs = log(RIGHT | {"best": "1011111111", "worst": "0000000000"})
    found = versus(study(mine, RankRequest()), theirs, labels=("mine", "theirs"))
    assert {slope.judge for slope in found.slopes} == set(RIGHT)
    assert found.unrated == ("best", "worst")
    assert found.to_dict()["unrated"] == ["best", "worst"]


def test_judges_that_wrote_answers_are_known_by_their_model() -> None:
    theirs = log(author=["two"] * 10, author_b=["else"] * 10)
    found = versus(study(log(), RankRequest()), theirs, labels=("mine", "theirs"))
    assert {slope.judge for slope in found.slopes if slope.generator} == {"two", "two@long"}


@pytest.mark.parametrize(
    ("theirs", "sentence"),
    [
        (log({"one": "10", "nobody": "01"}), "have 1 judges in common"),
        ([replace(row, gold=None) for row in log()], "theirs: no pair has a gold label"),
        (log({"one": "11", "two": "11"}), "theirs: "),
    ],
)
def test_logs_that_cannot_be_compared(theirs: list[VerdictRow], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        versus(study(log(), RankRequest()), theirs, labels=("mine", "theirs"))


# Tables


@pytest.mark.slow
def test_tables_hold_what_the_results_hold() -> None:
    one = material(log(kind="aaaaabbbbb"), by="kind", cut=0.2)
    made = portfolio_of(replace(one, against=versus(one.found, log(), labels=("mine", "theirs"))))
    tables = tables_of(one.found, made)
    assert [row["judge"] for row in tables["leaderboard"]] == [entry.judge for entry in made.report.judges]
    top, entry = tables["leaderboard"][0], made.report.judges[0]
    assert entry.ci95 is not None
    assert (top["ci95_low"], top["ci95_high"]) == entry.ci95
    assert top["groups.a"] == entry.groups["a"]
    steps = [row["step"] for row in tables["pairs"]]
    assert steps.count("kept") == made.report.n_pairs
    assert steps.count("hardest") == made.report.n_cut
    assert steps.count("unanimous") == made.report.n_unanimous
    assert steps.count("unanswered") == made.report.n_unanswered
    assert {row["analysis"] for row in tables["correlations"]} >= {"methods", "against", "with and without the cut"}
    assert len(tables["contrasts"]) == len(made.report.contrasts)
    assert len(tables["against"]) == len(RIGHT)
    assert sum(row["count"] for row in tables["confusions"] if row["group"] is None and row["judge"]) == 40
    assert all(
        not isinstance(value, (list, dict)) for rows in tables.values() for row in rows for value in row.values()
    )
    numbers = [value for rows in tables.values() for row in rows for value in row.values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))


@pytest.mark.slow
def test_what_the_order_is_worth_and_audits_are_tables_where_they_are_known() -> None:
    other_order = {name: marks[1:] + marks[:1] for name, marks in RIGHT.items()}
    swapped = [replace(row, perturbation="position_swap", swapped=True) for row in log(other_order, mark="0001000010")]
    one = material([*log(mark="0001000010"), *swapped], audit="mark", rule="one_order")
    tables = tables_of(one.found, portfolio_of(one))
    assert {row["judge"] for row in tables["order_effect"]} == set(RIGHT)
    assert tables["audit"][-1]["share_of_labels"] == 1
    assert "order_effect" not in tables_of(material(log()).found, portfolio_of(material(log()), names=()))


def test_eip_difficulty_stands_beside_elo() -> None:
    one = material(log())
    rows = tables_of(one.found, portfolio_of(one, names=()))["pairs"]
    assert all((row["difficulty_eip"] is None) == (row["step"] != "kept") for row in rows)
    without = material([row for row in log() if (row.case_id, row.judge) != ("p3", "one")])
    rows = tables_of(without.found, portfolio_of(without, names=()))["pairs"]
    assert all(row["difficulty_eip"] is None for row in rows)


def test_files_are_read_back(tmp_path: Path) -> None:
    rows = [{"name": "a,b", "share": 0.25, "good": True}, {"name": None, "other": -3}]
    [path] = write_tables({"some": rows}, tmp_path / "new")
    assert path.name == "some.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"name": "a,b", "share": "0.25", "good": "true", "other": ""},
            {"name": "", "share": "", "good": "", "other": "-3"},
        ]
    document = write_document({"name": "half an emoji \ud83d"}, tmp_path / "rank.json")
    assert json.loads(document.read_text("utf-8")) == {"name": "half an emoji \ud83d"}


@given(name=st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_no_name_becomes_a_formula(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write_csv(tmp_path_factory.getbasetemp() / "names.csv", [{name: name}])
    with path.open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert len(set(cells)) == 1
    assert cells[0][0] not in "=+-@\t\r\n"
    assert name in (cells[0], cells[0].removeprefix("'"))


def test_intervals_without_a_value_keep_their_columns() -> None:
    assert flat({"ci95": None, "rank_range": [1, 2], "top": [[3, 0.5]], "groups": {"a": 1.0, "b": None, "c": []}}) == {
        "ci95_low": None,
        "ci95_high": None,
        "rank_range_low": 1,
        "rank_range_high": 2,
        "groups.a": 1.0,
        "groups.b": None,
    }
