"""A client that retries by itself is named above the diff: its retries multiply with the harness's."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from rewriting_bench import rewrite

from judgeharness_integrations.migration.rewriting import diff_of

_SAYS = "its attempts multiply with those of the harness, which does not see them: give it max_retries=0."


@pytest.mark.parametrize(
    ("model", "keeps"),
    [
        ("ChatOpenAI(model='m')", "ChatOpenAI keeps its own max_retries"),
        ("ChatOpenAI(model='m', max_retries=6)", "ChatOpenAI keeps its max_retries=6"),
        ("ChatOpenAI(model='m', max_retries=N)", "ChatOpenAI keeps its max_retries=3"),
        ("ChatOpenAI(model='m', max_retries=given())", "ChatOpenAI keeps its own max_retries"),
        ("init_chat_model('openai:m')", "init_chat_model keeps its own max_retries"),
    ],
)
def test_a_chat_model_that_retries_is_named_above_the_diff(model: str, keeps: str) -> None:
    found = rewrite(
        dedent(f"""
        from langchain.chat_models import init_chat_model
        from langchain_classic.evaluation import load_evaluator
        from langchain_openai import ChatOpenAI
        N = 3
        model = {model}
        judge = load_evaluator("pairwise_string", llm=model)
        other = load_evaluator("labeled_pairwise_string", llm=model)
        """)
    )
    assert found.line_notes == (f"line 6: {keeps}: {_SAYS}",)
    assert diff_of(found, Path("suite.py")).startswith(f"# suite.py: line 6: {keeps}: {_SAYS}\n---")


@pytest.mark.parametrize(
    "judge",
    [
        "load_evaluator('pairwise_string', llm=ChatOpenAI(model='m', max_retries=0))",
        "load_evaluator('exact_match', llm=ChatOpenAI(model='m'))",
        "create_llm_as_judge(prompt='p', model='openai:gpt-4o')",
        "create_llm_as_judge(prompt='p', judge=OpenAI())",
    ],
)
def test_what_does_not_retry_under_a_harness_is_not_named(judge: str) -> None:
    text = dedent("""
        from langchain_classic.evaluation import load_evaluator
        from langchain_openai import ChatOpenAI
        from openai import OpenAI
        from openevals.llm import create_llm_as_judge
        app = ChatOpenAI(model="m")
        """)
    assert rewrite(f"{text}judge = {judge}\n").line_notes == ()


def test_the_client_of_a_judge_written_by_hand_is_named() -> None:
    found = rewrite(
        dedent("""
        from openai import OpenAI
        client = OpenAI()
        def judge(text):
            return client.responses.create(model="m", input="Grade this, yes or no: " + text).output_text == "yes"
        """)
    )
    assert found.line_notes == (f"line 3: OpenAI keeps its own max_retries: {_SAYS}",)
