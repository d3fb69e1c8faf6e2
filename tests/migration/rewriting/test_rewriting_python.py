"""Judges of a Python file, wrapped where they are made."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from rewriting_bench import rewrite

from judgeharness_integrations.migration.modules import Source, SourceError
from judgeharness_integrations.migration.rewriting import rewritten
from judgeharness_integrations.migration.rewriting.edits import Edit, edited

IMPORT = "from langchain_classic.evaluation import load_evaluator\n"
OURS = "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langchain import harness_evaluator\n"


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("pairwise_string", "pairwise"),
        ("labeled_pairwise_string", "pairwise"),
        ("score_string", "scores"),
        ("labeled_score_string", "scores"),
        ("criteria", "labels"),
        ("labeled_criteria", "labels"),
        ("qa", "labels"),
        ("cot_qa", "labels"),
        ("context_qa", "labels"),
    ],
)
def test_each_evaluator_of_langchain_gets_the_harness_of_its_shape(kind: str, shape: str) -> None:
    text = f'{IMPORT}\njudge = load_evaluator("{kind}", llm=llm)  # kept\n'
    wrapped = f'judge = harness_evaluator(load_evaluator("{kind}", llm=llm), JudgeHarness.single("{shape}"))  # kept\n'
    assert rewrite(text).after == f"{OURS}{IMPORT}\n{wrapped}"


def test_a_call_over_several_lines_keeps_its_layout_and_comments() -> None:
    text = f'{IMPORT}\njudge = load_evaluator(\n    "qa",  # why\n\n    llm=llm,  # which\n)\n'
    assert 'harness_evaluator(load_evaluator(\n    "qa",  # why\n\n    llm=llm,  # which\n), JudgeHarness.single(' in (
        rewrite(text).after
    )


@pytest.mark.parametrize(
    "made",
    [
        "def judge():\n    return {}",
        "def judge():\n    yield {}",
        "class Suite:\n    judge = {}",
        "class Suite:\n    def __init__(self):\n        self.judge = {}",
        "judges = {{name: {} for name in names}}",
        "judges = [{} for name in names]",
        "judge = {} if strict else None",
        "judge = (\n    {}\n)",
        "found = {}.evaluate_strings(prediction=text)",
        "if (judge := {}) is not None:\n    pass",
        "judge = lambda: {}",
        "@pytest.fixture\ndef judge():\n    return {}",
        "async def ask():\n    return await {}.aevaluate_strings(prediction=text)",
    ],
)
def test_wherever_it_is_made_the_call_alone_is_wrapped(made: str) -> None:
    call = 'load_evaluator("criteria", llm=llm)'
    wrapped = f'harness_evaluator({call}, JudgeHarness.single("labels"))'
    assert rewrite(f"{IMPORT}\n{made.format(call)}\n").after == f"{OURS}{IMPORT}\n{made.format(wrapped)}\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "shape", "measured"),
    [
        ("", "labels", '"labels", on_unfit="skip"'),
        (", continuous=True", "scores", '"scores", on_unfit="skip"'),
        (", continuous=False", "labels", '"labels", on_unfit="skip"'),
        (", choices=[0.0, 1.0]", "scores", '"scores", on_unfit="skip", aggregation_rule="mode"'),
        (", continuous=flag", "any", '"any", on_unfit="skip", tolerance=0.1'),
        (", output_schema=Grade", "any", '"any", on_unfit="skip", tolerance=0.1'),
        (
            ", output_schema=Grade, choices=[0.0, 1.0]",
            "any",
            '"any", on_unfit="skip", tolerance=0.1, aggregation_rule="supermajority(2/3) | mode"',
        ),
    ],
)
def test_openevals_judges_get_the_shape_of_what_they_answer(options: str, shape: str, measured: str) -> None:
    maker = "create_async_llm_as_judge" if "schema" in options else "create_llm_as_judge"
    text = f"from openevals.llm import {maker}\n\njudge = {maker}(prompt=P, judge=model{options})\n"
    assert f'judge = harness_judge({maker}(prompt=P, judge=model{options}), JudgeHarness.single("{shape}"))' in (
        rewrite(text).after
    )
    assert f"JudgeHarness.standard({measured}))" in rewrite(text, "measured").after
    assert rewrite(rewrite(text).after, "measured").after == rewrite(text, "measured").after


@pytest.mark.slow
def test_measured_raises_what_single_wrote_and_single_lowers_nothing() -> None:
    text = f'{IMPORT}\njudge = load_evaluator("pairwise_string", llm=llm)\n'
    single, measured = rewrite(text), rewrite(text, "measured")
    raised = rewrite(single.after, "measured")
    assert raised.after == measured.after
    assert [(one.action, one.kind, one.calls_before, one.calls_after) for one in raised.changes] == [
        ("raised", "pairwise_string", 1, 6)
    ]
    assert rewrite(measured.after).after == measured.after
    assert rewrite(measured.after).harnessed == 1


def test_a_harness_in_a_variable_is_raised_too() -> None:
    text = dedent(
        """\
        import judgeharness_integrations as jh
        from judgeharness_openevals import harness_judge
        from openevals.llm import create_llm_as_judge

        shape = "labels"
        design = jh.JudgeHarness.single("labels", seed=3)
        other = jh.JudgeHarness.single(shape)
        unknown = jh.JudgeHarness.single(shape_of(judge))
        judge = harness_judge(create_llm_as_judge(prompt=P, judge=m), design)
        """
    )
    raised = rewrite(text, "measured")
    assert 'design = jh.JudgeHarness.standard("labels", seed=3)' in raised.after
    assert 'other = jh.JudgeHarness.standard(shape, on_unfit="skip")' in raised.after
    assert "unknown = jh.JudgeHarness.standard(shape_of(judge))" in raised.after
    assert [(one.kind, one.calls_after) for one in raised.changes] == [
        ("JudgeHarness.single", 6),
        ("JudgeHarness.single", 6),
        ("JudgeHarness.single", None),
    ]


def test_another_class_with_a_method_single_stays() -> None:
    text = 'from hotel import JudgeHarness\n\nroom = JudgeHarness.single("labels")\n'
    assert rewrite(text, "measured").after == text


@pytest.mark.slow
def test_evaluators_loaded_together_are_wrapped_one_by_one() -> None:
    text = "from langchain_classic.evaluation import load_evaluators\n\njudges = load_evaluators({}, llm=llm)\n"
    same, mixed = rewrite(text.format('["qa", "criteria"]')), rewrite(text.format('["qa", "score_string"]'))
    each = "[harness_evaluator(evaluator, JudgeHarness.single({})) for evaluator in load_evaluators({}, llm=llm)]"
    assert each.format('"labels"', '["qa", "criteria"]') in same.after
    assert each.format('"any"', '["qa", "score_string"]') in mixed.after
    assert [one.kind for one in same.changes] == ["qa", "criteria"]
    raised = rewrite(same.after, "measured")
    assert [(one.kind, one.calls_after) for one in raised.changes] == [("qa", 6), ("criteria", 6)]
    with_a_rule = rewrite(text.format('["qa", "exact_match"]'))
    assert each.format('"labels"', '["qa", "exact_match"]') in with_a_rule.after
    assert [one.kind for one in with_a_rule.changes] == ["qa"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ('judge = load_evaluator("qa", llm=llm)\njudge.evaluate(rows, answers)', "uses its .evaluate,"),
        ('found = load_evaluator("qa", llm=llm).batch(rows)', "uses its .batch,"),
        ('def make():\n    return load_evaluator("qa", llm=llm)\n\nmake().apply(rows)', "uses its .apply,"),
        ("judge = load_evaluator(kind, llm=llm)", "only running the code tells"),
        ('judge = load_evaluator("trajectory", llm=llm)', "trajectories"),
        ("text = f\"{load_evaluator('qa', llm=llm).evaluate_strings(prediction=p)}\"", "f-string"),
    ],
)
def test_what_could_break_is_left_to_its_author(code: str, why: str) -> None:
    found = rewrite(f"{IMPORT}\n{code}\n")
    assert not found.changed
    assert why in found.by_hand[0].why
    assert found.by_hand[0].todo


def test_run_eval_config_is_left_to_its_author() -> None:
    text = 'from langchain.smith import RunEvalConfig\n\nconfig = RunEvalConfig(evaluators=["criteria"])\n'
    found = rewrite(text)
    assert not found.changed
    assert "RunEvalConfig" in found.by_hand[0].why


def test_a_judge_written_by_hand_is_listed_with_the_page_that_helps() -> None:
    text = dedent(
        """\
        import re
        from openai import OpenAI

        client = OpenAI()

        def judge(answer):
            prompt = "You are a judge. Say [[PASS]] or [[FAIL]]: " + answer
            reply = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": prompt}])
            return re.search(r"\\[\\[(PASS|FAIL)\\]\\]", reply.choices[0].message.content).group(1)
        """
    )
    found = rewrite(text)
    assert not found.changed
    assert found.by_hand[0].framework == "handwritten"
    assert "JudgeHarness.evaluate(function, case)" in found.by_hand[0].todo
    assert "own-judge" in found.by_hand[0].todo


def test_deterministic_evaluators_and_namesakes_stay() -> None:
    text = dedent(
        """\
        from langchain_classic.evaluation import load_evaluator

        exact = load_evaluator("exact_match")

        def create_llm_as_judge(prompt):
            return prompt

        mine = create_llm_as_judge(prompt="x")
        """
    )
    assert rewrite(text).after == text


def test_a_harnessed_judge_counts_as_done() -> None:
    text = dedent(
        """\
        from judgeharness_openevals import harness_judge
        from openevals.llm import create_llm_as_judge

        bare = create_llm_as_judge(prompt=P, judge=model)
        judge = harness_judge(bare)
        """
    )
    found = rewrite(text)
    assert (found.changed, found.harnessed) == (False, 1)
    assert rewrite(text, "measured").after == text


def test_what_this_package_is_given_bare_stays_bare() -> None:
    text = f"from judgeharness_langchain import EvaluatorJudge\n{IMPORT}\n"
    text += 'judge = EvaluatorJudge.of(load_evaluator("qa", llm=llm))\n'
    assert not rewrite(text).changed


def test_calls_that_the_code_repeats_are_multiplied() -> None:
    text = f'{IMPORT}\njudge = load_evaluator("criteria", llm=llm)\nfor _ in range(5):\n'
    text += '    votes.append(judge.evaluate_strings(prediction=p, input=q)["value"])\n'
    [change] = rewrite(text, "measured").changes
    assert change.calls_before is not None
    assert change.calls_after == 6 * change.calls_before


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
def test_line_endings_and_tabs_stay(newline: str) -> None:
    lines = [IMPORT.rstrip(), "", "def make():", "\treturn load_evaluator(", '\t\t"qa", llm=llm', "\t)", ""]
    text = newline.join(lines)
    changed = rewrite(text).after
    assert changed.replace(newline, "").count("\n") == 0
    assert changed.count(newline) == text.count(newline) + 2
    assert f'\t\t"qa", llm=llm{newline}\t), JudgeHarness.single("labels"))' in changed


def test_the_quotation_marks_of_the_file_are_used() -> None:
    text = "from langchain.evaluation import load_evaluator\njudge = load_evaluator('qa', llm=get('m'))\n"
    assert "JudgeHarness.single('labels')" in rewrite(text).after
    assert "JudgeHarness.standard('labels', on_unfit='skip')" in rewrite(text, "measured").after


def test_a_file_that_is_no_python_says_where() -> None:
    with pytest.raises(SourceError, match=r"suite.py:3: it cannot be parsed"):
        rewrite(f'{IMPORT}judge = load_evaluator("qa"\n\n')


def test_a_judge_that_would_stay_bare_keeps_the_file_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from judgeharness_integrations.migration.rewriting import pythonfile

    text = f'{IMPORT}\njudge = load_evaluator("qa", llm=llm)\n'
    monkeypatch.setattr(pythonfile, "is_harnessed", lambda view, site: False)  # as if wrapping had missed it
    found = rewritten(Source(path=Path("suite.py"), text=text))
    assert found.after == text
    assert found.changes == ()
    assert found.problem is not None
    assert "qa would still be asked without a harness" in found.problem


def test_a_text_that_came_out_broken_keeps_the_file_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from judgeharness_integrations.migration.rewriting import pythonfile

    monkeypatch.setattr(pythonfile, "edited", lambda text, edits: f"{text}load_evaluator(")
    found = rewritten(Source(path=Path("suite.py"), text=f'{IMPORT}\njudge = load_evaluator("qa", llm=llm)\n'))
    assert not found.changed
    assert found.problem is not None
    assert "could not be parsed" in found.problem


def test_edits_that_overlap_are_refused() -> None:
    assert edited("abcd", [Edit(start=1, end=3, text="X"), Edit(start=1, end=1, text="-")]) == "a-Xd"
    with pytest.raises(ValueError, match="overlap at character 2"):
        edited("abcd", [Edit(start=1, end=3), Edit(start=2, end=4)])


def test_a_judge_that_is_asked_where_it_is_made_is_wrapped_once() -> None:
    made = 'create_llm_as_judge(prompt="p", model="m:x")'
    text = f'from openevals.llm import create_llm_as_judge\n\nscore = {made}(outputs="x")["score"]\n'
    found = rewrite(text)
    assert f'harness_judge({made}, JudgeHarness.single("labels"))(outputs="x")["score"]' in found.after
    assert len(found.changes) == 1


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ('judge({"input": "a", "output": "b"})', "call operator"),
        ("isinstance(judge, CriteriaEvalChain)", "isinstance"),
        ("judge | parse", "| operator"),
    ],
)
def test_a_chain_that_is_used_as_one_is_left_to_its_author(use: str, told: str) -> None:
    found = rewrite(f'{IMPORT}\njudge = load_evaluator("criteria", llm=llm)\nprint({use})\n')
    assert not found.changed
    assert told in found.by_hand[0].why


def test_a_loop_over_kinds_of_several_shapes_gets_no_harness_of_the_first() -> None:
    loop = 'for kind in ("criteria", "score_string"):\n    judge = load_evaluator(kind)\n'
    found = rewrite(f"{IMPORT}\n{loop}")
    assert not found.changed
    assert found.by_hand[0].kind == "unknown"


@pytest.mark.parametrize(
    ("base", "fields", "wrapped"),
    [
        ("BaseModel", "winner: str\n    why: str", False),
        ("TypedDict", "why: Annotated[str, ..., 'why']\n    notes: list[str] | None", False),
        ("BaseModel", "why: str\n    score: float", True),
        ("BaseModel", "winner: Literal['a', 'b']", True),
        ("BaseModel", "winner: Winner", True),
        ("BaseModel", "why: 'str'", True),
        ("Graded", "why: str", True),
        ("BaseModel", "pass", True),
    ],
)
def test_an_answer_of_free_text_alone_is_left_to_its_author(base: str, fields: str, wrapped: bool) -> None:  # noqa: FBT001
    made = "from openevals.llm import create_llm_as_judge\n\n\nclass Answer({}):\n    {}\n\n\n{}\n"
    found = rewrite(made.format(base, fields, "judge = create_llm_as_judge(prompt=P, judge=m, output_schema=Answer)"))
    assert found.changed is wrapped
    assert [one.why for one in found.by_hand] == (
        [] if wrapped else ["its output_schema holds free text alone, which cannot be measured"]
    )
