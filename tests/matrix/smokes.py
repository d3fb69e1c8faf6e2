"""One harnessed evaluator of each framework as its users write it, against a loopback server: `smokes.py adk`."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[name]  # clients ask a proxy for 127.0.0.1, too
warnings.filterwarnings("error", module=r"judgeharness_")  # frameworks warn of themselves and of one another

QUESTION, ANSWER = "What is the capital of France?", "Paris."


def chat_model(url: str) -> Any:
    """Return LangChain's client of OpenAI."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-4o-test", base_url=f"{url}/v1", api_key="test", max_retries=0)


def langchain() -> None:
    """A pairwise evaluator: a judge that goes by the texts decides, and one that goes by the places does not."""
    from langchain_classic.evaluation import load_evaluator
    from support.openai_server import OpenAIServer, always_first, longer_wins

    from judgeharness_integrations import JudgeHarness
    from judgeharness_langchain import harness_evaluator

    for script, value, status in ((longer_wins, "B", "decided"), (always_first, None, "abstained")):
        with OpenAIServer(script) as server:
            bare = load_evaluator("pairwise_string", llm=chat_model(server.url))
            evaluator = harness_evaluator(bare, JudgeHarness.quick("pairwise"))
            answer = evaluator.evaluate_string_pairs(input=QUESTION, prediction=ANSWER, prediction_b=f"It is {ANSWER}")
        told = answer["harness"]
        check((answer["value"], told["status"], server.calls), (value, status, 2))
        check([one for one in told["not_measured"] if "versions tried" in one], [])
    decisions()


def decisions() -> None:
    """A judge over a decision model, where this version has them; else the error says what brings them."""
    from support.planted_decisions import Planted
    from support.provider_server import ProviderServer

    from judgeharness_integrations import JudgeHarness, PairwiseCase
    from judgeharness_integrations._errors import NotInstalledError
    from judgeharness_langchain import DecisionJudge

    case = PairwiseCase(case_id="capital", input=QUESTION, output=ANSWER, output_b=f"It is {ANSWER}")
    planted = Planted(order_bias=0.3)
    with ProviderServer(planted) as server:
        try:
            judge = DecisionJudge(
                "openai:gpt-6-luna", base_url=f"{server.url}/v1", api_key="test", shape="pairwise", criteria="help"
            )
        except NotInstalledError as error:
            check("[decisions]" in str(error), True)  # noqa: FBT003 - what is expected
            return
        harness = JudgeHarness.quick("pairwise", observers=[])
        for result in (harness.evaluate(judge, case), asyncio.run(harness.aevaluate(judge, case))):
            shown, swapped = (row.probabilities for row in result.rows if row.perturbation != "retest")
            found = [round(share, 6) for share in (shown["A"], shown["B"], swapped["A"], swapped["B"])]
            a, b, _ = planted.pair("help", case.output, case.output_b)
            swapped_b, swapped_a, _ = planted.pair("help", case.output_b, case.output)
            check(found, [round(share, 6) for share in (a, b, swapped_a, swapped_b)])


def openevals() -> None:
    """A judge of a prompt, sync and async."""
    from openevals.llm import create_async_llm_as_judge, create_llm_as_judge
    from support.openai_server import OpenAIServer, Reply

    from judgeharness_openevals import harness_judge

    prompt = "Is the answer right?\nQuestion: {inputs}\nAnswer: {outputs}"
    with OpenAIServer([Reply.json({"reasoning": "because", "score": True})]) as server:
        model = chat_model(server.url)
        answer = harness_judge(create_llm_as_judge(prompt=prompt, judge=model))(inputs=QUESTION, outputs=ANSWER)
        judge = harness_judge(create_async_llm_as_judge(prompt=prompt, judge=model))
        asked = asyncio.run(judge(inputs=QUESTION, outputs=ANSWER))
    for one in (answer, asked):
        told = one["metadata"]
        check((one["key"], one["score"], told["status"], told["valid_samples"]), ("score", True, "decided", 6))


def langsmith() -> None:
    """An evaluator of an experiment: its feedback and its traces arrive."""
    from langsmith import evaluate
    from support.langsmith_server import LangSmithServer

    from judgeharness_integrations import JudgeHarness
    from judgeharness_integrations.testing import ScriptedJudge
    from judgeharness_langsmith import HarnessRunEvaluator, LangSmithTracing

    harness = JudgeHarness(
        perturbations=["none"],
        repetitions=3,
        aggregation_rule="majority",
        max_concurrency=1,
        observers=[LangSmithTracing()],
    )
    evaluator = HarnessRunEvaluator(ScriptedJudge([True, True, False], name="mine"), harness)
    with LangSmithServer() as server:
        client = server.client()
        made = client.create_dataset("capitals")
        client.create_examples(dataset_id=made.id, examples=[{"inputs": {"question": QUESTION}}])
        rows = list(evaluate(lambda inputs: {"answer": ANSWER}, data="capitals", evaluators=[evaluator], client=client))
        client.flush()
        posted = [row for row in server.feedback if row["score"] is not None]
        check(server.unknown, [])
        check("sample[none#0]" in server.text, True)  # noqa: FBT003 - what is expected
    scores = [one.score for one in rows[0]["evaluation_results"]["results"]]
    check((scores[0], len(scores), len(posted)), (True, 3, 3))


def adk() -> None:
    """A registered metric, judged by ADK's own client of Gemini."""
    from support.adk_answers import JudgePrompt, in_turn
    from support.adk_offline import isolated_adk
    from support.provider_server import ProviderServer, Reply

    script = in_turn("yes", "yes", "no", "yes", "yes")
    with tempfile.TemporaryDirectory() as folder, isolated_adk(Path(folder)):
        with ProviderServer(lambda request: Reply.text(script(JudgePrompt(request.user)))) as server:
            os.environ |= {"GOOGLE_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": server.url}
            result = asyncio.run(_judged("fail"))
            check((result.overall_eval_status.name, server.calls), ("PASSED", 5))
        [turn] = result.per_invocation_results
        check(str(turn.rubric_scores[0].rationale).split(" · ")[0], "4 PASS, 1 FAIL of 5")
        _undecided()


async def _judged(on_abstain: str) -> Any:
    from google.adk.evaluation.eval_metrics import EvalMetric, RubricsBasedCriterion
    from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
    from support.adk_folder import FINAL_RESPONSE, invocation, judge_options

    import judgeharness_adk

    judgeharness_adk.register()
    block = {"on_abstain": on_abstain, "sidecar": False}
    criterion = RubricsBasedCriterion(**judge_options("gemini-2.5-flash", judge_harness=block))
    metric = EvalMetric(metric_name=FINAL_RESPONSE, threshold=1.0, criterion=criterion)
    turn = invocation("Oslo")
    return await DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric).evaluate_invocations([turn], [turn])


def _undecided() -> None:
    """Where ADK has no INFORMATIONAL, a metric that asks for it says so, and asks nothing."""
    from google.adk.evaluation.evaluator import EvalStatus
    from support.provider_server import ProviderServer, Reply

    with ProviderServer([Reply.text("I would rather not say.")]) as server:
        os.environ["GOOGLE_GEMINI_BASE_URL"] = server.url
        result = asyncio.run(_judged("informational"))
    if hasattr(EvalStatus, "INFORMATIONAL"):
        check(result.overall_eval_status.name, "INFORMATIONAL")
    else:
        check((result.overall_eval_status.name, server.calls), ("FAILED", 0))
        told = str(result.per_invocation_results[0].rubric_scores[0].rationale)
        check("needs google-adk 2.10 or later" in told, True)  # noqa: FBT003 - what is expected


def check(found: object, expected: object) -> None:
    """End with a sentence unless they are equal."""
    if found != expected:
        sys.exit(f"found {found!r}, expected {expected!r}")


SMOKES = {"adk": adk, "langchain": langchain, "langsmith": langsmith, "openevals": openevals}

if __name__ == "__main__":
    SMOKES[sys.argv[1]]()
