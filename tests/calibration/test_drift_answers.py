"""What a drift check answers, and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from support.measured import calibration

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration import CalibrationReport, LabelledItem
from judgeharness_integrations.analysis.calibration.drift import CriterionDrift, DriftReport, drift
from judgeharness_integrations.analysis.statistics.proportions import holm

Decided = Any


def items(golds: Sequence[Any], verdicts: Sequence[Decided], criterion: str = "verdict") -> list[LabelledItem]:
    statuses = {None: "not_graded", "ABSTAIN": "abstained"}
    return [
        LabelledItem(
            case_id=f"c{n}",
            criterion=criterion,
            gold=gold,
            verdict=verdict,
            status=statuses.get(verdict, "decided"),  # type: ignore[arg-type]
        )
        for n, (gold, verdict) in enumerate(zip(golds, verdicts, strict=True))
    ]


def old(*parts: list[LabelledItem], **changes: Any) -> CalibrationReport:
    return calibration(items=tuple(one for part in parts for one in part), **changes)


def checked(golds: Sequence[Any], before: Sequence[Any], now: Sequence[Any], **options: Any) -> CriterionDrift:
    report = drift(old(items(golds, before)), items(golds, now), **{"anchors": None} | options)
    [found] = report.criteria.values()
    assert report.answer == found.answer
    json.dumps(report.to_dict(), allow_nan=False)
    return found


GOLDS = ["PASS", "FAIL"] * 40
WRONG = {"PASS": "FAIL", "FAIL": "PASS"}


def flipped(count: int) -> list[str]:
    return [WRONG[gold] if n < count else gold for n, gold in enumerate(GOLDS)]


def test_an_unchanged_judge_is_stable() -> None:
    found = checked(GOLDS, flipped(8), flipped(8))
    assert (found.answer, found.p, found.changed, found.worse, found.better) == ("stable", 1.0, 0, 0, 0)
    assert (found.correct_before, found.correct_now, found.difference, found.anchors_needed) == (72, 72, 0.0, None)
    assert found.reason == "the 95 % interval of the difference lies within -+0.1"
    assert found.minimum_detectable is not None


def test_a_judge_that_got_worse_has_drifted() -> None:
    found = checked(GOLDS, flipped(4), flipped(24))
    assert (found.answer, found.worse, found.better, found.changed) == ("drifted", 20, 0, 20)
    assert found.difference == pytest.approx(-0.25)
    assert found.reason.startswith("p 1.91e-06 is at most 0.05")


def test_a_judge_that_decides_all_anchors_alike_now_is_not_stable() -> None:
    """Two bad ones of a hundred are no large share, but they were all there was to find."""
    golds = ["PASS"] * 98 + ["FAIL"] * 2
    found = checked(golds, golds, ["PASS"] * 100)
    assert (found.answer, found.worse, found.anchors_needed) == ("inconclusive", 2, None)
    assert found.low is not None
    assert found.low >= -found.margin
    assert found.reason.startswith("every anchor is decided PASS now, which they were not before: whether it still")
    assert checked(golds, ["PASS"] * 100, ["PASS"] * 100).answer == "stable"  # it was so before
    assert checked(golds, golds, [*golds[:99], "PASS"]).answer == "stable"
    few = checked(golds[-20:], golds[-20:], ["PASS"] * 20)
    assert few.answer == "inconclusive"
    assert few.anchors_needed is not None
    scores = [float(n % 5) for n in range(100)]
    near = checked(scores, [score + 0.01 for score in scores], [2.0] * 100)
    assert near.answer != "stable"


def test_a_judge_that_got_better_has_drifted_too() -> None:
    found = checked(GOLDS, flipped(24), flipped(4))
    assert (found.answer, found.difference) == ("drifted", pytest.approx(0.25))


def test_too_few_anchors_are_inconclusive_and_say_how_many_it_takes() -> None:
    found = checked(GOLDS[:10], flipped(0)[:10], flipped(2)[:10])
    assert found.answer == "inconclusive"
    assert found.anchors_needed == 78
    assert found.reason == "the 95 % interval of the difference reaches beyond -+0.1, and p 0.5 is above 0.05"
    assert found.minimum_detectable == pytest.approx(0.673, abs=0.001)
    assert checked(GOLDS[:3], GOLDS[:3], GOLDS[:3]).minimum_detectable is None


def test_a_difference_near_the_margin_takes_more_anchors_than_there_are() -> None:
    golds = ["PASS"] * 250
    before = ["FAIL"] * 25 + golds[25:]
    now = golds[:25] + ["FAIL"] * 40 + golds[65:]
    found = checked(golds, before, now)
    assert (found.answer, found.worse, found.better) == ("inconclusive", 40, 25)
    assert found.anchors_needed is not None
    assert found.anchors_needed > 250


@pytest.mark.slow
def test_a_small_change_that_is_certain_is_drift_all_the_same() -> None:
    golds = GOLDS * 20
    now = [WRONG[gold] if n < 30 else gold for n, gold in enumerate(golds)]
    found = checked(golds, golds, now)
    assert found.answer == "drifted"
    assert found.reason.endswith(", by less than -+0.1 all the same")


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=50)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_the_test_is_mcnemars_and_counts_are_conserved(rights: list[tuple[bool, bool]]) -> None:
    golds = ["PASS"] * len(rights)
    before, now = (["PASS" if pair[side] else "FAIL" for pair in rights] for side in (0, 1))
    found = checked(golds, before, now)
    table = [[sum(pair == (a, b) for pair in rights) for b in (True, False)] for a in (True, False)]
    assert found.p == pytest.approx(mcnemar(table, exact=True).pvalue)
    assert found.n == len(rights)
    assert found.correct_before is not None
    assert found.correct_now == found.correct_before - found.worse + found.better
    assert found.changed == found.worse + found.better
    assert found.low is not None
    assert found.high is not None
    assert found.low <= (found.difference or 0.0) <= found.high
    mirrored = checked(golds, now, before)
    assert (mirrored.p, mirrored.answer, mirrored.difference) == (found.p, found.answer, -(found.difference or 0.0))


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_several_criteria_are_adjusted_as_holm_does(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_one_criterion_of_several_drifts() -> None:
    parts = [items(GOLDS, GOLDS, name) for name in ("tone", "facts", "style")]
    now = [*items(GOLDS, flipped(20), "tone"), *items(GOLDS, GOLDS, "facts"), *items(GOLDS, flipped(1), "style")]
    report = drift(old(*parts), now, anchors=None)
    assert report.answer == "drifted"
    assert {name: one.answer for name, one in report.criteria.items()} == {
        "tone": "drifted",
        "facts": "stable",
        "style": "stable",
    }
    tone = report.criteria["tone"]
    assert tone.p_adjusted == pytest.approx(3 * tone.p)
    alone = drift(old(parts[0]), now[:80], anchors=None).criteria["tone"]
    assert (tone.minimum_detectable or 0) > (alone.minimum_detectable or 0)  # at a third of the level
    stable = drift(old(*parts), [one for part in parts for one in part], anchors=None)
    assert stable.answer == "stable"


def test_one_criterion_that_cannot_tell_makes_it_inconclusive() -> None:
    parts = [items(GOLDS, GOLDS, "tone"), items(GOLDS[:5], GOLDS[:5], "facts")]
    report = drift(old(*parts), [one for part in parts for one in part], anchors=None)
    assert report.answer == "inconclusive"


def test_abstained_and_not_graded_are_not_correct_and_counted_apart() -> None:
    now: list[Any] = [None if n < 6 else "ABSTAIN" if n < 10 else gold for n, gold in enumerate(GOLDS)]
    found = checked(GOLDS, GOLDS, now)
    assert (found.answer, found.worse, found.changed) == ("drifted", 10, 10)
    assert (found.not_graded_now, found.abstained_now, found.not_graded_before, found.abstained_before) == (6, 4, 0, 0)
    back = checked(GOLDS, now, GOLDS)
    assert (back.better, back.not_graded_before, back.abstained_before) == (10, 6, 4)


def test_words_for_pass_and_fail_are_the_same_label() -> None:
    words = ["yes" if gold == "PASS" else "no" for gold in GOLDS]
    report = drift(old(items(words, GOLDS)), items(GOLDS, GOLDS), anchors=None)
    assert report.relabelled == ()
    assert report.criteria["verdict"].correct_now == 80
    mixed = checked(["yes", "yes"], ["yes", "PASS"], ["yes", "yes"])  # not every decision is PASS or FAIL
    assert (mixed.correct_before, mixed.correct_now) == (1, 2)


def test_sets_of_labels_are_compared_as_wholes() -> None:
    golds = [frozenset({"a", "b"})] * 40
    found = checked(golds, golds, [frozenset({"a"})] * 10 + golds[10:])
    assert (found.answer, found.worse, found.kind) == ("drifted", 10, "labels")


# scores

SCORES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 5


def test_scores_that_moved_away_from_gold_have_drifted() -> None:
    before = [gold + (0.5 if n % 2 else -0.5) for n, gold in enumerate(SCORES)]
    now = [score + (2 if n % 2 else -1) for n, score in enumerate(before)]
    found = checked(SCORES, before, now)
    assert (found.kind, found.answer, found.worse, found.better) == ("numbers", "drifted", 50, 0)
    assert found.difference == pytest.approx(1.5)
    expected = stats.ttest_1samp([2 if n % 2 else 1 for n in range(50)], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.correct_before, found.correct_now) == (None, None)
    assert found.margin == pytest.approx(0.1 * (12.5 - -0.5))


def test_scores_that_stayed_are_stable_though_they_show_no_spread() -> None:
    found = checked(SCORES, SCORES, SCORES)
    assert (found.answer, found.difference) == ("stable", 0.0)
    assert found.high == pytest.approx((1 - 0.025 ** (1 / 50)) * 9)
    few = checked(SCORES[:5], SCORES[:5], SCORES[:5])
    assert (few.answer, few.anchors_needed) == ("inconclusive", 78)


def test_scores_that_jitter_are_stable_within_the_margin_only() -> None:
    now = [gold + (0.2 if n % 3 else -0.1) for n, gold in enumerate(SCORES)]
    jitter = [gold + (0.1 if n % 3 else -0.2) for n, gold in enumerate(SCORES)]
    assert checked(SCORES, jitter, now, alpha=0.001).answer == "stable"
    wild = [gold + (4 if n % 2 else 0) for n, gold in enumerate(SCORES)]
    other = [gold + (0 if n % 2 else 4) for n, gold in enumerate(SCORES)]
    found = checked(SCORES, wild, other, margin=0.05)
    assert found.answer == "inconclusive"
    assert (found.anchors_needed or 0) > 50


def test_scores_that_are_gone_count_as_worse_and_come_back_as_better() -> None:
    now: list[Any] = [None if n < 8 else score for n, score in enumerate(SCORES)]
    found = checked(SCORES, SCORES, now)
    assert (found.answer, found.worse, found.not_graded_now) == ("drifted", 8, 8)
    assert found.difference == 0.0
    assert checked(SCORES, now, SCORES).better == 8
    assert checked(SCORES, now, now).changed == 0


def test_scores_are_not_stable_while_too_few_may_be_answered() -> None:
    golds, now = SCORES[:40], [None, None, None, *SCORES[3:40]]
    found = checked(golds, golds, now, margin=0.15)
    assert found.answer == "inconclusive"
    assert found.reason == "too few anchors have a score to tell that as many have one as before, within -+1.35"


def test_without_a_score_before_and_now_there_is_no_difference() -> None:
    found = checked([1, 2, 3], [1, None, None], [None, 2, None])
    assert (found.difference, found.low, found.high) == (None, None, None)
    assert (found.worse, found.better, found.answer) == (1, 1, "inconclusive")
    assert found.reason == "no anchor has a score before and now"
    assert checked([4], [4], [4]).margin == 0.1  # a single score has no range


def test_what_would_take_too_many_anchors_is_not_told() -> None:
    found = checked(
        GOLDS, flipped(30), [WRONG[gold] if 5 < n < 36 else gold for n, gold in enumerate(GOLDS)], margin=0.001
    )
    assert (found.answer, found.anchors_needed) == ("inconclusive", None)


# what is left out, and what changed


def test_missing_and_relabelled_anchors_are_left_out_and_named() -> None:
    now = items(GOLDS, GOLDS)
    now[3] = replace(now[3], gold="PASS")  # was FAIL
    now[4] = replace(now[4], gold=None)  # a log without labels
    report = drift(old(items(GOLDS, GOLDS)), now[1:], anchors=None)
    assert (report.missing, report.relabelled) == ((("c0", "verdict"),), (("c3", "verdict"),))
    assert (report.cases, report.criteria["verdict"].n) == (80, 78)
    document = report.to_dict()
    assert document["missing"] == [{"case_id": "c0", "criterion": "verdict"}]
    assert document["schema"] == "judgeharness.drift/1"


def test_only_anchors_are_looked_at() -> None:
    report = drift(old(items(GOLDS, GOLDS)), items(GOLDS, GOLDS), anchors=12)
    assert (report.cases, report.criteria["verdict"].n) == (12, 12)
    assert drift(old(items(GOLDS, GOLDS)), items(GOLDS, GOLDS)).cases == 50


def test_without_an_anchor_left_nothing_is_said() -> None:
    relabelled = [replace(one, gold=WRONG[str(one.gold)]) for one in items(GOLDS, GOLDS)]
    with pytest.raises(UsageError, match="none of 80 anchors can be compared: 40 are missing, 40 have another gold"):
        drift(old(items(GOLDS, GOLDS)), relabelled[:40], anchors=None)


@pytest.mark.parametrize(("name", "value"), [("margin", 0), ("margin", 1.5), ("alpha", 0), ("alpha", float("nan"))])
def test_levels_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} must lie between 0 and 1"):
        checked(GOLDS, GOLDS, GOLDS, **{name: value})


def test_what_changed_in_the_fingerprint_is_named() -> None:
    parts = {"model": "a", "prompt": "b", "rule": "majority"}

    def compared(before: Any, now: Any) -> DriftReport:
        return drift(old(items(GOLDS, GOLDS), parts=before), items(GOLDS, GOLDS), parts=now)

    same = compared(parts, dict(reversed(parts.items())))
    assert (same.changes, same.fingerprint) == ((), same.fingerprint_before)
    assert compared(parts, parts | {"model": "c", "rule": "mean"}).changes == ("model", "rule")
    unknown = compared(None, parts)
    assert unknown.changes is None
    assert unknown.incomparable.startswith("the calibration was made from a log, or by a judge without identity: ")
    assert "`model` gives one to a `callable`" in unknown.incomparable
    assert compared(parts, None).incomparable.startswith("the new decisions were made from a log")
    assert compared(parts, None).to_dict()["changes"] is None
    assert unknown.to_dict()["fingerprint"] == unknown.fingerprint is not None


def test_what_changed_in_the_design_is_named_without_a_fingerprint() -> None:
    before = {"rule": "majority", "perturbations": ["none", "format_change"], "repetitions": 3}
    now = {"rule": "supermajority(2/3)", "perturbations": ["format_change", "none"], "wordings": ["x"]}
    calibrated = old(items(GOLDS, GOLDS), design=before)
    report = drift(calibrated, items(GOLDS, GOLDS), design=now)
    assert report.changes is None
    assert report.design_changes == ("rule majority before, supermajority(2/3) now",)
    assert report.to_dict()["design_changes"] == ["rule majority before, supermajority(2/3) now"]
    of_fingerprint = drift(old(items(GOLDS, GOLDS), parts=before), items(GOLDS, GOLDS), parts=now)
    assert of_fingerprint.design_changes == report.design_changes
