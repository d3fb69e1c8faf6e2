"""Replay: the published numbers of 65 judges, and what happens at the edges."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import krippendorff
import pytest

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation import Rule, rule, variance_split
from judgeharness_integrations.analysis.replay import (
    JudgeReplay,
    case_consistency,
    case_decisions,
    replay,
    replay_criterion,
    rows_about,
)
from judgeharness_integrations.verdictlog import VerdictRow, read_log

DATA = Path(__file__).parent / "data"
AGGREGATE: dict[str, dict[str, int]] = json.loads((DATA / "golden" / "llmbar_aggregate.json").read_text())
REPEATS: dict[str, Any] = json.loads((DATA / "golden" / "repeats.json").read_text())["sets"]
KEYS = [
    "judge",
    "criterion",
    "kind",
    "cases",
    "decided",
    "abstained",
    "not_graded",
    "correct",
    "tie_decisions",
    "accuracy",
    "coverage",
    "single_call_accuracy",
    "position_consistency",
    "first_slot_rate",
    "always_first",
    "always_second",
    "position_bias_p",
    "unparsed",
    "consistency_rate",
    "within_case_sd",
    "mean_absolute_error",
    "curtailed",
    "censored",
    "controls",
    "unread",
    "clusters",
]


@cache
def llmbar() -> tuple[VerdictRow, ...]:
    return tuple(read_log(DATA / "llmbar.csv.gz"))


@cache
def llmbar_under(name: str) -> dict[str, JudgeReplay]:
    return {entry.judge: entry for entry in replay(llmbar(), name).judges}


@cache
def failed_in_both_orders() -> dict[str, int]:
    failed: dict[tuple[str, str], int] = {}
    for row in llmbar():
        failed[row.judge, row.case_id] = failed.get((row.judge, row.case_id), 0) + (not row.ok)
    both = dict.fromkeys(AGGREGATE, 0)
    for (judge, _), count in failed.items():
        both[judge] += count == 2
    return both


def ratings(name: str, *, labels: bool = False) -> list[VerdictRow]:
    return read_log(DATA / f"gpt4_ratings_{name}.csv.gz", labels=labels)


def row(verdict: Any, case: str = "c", **fields: Any) -> VerdictRow:
    outcome = "ok" if verdict is not None else fields.pop("outcome", "unparsed")
    return VerdictRow(case_id=case, verdict=verdict, outcome=outcome, **fields)


def only(rows: list[VerdictRow], name: str | Rule = "majority", **options: Any) -> JudgeReplay:
    (entry,) = replay(rows, name, **options).judges
    return entry


@pytest.mark.slow
@pytest.mark.untraced
def test_37_pairs_of_16_judges_failed_in_both_orders() -> None:
    counts = failed_in_both_orders().values()
    assert (sum(counts), sum(count > 0 for count in counts)) == (37, 16)


@pytest.mark.sampled(16)
@pytest.mark.untraced
@pytest.mark.parametrize("judge", sorted(AGGREGATE))
def test_golden_net_preference(judge: str) -> None:
    golden, entry = AGGREGATE[judge], llmbar_under("net_preference")[judge]
    assert entry.correct == golden["maj_correct"]
    assert entry.decided - entry.correct - entry.tie_decisions == golden["maj_incorrect"]
    assert entry.tie_decisions + entry.not_graded == golden["maj_tie"]
    assert entry.not_graded == failed_in_both_orders()[judge]
    assert entry.abstained == 0


@pytest.mark.sampled(16)
@pytest.mark.untraced
@pytest.mark.parametrize("judge", sorted(AGGREGATE))
def test_golden_swap_consensus_and_position(judge: str) -> None:
    golden, entry = AGGREGATE[judge], llmbar_under("swap_consensus")[judge]
    assert (entry.decided, entry.correct) == (golden["abs_covered"], golden["abs_correct"])
    assert entry.accuracy == golden["abs_correct"] / golden["abs_covered"]
    assert entry.coverage == golden["abs_covered"] / golden["n"]
    assert entry.single_call_accuracy == {
        "none": golden["correct_order1"] / golden["n"],
        "position_swap": golden["correct_order2"] / golden["n"],
    }
    equal = golden["equal"] - failed_in_both_orders()[judge]
    assert entry.position_consistency == equal / golden["n"]
    wins = golden["slot_first"] + golden["slot_second"]
    assert entry.first_slot_rate == golden["slot_first"] / wins
    assert (entry.always_first, entry.always_second) == (golden["always_first"], golden["always_second"])
    assert entry.unparsed == golden["none_order1"] + golden["none_order2"]


@pytest.mark.untraced
def test_abstaining_helps_exactly_the_35_judges_above_half() -> None:
    entries = llmbar_under("swap_consensus").values()
    better = {e.judge for e in entries if e.accuracy > sum(e.single_call_accuracy.values()) / 2}
    above = {e.judge for e in entries if sum(e.single_call_accuracy.values()) / 2 > 0.5}
    assert better == above
    assert len(above) == 35


@pytest.mark.parametrize("name", ["mt_bench", "vicuna"])
def test_golden_repeats_as_numbers(name: str) -> None:
    golden, rows = REPEATS[f"{name}_eval"], ratings(name)
    entry = only(rows, "mode")
    assert entry.kind == "numbers"
    assert entry.cases == golden["n_items"]
    assert entry.coverage == pytest.approx(golden["has_majority"], abs=1e-12)
    assert entry.within_case_sd == pytest.approx(golden["within_sd_root_mean_variance"], abs=1e-12)
    reliability = variance_split(rows).reliability
    assert reliability == pytest.approx(golden["icc1_single"], abs=1e-12)
    assert 3 * reliability / (1 + 2 * reliability) == pytest.approx(golden["icc1_avg3"], abs=1e-12)
    counts: dict[str, int] = {}
    for one in rows:
        counts[str(one.verdict)] = counts.get(str(one.verdict), 0) + 1
    assert dict(sorted(counts.items())) == golden["score_hist"]


@pytest.mark.parametrize("name", ["mt_bench", "vicuna"])
def test_golden_repeats_as_labels(name: str) -> None:
    golden, rows = REPEATS[f"{name}_eval"], ratings(name, labels=True)
    unanimous = only(rows, "abstain_on_disagreement")
    assert unanimous.kind == "labels"
    assert unanimous.coverage == pytest.approx(golden["unanimous_rate"], abs=1e-12)
    assert only(rows, "majority").coverage == pytest.approx(golden["has_majority"], abs=1e-12)
    pairs = same = 0
    for case in case_decisions(rows, rule("majority")):
        verdicts = [one.verdict for one in case.rows]
        both = [(a, b) for place, a in enumerate(verdicts) for b in verdicts[place + 1 :]]
        pairs, same = pairs + len(both), same + sum(a == b for a, b in both)
    assert same / pairs == pytest.approx(golden["pairwise_exact_agreement"], abs=1e-12)


@pytest.mark.parametrize("name", ["mt_bench", "vicuna"])
@pytest.mark.parametrize("level", ["interval", "ordinal"])
def test_golden_krippendorff_alpha_over_the_rows_we_read(name: str, level: str) -> None:
    rows = ratings(name)
    cases = list(dict.fromkeys(one.case_id for one in rows))
    table = {(one.repetition, one.case_id): float(one.verdict) for one in rows}
    raters = [[table[repetition, case] for case in cases] for repetition in range(3)]
    alpha = krippendorff.alpha(reliability_data=raters, level_of_measurement=level)
    assert alpha == pytest.approx(REPEATS[f"{name}_eval"][f"kripp_{level}"], abs=1e-9)


def test_json_has_exactly_the_published_keys() -> None:
    document = replay(llmbar()[:838], "swap_consensus").to_dict()
    assert list(document) == ["schema", "rule", "rule_fixed", "judges"]
    assert (document["schema"], document["rule"], document["rule_fixed"]) == (
        "judgeharness.replay/1",
        "swap_consensus",
        "after",
    )
    assert list(document["judges"][0]) == KEYS
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_one_entry_per_judge_and_criterion_in_order_of_appearance() -> None:
    rows = [
        row("PASS", judge="z", criterion="tone"),
        row("FAIL", judge="a", criterion="tone"),
        row("PASS", judge="z", criterion="facts"),
    ]
    assert [(e.judge, e.criterion) for e in replay(rows, "majority").judges] == [
        ("z", "tone"),
        ("z", "facts"),
        ("a", "tone"),
    ]
    assert [e.judge for e in replay(rows, "majority", judges=["a"]).judges] == ["a"]


def test_labels_without_gold_have_no_accuracy() -> None:
    entry = only([row("PASS"), row("PASS", repetition=1)])
    assert (entry.correct, entry.accuracy, entry.single_call_accuracy) == (None, None, None)
    assert (entry.tie_decisions, entry.position_consistency, entry.always_first) == (None, None, None)
    assert entry.accuracy_interval is None
    assert entry.coverage == 1.0


def test_gold_counts_where_it_stands_only() -> None:
    rows = [row("PASS", "labelled", gold="PASS"), row("FAIL", "labelled", repetition=1), row("PASS", "bare")]
    entry = only(rows, "majority", min_valid=1)
    assert entry.single_call_accuracy == {"none": 0.5}  # gold belongs to the case, whichever row carries it
    assert (entry.decided, entry.abstained) == (1, 1)  # the labelled case is a tie
    assert (entry.correct, entry.labelled, entry.accuracy) == (0, 0, None)


def test_unlabelled_cases_are_not_counted_as_wrong() -> None:
    entry = only([row("PASS", "labelled", gold="PASS"), row("PASS", "bare")])
    assert (entry.decided, entry.correct, entry.labelled, entry.accuracy) == (2, 1, 1, 1.0)


def test_a_perturbation_without_gold_has_no_single_call_accuracy() -> None:
    rows = [row("A", "x", gold="A"), row("A", "y", perturbation="whitespace")]
    assert only(rows).single_call_accuracy == {"none": 1.0, "whitespace": None}


def test_a_failed_call_is_not_right_and_unparsed_counts_rows() -> None:
    rows = [
        row("A", gold="A"),
        row(None, gold="A", repetition=1),
        row(None, gold="A", repetition=2, outcome="error"),
        row("A", gold="A", repetition=3),
    ]
    entry = only(rows)
    assert entry.single_call_accuracy == {"none": 0.5}
    assert entry.unparsed == 1
    assert entry.consistency_rate == 1.0


def test_tie_is_a_decision_of_pairwise_criteria_only() -> None:
    assert only([row("TIE", gold="A")]).tie_decisions == 1
    assert only([row("A", gold="B")]).tie_decisions == 0
    assert only([row("TIE"), row("PASS", "d")]).tie_decisions is None


POSITION = ("position_consistency", "first_slot_rate", "always_first", "always_second", "position_bias_p")


def in_both_orders(first: Any, second: Any, **fields: Any) -> JudgeReplay:
    return only([row(first, **fields), row(second, perturbation="position_swap", swapped=True, **fields)])


@pytest.mark.parametrize(("first", "second"), [("PASS", "FAIL"), ("A", "C"), ("TIE", "TIE"), (None, None)])
def test_position_is_about_pairwise_criteria_alone(first: str | None, second: str | None) -> None:
    entry = in_both_orders(first, second)
    assert [getattr(entry, name) for name in POSITION] == [None] * 5
    assert entry.pairs == 0


def test_position_of_pairs_one_of_which_has_only_gold() -> None:
    entry = in_both_orders(None, "TIE", gold="A")
    assert (entry.pairs, entry.position_consistency, entry.always_first, entry.always_second) == (1, 0.0, 0, 0)
    assert in_both_orders("A", "B").always_first == 1


def test_net_preference_makes_ties_of_flips() -> None:
    rows = [row("A", gold="A"), row("B", gold="A", perturbation="position_swap", swapped=True)]
    assert only(rows, "net_preference").tie_decisions == 1


def test_scores_have_errors_instead_of_accuracy() -> None:
    rows = [row(7, gold=6), row(9, gold=6, repetition=1), row(3, "d", gold=3), row(3, "d", repetition=1)]
    entry = only(rows, "mean")
    assert (entry.kind, entry.mean_absolute_error, entry.labelled) == ("numbers", 1.0, 2)
    assert entry.within_case_sd == 1.0  # root of the mean of 2 and 0
    assert (entry.correct, entry.accuracy, entry.single_call_accuracy) == (None, None, None)
    assert entry.position_bias_p is None
    assert entry.consistency_rate == 1.0
    assert only(rows, "mean", tolerance=0.5).consistency_rate == 0.5


def test_scores_stand_beside_the_constant_that_errs_least(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(n % 4 + 1, f"c{n}", gold=n % 5) for n in range(40)]
    controls = only(rows, "mean").controls
    assert controls is not None
    assert (controls.scored, controls.n, controls.value) == (True, 40, only(rows, "mean").mean_absolute_error)
    assert (controls.control("constant").says, controls.control("constant").value) == ("always 2", 1.2)
    assert controls.sentence.startswith("not better than a judge that always answers 2: ")
    assert only([row(7), row(9, "d")], "mean").controls is None
    monkeypatch.setattr("judgeharness_integrations.analysis.replay.report._MOST_COMPARED", 30)
    controls = only(rows, "mean").controls
    assert controls is not None
    assert (controls.best, controls.beaten, controls.n) == (None, False, 40)
    assert controls.value == only(rows, "mean").mean_absolute_error
    assert controls.sentence == "not compared with a control: only up to 30 scores with gold are kept"
    assert "a constant" not in controls.line
    assert "constant not measured (only up to 30 scores" in controls.line


def test_errors_of_scores_are_about_the_number_behind_pass_or_fail() -> None:
    assert only([row(7, gold=6), row(9, gold=6, repetition=1)], "mean(pass_at=8)").mean_absolute_error == 2.0


def test_a_function_is_a_rule_for_scores_too() -> None:
    highest = Rule("highest", lambda rows: max(one.verdict for one in rows))
    entry = only([row(7, gold=6), row(9, repetition=1)], highest)
    assert (entry.mean_absolute_error, entry.consistency_rate) == (3.0, 0.5)


def test_a_rule_of_ones_own_may_abstain_on_scores() -> None:
    never = Rule("never", lambda _: None)
    entry = only([row(7, gold=6), row(9, repetition=1)], never)
    assert (entry.abstained, entry.mean_absolute_error, entry.consistency_rate) == (1, None, 1.0)


def test_a_case_without_answers_is_not_graded() -> None:
    entry = only([row(None, "x"), row(None, "x", repetition=1)])
    assert (entry.cases, entry.not_graded, entry.kind, entry.consistency_rate) == (1, 1, "labels", None)
    assert only([row(None, "x")], "median").kind == "numbers"
    assert only([row(None, "x"), row(4, "y")], "median").consistency_rate == 1.0
    [case] = case_decisions([row(None, "x")], rule("median"))
    assert case_consistency(case, numeric=True) is None


def test_quorum() -> None:
    rows = [row("A"), row(None, repetition=1), row(None, repetition=2)]
    assert only(rows).not_graded == 1
    assert only(rows, min_valid=1).decided == 1


def test_planned_samples_make_unfinished_cases_not_graded() -> None:
    rows = [row("A", "whole"), row("A", "whole", repetition=1), row("A", "part")]
    entry = replay_criterion(
        rows,
        rule("majority"),
        judge="j",
        criterion="verdict",
        planned_cases=3,
        samples={("", "j", "whole"): 2, ("", "j", "part"): 2},
    )
    assert (entry.cases, entry.decided, entry.not_graded) == (3, 1, 2)
    nothing = replay_criterion([], rule("majority"), judge="j", criterion="verdict")
    assert (nothing.cases, nothing.coverage, nothing.accuracy_interval) == (0, None, None)


def test_wilson_interval_of_the_accuracy() -> None:
    low, high = llmbar_under("swap_consensus")["GPT-4/CoT"].accuracy_interval
    assert (round(low, 3), round(high, 3)) == (0.811, 0.883)


def test_both_order_rules_refuse_a_log_that_never_shows_both() -> None:
    rows = [row("A", "x"), row("A", "y", perturbation="position_swap", swapped=True)]
    with pytest.raises(UsageError, match="never shows a case in both"):
        replay(rows, "swap_consensus")


def test_unknown_judge_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'GPT-4/CoT'"):
        replay(llmbar()[:40_000], "majority", judges=["GPT4/CoT"])


def test_rule_and_kind_must_fit() -> None:
    with pytest.raises(UsageError, match="folds numbers"):
        replay([row("A")], "median")
    with pytest.raises(UsageError, match="mixes labels and numbers"):
        replay([row("A"), row(3, repetition=1)], "mode")


def test_two_gold_labels_of_a_case_are_refused() -> None:
    with pytest.raises(UsageError, match="two gold labels for 'verdict': 'A' and 'B'"):
        replay([row("A", gold="A"), row("A", gold="B", repetition=1)], "majority")


@pytest.mark.parametrize("options", [{"min_valid": 0}, {"tolerance": -1.0}, {"tolerance": float("nan")}])
def test_options_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        replay([row("A")], "majority", **options)


def test_order_of_rows_changes_nothing() -> None:
    rows = list(llmbar()[:838])
    assert replay(rows[::-1], "net_preference").judges == replay(rows, "net_preference").judges


def test_scores_with_a_pass_mark_against_labels_of_people() -> None:
    rows = [row(8, gold="PASS"), row(9, gold="PASS", case="2"), row(3, gold="PASS", case="3")]
    entry = replay(rows, "median(pass_at=7)").judges[0]
    assert (entry.kind, entry.correct, entry.accuracy) == ("numbers", 2, pytest.approx(2 / 3))
    assert entry.mean_absolute_error is None
    assert replay(rows, "median(pass_at=3)").judges[0].correct == 3


def test_labels_and_scores_of_one_log_are_replayed_criterion_by_criterion() -> None:
    rows = [row("A"), row(7, criterion="depth"), row(None, criterion="*", repetition=1, outcome="error")]
    with pytest.raises(UsageError, match="folds labels"):
        replay(rows, "majority")
    assert [e.criterion for e in replay(rows_about(rows, ["verdict"]), "majority").judges] == ["verdict"]
    depth = replay(rows_about(rows, ["depth"]), "median").judges[0]
    assert (depth.criterion, depth.rows) == ("depth", 2)
    assert rows_about(rows) == rows
    with pytest.raises(UnknownNameError, match="did you mean 'depth'"):
        rows_about(rows, ["dept"])


def test_gold_of_another_kind_is_no_gold() -> None:
    labels = replay([row("PASS", gold=3), row("PASS", gold="PASS", case="2")], "majority").judges[0]
    assert (labels.correct, labels.labelled, labels.accuracy, labels.unread) == (1, 1, 1.0, 1)
    assert labels.single_call_accuracy == {"none": 1.0}
    none = replay([row("PASS", gold=3)], "majority").judges[0]
    assert (none.correct, none.labelled, none.single_call_accuracy, none.unread) == (None, 0, None, 1)
    scores = replay([row(8, gold="PASS"), row(9, gold=8, case="2")], "median").judges[0]
    assert (scores.correct, scores.accuracy, scores.mean_absolute_error) == (None, None, 1.0)
    assert scores.unread == 1


def test_gold_in_other_words_is_read_as_calibrations_read_it() -> None:
    for yes, no in (("yes", "no"), (1, 0), ("1", "0"), ("true", "FALSE")):
        found = replay([row("PASS", gold=yes), row("PASS", gold=no, case="2")], "majority").judges[0]
        assert (found.correct, found.labelled, found.unread) == (1, 2, 0)
        assert found.single_call_accuracy == {"none": 0.5}
    scale = replay([row("PASS", gold=n, case=str(n)) for n in (0, 1, 5)], "majority").judges[0]
    assert (scale.correct, scale.labelled, scale.unread) == (None, 0, 3)
    pairs = replay([row("A", gold="a"), row("TIE", gold="tie", case="2")], "majority").judges[0]
    assert (pairs.correct, pairs.labelled) == (2, 2)
    undecided = replay([row("PASS", gold=1), replace(row("FAIL", gold=1), repetition=1)], "majority").judges[0]
    assert (undecided.labelled, undecided.single_call_accuracy) == (0, {"none": 0.5})


def test_behind_a_threshold_on_scores_1_and_0_are_scores_and_words_are_labels() -> None:
    rule = "median(pass_at=7)"
    numbers = replay([row(8, gold=1), row(9, gold=1, case="2")], rule).judges[0]
    assert (numbers.correct, numbers.mean_absolute_error, numbers.unread) == (None, 7.5, 0)
    words = replay([row(8, gold="yes"), row(2, gold="yes", case="2")], rule).judges[0]
    assert (words.correct, words.labelled, words.unread) == (1, 2, 0)
    strange = replay([row(8, gold="good"), row(2, gold="bad", case="2")], rule).judges[0]
    assert (strange.correct, strange.labelled, strange.unread) == (None, 0, 2)


def test_cases_of_one_source_are_one_unit_of_accuracy_and_controls() -> None:
    def log(cluster: str | None) -> list[VerdictRow]:
        return [
            row(
                "PASS" if n < 32 else "FAIL",
                gold="PASS" if n % 8 else "FAIL",
                case=f"{n}",
                attributes={} if cluster is None else {"cluster": f"{cluster}{n // 4}"},
            )
            for n in range(40)
        ]

    alone, shared = (replay(log(cluster), "majority").judges[0] for cluster in (None, "page"))
    assert (alone.clusters, shared.clusters) == (None, 10)
    assert (alone.accuracy, alone.labelled) == (shared.accuracy, shared.labelled)
    widths = [
        (found.accuracy_interval or (0, 0))[1] - (found.accuracy_interval or (0, 0))[0] for found in (alone, shared)
    ]
    assert widths[1] > widths[0]
    assert alone.controls is not None
    assert shared.controls is not None
    assert (alone.controls.value, alone.controls.n) == (shared.controls.value, shared.controls.n)
    ends = [one.controls.control("coin").advantage for one in (alone, shared) if one.controls is not None]
    assert ends[0] is not None
    assert ends[1] is not None
    assert (ends[1].low or 0) < (ends[0].low or 0)
