"""Which judge is in what a user gives, and what it gets by default."""

from __future__ import annotations

from typing import Any

import pytest
from support.langsmith_people import a_run

from judgeharness_integrations import Criterion, JudgeHarness
from judgeharness_integrations._errors import ConfigError, NotInstalledError, UsageError
from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging.judge import FunctionJudge
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_langsmith import HarnessRunEvaluator, harness_comparative
from judgeharness_langsmith.adapter import ADAPTER
from judgeharness_langsmith.runjudge import harness_for, judge_in
from judgeharness_openevals import harness_judge

LABELS = Criterion(name="ok", labels=("PASS", "FAIL"))
SCALE = Criterion(name="good", scale=(0, 10))


@pytest.mark.parametrize(
    ("criteria", "rule"),
    [
        ([LABELS], "supermajority(2/3)"),
        ([SCALE], "median"),
        ([LABELS, SCALE], "supermajority(2/3) | median"),
        (None, "supermajority(2/3) | median"),
    ],
)
def test_the_default_rule_is_for_what_the_judge_declares(criteria: list[Criterion] | None, rule: str) -> None:
    judge = ScriptedJudge([True], criteria=criteria)
    harness = harness_for(judge, judge, None, None)
    assert (harness.design.rule.name, harness.on_unfit) == (rule, "skip")


def test_a_pair_is_asked_in_both_orders_by_default() -> None:
    assert harness_comparative(lambda _: "A").harness.design.rule.name == "swap_consensus"


def test_a_callable_without_a_signature_takes_a_case() -> None:
    judge = judge_in(type("C", (), {"__call__": int, "__signature__": "none"})())
    assert isinstance(judge, FunctionJudge)


def test_a_judge_in_a_harnessed_evaluator_is_found() -> None:
    pytest.importorskip("langchain_classic")
    from langchain_classic.evaluation import CriteriaEvalChain
    from langchain_core.language_models import FakeListChatModel

    from judgeharness_langchain import EvaluatorJudge, harness_evaluator

    chain = CriteriaEvalChain.from_llm(FakeListChatModel(responses=["Y"]), criteria="conciseness")
    harnessed = harness_evaluator(chain, JudgeHarness.quick("labels", seed=5))
    assert judge_in(harnessed) is harnessed.judge
    assert HarnessRunEvaluator(harnessed).harness is harnessed.harness
    assert HarnessRunEvaluator(harnessed, JudgeHarness.thorough("labels")).harness.design.repetitions == 3
    found = judge_in(chain)
    assert isinstance(found, EvaluatorJudge)
    assert found.evaluator is chain
    assert HarnessRunEvaluator(harnessed).feedback_keys[0] == "conciseness"


def test_langsmith_brings_no_judges_and_says_so() -> None:
    spec = JudgeSpec(name="j", evaluator="x", model_options={}, evaluator_options={})
    with pytest.raises(ConfigError, match="judge 'j': LangSmith brings no judges; use adapter langchain or openevals"):
        ADAPTER.build_judge(spec)


def test_an_extra_that_is_missing_is_named() -> None:
    extras: dict[str, tuple[str, ...]] = {"there": ("json",), "gone": ("no_such_module",)}
    adapter = Adapter(name="a", extras=extras, build_judge=ADAPTER.build_judge)
    adapter.require()
    with pytest.raises(NotInstalledError, match=r"a \(no_such_module\) is not installed: pip install .*\[gone\]"):
        adapter.require("gone")


def test_a_name_the_package_has_not() -> None:
    import judgeharness_langsmith as package

    named: Any = package
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = named.no_such_name


@pytest.mark.parametrize(
    "judge",
    [
        lambda runs, example: True,
        HarnessRunEvaluator(ScriptedJudge([True])),
        int,
    ],
)
def test_evaluators_of_several_runs_are_no_judges(judge: Any) -> None:
    with pytest.raises(UsageError, match=r"(takes a run|is no judge): give .*a function of \(inputs, outputs"):
        HarnessRunEvaluator(judge)


@pytest.mark.parametrize("judge", [lambda run: True, lambda run, inputs: True, lambda example: True])
def test_evaluators_of_a_run_compare_nothing(judge: Any) -> None:
    with pytest.raises(UsageError, match="takes a run: give a function of a PairwiseCase, of its input, output and"):
        harness_comparative(judge)


def graded(*, outputs: Any = None, reference_outputs: Any = None, **more: Any) -> dict[str, Any]:
    raise NotImplementedError


def strictly_graded(*, outputs: Any, **more: Any) -> dict[str, Any]:
    raise NotImplementedError


def preferred(inputs: dict[str, Any], outputs: list[dict[str, Any]]) -> list[int]:
    raise NotImplementedError


@pytest.mark.parametrize(
    "judge",
    [harness_judge(one) for one in (graded, strictly_graded, preferred)],
    ids=["graded", "strictly", "preferred"],
)
def test_evaluators_of_one_output_are_refused_before_the_first_comparison(judge: Any) -> None:
    with pytest.raises(UsageError, match=r"\w+ takes outputs: give a function of a PairwiseCase, .* TIE"):
        harness_comparative(judge)


@pytest.mark.parametrize("judge", [graded, strictly_graded])
def test_a_function_of_any_keyword_is_no_comparison(judge: Any) -> None:
    with pytest.raises(UsageError, match=r"graded takes outputs: give a function of a PairwiseCase"):
        harness_comparative(judge)


def test_a_parameter_with_a_default_is_no_need() -> None:
    assert HarnessRunEvaluator(lambda case, run=None: run is None).evaluate_run(a_run())["results"][0].score is True


@pytest.mark.parametrize("key", ["", " ", 3])
def test_a_key_is_a_name(key: Any) -> None:
    with pytest.raises(UsageError, match="key is the name of the feedback, a text, not"):
        HarnessRunEvaluator(ScriptedJudge([True]), key=key)


async def prepared_later(run: Any, example: Any) -> dict[str, str]:
    return {"output": "x"}


@pytest.mark.parametrize(("prepare", "kind"), [("answer", "a str"), (prepared_later, "an async function")])
def test_prepare_is_a_plain_function(prepare: Any, kind: str) -> None:
    for make in (HarnessRunEvaluator, harness_comparative):
        with pytest.raises(UsageError, match=f"prepare is a plain function of a run and its example, not {kind}"):
            make(ScriptedJudge(["A"]), prepare=prepare)


@pytest.mark.parametrize(
    "criteria",
    [[Criterion(name="a"), Criterion(name="b")], [Criterion(name="ok", labels=("PASS", "FAIL"))], [SCALE]],
    ids=["two", "graded", "scored"],
)
def test_a_judge_that_compares_nothing_is_refused_before_it_is_asked(criteria: list[Criterion]) -> None:
    with pytest.raises(UsageError, match="scripted compares nothing: give a judge of one preference, A, B or TIE"):
        harness_comparative(ScriptedJudge(["A"], criteria=criteria))


@pytest.mark.parametrize(("criteria", "rule"), [([SCALE], "mode"), (None, "supermajority(2/3) | mode")])
def test_nothing_is_decided_between_choices(criteria: list[Criterion] | None, rule: str) -> None:
    judge: Any = ScriptedJudge([1], criteria=criteria)
    judge.discrete = True
    assert harness_for(judge, judge, None, None).design.rule.name == rule
