"""What a harness accepts, what it refuses and in which words, and what its presets cost."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import (
    AnswerCase,
    CalibrationSet,
    Criterion,
    JudgeHarness,
    JudgeHarnessError,
    JudgeIdentity,
    PairwiseCase,
    Perturbation,
)
from judgeharness_integrations._errors import PlanError, UnknownNameError, UsageError
from judgeharness_integrations.judging.execution.local import LocalExecutor
from judgeharness_integrations.judging.execution.observing import ProgressBar
from judgeharness_integrations.judging.execution.rates import Rates
from judgeharness_integrations.judging.harness import PRESETS, preset
from judgeharness_integrations.testing import ScriptedJudge

GOOD: dict[str, Any] = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "majority"}
RICH = 'He said "yes" - and it\'s *done*.\n\n- one\n- two  items\n'

BAD: list[tuple[dict[str, Any], str]] = [
    ({"budget": {"calls": 2}}, "budget is a Budget of judgeharness_integrations.judging.execution, not dict."),
    ({"curtail": "yes"}, "curtail is True or False, not 'yes'."),
    ({"reuse": "no"}, "reuse is True or False, not 'no'."),
    ({"run": 5}, "run is a name, or None for a new one each time, not 5."),
    ({"run": " "}, "run is a name, or None for a new one each time, not ' '."),
    (
        {"requests_per_minute": True},
        "requests_per_minute must be a number above 0, not True; leave it out for no limit.",
    ),
    (
        {"executor": LocalExecutor(), "tokens_per_minute": 6},
        "tokens_per_minute is a limit of the executor: give it Rates(tokens_per_minute=6) instead.",
    ),
    ({"perturbations": []}, "there is no perturbation: give at least ['none']."),
    ({"perturbations": "none"}, "perturbations is a list: write ['none', 'position_swap'], even for a single one."),
    (
        {"perturbations": Perturbation("p", str)},
        "perturbations is a list: write ['none', 'position_swap'], even for a single one.",
    ),
    ({"perturbations": None}, "perturbations is a list of names or Perturbations, not NoneType."),
    ({"perturbations": ["nome"]}, "unknown perturbation 'nome': did you mean 'none'?"),
    ({"perturbations": ["none", "none"]}, "perturbation 'none' is listed twice: use repetitions to ask more often."),
    ({"perturbations": ["paraphrase"]}, "paraphrase needs a rewriter: "),
    ({"repetitions": 0}, "repetitions must be a whole number of at least 1, not 0."),
    ({"repetitions": 2.0}, "repetitions must be a whole number of at least 1, not 2.0."),
    ({"repetitions": True}, "repetitions must be a whole number of at least 1, not True."),
    ({"repetitions": None}, "repetitions must be a whole number of at least 1, not None."),
    ({"repetitions": "3"}, "repetitions must be a whole number of at least 1, not '3'."),
    ({"aggregation_rule": "majorty"}, "unknown rule 'majorty': did you mean 'majority'?"),
    ({"aggregation_rule": "supermajority(3/2)"}, "threshold=3/2 of rule 'supermajority' is out of range: "),
    ({"aggregation_rule": None}, "a rule is a name, a function of rows or a Rule, not NoneType."),
    ({"min_valid": 0}, "min_valid must be a whole number of at least 1, not 0."),
    ({"min_valid": 3}, "min_valid=3 is more than the 2 samples planned a case."),
    ({"max_concurrency": 0}, "max_concurrency must be a whole number of at least 1, not 0."),
    ({"max_attempts": 0}, "max_attempts must be a whole number of at least 1, not 0."),
    ({"max_calls": 0}, "max_calls must be a whole number of at least 1, not 0."),
    ({"timeout_s": 0}, "timeout_s must be above 0, not 0."),
    ({"timeout_s": math.nan}, "timeout_s must be above 0, not nan."),
    ({"timeout_s": "5"}, "timeout_s must be above 0, not '5'."),
    ({"tolerance": -1}, "tolerance must be a number of at least 0, not -1."),
    ({"on_unfit": "ignore"}, "on_unfit is 'error' or 'skip', not 'ignore'."),
    ({"keep": "all"}, "keep is 'text', 'hash' or 'none', not 'all'."),
    ({"calibration_set": [("case", "PASS")]}, "calibration_set is a CalibrationSet, not list."),
    ({"calibration": 3}, "calibration is a CalibrationReport, not int: read it with "),
    (
        {"log": "a.jsonl"},
        "log is a SqlLog, a MemoryLog or a JsonlLog of judgeharness_integrations.verdictlog, not 'a.jsonl'.",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_what_cannot_be_used_is_refused_with_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        JudgeHarness(**(GOOD | change))
    text = str(caught.value)
    assert text.startswith(sentence)
    assert "\n" not in text
    assert text.endswith((".", "?"))


@pytest.mark.parametrize(
    "change",
    [
        {"timeout_s": None},
        {"max_calls": None},
        {"min_valid": None},
        {"min_valid": 2},
        {"tolerance": 0},
        {"timeout_s": 0.5},
        {"executor": LocalExecutor(rates=Rates(requests_per_minute=6)), "requests_per_minute": 6},
        {"perturbations": ("none",)},
        {"aggregation_rule": lambda rows: rows[0].verdict} and {"aggregation_rule": max},
    ],
)
def test_what_can_be_used_is_kept(change: dict[str, Any]) -> None:
    assert JudgeHarness(**(GOOD | change)).design.perturbations == ("none",)


def test_every_argument_is_documented() -> None:
    documented = inspect.getdoc(JudgeHarness) or ""
    assert [name for name in inspect.signature(JudgeHarness).parameters if name not in documented] == []


def test_errors_are_of_one_family() -> None:
    assert issubclass(PlanError, UsageError)
    assert issubclass(UsageError, JudgeHarnessError)


PAIR = PairwiseCase(case_id="pair", output=RICH, output_b=RICH + "\n**More**")
ANSWER = AnswerCase(case_id="answer", output=RICH)
CALLS = {"single": 1, "quick": 2, "standard": 6, "thorough": 12}
ANSWERS = {"pairwise": (PAIR, "TIE"), "labels": (ANSWER, "PASS"), "scores": (ANSWER, 7)}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", ANSWERS)
def test_presets_cost_what_they_say_and_decide(name: str, shape: str) -> None:
    case, answer = ANSWERS[shape]
    judge = ScriptedJudge([answer])
    one = getattr(JudgeHarness, name)(shape, seed=3)
    assert one.plan(judge, [case]).calls == CALLS[name]
    result = one.evaluate(judge, case)
    assert len(judge.probes) == CALLS[name]
    assert (result.verdict, result.status, result.skipped) == (answer, "decided", {})
    assert one.seed == 3


def test_presets_are_the_ones_written_down() -> None:
    assert preset("standard", "pairwise") == {
        "perturbations": ("none", "position_swap"),
        "repetitions": 3,
        "aggregation_rule": "swap_consensus",
    }
    assert {shape: rule for shape, (_, _, rule) in PRESETS["standard"].items()} == {
        "pairwise": "swap_consensus",
        "labels": "supermajority(2/3)",
        "scores": "median",
        "any": "supermajority(2/3) | median",
    }
    assert PRESETS["standard"]["labels"][:2] == PRESETS["standard"]["scores"][:2] == (("none", "format_change"), 3)


def test_a_calibration_or_observers_are_added_to_a_copy(tmp_path: Path) -> None:
    labels = CalibrationSet("people", ((AnswerCase(case_id="a", output="Yes."), "PASS"),))
    judge = ScriptedJudge(["PASS"], identity=JudgeIdentity(name="j"))
    bare = JudgeHarness.standard("labels")
    saved = bare.calibrate(judge, labels).save(tmp_path / "cal.json")
    anchored = bare.with_calibration(saved)
    assert bare.with_calibration(None) is bare
    assert (bare.calibration, anchored.calibration and anchored.calibration.name) == (None, "people")
    assert anchored.evaluate(judge, "x *y*").calibrated_precision == 1.0
    with pytest.raises(UsageError, match="has a calibration already: give it there or here"):
        anchored.with_calibration(saved)
    with pytest.raises(UsageError, match="a CalibrationReport, not int"):
        bare.with_calibration(3)  # type: ignore[arg-type]
    watcher = ProgressBar()
    assert (bare.observers, bare.watched_by(watcher).observers) == (None, (watcher,))


def test_options_go_before_presets() -> None:
    one = JudgeHarness.standard("labels", repetitions=5, aggregation_rule="strict_majority")
    assert (one.design.repetitions, one.design.rule.name) == (5, "strict_majority")


def test_thorough_skips_what_does_not_fit_and_says_so() -> None:
    plain = AnswerCase(case_id="plain", output="42")
    result = JudgeHarness.thorough("labels").evaluate(ScriptedJudge(["PASS"]), plain)
    assert result.skipped
    assert result.usage.calls == 3 * len(result.perturbations) < 12
    assert all(f"{name} was skipped: " in result.report() for name in result.skipped)


def test_an_unknown_shape_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown shape 'pairwize': did you mean 'pairwise'"):
        JudgeHarness.standard("pairwize")  # type: ignore[arg-type]


def test_a_perturbation_that_does_not_fit_is_an_error_or_skipped_and_reported() -> None:
    judge = ScriptedJudge(["PASS"])
    with pytest.raises(PlanError, match=r"perturbation 'position_swap' does not fit case 'answer': .*\(or use on_unf"):
        JudgeHarness(**(GOOD | {"perturbations": ["none", "position_swap"]})).evaluate(judge, ANSWER)
    skipping = JudgeHarness(**(GOOD | {"perturbations": ["none", "position_swap"], "on_unfit": "skip"}))
    result = skipping.evaluate(judge, ANSWER)
    assert (list(result.skipped), result.perturbations, result.usage.calls) == (["position_swap"], ("none",), 2)
    nothing = JudgeHarness(**(GOOD | {"perturbations": ["position_swap"], "on_unfit": "skip"}))
    with pytest.raises(PlanError, match="no perturbation fits case 'answer': "):
        nothing.evaluate(judge, ANSWER)


@pytest.mark.parametrize("rule", ["swap_consensus", "net_preference"])
def test_rules_over_both_orders_refuse_unequal_orders(rule: str) -> None:
    for perturbations in (["none"], ["position_swap"], ["none", "format_change", "position_swap"]):
        one = JudgeHarness(perturbations=perturbations, repetitions=2, aggregation_rule=rule)
        with pytest.raises(PlanError, match=f"rule {rule} needs both orders equally often, but case 'pair' is planned"):
            one.evaluate(ScriptedJudge(["A"]), PAIR)
    both = JudgeHarness(
        perturbations=["none", "position_swap"], repetitions=2, aggregation_rule=rule, max_concurrency=1
    )
    assert both.evaluate(ScriptedJudge(["A", "A", "B", "B"]), PAIR).verdict == "A"


@pytest.mark.parametrize(
    ("criterion", "rule"),
    [(Criterion(name="c", scale=(1, 10)), "majority"), (Criterion(name="c", labels=("PASS", "FAIL")), "median")],
)
def test_a_rule_that_cannot_fold_what_is_declared_is_refused_before_anything_is_asked(
    criterion: Criterion, rule: str
) -> None:
    judge = ScriptedJudge(["PASS"], criteria=[criterion])
    with pytest.raises(UsageError, match=f"rule {rule} folds .* but criterion 'c' holds"):
        JudgeHarness(**(GOOD | {"aggregation_rule": rule})).evaluate(judge, ANSWER)
    assert judge.probes == []


class Conversation:
    """A case of the caller's own kind."""

    case_id = "own"

    def __init__(self, turns: list[str]) -> None:
        self.turns = turns


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


@pytest.mark.parametrize(
    ("case", "case_id"),
    [
        ("a text", None),
        ({"case_id": 7, "question": "?"}, "7"),
        ({"question": "?"}, None),
        (Conversation(["hello"]), "own"),
        (Pair(1, 2), None),
        (12, None),
        (["a", "list"], None),
    ],
)
def test_cases_of_any_kind_reach_the_judge_untouched(case: object, case_id: str | None) -> None:
    judge = ScriptedJudge(["PASS"])
    result = JudgeHarness(**GOOD).evaluate(judge, case)
    assert all(probe.case is case for probe in judge.probes)
    assert result.case_id == case_id or (case_id is None and result.case_id.startswith("case-"))


def test_a_thing_that_does_not_judge_is_refused() -> None:
    with pytest.raises(UsageError, match="a str is not a judge: give a callable that takes a case, or an object with "):
        JudgeHarness(**GOOD).evaluate("gpt-4o", "case")  # type: ignore[arg-type]


def test_nothing_is_asked_in_constructors_and_plans() -> None:
    judge = ScriptedJudge(["PASS"])
    one = JudgeHarness(**GOOD)
    one.plan(judge, ["a", "b"])
    one.evaluate_many(judge, ["a", "b"])
    one.aevaluate_many(judge, ["a", "b"])
    assert judge.probes == []


def test_the_judge_model_stands_on_results_and_rows() -> None:
    result = JudgeHarness(**GOOD).evaluate(ScriptedJudge(["PASS"]), "case", "openai/gpt-4o")
    assert (result.judge_model, result.model_families) == ("openai/gpt-4o", ("openai",))
    assert {row.model for row in result.rows} == {"openai/gpt-4o"}
