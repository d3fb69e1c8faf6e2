"""LangSmith's `evaluate`, and the class it has removed."""

from __future__ import annotations

import pytest

pytest.importorskip("libcst")

from rewriting_bench import after, rewrite

LABELS, SCORES = 'JudgeHarness.single("labels")', 'JudgeHarness.single("scores")'
OLD = "from langsmith.evaluation import LangChainStringEvaluator\n"


@pytest.mark.slow
def test_a_judge_made_in_the_list_becomes_a_run_evaluator_and_one_with_a_name_is_harnessed_there() -> None:
    changed = after(
        """\
        from langsmith import aevaluate, evaluate
        from openevals.llm import create_llm_as_judge

        named = create_llm_as_judge(prompt=P, judge=m)
        evaluate(app, data=D, evaluators=[named, create_llm_as_judge(prompt=P, judge=m, continuous=True)])
        client.evaluate(app, data=D, evaluators=[create_llm_as_judge(prompt=P, judge=m)])
        tune(app, evaluators=[create_llm_as_judge(prompt=P, judge=m)])
        """
    )
    assert 'named = harness_judge(create_llm_as_judge(prompt=P, judge=m), JudgeHarness.single("labels"))' in changed
    run = "HarnessRunEvaluator(create_llm_as_judge(prompt=P, judge=m{}), JudgeHarness.single({}))"
    continuous, boolean = run.format(", continuous=True", '"scores"'), run.format("", '"labels"')
    assert f"evaluators=[named, {continuous}])" in changed
    assert f"client.evaluate(app, data=D, evaluators=[{boolean}])" in changed
    assert "tune(app, evaluators=[harness_judge(" in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"qa"', 'load_evaluator("qa"), JudgeHarness.single("labels")'),
        ('evaluator="qa"', 'load_evaluator("qa"), JudgeHarness.single("labels")'),
        ('"qa", config={}', 'load_evaluator("qa"), JudgeHarness.single("labels")'),
        ('"qa", config={"llm": m,}', 'load_evaluator("qa", llm=m), JudgeHarness.single("labels")'),
        ('"qa", config=dict(llm=m)', 'load_evaluator("qa", **dict(llm=m)), JudgeHarness.single("labels")'),
        ('"qa", config={**more}', 'load_evaluator("qa", **{**more}), JudgeHarness.single("labels")'),
        ('"qa", prepare_data=f', 'load_evaluator("qa"), JudgeHarness.single("labels"), prepare=f'),
        (
            '"criteria", config={"criteria": {"short": "Is it short?"}, "llm": m}, prepare_data=lambda run, x: {}',
            'load_evaluator("criteria", criteria={"short": "Is it short?"}, llm=m), '
            + LABELS
            + ", prepare=lambda run, x: {}",
        ),
        (
            '"labeled_score_string", config={"criteria": "accuracy"}',
            'load_evaluator("labeled_score_string", criteria="accuracy"), ' + SCORES + ', key="score_string:accuracy"',
        ),
        (
            '"score_string"',
            'load_evaluator("score_string"), JudgeHarness.single("scores"), key="score_string:helpfulness"',
        ),
        (
            '"score_string", config={"criteria": chosen}',
            'load_evaluator("score_string", criteria=chosen), JudgeHarness.single("scores")',
        ),
    ],
)
def test_the_removed_class_is_replaced_with_its_options_and_its_feedback_key(old: str, new: str) -> None:
    changed = rewrite(f"{OLD}\nx = LangChainStringEvaluator({old})\n").after
    assert changed == (
        "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langsmith import HarnessRunEvaluator\n"
        f"from langchain_classic.evaluation import load_evaluator\n\nx = HarnessRunEvaluator({new})\n"
    )


def test_options_over_several_lines_keep_their_comments() -> None:
    text = f'{OLD}\nx = LangChainStringEvaluator("qa", config={{\n    "llm": m,  # cheap\n}})\n'
    assert 'load_evaluator("qa",\n    llm=m,  # cheap\n), JudgeHarness.single("labels"))' in rewrite(text).after


def test_evaluators_made_before_are_harnessed_once() -> None:
    changed = after(
        """\
        from langchain.evaluation import load_evaluator as load
        from langsmith.evaluation import LangChainStringEvaluator as Old, evaluate

        chain = load("criteria", llm=m)
        evaluators = [Old(chain, prepare_data=f), Old(load("score_string", llm=m)), Old("qa")]
        """
    )
    assert 'chain = harness_evaluator(load("criteria", llm=m), JudgeHarness.single("labels"))' in changed
    assert "[HarnessRunEvaluator(chain, prepare=f), HarnessRunEvaluator(harness_evaluator(load(" in changed
    assert 'HarnessRunEvaluator(load("qa"), JudgeHarness.single("labels"))]' in changed
    assert "from langsmith.evaluation import evaluate\n" in changed


@pytest.mark.parametrize(
    ("imported", "left"),
    [
        ("LangChainStringEvaluator, evaluate", "evaluate"),
        ("evaluate, LangChainStringEvaluator", "evaluate"),
        ("(\n    evaluate,\n    LangChainStringEvaluator,\n)", "(\n    evaluate,\n)"),
    ],
)
def test_the_import_of_the_removed_class_goes(imported: str, left: str) -> None:
    changed = rewrite(f'from langsmith.evaluation import {imported}\n\nx = LangChainStringEvaluator("qa")\n').after
    assert f"from langsmith.evaluation import {left}\n" in changed
    assert "LangChainStringEvaluator" not in changed


def test_the_import_stays_while_something_uses_it() -> None:
    found = rewrite(f'{OLD}\nx = LangChainStringEvaluator("qa")\ny = LangChainStringEvaluator("exact_match")\n')
    assert OLD in found.after
    assert found.by_hand[0].why == "LangSmith has removed it, and exact_match asks no model"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('"pairwise_string"', "cannot judge a single run"),
        ("kind", "which evaluator it runs is not said here"),
        ('"qa", **options', "cannot be read off"),
        ('"qa", {"llm": m}', "cannot be read off"),
        ("", "cannot be read off"),
        ('\n    "qa",  # why\n', "comments stand between its arguments"),
    ],
)
def test_what_is_not_mechanical_is_left_to_its_author(arguments: str, why: str) -> None:
    found = rewrite(f"{OLD}\nx = LangChainStringEvaluator({arguments})\n")
    assert not found.changed
    assert why in found.by_hand[0].why


def test_measured_replaces_and_raises_to_the_same_text() -> None:
    text = f'{OLD}\nx = LangChainStringEvaluator("qa", config={{"llm": m}})\n'
    assert rewrite(rewrite(text).after, "measured").after == rewrite(text, "measured").after
    assert 'JudgeHarness.standard("labels", on_unfit="skip")' in rewrite(text, "measured").after
