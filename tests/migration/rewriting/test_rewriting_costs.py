"""What rewritten judges cost: loops that make several, and models whose repetitions would be copies."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("libcst")

from rewriting_bench import rewrite

from judgeharness_integrations.migration.rewriting.adk import rewritten_config

IMPORT = "from langchain_classic.evaluation import load_evaluator, load_evaluators\n"
MADE = 'load_evaluator("criteria", criteria=one, llm=llm)'


def cost(text: str) -> tuple[int | None, int | None, int, bool]:
    """Calls before and after, judges, and whether that is exact, at the level `measured`."""
    [change] = rewrite(IMPORT + text, "measured").changes
    return change.calls_before, change.calls_after, change.judges, change.exact


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text",
    [
        f'judges = [{MADE} for one in ("a", "b", "c")]\n',
        f'judges = {{one: {MADE} for one in ["a", "b", "c"]}}\n',
        f'NAMES = ("a", "b", "c")\njudges = [{MADE} for one in NAMES]\n',
        f'NAMES = {{"a": 1, "b": 2, "c": 3}}\njudges = [{MADE} for one, _ in NAMES.items()]\n',
        f'judges = [{MADE} for _, one in enumerate(sorted(["a", "b", "c"]))]\n',
        f"judges = [{MADE} for one in range(3)]\n",
        f'judges = []\nfor one in ("a", "b", "c"):\n    judges.append({MADE})\n',
        'judges = [load_evaluator("qa", llm=llm) for _ in range(3)]\n',
    ],
)
def test_a_loop_over_a_literal_makes_as_many_judges(text: str) -> None:
    assert cost(text) == (3, 18, 3, True)
    [note] = rewrite(IMPORT + text).notes
    assert note.endswith(" makes 3 judges; the calls are those of all of them.")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        f"judges = [{MADE} for one in names()]\n",
        f'judges = [{MADE} for one in ("a", "b") if wanted(one)]\n',
        f'judges = [{MADE} for one in ("a", *others)]\n',
        f'judges = [{MADE} for one in {{"a": 1, **others}}]\n',
        f"judges = [{MADE} for one in range(count)]\n",
        f"for one in names:\n    judges.append({MADE})\n",
    ],
)
def test_a_loop_of_unknown_length_makes_at_least_one(text: str) -> None:
    assert cost(text) == (1, 6, 1, False)
    assert "how many judges a loop makes, only running it tells" in rewrite(IMPORT + text).notes[0]


def test_a_judge_that_is_made_anew_for_each_case_is_one() -> None:
    text = 'for case in ("a", "b"):\n    load_evaluator("qa", llm=llm).evaluate_strings(prediction=case)\n'
    assert cost(text) == (1, 6, 1, True)
    assert cost('while more():\n    judge = load_evaluator("qa", llm=llm)\n') == (1, 6, 1, True)


ZERO = "llm = ChatOpenAI(temperature=0)\n"


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("made", "written", "calls"),
    [
        ('load_evaluator("pairwise_string", llm=llm)', '"pairwise", repetitions=1', 2),
        (
            'load_evaluator("score_string", llm=ChatOpenAI(temperature=0.0))',
            '"scores", on_unfit="skip", repetitions=1',
            2,
        ),
        ('load_evaluator("criteria", **{"llm": llm})', '"labels", on_unfit="skip", repetitions=1', 2),
        ('load_evaluator("criteria", llm=ChatOpenAI(temperature=0.7))', '"labels", on_unfit="skip"', 6),
        ('load_evaluator("criteria", llm=llm.bind(temperature=1))', '"labels", on_unfit="skip"', 6),
        ('load_evaluator("criteria", llm=ChatOpenAI(temperature=warm))', '"labels", on_unfit="skip"', 6),
        ('load_evaluator("criteria", llm=ChatOpenAI(temperature=False))', '"labels", on_unfit="skip"', 6),
    ],
)
def test_a_model_at_temperature_zero_is_asked_each_question_once(made: str, written: str, calls: int) -> None:
    text = f"{IMPORT}{ZERO}judge = {made}\n"
    found = rewrite(text, "measured")
    assert f"JudgeHarness.standard({written}))" in found.after
    assert found.changes[0].calls_after == calls
    assert found.changes[0].once is (calls == 2)
    said = "line 3: the model has temperature 0, and repetitions would be copies of one answer"
    assert [note.startswith(said) for note in found.notes] == [True] * (calls == 2)
    single = rewrite(text)
    assert (single.notes, single.changes[0].once, single.changes[0].calls_after) == ((), False, 1)
    assert rewrite(single.after, "measured").after == found.after
    assert rewrite(single.after, "measured").changes[0].calls_after == calls


@pytest.mark.parametrize(
    ("design", "raised"),
    [
        ('"pairwise", seed=3', '"pairwise", repetitions=1, seed=3'),
        ('"pairwise", repetitions=2', '"pairwise", repetitions=2'),
        ('"pairwise", **options', '"pairwise", **options'),
    ],
)
def test_a_harness_with_options_of_its_author_keeps_them_when_it_is_raised(design: str, raised: str) -> None:
    text = (
        "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langchain import harness_evaluator\n"
        f'{IMPORT}{ZERO}judge = harness_evaluator(load_evaluator("pairwise_string", llm=llm), JudgeHarness.single('
    )
    assert f"JudgeHarness.standard({raised}))" in rewrite(f"{text}{design}))\n", "measured").after


def test_the_removed_evaluator_of_langsmith_is_asked_once_too() -> None:
    text = (
        "from langsmith.evaluation import LangChainStringEvaluator\n"
        'one = LangChainStringEvaluator("criteria", config={"criteria": "a", "llm": ChatOpenAI(temperature=0)})\n'
    )
    found = rewrite(text, "measured")
    assert 'JudgeHarness.standard("labels", on_unfit="skip", repetitions=1)' in found.after
    assert found.changes[0].calls_after == 2


def test_a_metric_of_adk_at_temperature_zero_is_asked_once_in_each_order() -> None:
    options = {"num_samples": 3, "judge_model_config": {"temperature": 0}}
    criterion = {"threshold": 0.5, "judge_model_options": options}
    text = json.dumps({"criteria": {"final_response_match_v2": criterion}})
    found = rewritten_config(text, "measured")
    block = json.loads(found.after)["criteria"]["final_response_match_v2"]["judge_harness"]
    assert (block["perturbations"], block["repetitions"]) == (["none", "position_swap"], 1)
    assert (found.changes[0].calls_before, found.changes[0].calls_after) == (3, 2)
    assert "final_response_match_v2 has temperature 0" in found.notes[0]
    assert rewritten_config(found.after, "measured").harnessed_calls == (2,)
    assert rewritten_config(text.replace(": 0}", ": 0.5}"), "measured").notes == ()


def test_what_a_registered_metric_of_adk_costs_is_not_guessed() -> None:
    text = json.dumps({"criteria": {"final_response_match_v2": {"threshold": 0.5}}})
    assert rewritten_config(text, "single", registered=True).harnessed_calls == (None,)


@pytest.mark.parametrize(
    ("inside", "calls"),
    [
        ('        if judge.evaluate_strings(prediction=x)["score"]:\n            return True\n', None),
        ('        got = judge.evaluate_strings(prediction=x)\n        if got["score"] > 2:\n            break\n', None),
        (
            "        got = judge.evaluate_strings(prediction=x)\n        if got is not None:\n            return got\n",
            1,
        ),
        ("        got = judge.evaluate_strings(prediction=x)\n        if got:\n            return got\n", 1),
        ("        got = judge.evaluate_strings(prediction=x)\n        if not got:\n            return got\n", 1),
        ("        got = judge.evaluate_strings(prediction=x)\n        if got in KNOWN:\n            return got\n", 1),
        ('        got = judge.evaluate_strings(prediction=x)\n        if got["score"]:\n            pass\n', 1),
    ],
)
def test_how_often_a_judge_is_asked_until_it_says_yes_is_not_known(inside: str, calls: int | None) -> None:
    text = f'judge = load_evaluator("criteria", llm=llm)\n\n\ndef ok(x):\n    for _ in range(3):\n{inside}'
    assert rewrite(IMPORT + text).changes[0].calls_before == calls
