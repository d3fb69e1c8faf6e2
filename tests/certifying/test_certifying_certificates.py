"""From rows to a certificate or a refusal, and through a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.certified import gpt4_rows
from support.rows import sampled

from judgeharness_integrations._errors import CaseError, ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying import Certificate, Wanted, certify
from judgeharness_integrations.analysis.certifying.certificate import certificate_text
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.verdictlog import Verdict, VerdictRow

NOW = datetime(2026, 11, 1, tzinfo=UTC)
PARTS = {"judge": "grader", "rule": "majority"}


def cases(
    number: int, votes: Iterable[Verdict | None], *, gold: Verdict | None, prefix: str = "c", **common: Any
) -> list[VerdictRow]:
    votes = list(votes)
    return [row for place in range(number) for row in sampled(votes, case_id=f"{prefix}{place}", gold=gold, **common)]


SURE, SPLIT = ["PASS"] * 4, ["PASS", "PASS", "PASS", "FAIL"]


def certificate(rows: Sequence[VerdictRow], rule_name: str = "majority", **wanted: Any) -> Certificate:
    return certify(rows, rule(rule_name), Wanted(**wanted), Labels(name="people"), measured_at=NOW.isoformat())


def useful() -> list[VerdictRow]:
    """60 unanimous cases, one of them wrong; 40 split ones, half of them wrong; as many more without labels."""
    return [
        *cases(59, SURE, gold="PASS", prefix="right"),
        *cases(1, SURE, gold="FAIL", prefix="wrong"),
        *cases(20, SPLIT, gold="PASS", prefix="split"),
        *cases(20, SPLIT, gold="FAIL", prefix="other"),
        *cases(60, SURE, gold=None, prefix="unlabelled"),
        *cases(40, SPLIT, gold=None, prefix="unlabelled split"),
    ]


def of_kinds(*, easy: Iterable[Verdict] = SURE) -> list[VerdictRow]:
    """60 labelled cases of one kind, and 60 of another without labels."""
    return [
        *cases(60, easy, gold="PASS", prefix="easy", attributes={"kind": "easy"}),
        *cases(60, SURE, gold=None, prefix="hard", attributes={"kind": "hard"}),
    ]


def test_a_kind_of_cases_without_any_label_is_not_covered() -> None:
    (found,) = certificate(of_kinds()).selections
    assert (found.covered, found.cases, found.steps[0].covered) == (60, 60, 60)


def test_labels_selected_by_verdict_are_refused_in_whatever_column_that_is_noted() -> None:
    (found,) = certificate(of_kinds(easy=["FAIL"] * 4)).selections
    assert found.refusal is not None
    assert "were selected by what the judge decided" in found.refusal.reason


def by_verdict(*, drawn: bool = False) -> list[VerdictRow]:
    """70 of 100 cases judged PASS have labels, and as many of those judged FAIL where labels are drawn, else none."""
    failed = [one for n in range(70) for one in cases(1, ["FAIL"] * 4, gold="FAIL", prefix=f"fail{n}-")]
    return [
        *cases(70, SURE, gold="PASS", prefix="pass"),
        *cases(30, SURE, gold=None, prefix="more"),
        *(failed if drawn else [replace(row, gold=None) for row in failed]),
        *cases(30, ["FAIL"] * 4, gold=None, prefix="least"),
    ]


def test_labels_selected_by_verdict_certify_nothing_and_a_sentence_says_why(tmp_path: Path) -> None:
    [drawn] = certificate(by_verdict(drawn=True)).selections
    assert (drawn.threshold, drawn.refusal) == (1.0, None)
    found = certificate(by_verdict())
    [selection] = found.selections
    assert (found.granted, selection.threshold, selection.covered, selection.steps) == (False, None, 0, ())
    assert selection.refusal is not None
    assert (selection.refusal.labels, selection.refusal.votes) == (None, None)
    assert selection.refusal.reason.startswith(
        "the labelled cases were selected by what the judge decided: none of 70 labelled cases and 100 of 130 without "
        "a label are judged FAIL (p "
    )
    told = "; no certificate stands on them: label a random sample of the cases"
    assert selection.refusal.reason.endswith(told)
    assert any(told in line for line in certificate_text(found))
    assert not any("number of labels" in line for line in certificate_text(found))  # drawn at random, fewer would do
    assert selection.untold == ""  # controls on such labels are not those of the cases
    assert Certificate.load(found.save(tmp_path / "refused.json")) == found


def test_labels_on_other_cases_than_the_rest_certify_nothing_and_the_difference_is_named() -> None:
    sure = [*cases(60, SURE, gold="PASS"), *cases(60, SPLIT, gold=None, prefix="split")]
    [selection] = certificate(sure).selections
    assert selection.refusal is not None
    assert selection.refusal.reason == (
        "the labelled cases were selected by what the judge decided: none of 60 labelled cases and 60 of 60 without a "
        "label are judged less than 1 sure (p <.001); no certificate stands on them: label a random sample of the cases"
    )
    short, long = ({"length": 60.0}, {"length": 600.0})
    easy = [
        *cases(60, SURE, gold="PASS", attributes=short),
        *cases(60, SURE, gold=None, prefix="hard", attributes=long),
    ]
    [selection] = certificate(easy).selections
    assert selection.refusal is not None
    assert selection.refusal.reason.startswith(
        "the cases here without a label are not like the labelled ones in lengths in length (45 to 64: "
    )
    mixed = [replace(row, gold="PASS" if row.case_id[-1] in "02468" else None) for row in easy]
    assert certificate(mixed).granted


def test_selection_by_verdict_is_tested_within_strata() -> None:
    kinds = {"pass": "a", "more": "b", "fail": "c", "leas": "c"}
    rows = [replace(row, attributes={"kind": kinds[row.case_id[:4]]}) for row in by_verdict(drawn=True)]
    few = {f"fail{n}-0" for n in range(30, 70)}
    rows = [replace(row, gold=None) if row.case_id in few else row for row in rows]  # fewer labels where all fail
    refused = certificate(rows)
    assert not refused.granted
    selections = {one.stratum: one for one in certificate(rows, stratum="kind").selections}
    assert {name: one.threshold for name, one in selections.items()} == {"a": 1.0, "c": 1.0}


def test_the_threshold_keeps_the_sure_decisions_and_counts_coverage_over_all_cases() -> None:
    found = certificate(useful())
    [selection] = found.selections
    assert (selection.threshold, selection.covered, selection.cases, selection.labelled) == (1.0, 120, 200, 100)
    assert selection.coverage == 0.6
    assert [(step.threshold, step.labelled, step.wrong) for step in selection.steps] == [(1.0, 60, 1), (0.75, 100, 21)]
    assert (selection.refusal, selection.levels, found.granted) == (None, 2, True)
    assert (found.design or {})["rule"] == "majority"
    told = list(certificate_text(found))
    assert told[0] == "asked for: decisions that agree with people at least 90 % of the time, with 90 % confidence"
    assert told[2] == "verdict: certified from consistency 1.0 on: coverage 0.600 (120/200); 100 labelled of 200 cases"
    assert told[3].startswith("  consistency >= 1.0: 120 cases, 1 of 60 labelled disagree, p 0.014")


def test_abstentions_and_cases_without_a_grade_are_never_accepted() -> None:
    tied = cases(30, ["PASS", "FAIL"], gold="FAIL", prefix="tied")
    failed = cases(10, [None, None], gold="PASS", prefix="failed")
    [selection] = certificate([*cases(40, SURE, gold="PASS"), *tied, *failed]).selections
    assert (selection.covered, selection.cases, selection.labelled) == (40, 80, 80)
    assert [step.labelled for step in selection.steps] == [40]


def test_two_votes_are_a_certificate_for_all_decisions_or_none() -> None:
    rows = [*cases(50, ["A", "A"], gold="A"), *cases(20, ["A", "B"], gold="A", prefix="tied")]
    found = certificate(rows)
    assert (found.selections[0].levels, found.selections[0].threshold) == (1, 1.0)
    assert "  all decisions are equally sure: the certificate is for all of them or none" in certificate_text(found)


def test_the_margin_counts_failed_samples_and_consistency_does_not() -> None:
    rows = [*cases(40, ["PASS", "PASS", None, None], gold="PASS"), *cases(40, SURE, gold="PASS", prefix="sure")]
    assert [step.threshold for step in certificate(rows, score="margin").selections[0].steps] == [1.0, 0.5]
    assert [step.threshold for step in certificate(rows).selections[0].steps] == [1.0]


def test_a_column_is_the_score_where_it_holds_numbers() -> None:
    rows = [
        *cases(40, ["PASS"], gold="PASS", attributes={"sure": 0.9}),
        *cases(40, ["PASS"], gold="FAIL", prefix="unsure", attributes={"sure": "0.2"}),
        *cases(30, ["PASS"], gold="FAIL", prefix="none"),
    ]
    [selection] = certificate(rows, score="column:sure").selections
    assert (selection.threshold, selection.covered, selection.cases, selection.levels) == (0.9, 40, 110, 2)
    with pytest.raises(UnknownNameError, match=r"'shure': did you mean 'sure'"):
        certificate(rows, score="column:shure")


def test_scores_agree_within_a_tolerance() -> None:
    rows = [*cases(40, [7, 7, 7], gold=8), *cases(40, [3, 3, 9], gold=9, prefix="wide")]
    found = certificate(rows, "median", tolerance=1)
    [selection] = found.selections
    assert (selection.threshold, selection.of_scores, selection.covered) == (1.0, True, 40)
    assert next(certificate_text(found)).startswith(
        "asked for: decisions that agree with people within 1 at least 90 %"
    )
    assert certificate(rows, "median", tolerance=0.5).selections[0].threshold is None
    with pytest.raises(UsageError, match="numbers have no margin"):
        certificate(rows, "median", score="margin")


def test_a_rule_that_turns_scores_into_labels_is_certified_by_labels() -> None:
    rows = [*cases(40, [8, 8, 9], gold="PASS"), *cases(20, [8, 1, 9], gold="FAIL", prefix="wide")]
    [selection] = certificate(rows, "median(pass_at=7)").selections
    assert (selection.threshold, selection.of_scores, selection.covered) == (1.0, False, 40)


def test_labels_in_other_words_are_pass_and_fail() -> None:
    assert certificate(cases(30, SURE, gold="yes")).selections[0].threshold == 1.0
    with pytest.raises(CaseError, match="cannot be compared"):
        certificate(cases(30, SURE, gold=3))


def test_each_stratum_has_a_threshold_or_a_refusal_of_its_own() -> None:
    rows = [
        *cases(40, SURE, gold="PASS", prefix="easy", attributes={"kind": "easy"}),
        *cases(40, SURE, gold="FAIL", prefix="hard", attributes={"kind": "hard"}),
        *cases(9, SURE, gold=None, prefix="new", attributes={"kind": "new"}),
        *cases(9, SURE, gold="FAIL", prefix="none"),
    ]
    found = certificate(rows, stratum="kind")
    assert {name: one.threshold for name, one in found.of("verdict").items()} == {"easy": 1.0, "hard": None}
    assert [one.cases for one in found.selections] == [40, 40]
    told = list(certificate_text(found))
    assert any(line.startswith("verdict, kind easy: certified from consistency 1.0 on") for line in told)
    assert any(line.startswith("verdict, kind hard: refused: of the 40 surest labelled decisions") for line in told)
    assert (
        "2 strata (kind) have enough labels for a test and share the level equally: all that are certified keep the "
        "promise at once" in told
    )
    with pytest.raises(UnknownNameError, match="'sort'"):
        certificate(rows, stratum="sort")


def strata(number: int, *, wrong: int, right: int, **more: Any) -> list[VerdictRow]:
    """Strata with equally many labels, so many of them wrong."""
    return [
        row
        for place in range(number)
        for gold, count in (("PASS", right), ("FAIL", wrong))
        for row in cases(count, SURE, gold=gold, prefix=f"{place}-{gold}", attributes={"kind": f"k{place}"}, **more)
    ]


@pytest.mark.slow
def test_all_strata_keep_one_promise_at_once() -> None:
    """2 wrong of 60 have p .053: one stratum has it certified, of two each would need .05."""
    assert [one.threshold for one in certificate(strata(1, wrong=2, right=58), stratum="kind").selections] == [1.0]
    found = certificate(strata(2, wrong=2, right=58), stratum="kind")
    assert (found.tests, [one.threshold for one in found.selections]) == (2, [None, None])
    refusal = found.selections[0].refusal
    assert refusal is not None
    assert refusal.reason.endswith("(p 0.053, needed 0.05)")


@pytest.mark.slow
def test_all_criteria_keep_one_promise_at_once() -> None:
    rows = [replace(row, criterion=name) for name in ("tone", "facts") for row in strata(1, wrong=2, right=58)]
    found = certificate(rows)
    assert (found.tests, found.granted) == (2, False)
    assert any(line.startswith("2 criteria have enough labels for a test") for line in certificate_text(found))


def test_strata_with_too_few_labels_for_any_test_cost_the_others_nothing() -> None:
    rows = [*strata(1, wrong=2, right=58), *cases(21, SURE, gold="PASS", prefix="few", attributes={"kind": "few"})]
    found = certificate(rows, stratum="kind")
    assert (found.tests, [one.threshold for one in found.selections]) == (1, [1.0, None])


def test_an_earlier_certificate_by_strata_is_read_and_says_that_each_stands_by_itself(tmp_path: Path) -> None:
    found = certificate(strata(2, wrong=1, right=59), stratum="kind")
    assert Certificate.load(found.save(tmp_path / "now.json")) == found
    earlier = {name: value for name, value in found.to_dict().items() if name != "tests"}
    read = Certificate.from_dict(json.loads(json.dumps(earlier)))
    assert (read.tests, read.granted) == (None, True)
    told = list(certificate_text(read))
    assert "each kind is certified by itself: that all of them hold at once has less confidence" in told


@pytest.mark.slow
def test_of_twenty_strata_any_is_certified_falsely_in_at_most_delta_of_studies() -> None:
    """A judge that agrees .89 of the time in every stratum of 80 labels: 9.3 % of strata have p .1 or less."""
    random, falsely = np.random.default_rng(22), 0
    for _ in range(60):
        wrong = random.binomial(80, 0.11, size=20)
        rows = [
            VerdictRow(
                case_id=f"{place}-{n}",
                verdict="PASS",
                gold="FAIL" if n < many else "PASS",
                attributes={"k": f"{place}"},
            )
            for place, many in enumerate(wrong)
            for n in range(80)
        ]
        falsely += certificate(rows, stratum="k").granted
    assert falsely <= 11  # .1 of 60 are 6; 12 come in one of a hundred


def test_several_columns_divide_into_strata_together() -> None:
    rows = [
        *cases(40, SURE, gold="PASS", prefix="a", attributes={"kind": "easy", "area": "x"}),
        *cases(40, SURE, gold="FAIL", prefix="b", attributes={"kind": "easy", "area": "y"}),
        *cases(9, SURE, gold="FAIL", prefix="c", attributes={"kind": "easy"}),  # in no stratum
    ]
    found = certificate(rows, stratum="kind, area")
    assert {name: one.threshold for name, one in found.of("verdict").items()} == {"easy, x": 1.0, "easy, y": None}
    with pytest.raises(UnknownNameError, match="'sort'"):
        certificate(rows, stratum="kind,sort")
    named = [*cases(40, SURE, gold="PASS", attributes={"kind, area": "one"})]
    assert set(certificate(named, stratum="kind, area").of("verdict")) == {"one"}


def test_cases_that_share_a_cluster_prove_less() -> None:
    rows = [
        replace(row, attributes={"document": f"d{place % 20}"})
        for place in range(60)
        for row in sampled(SURE, case_id=f"c{place}", gold="PASS")
    ]
    assert certificate(rows).granted
    found = certificate(rows, cluster="document").selections[0]
    assert (found.steps[0].labelled, found.steps[0].clusters, found.threshold) == (60, 20, None)
    alone = [*rows, *cases(5, SURE, gold="PASS", prefix="alone")]
    assert certificate(alone, cluster="document").selections[0].steps[0].clusters == 25


def test_a_case_that_stands_in_several_runs_is_one() -> None:
    rows = [replace(row, run=run) for run in ("one", "two") for row in cases(15, SURE, gold="PASS")]
    [selection] = certificate(rows).selections
    assert (selection.steps[0].labelled, selection.steps[0].clusters, selection.threshold) == (30, 15, None)
    assert selection.refusal is not None
    assert selection.refusal.reason.startswith(
        "15 clusters of labelled decisions, at least 22 are needed to certify 0.9 at all"
    )


@pytest.mark.parametrize("attributes", [{}, {"document": ""}])
def test_a_case_without_a_cluster_is_its_own_in_all_its_runs(attributes: dict[str, Any]) -> None:
    rows = [
        replace(row, run=run)
        for run in ("one", "two")
        for row in cases(15, SURE, gold="PASS", prefix="own", attributes=attributes)
    ]
    rows += cases(2, SURE, gold="PASS", prefix="shared", attributes={"document": "own0"})
    [selection] = certificate(rows, cluster="document").selections
    assert (selection.steps[0].labelled, selection.steps[0].clusters) == (32, 16)


def test_criteria_without_labels_are_left_out() -> None:
    rows = [*cases(30, SURE, gold="PASS", criterion="tone"), *cases(30, SURE, gold=None, criterion="facts")]
    assert [one.criterion for one in certificate(rows).selections] == ["tone"]
    with pytest.raises(UsageError, match="a certificate needs labels"):
        certificate(cases(30, SURE, gold=None))


def test_full_and_curtailed_samples_do_not_mix() -> None:
    early = cases(30, ["PASS", "PASS"], gold="PASS", attributes={"planned_samples": 3})
    assert certificate(early).curtailed
    assert "samples were stopped early: the certificate holds for such samples alone" in certificate_text(
        certificate(early)
    )
    with pytest.raises(UsageError, match=r"^30 of 60 cases were asked with early stopping, the others in full"):
        certificate([*early, *cases(30, ["PASS"] * 3, gold="PASS", prefix="full")])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"agreement": 1.0}, "agreement must lie between 0 and 1, not 1"),
        ({"delta": 0.0}, "delta must lie between 0 and 1, not 0"),
        ({"tolerance": -1.0}, "tolerance must be a number of at least 0, not -1"),
        ({"tolerance": float("inf")}, "tolerance must be a number of at least 0, not inf"),
        ({"tolerance": float("nan")}, "tolerance must be a number of at least 0, not nan"),
        ({"score": "hunch"}, "a score is consistency, margin, probability or column:NAME, not 'hunch'"),
    ],
)
def test_what_cannot_be_certified_is_said_in_a_sentence(wanted: Any, said: str) -> None:
    with pytest.raises(UsageError, match=rf"^{said}"):
        certificate(cases(30, SURE, gold="PASS"), **wanted)


# judges that tell nothing

NOTHING_TOLD = (
    "the certificate says how often decisions agree with labels, not that the judge tells good from bad: decisions are"
)


def constant() -> list[VerdictRow]:
    return [*cases(190, SURE, gold="PASS"), *cases(10, SURE, gold="FAIL", prefix="wrong")]


def test_a_judge_that_always_says_the_same_is_certified_with_a_warning() -> None:
    found = certificate(constant())
    [selection] = found.selections
    assert (selection.threshold, selection.coverage) == (1.0, 1.0)
    assert selection.untold.startswith(f"{NOTHING_TOLD} not better than a judge that always answers PASS: +0.000 [")
    assert "the labels cannot tell this judge from a constant one: balanced accuracy 0.500 [" in selection.untold
    assert f"  warning: {selection.untold}" in certificate_text(found)
    assert Certificate.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert list(found.warnings(["verdict"])) == [f"the certificate on people, verdict: {selection.untold}"]
    assert list(found.warnings([])) == []


@pytest.mark.slow
def test_a_judge_that_tells_labels_apart_is_certified_without_one() -> None:
    rows = [*constant(), *cases(60, ["FAIL"] * 4, gold="FAIL", prefix="bad")]
    assert (certificate(rows).selections[0].untold, certificate(rows).granted) == ("", True)
    assert not any("warning" in line for line in certificate_text(certificate(rows)))


def test_each_stratum_and_scores_are_told_apart_by_themselves() -> None:
    kinds = ("fair", ["FAIL"] * 4), ("blind", SURE)
    rows = [
        row
        for kind, bad in kinds
        for gold, votes in (("PASS", SURE), ("FAIL", bad))
        for row in cases(60 if gold == "PASS" else 1, votes, gold=gold, prefix=kind + gold, attributes={"kind": kind})
    ]
    found = certificate(
        [*rows, *cases(20, ["FAIL"] * 4, gold="FAIL", prefix="x", attributes={"kind": "fair"})], stratum="kind"
    )
    assert {one.stratum: bool(one.untold) for one in found.selections} == {"fair": False, "blind": True}
    assert [line.partition(":")[0] for line in found.warnings(["verdict"])] == [
        "the certificate on people, verdict, kind blind"
    ]
    scores = certificate([*cases(60, [8, 8, 8], gold=8), *cases(60, [8, 8, 8], gold=9, prefix="more")], "median")
    assert scores.selections[0].untold.endswith("from a constant one: the decided scores never vary")


def test_where_nothing_is_decided_nothing_is_said_about_decisions() -> None:
    [selection] = certificate(cases(30, ["PASS", "FAIL"], gold="PASS")).selections
    assert (selection.untold, selection.threshold) == ("", None)
    refused = certificate(cases(9, SURE, gold="PASS"))
    assert refused.selections[0].untold.startswith(NOTHING_TOLD)
    assert list(refused.warnings(["verdict"])) == []


# refusals


def test_a_refusal_says_how_many_labels_would_do() -> None:
    rows = [*cases(38, SURE, gold="PASS"), *cases(2, SURE, gold="FAIL", prefix="wrong")]
    [selection] = certificate(rows).selections
    refusal = selection.refusal
    assert refusal is not None
    assert refusal.reason == (
        "of the 40 surest labelled decisions that were tested first 2 disagree: that they agree 0.9 of the time is not "
        "shown (p 0.22, needed 0.1)"
    )
    assert refusal.labels is not None
    assert 80 < refusal.labels < 250
    told = list(certificate_text(certificate(rows)))
    assert told[3] == f"  about {refusal.labels} labels in place of 40 would do in 80 % of studies"


def test_a_refusal_of_labels_that_share_clusters_has_no_price_of_independent_ones() -> None:
    rows = [
        row
        for place in range(60)
        for row in cases(1, SURE, gold="PASS", prefix=f"c{place}-", attributes={"document": f"d{place % 20}"})
    ]
    found = certificate(rows, cluster="document")
    [selection] = found.selections
    assert (selection.labelled, selection.clusters, selection.threshold) == (60, 20, None)
    assert selection.refusal is not None
    assert (selection.refusal.labels, selection.refusal.votes) == (None, None)
    told = list(certificate_text(found))
    assert (
        told[3] == "  how many more labels would do is not told, as labelled cases share clusters: label more clusters"
    )


def test_where_sure_decisions_are_wrong_too_often_no_number_of_labels_does() -> None:
    found = certificate([*cases(30, SURE, gold="PASS"), *cases(10, SURE, gold="FAIL", prefix="wrong")])
    assert found.selections[0].refusal is not None
    assert found.selections[0].refusal.labels is None
    assert "  no number of labels up to 20,000 would do: the surest decisions are wrong too often" in certificate_text(
        found
    )
    assert not found.granted


@pytest.mark.slow
def test_six_votes_of_gpt_4_are_refused_and_twice_as_many_would_do() -> None:
    rows = gpt4_rows(3, first=14)
    labelled = dict.fromkeys(row.case_id for row in rows)
    kept = set(list(labelled)[::2])
    [selection] = certificate([replace(row, gold=row.gold if row.case_id in kept else None) for row in rows]).selections
    assert selection.labelled == 210
    assert selection.refusal is not None
    assert selection.refusal.votes == 12


def test_votes_are_not_advised_for_scores_columns_and_early_stopping() -> None:
    wrong = [*cases(60, SPLIT, gold="PASS"), *cases(20, SPLIT, gold="FAIL", prefix="wrong")]
    assert (
        certificate([replace(row, attributes={"x": 1}) for row in wrong], score="column:x").selections[0].refusal.votes
        is None
    )  # type: ignore[union-attr]
    early = [replace(row, attributes={"planned_samples": 4}) for row in wrong]
    assert certificate(early).selections[0].refusal.votes is None  # type: ignore[union-attr]
    scores = [*cases(40, [3, 9, 3], gold=9), *cases(40, [3, 3, 9], gold=3, prefix="right")]
    assert certificate(scores, "median").selections[0].refusal.votes is None  # type: ignore[union-attr]


# files and expiry


def saved(**changes: Any) -> Certificate:
    return replace(certificate(useful()), parts=PARTS, **changes)


@pytest.mark.slow
def test_a_saved_certificate_is_the_same_when_loaded(tmp_path: Path) -> None:
    refused = certificate(cases(9, SURE, gold="PASS"))
    for one in (saved(), refused):
        path = one.save(tmp_path / "new" / "certificate.json")
        assert Certificate.load(path) == one
    document = json.loads(saved().save(tmp_path / "c.json").read_text())
    assert document["schema"] == "judgeharness.certificate/1"
    assert document["fingerprint"] == saved().fingerprint


def test_it_expires_like_a_calibration() -> None:
    one = saved()
    assert one.state(PARTS, now=NOW).valid
    assert str(one.state(PARTS | {"rule": "median"}, now=NOW)) == "expired: rule changed"
    assert str(one.state(PARTS, now=NOW + timedelta(days=31))) == "expired: 31 days old, allowed 30 days"
    assert one.state(None, now=NOW).status == "unverifiable"
    assert replace(one, parts=None).state(PARTS, now=NOW).status == "unverifiable"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("selections", None),
        ("agreement", 1.5),
        ("curtailed", "no"),
        ("measured_at", "yesterday"),
        ("selections", [{"criterion": "verdict"}]),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(saved().to_dict() | {key: value}))
    with pytest.raises(ConfigError, match=r"^the certificate is incomplete or damaged .*: measure it again\.$"):
        Certificate.load(path)


def paired() -> list[VerdictRow]:
    """300 unanimous cases, two of a document."""
    rows = cases(300, SURE, gold="PASS")
    return [replace(row, attributes={"document": f"d{int(row.case_id[1:]) // 2}"}) for row in rows]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "edit",
    [
        {"threshold": -5.0},
        {"threshold": None},
        {"covered": 10**9},
        {"covered": 200},
        {"cases": 150},
        {"refusal": {"reason": "none", "labels": None, "votes": None}},
        {"steps": []},
        {"agreement": 0.999},
        {"agreement": 0.5},
        {"delta": 0.001},
    ],
)
def test_an_edited_certificate_is_refused(edit: dict[str, Any]) -> None:
    document = json.loads(json.dumps(saved().to_dict()))
    assert Certificate.from_dict(document) == saved()
    place = document if edit.keys() <= document.keys() else document["selections"][0]
    place.update(edit)
    with pytest.raises(ConfigError, match=r"^the certificate is incomplete or damaged .*: measure it again\.$"):
        Certificate.from_dict(document)


def test_tests_of_clusters_are_known_to_be_no_surer_than_exact_ones() -> None:
    found = certificate(paired(), cluster="document")
    assert found.granted
    document = json.loads(json.dumps(found.to_dict()))
    assert Certificate.from_dict(document) == found
    with pytest.raises(ConfigError, match="is not that of 0 wrong of 300"):
        Certificate.from_dict(document | {"agreement": 0.999})


def test_a_calibration_is_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"schema": "judgeharness.calibration/1"}')
    with pytest.raises(ConfigError, match=r"^not a certificate of schema judgeharness\.certificate/1: found"):
        Certificate.load(path)


def test_labels_of_a_model_are_said_to_be_that() -> None:
    found = saved(source="model:o3")
    assert next(certificate_text(found)).startswith("asked for: decisions that agree with o3 at least")


def test_a_certificate_of_a_judge_that_prefers_the_longer_answer_says_so() -> None:
    rows = []
    for n in range(100):
        longer, other = ("A", "B") if n % 2 else ("B", "A")
        said: dict[str, Any] = {"verdict": longer, "gold": longer if n % 10 > 1 else other}
        said["attributes"] = {"length_a": 90 if longer == "A" else 40, "length_b": 40 if longer == "A" else 90}
        rows += [VerdictRow(case_id=f"c{n}", repetition=repetition, **said) for repetition in range(2)]
    wanted, labels = Wanted(agreement=0.7), Labels(name="set")
    [selection] = certify(rows, rule("majority"), wanted, labels, measured_at=NOW.isoformat()).selections
    assert selection.threshold is not None
    sentence = "right more often than one that prefers the longer answer: +0.000 [-0.037, +0.037]"
    assert selection.untold.endswith(f"{sentence} in the share right on the same 100 decided cases")


def test_labels_of_unanimous_decisions_alone_certify_no_others() -> None:
    rows = [
        *cases(60, SURE, gold="PASS", prefix="sure"),
        *cases(60, ["FAIL"] * 4, gold="FAIL", prefix="fail"),
        *cases(100, SPLIT, gold=None, prefix="split"),
        *cases(100, ["FAIL", "FAIL", "FAIL", "PASS"], gold=None, prefix="open"),
    ]
    found = certificate(rows)
    assert not found.granted
    (selection,) = found.selections
    assert selection.refusal is not None
    told = "none of 120 labelled cases and 200 of 200 without a label are judged less than 1 sure"
    assert f"were selected by what the judge decided: {told}" in selection.refusal.reason


def test_a_certificate_is_rebuilt_from_its_dict() -> None:
    found = certificate([VerdictRow(case_id=f"{n}", verdict=side, gold=side) for n in range(60) for side in ["PASS"]])
    assert Certificate.from_dict(found.to_dict()) == found
