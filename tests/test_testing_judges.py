"""The public fakes do what tests rely on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judgeharness_integrations import Criterion, HarnessResult, JudgeHarness, JudgeIdentity, PairwiseCase, VerdictRow
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.testing import RecordedJudge, ScriptedJudge

PAIR = PairwiseCase(case_id="pair", output="a", output_b="b")


def measured(judge: Judge, **options: object) -> HarnessResult:
    defaults = {
        "perturbations": ["none", "position_swap"],
        "repetitions": 2,
        "aggregation_rule": "net_preference",
        "max_concurrency": 1,
    }
    return JudgeHarness(**(defaults | options)).evaluate(judge, PAIR)  # type: ignore[arg-type]


def test_a_scripted_judge_answers_in_order_cycles_and_raises() -> None:
    judge = ScriptedJudge(["A", ValueError("no"), None])
    rows = measured(judge).rows
    assert [(row.verdict, row.outcome) for row in rows] == [
        ("A", "ok"),
        (None, "error"),
        (None, "unparsed"),
        ("B", "ok"),
    ]
    assert [probe.perturbation.name for probe in judge.probes] == ["none", "none", "position_swap", "position_swap"]


def test_a_scripted_judge_declares_what_it_is_told() -> None:
    identity, criterion = JudgeIdentity(name="j"), Criterion(name="verdict")
    judge = ScriptedJudge(
        ["A"], name="j", identity=identity, criteria=[criterion], supports=["slot_names"], instructions="Judge."
    )
    assert isinstance(judge, Judge)
    assert (judge.name, judge.identity, judge.criteria) == ("j", identity, (criterion,))
    assert (judge.supports, judge.instructions) == (frozenset({"slot_names"}), "Judge.")


def test_a_script_needs_answers() -> None:
    assert {row.outcome for row in measured(ScriptedJudge([])).rows} == {"error"}


def row(perturbation: str, repetition: int, verdict: str | None, **fields: object) -> VerdictRow:
    outcome = "ok" if verdict else "refused"
    base = VerdictRow(
        case_id="pair",
        judge="recorded",
        perturbation=perturbation,
        repetition=repetition,
        verdict=verdict,
        outcome=outcome,
        swapped=perturbation == "position_swap",
        reasoning="as recorded",
    )
    return replace(base, **fields)  # type: ignore[arg-type]


ROWS = [
    row("none", 0, "A"),
    row("none", 1, "TIE"),
    row("position_swap", 0, "A"),
    row("position_swap", 1, None),
    row("none", 0, "B", judge="somebody else"),
]


def test_a_recorded_judge_gives_back_what_was_recorded() -> None:
    judge = RecordedJudge(ROWS, name="recorded")
    assert isinstance(judge, Judge)
    result = measured(judge)
    assert [(r.verdict, r.outcome, r.reasoning) for r in result.rows] == [
        (r.verdict, r.outcome, "as recorded") for r in ROWS[:4]
    ]
    assert result.fingerprint is not None
    assert measured(judge).fingerprint == result.fingerprint


def test_what_was_not_recorded_is_an_error_row() -> None:
    result = measured(RecordedJudge(ROWS, name="recorded"), repetitions=3)
    missing = [r.error for r in result.rows if r.outcome == "error"]
    assert missing == [
        f"LookupError: judge 'recorded' has no recorded answer for ('pair', '{name}', 2)"
        for name in ("none", "position_swap")
    ]


def test_several_criteria_of_one_call_come_back_together() -> None:
    rows = [row("none", 0, "PASS", criterion=name) for name in ("tone", "facts")]
    judge = RecordedJudge(rows, name="recorded")
    result = measured(judge, perturbations=["none"], repetitions=1, aggregation_rule="majority")
    assert {name: c.verdict for name, c in result.criteria.items()} == {"tone": "PASS", "facts": "PASS"}
    assert result.usage.calls == 1


@pytest.mark.parametrize("verdict", [7, frozenset({"x"})])
def test_verdicts_without_a_side_are_the_same_in_both_orders(verdict: object) -> None:
    rows = [row("position_swap", 0, verdict)]  # type: ignore[arg-type]
    rule = "median" if verdict == 7 else "majority"
    judge = RecordedJudge(rows, name="recorded")
    assert measured(judge, perturbations=["position_swap"], repetitions=1, aggregation_rule=rule).verdict == verdict
