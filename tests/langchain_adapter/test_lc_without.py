"""The adapter where LangChain, or only its classic package, is not installed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest
from support.openai_server import OpenAIServer, Reply, Request

Serve = Callable[..., OpenAIServer]
MISSING = (
    "evaluator 'exact_match' of langchain-classic is not installed: "
    "pip install '.[langchain-classic]' in the source folder of judgeharness"
)
BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if any(name == b or name.startswith(b + ".") for b in {blocked!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(blocked: list[str], code: str) -> str:
    program = BLOCK.format(blocked=blocked) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_langchain_the_package_imports_and_says_what_to_install() -> None:
    shown = run(
        ["langchain_core", "langchain_classic", "langchain"],
        """
        import judgeharness_langchain
        from judgeharness_integrations._errors import NotInstalledError
        from judgeharness_langchain.adapter import ADAPTER
        assert list(ADAPTER.missing()) == ["langchain", "langchain-classic", "langchain-models", "decisions"]
        try:
            judgeharness_langchain.harness_evaluator
        except NotInstalledError as error:
            print(error)
        """,
    )
    line = "pip install '.[langchain]' in the source folder of judgeharness"
    assert shown == f"langchain (langchain_core) is not installed: {line}"


@pytest.mark.slow
def test_without_decision_models_the_error_names_the_extra_that_brings_them() -> None:
    shown = run(
        ["langchain_core.decisions", "langchain_openai.decisions"],
        """
        from judgeharness_integrations._errors import NotInstalledError
        from judgeharness_langchain import DecisionJudge, PairwiseJudge
        try:
            DecisionJudge("openai:gpt-6-luna", criteria="polite", api_key="k")
        except NotInstalledError as error:
            print(error)
        """,
    )
    assert shown == (
        "what asks decision model 'openai:gpt-6-luna' (langchain_openai.decisions) is not installed: "
        "pip install '.[decisions]' in the source folder of judgeharness"
    )


def first_is_better(request: Request) -> Reply:
    properties = (request.schema or {})["properties"]
    if "score" in properties:
        return Reply.json({"reasoning": "fine", "score": 8})
    if "verdicts" in properties:
        return Reply.json({"reasoning": "fine", "verdicts": {"helpfulness": "PASS"}})
    wins = request.user.index("\ngood\n") < request.user.index("\nbad\n")
    return Reply.json({"reasoning": "good is better", "verdict": properties["verdict"]["enum"][0 if wins else 1]})


@pytest.mark.slow
def test_a_suite_survives_the_package_its_evaluators_came_from(openai_server: Serve) -> None:
    server = openai_server(first_is_better)
    shown = run(
        ["langchain_classic", "langchain"],
        f"""
        from langchain_openai import ChatOpenAI
        from judgeharness_langchain import load_evaluator
        from judgeharness_integrations._errors import JudgeHarnessError
        llm = ChatOpenAI(base_url="{server.url}/v1", api_key="k", model="gpt-4o", max_retries=0)
        pair = load_evaluator("pairwise_string", llm=llm)
        answer = pair.evaluate_string_pairs(prediction="good", prediction_b="bad", input="q")
        print({{k: v for k, v in answer.items() if k != "harness"}})
        labeled = load_evaluator("labeled_score_string", llm=llm)
        print(labeled.requires_reference, labeled.evaluation_name)
        answer = labeled.evaluate_strings(prediction="x", input="q", reference="r")
        print(answer["reasoning"], float(answer["score"]))
        answer = load_evaluator("criteria", llm=llm).evaluate_strings(prediction="x", input="q")
        print({{k: v for k, v in answer.items() if k != "harness"}})
        import asyncio
        print(asyncio.run(pair.aevaluate_string_pairs(prediction="bad", prediction_b="good", input="q"))["value"])
        print(float(asyncio.run(labeled.aevaluate_strings(prediction="bad", input="q", reference="r"))["score"]))
        for name, model in (("exact_match", llm), ("pairwise_string", None)):
            try:
                load_evaluator(name, llm=model)
            except JudgeHarnessError as error:
                print(error)
        try:
            pair.evaluate_string_pairs(prediction="good", prediction_b="bad")
        except ValueError as error:
            print(error)
        """,
    )
    assert shown.splitlines() == [
        "{'reasoning': 'good is better', 'value': 'A', 'score': 1}",
        "True labeled_score_string",
        "fine 8.0",
        "{'reasoning': 'fine', 'value': 'Y', 'score': 1}",
        "B",
        "8.0",
        MISSING,
        "evaluator 'pairwise_string' needs a model: load_evaluator('pairwise_string', llm=...).",
        "HarnessedPairwiseEvaluator requires an input string.",
    ]


def test_the_list_of_adapters_says_that_decision_models_are_missing() -> None:
    shown = run(
        ["langchain_core.decisions"],
        """
        from judgeharness_langchain.adapter import ADAPTER
        print(ADAPTER.missing().get("decisions"), "langchain-openai" in ADAPTER.tested)
        """,
    )
    assert shown == "('langchain_core.decisions',) True"
