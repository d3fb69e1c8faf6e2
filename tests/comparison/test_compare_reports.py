"""Two reports compared: what is paired, what is tested, what is answered."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.comparisons import a_run, rows_of

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.folds import Decision, abstained
from judgeharness_integrations.analysis.aggregation.rules import Rule
from judgeharness_integrations.analysis.comparison import ComparisonReport, CriterionComparison, compare
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.analysis.runs.reading import results_of_log
from judgeharness_integrations.reporting.comparison import caveats, details

P, F = "PASS", "FAIL"


def only(report: ComparisonReport) -> CriterionComparison:
    assert len(report.criteria) == 1
    return report.criteria[0]


def counted(one: CriterionComparison) -> dict[tuple[str, str], int]:
    return {(t.before, t.after): t.count for t in one.transitions}


def flat(verdicts: list[Any], **common: Any) -> RunReport:
    """A run with one case a verdict, of three samples each."""
    return a_run({f"c{i:03}": [verdict] * 3 for i, verdict in enumerate(verdicts)}, **common)


def joined(*reports: RunReport) -> RunReport:
    return run_report([result for report in reports for result in report.results])


def test_states_never_collapse_and_every_case_is_in_the_table() -> None:
    before = a_run({"a": [P, P], "b": [P, P], "c": [P, F], "d": [F, F], "e": [None, None], "f": [P, P]})
    after = a_run({"a": [P, P], "b": [F, F], "c": [P, P], "d": [P, F], "e": [F, F], "f": [None, None]})
    one = only(compare(before, after))
    assert counted(one) == {
        (P, P): 1,
        (P, F): 1,
        ("ABSTAIN", P): 1,
        (F, "ABSTAIN"): 1,
        ("not graded", F): 1,
        (P, "not graded"): 1,
    }
    assert [flip.case_id for flip in one.flips] != sorted(flip.case_id for flip in one.flips)
    assert {flip.case_id for flip in one.flips} == set("bcdef")
    assert (one.main.measure, one.main.of, one.main.n) == ("positive_rate", "PASS", 6)
    assert (one.main.before, one.main.after) == (0.5, pytest.approx(2 / 6))
    beside = {other.measure: other for other in one.beside}
    assert (beside["coverage"].before, beside["abstention"].after) == (pytest.approx(4 / 6), pytest.approx(1 / 6))
    assert beside["consistency_rate"].n == 4


def test_cases_of_one_run_alone_are_listed() -> None:
    one = only(compare(a_run({"a": [P], "b": [P], "x": [F]}), a_run({"a": [P], "b": [F], "y": [F], "z": [P]})))
    assert (one.cases, one.only_before, one.only_after) == (2, ("x",), ("y", "z"))


def test_judges_and_criteria_of_one_run_alone_are_listed() -> None:
    before = joined(
        a_run({"a": [P]}, judge="one", criterion="tone"),
        a_run({"a": [P]}, judge="old"),
        a_run({"b": [P]}, judge="one", criterion="facts"),
    )
    after = joined(a_run({"a": [P], "b": [P]}, judge="one", criterion="tone"), a_run({"a": [P]}, judge="new"))
    found = compare(before, after)
    assert [(one.judge, one.criterion) for one in found.criteria] == [("one", "tone")]
    assert (found.judges_before, found.judges_after) == (("old",), ("new",))
    assert (found.criteria_before, found.criteria_after) == ((("one", "facts"),), ())
    assert compare(before, after, judges=["one"]).judges_before == ()


def test_a_run_compared_with_itself_is_exactly_the_same() -> None:
    run = flat([P, F, P, P, F] * 5)
    found = compare(run, run)
    one = only(found)
    assert (found.same_run, found.answer, one.flips) == (True, "no difference found", ())
    assert (one.main.difference, one.main.p, one.noise.observed, one.noise.p) == (0.0, 1.0, 0, 1.0)
    assert all(other.difference == 0 for other in one.beside)
    assert found.judged.question == "same answers"
    assert not compare(run, flat([P, F, P, P, F] * 5, source="b")).same_run


def test_a_drop_is_worse_and_a_rise_is_better() -> None:
    good, bad = flat([P] * 30), flat([P] * 18 + [F] * 12)
    worse, better = only(compare(good, bad)), only(compare(bad, good))
    assert (worse.answer, better.answer) == ("worse", "better")
    assert worse.main.difference == -better.main.difference == pytest.approx(-0.4)
    assert worse.reason.startswith("rate of PASS 100.0 % -> 60.0 % of 30: -40.0 points [-57.")
    assert worse.predicted_power(0.1) is not None
    assert worse.level == pytest.approx(0.04)
    assert compare(good, bad).answer == "worse"


def test_too_few_cases_cannot_tell() -> None:
    one = only(compare(a_run({"a": [P], "b": [P], "c": [P]}), a_run({"a": [F], "b": [F], "c": [F]})))
    assert one.answer == "cannot tell"
    assert "3 cases are too few" in one.reason
    assert one.minimum_detectable is None


def test_no_difference_says_what_could_have_been_found() -> None:
    one = only(compare(flat([P, F] * 40), flat([P, F] * 39 + [F, P])))
    assert one.answer == "no difference found"
    assert f"80 % power for a change of {100 * one.minimum_detectable:.1f} points" in one.reason
    assert one.cases_needed is not None
    assert 0 < one.predicted_power(0.1) < 1


def test_fewer_flips_than_noise_makes_are_said() -> None:
    split = a_run({f"c{n}": [P, P, F, F, P] if n % 2 else [F, P, F, P, F] for n in range(60)}, source="a")
    again = a_run({f"c{n}": [P, P, F, F, P] if n % 2 else [F, P, F, P, F] for n in range(60)}, source="b")
    assert (
        "0 of 60 decisions flipped, fewer than noise would cause, as where answers"
        in only(compare(split, again)).reason
    )


def test_the_power_of_shares_is_about_points() -> None:
    one = only(compare(flat([P, F] * 40), flat([P, F] * 39 + [F, P])))
    power = next(line for line in details(one) if line.startswith("power: "))
    assert re.fullmatch(
        r"power: a \d+ % chance to find a change of 10 points; [\d,]+ cases find one of 5 points", power
    )
    assert "; 80 % power for a change of " in one.reason
    told = [one.reason, *details(one)]
    for number in ("% power", "expected of noise", "p 1.000; 80"):  # each stands once
        assert sum(number in line for line in told) == 1


def test_following_the_advice_about_more_cases_has_its_price() -> None:
    alike, apart = (flat([P, F] * 40), flat([P, F] * 39 + [F, P])), (flat([P] * 40), flat([F] * 20 + [P] * 20))
    price = (
        "adding cases because no difference was found is a second look: two runs of one judge are then found "
        "different up to 10 % of the time, not 5 %; --sequential keeps to 5 % at every look"
    )
    reports = [compare(*alike), compare(*apart), compare(*alike, sequential=True)]
    assert [price in list(caveats(one)) for one in reports] == [True, False, False]


@pytest.mark.slow
def test_gold_decides_what_better_means() -> None:
    gold = [P] * 15 + [F] * 15
    before = joined(*(a_run({f"c{i}": [P] * 3}, gold=label) for i, label in enumerate(gold)))
    after = joined(*(a_run({f"c{i}": [label] * 3}, gold=label) for i, label in enumerate(gold)))
    one = only(compare(before, after))
    assert (one.answer, one.main.measure) == ("better", "right_of_labelled")
    assert (one.main.before, one.main.after) == (0.5, 1.0)
    assert [other.measure for other in one.beside][:1] == ["positive_rate"]
    rate = only(compare(before, after, measure="rate"))
    assert (rate.answer, rate.main.measure, rate.beside[0].measure) == ("worse", "positive_rate", "right_of_labelled")
    assert rate.flips[0].gold == F


def test_few_gold_labels_do_not_decide_unless_asked() -> None:
    some = joined(a_run({"a": [P]}, gold=P), a_run({"b": [P], "c": [F]}))
    assert only(compare(some, some)).main.measure == "positive_rate"
    assert only(compare(some, some, measure="gold")).main.measure == "right_of_labelled"
    assert only(compare(a_run({"a": [P]}), a_run({"a": [P]}), measure="gold")).main.measure == "positive_rate"


def test_cases_whose_gold_changed_are_left_out_of_what_is_right() -> None:
    before = joined(*(a_run({f"c{i}": [P, P]}, gold=P) for i in range(9)))
    after = joined(*(a_run({f"c{i}": [P, P]}, gold=F if i == 4 else P) for i in range(9)))
    one = only(compare(before, after))
    assert (one.relabelled, one.main.n) == (("c4",), 8)


def test_gold_of_another_kind_is_none() -> None:
    run = joined(*(a_run({f"c{i}": [4, 5]}, "median(pass_at=3)", gold=4) for i in range(4)))
    one = only(compare(run, run))
    assert (one.kind, one.main.measure, one.positive) == ("labels", "positive_rate", "PASS")


def test_scores_are_compared_by_their_means() -> None:
    random = np.random.default_rng(0)
    before = {f"c{i}": [float(x)] * 2 for i, x in enumerate(random.uniform(3, 9, 40))}
    after = {case: [x - 1 + 0.3 * random.random() for x in xs] for case, xs in before.items()}
    one = only(compare(a_run(before, "mean"), a_run({**after, "c0": [None, None]}, "mean")))
    assert (one.kind, one.answer, one.main.measure, one.main.n) == ("numbers", "worse", "mean_score", 39)
    assert counted(one) == {("score", "lower score"): 39, ("score", "not graded"): 1}
    assert [flip.case_id for flip in one.flips] == ["c0"]
    assert one.main.span == pytest.approx(6.9, abs=0.1)
    assert "mean score" in one.reason


def test_scores_with_gold_are_compared_by_their_distance_from_it() -> None:
    random = np.random.default_rng(0)
    far = joined(*(a_run({f"c{i}": [7 + random.random()]}, "mean", gold=5) for i in range(20)))
    near = joined(*(a_run({f"c{i}": [5 + random.random()]}, "mean", gold=5) for i in range(20)))
    one = only(compare(far, near))
    assert (one.answer, one.main.measure, one.beside[0].measure) == ("better", "mean_error", "mean_score")
    rate = only(compare(far, near, measure="rate"))
    assert (rate.main.measure, rate.beside[0].measure) == ("mean_score", "mean_error")


def test_equal_scores_show_no_spread() -> None:
    run = a_run({f"c{i}": [i % 4, i % 4] for i in range(12)}, "median")
    one = only(compare(run, a_run({f"c{i}": [i % 4, i % 4] for i in range(12)}, "median")))
    assert one.answer == "no difference found"
    assert "nothing varies" in one.reason
    assert one.predicted_power() is None
    assert counted(one) == {("score", "same score"): 12}


def test_labels_without_a_positive_one_are_compared_as_shares() -> None:
    before, after = flat(["red", "green", "blue"] * 10), flat(["red", "red", "blue"] * 10)
    one = only(compare(before, after))
    assert (one.answer, one.main.measure, one.main.rose) == ("different", "label_shares", 10)
    assert one.reason.startswith("shares of labels: 10 of 30 cases changed, p .003")
    assert (one.minimum_detectable, one.cases_needed, one.predicted_power()) == (None, None, None)
    same = only(compare(before, before))
    assert (same.answer, same.main.p) == ("no difference found", 1.0)
    assert "nothing varies" not in same.reason


def test_ties_of_pairs_are_a_verdict_and_not_a() -> None:
    before = a_run({f"c{i}": (["A", "A"], ["A", "A"]) for i in range(20)}, "net_preference")
    after = a_run({f"c{i}": (["A", "A"], ["B", "B"]) for i in range(20)}, "net_preference")
    one = only(compare(before, after))
    assert counted(one) == {("A", "TIE"): 20}
    assert (one.positive, one.answer, one.main.after) == ("A", "worse", 0.0)


def test_two_judges_of_one_log_are_compared() -> None:
    log = joined(flat([P] * 30, judge="old"), flat([P] * 15 + [F] * 15, judge="new"))
    found = compare(log, log, judge_before="old", judge_after="new")
    one = only(found)
    assert (one.judge, one.judge_after, one.answer) == ("old", "new", "worse")
    assert (found.judged.question, found.same_run) == ("same answers", False)
    assert [(d.part, d.before, d.after) for d in found.configuration] == [("judge", "old", "new")]
    assert compare(log, log).answer == "no difference found"


def test_two_judges_that_were_named_out_of_more_are_said_to_be() -> None:
    log = joined(flat([P] * 30, judge="old"), flat([P] * 15 + [F] * 15, judge="new"))
    larger = joined(log, flat([F] * 30, judge="third"))
    assert compare(log, log, judge_before="old", judge_after="new").picked == ()
    assert compare(larger, larger).picked == ()
    found = compare(larger, larger, judge_before="old", judge_after="new")
    (said,) = found.picked
    assert said.startswith("old and new are two of 3 judges there: where they were chosen for their results")
    assert said in found.to_markdown()


def test_the_only_judges_of_two_runs_are_compared_whatever_their_names() -> None:
    found = compare(flat([P] * 9, judge="gpt-4"), flat([P] * 9, judge="gpt-5"))
    assert (only(found).judge, only(found).judge_after) == ("gpt-4", "gpt-5")
    assert (found.judges_before, found.judges_after) == ((), ())


def test_what_cannot_be_compared_is_refused_with_what_to_do() -> None:
    a, b = flat([P], judge="a"), flat([P], judge="b")
    two, other = joined(a, b), joined(flat([P], judge="c"), flat([P], judge="d"))
    with pytest.raises(UsageError, match=r"no judge in common \(a, b and c, d\): name one of each"):
        compare(two, other)
    with pytest.raises(UsageError, match="naming both"):
        compare(two, two, judge_before="a")
    with pytest.raises(UnknownNameError, match="unknown judge 'z'"):
        compare(two, two, judge_before="a", judge_after="z")
    with pytest.raises(UnknownNameError, match="judge of both runs 'c'"):
        compare(two, joined(two, other), judges=["c"])
    with pytest.raises(UsageError, match="no criterion in common"):
        compare(flat([P], criterion="x"), flat([P], criterion="y"))
    with pytest.raises(UnknownNameError, match="unknown criterion 'tone'"):
        compare(a, a, criteria=["tone"])
    with pytest.raises(UsageError, match="detect must lie between 0 and 1"):
        compare(a, a, detect=1.5)
    with pytest.raises(UsageError, match="permutations must be at least 1"):
        compare(a, a, permutations=0)


def test_criteria_are_one_family() -> None:
    def run(*verdicts: str) -> RunReport:
        rows = [
            row
            for i in range(40)
            for name, verdict in zip(("tone", "facts"), verdicts, strict=True)
            for row in rows_of(f"c{i}", [verdict if i < 12 else P] * 2, criterion=name)
        ]
        return run_report(results_of_log(rows, "majority"))

    found = compare(run(P, P), run(P, F))
    tone, facts = found.criteria
    assert (tone.answer, facts.answer, found.answer) == ("no difference found", "worse", "worse")
    assert tone.level == facts.level == pytest.approx(0.02)
    assert facts.p_adjusted > facts.main.p
    assert tone.noise.permutations == 4000
    alone = compare(run(P, P), run(P, F), criteria=["facts"])
    assert only(alone).level == pytest.approx(0.04)


def test_without_a_noise_test_the_difference_has_the_whole_level() -> None:
    one = only(compare(a_run({f"c{i}": [P] for i in range(9)}), a_run({f"c{i}": [P] for i in range(9)})))
    assert (one.level, one.noise.p, one.noise_p_adjusted) == (0.05, None, None)
    assert "repetitions: 2" in one.noise.reason


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"a": [P]}, {"b": [P]}, "no case was measured in both runs"),
        ({"a": [None]}, {"a": [P]}, "no case was graded before"),
        ({"a": [P]}, {"a": [None]}, "no case was graded after"),
    ],
)
def test_what_cannot_be_told_says_why(before: dict[str, Any], after: dict[str, Any], reason: str) -> None:
    found = compare(a_run(before), a_run(after))
    one = only(found)
    assert (found.answer, one.reason, one.noise.reason, one.main) == ("cannot tell", reason, reason, None)


def test_scores_and_labels_cannot_be_compared() -> None:
    one = only(compare(a_run({"a": [4, 4]}, "median"), a_run({"a": [P, P]})))
    assert (one.answer, one.kind, one.beside) == ("cannot tell", "mixed", ())
    assert "scores on one side and labels" in one.reason


def test_scores_of_different_cases_cannot_be_compared() -> None:
    one = only(compare(a_run({"a": [4], "b": [None]}, "median"), a_run({"a": [None], "b": [3]}, "median")))
    assert one.reason == "no case has a score on both sides"


def test_decisions_that_all_abstain_are_compared() -> None:
    run = a_run({f"c{i}": [P, F] for i in range(9)})
    assert counted(only(compare(run, run))) == {("ABSTAIN", "ABSTAIN"): 9}


def two_words(rows: Any) -> Decision | str:
    return abstained("asked to") if rows[0].verdict == 1 else "odd"


def test_a_rule_that_makes_words_of_scores_has_no_positive_one() -> None:
    run = a_run({f"c{i}": [1 + i % 2] * 2 for i in range(9)}, Rule("two_words", two_words))
    one = only(compare(run, run, permutations=50))
    assert (one.kind, one.positive, one.main.measure) == ("labels", None, "label_shares")


@pytest.mark.slow
def test_clusters_are_one_observation_each() -> None:
    def run(verdict: str) -> RunReport:
        return joined(
            *(
                a_run({f"c{i}": [verdict if i < 10 else P] * 2}, attributes={"cluster": f"text {i // 10}"})
                for i in range(40)
            )
        )

    one = only(compare(run(P), run(F)))
    assert (one.main.clusters, one.answer) == (4, "flips more than noise")
    assert one.main.method == "permutation of clusters, t interval of clustered cases"
    assert (one.minimum_detectable, one.cases_needed) == (None, None)
    calm = only(compare(run(P), a_run({**dict.fromkeys((f"c{i}" for i in range(40)), [P] * 2), "c3": [F] * 2})))
    assert calm.answer == "cannot tell"
    assert "40 cases in 4 clusters (p cannot be below .125) are too few" in calm.reason


verdicts = st.sampled_from([P, F, None])
case = st.lists(verdicts, min_size=3, max_size=3)


@pytest.mark.slow
@settings(max_examples=8)
@given(st.lists(st.tuples(case, case), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_order_changes_nothing_swapping_negates_and_counts_are_conserved(
    pairs: list[tuple[list[Any], list[Any]]], random: Any
) -> None:
    sides = [{f"c{i}": pair[side] for i, pair in enumerate(pairs)} for side in (0, 1)]
    there = only(compare(a_run(sides[0]), a_run(sides[1]), permutations=200))
    names = list(sides[0])
    random.shuffle(names)
    mixed = [{name: random.sample(side[name], 3) for name in names} for side in sides]
    again = only(compare(a_run(mixed[0]), a_run(mixed[1]), permutations=200))
    for field in ("answer", "reason", "main", "noise", "transitions", "p_adjusted", "cases_needed"):
        assert getattr(again, field) == getattr(there, field)
    assert sum(t.count for t in there.transitions) == len(pairs)
    assert len(there.flips) == sum(t.count for t in there.transitions if t.before != t.after)
    back = only(compare(a_run(sides[1]), a_run(sides[0]), permutations=200))
    assert counted(back) == {(after, before): count for (before, after), count in counted(there).items()}
    opposite = {"worse": "better", "better": "worse"}
    if not there.reason.startswith("no case was graded"):
        assert back.answer == opposite.get(there.answer, there.answer)
        assert back.main.difference == -there.main.difference
        assert back.noise.p == there.noise.p


def test_failures_alone_are_no_change_of_the_judge() -> None:
    before = {f"c{i:03}": [P if i % 3 else F] * 3 for i in range(60)}
    failed = {case: [None] * 3 if int(case[1:]) < 18 else samples for case, samples in before.items()}
    for first, second, counts in (
        (before, failed, "0 cases were not graded before, 18 after"),
        (failed, before, "18 "),
    ):
        one = only(compare(a_run(first), a_run(second)))
        assert one.answer == "cannot tell"
        assert counts in one.reason
        assert "failures are no verdicts" in one.reason
    worse = {case: [F] * 3 if int(case[1:]) > 30 else samples for case, samples in failed.items()}
    one = only(compare(a_run(before), a_run(worse)))
    assert one.answer == "worse"
    assert "18 after" in one.reason


def test_a_clean_break_expects_no_number_of_flips_from_noise() -> None:
    one = only(compare(flat([P] * 30), flat([P] * 18 + [F] * 12)))
    assert "further apart than noise explains (p <.001)" in one.reason
    assert "expected of noise" not in one.reason
