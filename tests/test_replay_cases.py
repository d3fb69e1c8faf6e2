"""A log read case by case comes to what it comes to as a whole, whatever the order and whatever turns up late."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.aggregation.grouping import Clusters, by_case, by_judge
from judgeharness_integrations.analysis.aggregation.rules import PLANNED_SAMPLES
from judgeharness_integrations.analysis.aggregation.statistics import position_bias
from judgeharness_integrations.analysis.replay import (
    CriterionFold,
    JudgeFold,
    JudgeReplay,
    case_decisions,
    replay,
    replay_cases,
)
from judgeharness_integrations.analysis.replay.report import ExactMean, PositionCounts
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION

LABELS = {"tone": ("PASS", "FAIL"), "verdict": ("A", "B", "TIE"), "depth": (1, 3, 7.5)}


@st.composite
def logs(draw: st.DrawFn) -> list[VerdictRow]:
    """Rows of two judges about up to three criteria; some calls failed for every criterion, some cases are copies."""
    rows: dict[Any, VerdictRow] = {}
    copies = draw(st.booleans())
    for _ in range(draw(st.integers(1, 40))):
        name = draw(st.sampled_from([*LABELS, EVERY_CRITERION]))
        failed = name == EVERY_CRITERION or draw(st.booleans())
        swapped = draw(st.booleans())
        case = draw(st.integers(0, 5))
        one = VerdictRow(
            case_id=f"c{case}",
            judge=draw(st.sampled_from(["j", "k"])),
            run=draw(st.sampled_from(["", "again"])),
            criterion=name,
            verdict=None if failed else draw(st.sampled_from(LABELS[name])),
            outcome=draw(st.sampled_from(["unparsed", "error"])) if failed else "ok",
            gold=None if case < 2 or name == EVERY_CRITERION else LABELS[name][case % 2],
            perturbation="position_swap" if swapped else "none",
            swapped=swapped,
            repetition=draw(st.integers(0, 2)),
            attributes={"pair_digest": str(case // 2)} if copies else {},
        )
        rows.setdefault(one.key, one)
    return list(rows.values())


def cases_of(rows: list[VerdictRow]) -> list[list[VerdictRow]]:
    return [group for mine in by_judge(rows).values() for group in by_case(mine).values()]


def entries(found: tuple[JudgeReplay, ...]) -> dict[tuple[str, str], JudgeReplay]:
    return {(entry.judge, entry.criterion): entry for entry in found}


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=150, deadline=None)
@given(logs(), st.randoms(use_true_random=False), st.sampled_from([None, 1, 2]))
def test_case_by_case_is_as_a_whole(rows: list[VerdictRow], chance: random.Random, min_valid: int | None) -> None:
    options: dict[str, Any] = {"min_valid": min_valid, "tolerance": 0.5}
    whole = replay(rows, "majority | median", **options)
    groups = cases_of(rows)
    chance.shuffle(groups)
    clusters = {judge: Clusters.of_rows(mine).shared() for judge, mine in by_judge(rows).items()}
    folded = replay_cases(groups, "majority | median", clusters=clusters, **options)
    assert entries(folded.judges) == entries(whole.judges)
    assert (folded.rule, folded.rule_fixed) == (whole.rule, whole.rule_fixed)


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=100, deadline=None)
@given(logs())
def test_position_case_by_case_is_position_of_the_log(rows: list[VerdictRow]) -> None:
    mine = [replace(row, judge="j") for row in rows if row.criterion == "verdict"]
    counts, clusters = PositionCounts(), Clusters.of_rows(mine).shared()
    for (_, case_id), group in by_case(mine).items():
        counts.add(group, clusters.get(case_id))
    assert not counts.foreign
    assert counts.bias() == (position_bias(mine) if counts.used & {"A", "B"} else None)


def test_calls_that_failed_for_every_criterion_count_for_those_that_turn_up_later() -> None:
    first = [VerdictRow(case_id="1", criterion="*", verdict=None, outcome="error", gold="PASS")]
    second = [
        VerdictRow(case_id="2", criterion="tone", verdict="PASS", gold="PASS"),
        VerdictRow(case_id="2", criterion="*", verdict=None, outcome="unparsed", repetition=1),
    ]
    third = [VerdictRow(case_id="3", criterion="facts", verdict="FAIL")]
    tone, facts = replay_cases([first, second, [], third], "majority").judges
    assert (tone.criterion, tone.cases, tone.decided, tone.not_graded, tone.rows) == ("tone", 2, 1, 1, 3)
    assert (facts.criterion, facts.cases, facts.decided, facts.not_graded, facts.rows) == ("facts", 3, 1, 2, 3)
    assert tone.single_call_accuracy == {"none": 1 / 3}
    alone = replay_cases([first], "majority").judges[0]
    assert (alone.criterion, alone.cases, alone.not_graded) == ("verdict", 1, 1)


def test_declared_criteria_come_first_and_unasked_cases_are_not_graded() -> None:
    fold = JudgeFold(judge="j", rule=rule("median"), criteria=["depth", "tone"], tolerances={"tone": 3.0})
    fold.add([VerdictRow(case_id="1", criterion="tone", verdict=v, repetition=n) for n, v in enumerate((1, 1, 4))])
    depth, tone = fold.finish(planned_cases=3)
    assert (depth.criterion, depth.cases, depth.not_graded, depth.kind) == ("depth", 3, 3, "numbers")
    assert (tone.cases, tone.decided, tone.not_graded, tone.consistency_rate) == (3, 1, 2, 1.0)
    (unknown,) = JudgeFold(judge="j", rule=rule("median")).finish(planned_cases=2)
    assert (unknown.criterion, unknown.not_graded) == ("verdict", 2)


def test_a_case_says_what_was_decided() -> None:
    fold = JudgeFold(judge="j", rule=rule("majority"))
    one = VerdictRow(case_id="1", verdict="A", gold="B")
    found = fold.add([one], planned=2)["verdict"]
    assert (found.decision.status, found.decision.reason) == ("not_graded", "1 of 2 planned samples were not asked")
    assert (found.rows, found.gold, found.censored) == ([one], "B", False)


ONE, SCORE = VerdictRow(case_id="1", verdict="PASS"), VerdictRow(case_id="2", verdict=3)
TWO_GOLDS = [VerdictRow(case_id="3", verdict="A", gold=g, repetition=n) for n, g in enumerate(("A", "B"))]


@pytest.mark.parametrize("name", ["majority", "median", "first"])
@pytest.mark.parametrize(
    "groups",
    [
        [[ONE], [SCORE], TWO_GOLDS],
        [TWO_GOLDS, [SCORE], [ONE]],
        [[SCORE], [ONE], [ONE], [SCORE]],
        [TWO_GOLDS, [ONE]],
        [TWO_GOLDS, TWO_GOLDS[:1]],
        [[ONE, replace(SCORE, case_id="1", repetition=1)]],
    ],
)
def test_the_same_sentence_for_what_cannot_be_folded(name: str, groups: list[list[VerdictRow]]) -> None:
    def first(rows: list[VerdictRow]) -> Any:
        return rows[0].verdict

    chosen = first if name == "first" else name
    sentences = []
    for fold in (
        lambda: replay([row for group in groups for row in group], chosen),
        lambda: replay_cases(groups, chosen),
    ):
        with pytest.raises(UsageError) as caught:
            fold()
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_a_number_and_its_text_are_two_golds() -> None:
    rows = [VerdictRow(case_id="c", verdict="A", gold=g, repetition=n) for n, g in enumerate((1, "1"))]
    with pytest.raises(UsageError, match="two gold labels for 'verdict': '1' and '1'"):
        replay(rows, "majority")


def test_judges_can_be_chosen_and_must_exist() -> None:
    rows = [VerdictRow(case_id="1", judge=name, verdict="A") for name in ("j", "k")]
    groups = [[row] for row in rows]
    assert [entry.judge for entry in replay_cases(groups, "majority", judges=["k"]).judges] == ["k"]
    with pytest.raises(UnknownNameError, match="did you mean 'k'"):
        replay_cases(groups, "majority", judges=["kk"])
    with pytest.raises(UsageError, match="min_valid"):
        replay_cases(groups, "majority", min_valid=0)


def test_rules_of_both_orders_need_a_case_in_both() -> None:
    shown = VerdictRow(case_id="1", verdict="A")
    swapped = replace(shown, swapped=True, perturbation="position_swap")
    with pytest.raises(UsageError, match="never shows a case in both"):
        replay_cases([[shown], [replace(swapped, case_id="2")]], "swap_consensus")
    assert replay_cases([[shown, swapped]], "swap_consensus").judges[0].decided == 1


def stopped(verdicts: list[Any], planned: Any, *, swapped: int = 0) -> list[VerdictRow]:
    """One case; the last `swapped` samples were shown in the other order."""
    plain = len(verdicts) - swapped
    return [
        VerdictRow(
            case_id="c",
            verdict=verdict,
            outcome="ok" if verdict is not None else "error",
            repetition=n % plain if plain else n,
            swapped=n >= plain,
            perturbation="position_swap" if n >= plain else "none",
            attributes={PLANNED_SAMPLES: planned},
        )
        for n, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("name", "rows", "status", "verdict"),
    [
        ("majority", stopped(["A"] * 4, 6), "decided", "A"),
        ("majority", stopped(["A", "A", "B"], 6), "not_graded", None),
        ("supermajority(2/3)", stopped(["A", "B", "B", "C"], 5), "abstained", "ABSTAIN"),
        ("abstain_on_disagreement", stopped(["A", "B", None], 6), "not_graded", None),
        ("abstain_on_disagreement", stopped(["A", "B", "A"], 6), "abstained", "ABSTAIN"),
        ("swap_consensus", stopped(["A", "A", "A", "A", "A"], 6, swapped=2), "decided", "A"),
        ("mean", stopped([1, 1, 1], 4), "not_graded", None),
        ("median", stopped([3, 4, 4], 4), "not_graded", None),
        ("median", stopped([3, 3, 3, 3], 6), "decided", 3),
    ],
)
def test_a_case_stopped_early_is_decided_where_its_samples_settle_the_rule(
    name: str, rows: list[VerdictRow], status: str, verdict: Any
) -> None:
    (case,) = case_decisions(rows, rule(name))
    assert (case.decision.status, case.decision.verdict, case.censored) == (status, verdict, True)
    entry = replay(rows, name).judges[0] if name != "swap_consensus" else replay_cases([rows], name).judges[0]
    assert (entry.censored, getattr(entry, status)) == (1, 1)


def test_cases_that_were_asked_in_full_are_not_censored() -> None:
    rows = [
        *stopped(["A", "A"], 2),
        *(replace(row, case_id="d") for row in stopped(["A"], "six")),
        *(replace(row, case_id="nan") for row in stopped(["A"], float("nan"))),
        VerdictRow(case_id="e", verdict="A"),
    ]
    entry = replay(rows, "majority").judges[0]
    assert (entry.censored, entry.decided) == (0, 4)
    assert entry.to_dict()["censored"] == 0


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e100, 1e100), max_size=60), st.randoms(use_true_random=False))
def test_a_mean_is_exact_and_forgets_its_terms(values: list[float], chance: random.Random) -> None:
    many = [*values] * 30
    expected = math.fsum(many) / len(many) if many else None
    chance.shuffle(many)
    mean = ExactMean()
    for value in many:
        mean.add(value)
    assert (mean.value, mean.count) == (expected, len(many))
    at_once = ExactMean()
    for value in values:
        at_once.add(value, times=30)
    assert (at_once.value, at_once.count) == (expected, len(many))


def test_a_fold_goes_on_from_a_copy_without_changing_the_original() -> None:
    failed = VerdictRow(case_id="1", verdict=None, outcome="unparsed")
    fold = CriterionFold(judge="j", criterion="*", rule=rule("majority"))
    fold.add([failed])
    other = fold.named("tone")
    other.add([replace(failed, case_id="2", verdict="A", outcome="ok")])
    assert (fold.finish().cases, fold.finish().unparsed, fold.finish().kind) == (1, 1, "labels")
    assert (other.finish().criterion, other.finish().cases, other.finish().decided) == ("tone", 2, 1)


def test_planned_cases_without_rows_follow_as_not_graded() -> None:
    rows = [VerdictRow(case_id="1", verdict=None, outcome="error")]
    cases = list(case_decisions(rows, rule("majority"), planned={"1": 1, "2": 3}))
    assert [(case.case_id, case.decision.status, len(case.rows)) for case in cases] == [
        ("1", "not_graded", 1),
        ("2", "not_graded", 0),
    ]
    assert cases[1].decision.reason == "3 of 3 planned samples were not asked"


def test_a_case_in_several_runs_stays_in_the_cluster_it_names() -> None:
    """One document behind a case of two runs and a case of one: a single cluster beside that of the other case."""
    facts: dict[str, Any] = {"judge": "j", "verdict": "PASS", "gold": "PASS"}
    rows = [
        VerdictRow(case_id=case, run=run, attributes={"cluster": cluster}, **facts)
        for case, run, cluster in (("a", "1", "k"), ("a", "2", "k"), ("b", "1", "k"), ("c", "1", "l"))
    ]
    [judge] = replay(rows, "majority").judges
    assert (judge.labelled, judge.clusters) == (4, 2)


def test_scores_of_a_case_in_several_runs_are_one_unit_of_controls() -> None:
    """Forty scores asked twice are no eighty: the interval of the advantage over a constant is that of forty."""
    widths = []
    for runs in (("1",), ("1", "2")):
        rows = [
            VerdictRow(case_id=f"{n}", run=run, judge="j", verdict=float(n % 7), gold=n % 5)
            for n in range(40)
            for run in runs
        ]
        [judge] = replay(rows, "mean").judges
        assert judge.controls is not None
        advantage = judge.controls.control("constant").advantage
        assert advantage is not None
        widths.append(advantage.high - advantage.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.05)  # of eighty cases it would be .7 of that


def test_scores_of_one_source_are_one_unit_of_controls() -> None:
    def log(*sources: dict[str, str]) -> list[VerdictRow]:
        return [
            VerdictRow(case_id=f"{n}", judge="j", verdict=float(n // 4 % 7), gold=n // 4 % 5, attributes=source)
            for n, source in enumerate(sources)
        ]

    ends = []
    for rows in (log(*[{}] * 40), log(*({"cluster": f"{n // 4}"} for n in range(40)))):
        [judge] = replay(rows, "mean").judges
        assert judge.controls is not None
        ends.append(judge.controls.control("constant").advantage)
    alone, shared = ends
    assert alone is not None
    assert shared is not None
    assert shared.high - shared.low > 1.5 * (alone.high - alone.low)
