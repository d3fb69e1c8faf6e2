"""A simulated judge answers the same however it is asked, and refuses to be what no judge can be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations import AnswerCase, JudgeHarness, PairwiseCase, VerdictRow
from judgeharness_integrations._errors import CaseError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.statistics import independence
from judgeharness_integrations.analysis.checking import check_rows
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.perturbations import Perturbation, perturbation
from judgeharness_integrations.judging.probes import probe
from judgeharness_integrations.testing import SimulatedJudge, simulated_cases
from judgeharness_integrations.testing.checking.judge import check_judge
from judgeharness_integrations.testing.simulation import on_side
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES

CHANGES = ("none", "position_swap", "name_swap", "format_change", "format_change+position_swap", "prompt_variant(1)")
BIASED: dict[str, Any] = {
    "names": {"Ada": 0.5, "Ada Lovelace": 1.0},
    "length": 0.4,
    "formatting": 0.7,
    "wording": 0.3,
    "case_correlation": 0.3,
    "drift": 0.01,
    "refusal": 0.1,
    "garbage": 0.1,
}


def facts(rows: Sequence[VerdictRow]) -> list[tuple[object, ...]]:
    """Return what a row says besides when and how it was asked."""
    told = [
        (row.case_id, row.perturbation, row.repetition, row.swapped, row.outcome, row.verdict, row.gold, row.raw)
        for row in rows
    ]
    return sorted(
        ((*one, sorted(row.attributes.items())) for one, row in zip(told, rows, strict=True)), key=lambda one: one[:3]
    )


def asked(
    judge: SimulatedJudge, cases: Sequence[AnswerCase], changes: Sequence[Any], **options: Any
) -> list[VerdictRow]:
    """Return the rows of a real harness."""
    harness = JudgeHarness(
        perturbations=changes,
        aggregation_rule="median" if judge.kind == "scores" else "majority",
        instructions=["Judge."],
        on_unfit="skip",
        **options,
    )
    results = harness.evaluate_many(judge, cases)
    return [row for result in results for row in (*result.rows, *result.probe_rows)]


@pytest.mark.parametrize("kind", ["pairwise", "graded", "scores"])
def test_rows_are_those_of_a_harness(kind: str) -> None:
    of_pairs = {"position": 0.3, "ties": 0.2} if kind == "pairwise" else {}
    judge = SimulatedJudge(kind=kind, **BIASED, **of_pairs)  # type: ignore[arg-type]
    cases = simulated_cases(6, kind=kind)  # type: ignore[arg-type]
    changes = CHANGES if kind == "pairwise" else ("none", "name_swap", "format_change", "paraphrase")
    if kind != "pairwise":  # a rewriter as rows() has it: the text as it is
        changes = [perturbation(name, rewriter=str) for name in changes]  # type: ignore[assignment]
    rows = asked(judge, cases, changes, repetitions=2, max_concurrency=1, seed=3)
    assert facts(rows) == facts(replace(judge).rows(cases, perturbations=changes, repetitions=2, seed=3))
    assert len({row.verdict for row in rows}) >= 3


def test_attacked_rows_are_those_of_a_harness() -> None:
    judge = SimulatedJudge(obeys={"injection": 0.5, "sentinel.off_topic": 0.5}, length=0.2)
    cases = simulated_cases(8)
    probes = ["injection.direct_order", "authority", "sentinel.empty", "sentinel.off_topic", "sentinel.copy"]
    rows = judge.rows(cases, repetitions=1, probes=probes)
    attacks = sorted({row.perturbation for row in rows} - {"none"})
    assert len(attacks) == 9  # a copy is always that of b
    made = [perturbation(name) for name in attacks]
    every = asked(judge, cases, made, repetitions=1)
    wanted = {(row.case_id, row.perturbation) for row in rows}
    chosen = [row for row in every if (row.case_id, row.perturbation) in wanted]
    assert facts(chosen) == facts([row for row in rows if row.perturbation != "none"])


@pytest.mark.slow
def test_a_check_of_it_is_a_check_of_its_rows() -> None:
    judge = SimulatedJudge(ties=0.2, length=0.1, obeys={"injection": 0.8}, garbage=0.05)
    cases, probes = simulated_cases(12), ["injection", "sentinel"]
    asked_anew = check_judge(judge, cases, probes=probes)
    rows = judge.rows(cases, probes=PROBE_PROPERTIES[:7] + PROBE_PROPERTIES[-3:])
    changes = ["position_swap", "name_swap", "format_change", "slot_names"]
    rows += judge.rows(cases, perturbations=changes, repetitions=1)
    of_rows = check_rows(rows)
    told = [
        {one.name: (one.status, one.rate, one.effect, one.p_value) for one in report.properties if one.valid}
        for report in (asked_anew, of_rows)
    ]
    assert told[0] == told[1]
    assert asked_anew.calls == len(rows)
    assert "injection.direct_order" in told[0]


def test_neither_order_nor_company_changes_an_answer() -> None:
    judge, cases = SimulatedJudge(case_correlation=0.5, formatting=1.0), simulated_cases(20)
    rows = judge.rows(cases, perturbations=["none", "format_change"], repetitions=3)
    assert facts(judge.rows(cases[::-1], perturbations=["format_change", "none"], repetitions=3)) == facts(rows)
    alone = judge.rows(cases[7:8], repetitions=2)
    assert set(map(str, facts(alone))) < set(map(str, facts(rows)))
    assert facts(replace(judge, seed=1).rows(cases, repetitions=3)) != facts(judge.rows(cases, repetitions=3))


def test_drift_counts_the_calls_of_this_judge() -> None:
    judge, [case] = SimulatedJudge(drift=2.0, noise=0.0), simulated_cases(1)
    case = replace(case, attributes={"quality_difference": -3.0})
    harness = JudgeHarness(perturbations=["none"], repetitions=3, aggregation_rule="majority", max_concurrency=1)
    for expected in ("B", "A"):  # z is -3, -1, 1, then 3, 5, 7
        assert harness.evaluate(judge, case).verdict == expected
    assert [row.verdict for row in judge.rows([case])] == ["B", "B", "A"]  # counts from 0 each time


def test_it_is_a_judge_with_an_identity() -> None:
    judge = SimulatedJudge(name="s", kind="scores", names={"Ada": 1.0}, seed=4)
    assert isinstance(judge, Judge)
    told = {"simulated": "scores", "names": {"Ada": 1.0}, "seed": 4}
    assert json.loads(json.dumps(judge.identity.to_dict()))["parameters"] == told
    assert judge.identity.name == "s"
    assert [criterion.scale for criterion in judge.criteria] == [(1, 10)]
    assert {"slot_names", "prompt_variant"} <= judge.supports
    assert SimulatedJudge().instructions != judge.instructions


def test_equal_texts_tie_whatever_the_attribute_says() -> None:
    same = PairwiseCase(case_id="same", output="x", output_b="x", attributes={"quality_difference": 5.0})
    assert [row.verdict for row in SimulatedJudge(noise=0.0).rows([same])] == ["TIE"] * 3
    formatted = replace(same, output="**x** y", output_b="x y", attributes={"quality_difference": 5.0})
    judge = SimulatedJudge(noise=0.0)
    found = judge.rows([formatted], perturbations=["none", "format_change"], repetitions=1)
    asking = asked(judge, [formatted], ["none", "format_change"], repetitions=1)
    assert facts(found) == facts(asking)
    assert found[0].verdict == "A"


@pytest.mark.parametrize(
    ("kind", "gold", "verdict"),
    [
        ("pairwise", "A", "A"),
        ("pairwise", "B", "B"),
        ("pairwise", "TIE", "TIE"),
        ("pairwise", None, "A"),
        ("graded", "FAIL", "FAIL"),
        ("graded", {"verdict": "FAIL"}, "FAIL"),
        ("graded", {"other": "FAIL"}, "PASS"),
        ("scores", 9, 9),
        ("scores", 2.0, 2),
    ],
)
def test_without_an_attribute_the_gold_label_says_what_is_better(kind: str, gold: object, verdict: object) -> None:
    common: dict[str, Any] = {"case_id": "c", "output": "x", "gold": gold}
    case = PairwiseCase(output_b="y", **common) if kind == "pairwise" else AnswerCase(**common)
    judge = SimulatedJudge(kind=kind, noise=0.0)  # type: ignore[arg-type]
    assert {row.verdict for row in judge.rows([case])} == {verdict}


def test_a_text_alone_is_an_answer() -> None:
    judge = SimulatedJudge(kind="graded", length=1.0, noise=0.0, quality_difference=0.0)
    assert [row.verdict for row in judge.rows(["x" * 300, "x" * 100], repetitions=1)] == ["PASS", "FAIL"]


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_text_is_too_strange(first: str, second: str) -> None:
    case = PairwiseCase(case_id="c", output=first, output_b=second)
    judge = SimulatedJudge(names={"a": 1.0, "a+(b": 2.0}, length=1.0)
    assert all(row.ok for row in judge.rows([case], perturbations=["none", "position_swap"]))


def test_only_whole_words_are_names() -> None:
    judge = SimulatedJudge(names={"Ada": 9.0, "Ada Lovelace": -9.0}, noise=0.0)
    texts = {"Ada.": "A", "Adam": "B", "Ada Lovelace.": "B", "(Ada) and Ada": "A"}
    for text, verdict in texts.items():
        case = PairwiseCase(case_id="c", output=text, output_b="y", attributes={"quality_difference": -1.0})
        assert judge.rows([case], repetitions=1)[0].verdict == verdict, text


def test_copies_show_as_such_and_other_repetitions_as_their_own() -> None:
    cases = simulated_cases(3)
    copied = SimulatedJudge(copies=True, noise=3.0)
    for rows in (copied.rows(cases), asked(copied, cases, ["none"], repetitions=3)):
        for case in cases:
            own = [row for row in rows if row.case_id == case.case_id]
            assert len({row.verdict for row in own}) == 1
            assert independence(own).evidence == ("repeated response id",)
    plain = SimulatedJudge().rows(cases[:1])
    assert independence(plain).status == "independent"


def test_what_does_not_fit_a_case_is_left_out() -> None:
    case = PairwiseCase(case_id="c", output="x", output_b="y")
    rows = SimulatedJudge().rows([case], perturbations=["none", "name_swap"], probes=["model_name"])
    assert {row.perturbation for row in rows} == {"none", f"probe:model_name({'b' if rows[0].verdict == 'A' else 'a'})"}
    assert SimulatedJudge().rows([]) == []
    assert SimulatedJudge(refusal=1.0).rows([case], probes=["model_name"])[-1].perturbation == "none"


def test_the_best_answer_is_not_attacked_and_a_single_one_is_no_copy() -> None:
    judge, probes = SimulatedJudge(kind="scores", noise=0.0), ["authority", "sentinel.empty", "sentinel.copy"]
    for gold, asked_about in ((10, {"sentinel.empty"}), (4, {"sentinel.empty", "authority"})):
        rows = judge.rows([AnswerCase(case_id="c", output="x", gold=gold)], probes=probes)
        assert {row.perturbation for row in rows} - {"none"} == {f"probe:{name}" for name in asked_about}


def test_a_probe_of_an_object_stays_the_same_object() -> None:
    assert on_side(probe("authority"), "a") is on_side(probe("authority"), "a")


# Mistakes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "ranked"}, "pairwise, graded, scores, not 'ranked'"),
        ({"noise": -1.0}, "noise of a simulated judge cannot be below 0"),
        ({"ties": -0.5}, "ties of a simulated judge cannot be below 0"),
        ({"case_correlation": 1.5}, "case_correlation of a simulated judge is a share"),
        ({"refusal": float("nan")}, "refusal of a simulated judge is a share"),
        ({"obeys": {"injection": 2.0}}, r"obeys\['injection'\] of a simulated judge is a share"),
        ({"position": float("inf")}, "position of a simulated judge must be a finite number"),
        ({"refusal": 0.6, "garbage": 0.6}, "together at most 1"),
        ({"names": {" ": 1.0}}, "map a name to a finite number, not ' ' to 1.0"),
        ({"names": {"Ada": float("nan")}}, "map a name to a finite number, not 'Ada' to nan"),
        ({"kind": "graded", "position": 0.1}, "position belongs to pairs: leave it out of a graded judge"),
        ({"kind": "scores", "ties": 0.1}, "ties belongs to pairs: leave it out of a scores judge"),
    ],
)
def test_what_no_judge_can_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SimulatedJudge(**wrong)


def test_a_case_of_another_kind() -> None:
    pair, single = simulated_cases(1)[0], simulated_cases(1, kind="graded")[0]
    with pytest.raises(UsageError, match="judges one answer: give an AnswerCase"):
        SimulatedJudge(kind="graded").rows([pair])
    with pytest.raises(UsageError, match="compares two answers: give a PairwiseCase"):
        SimulatedJudge().rows([single])


def test_cases_that_cannot_be_judged() -> None:
    [case] = simulated_cases(1)
    with pytest.raises(CaseError, match="two cases share the id 'case-00000'"):
        SimulatedJudge().rows([case, case])
    with pytest.raises(UsageError, match="'case-00000' is a number, not 'much'"):
        SimulatedJudge().rows([replace(case, attributes={"quality_difference": "much"})])
    assert SimulatedJudge().rows([replace(case, attributes={"quality_difference": "0.5"})])[0].ok
    with pytest.raises(UsageError, match="asked once at least, not 0 times"):
        SimulatedJudge().rows([case], repetitions=0)


def test_names_there_are_not() -> None:
    with pytest.raises(UnknownNameError):
        SimulatedJudge().rows(simulated_cases(1), perturbations=["position_swop"])
    with pytest.raises(UnknownNameError):
        SimulatedJudge().rows(simulated_cases(1), probes=["injection.rude"])
    with pytest.raises(UsageError, match="add the perturbation 'none'"):
        SimulatedJudge().rows(simulated_cases(1), perturbations=["position_swap"], probes=["authority"])


def test_a_perturbation_that_waits() -> None:
    async def slow(case: PairwiseCase) -> PairwiseCase:
        await asyncio.sleep(0)
        return case

    with pytest.raises(UsageError, match="'slow' waits for something"):
        SimulatedJudge().rows(simulated_cases(1), perturbations=[Perturbation("slow", slow)])


def test_a_rewriter_of_ones_own_is_asked() -> None:
    async def shout(text: str) -> str:
        return text.upper()

    judge = SimulatedJudge(names={"ADA": 9.0}, noise=0.0)
    case = PairwiseCase(case_id="c", output="x", output_b="Ada", attributes={"quality_difference": 1.0})
    rows = judge.rows([case], perturbations=["none", perturbation("paraphrase", rewriter=shout)], repetitions=1)
    assert [row.verdict for row in rows] == ["A", "B"]
