"""JH002: one sample is taken for the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection, described
from judgeharness_integrations.migration.recognising.adk import UNREACHABLE
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite

__all__ = ["SINGLE_SAMPLE"]

_CODE = "JH002"
_WRAPPERS = {
    "langchain": "wrap it in judgeharness_langchain.harness_evaluator",
    "openevals": "wrap it in judgeharness_openevals.harness_judge",
    "langsmith": "give it to judgeharness_langsmith.HarnessRunEvaluator",
    "handwritten": "ask it through JudgeHarness.evaluate",
}


def _python(inspection: Inspection) -> Iterator[Finding]:
    for site in inspection.judges:
        if site.samples == 1:
            yield inspection.finding_at(
                _CODE, site, f"{described(site)} is asked once about a case: {_WRAPPERS[site.framework]}."
            )


def _config(inspection: ConfigInspection) -> Iterator[Finding]:
    for site in inspection.judges:
        if site.samples == 1:
            yield inspection.finding_at(_CODE, site, f"{site.kind} is asked once about an invocation: {_advice(site)}.")


def _advice(site: JudgeSite) -> str:
    if site.kind in UNREACHABLE:
        return "no harness reaches it, so treat its score as informal or add a rubric metric"
    return "call judgeharness_adk.register() in agent.py and set judge_harness"


SINGLE_SAMPLE = Rule(
    code=_CODE,
    name="single-sample verdict",
    explanation=(
        "A judge is a random variable, and one sample of it is taken for the verdict: asked again, or in the other "
        "order, it may say something else, and nothing in the code would show it. Found where an evaluator of "
        "LangChain, openevals or LangSmith is made, a metric of ADK takes one sample, or a model is asked by hand to "
        "judge, and no loop repeats the question. Wrap the judge in a harness: the same call then asks under "
        "perturbations, several times, and the result carries its distribution."
    ),
    python=_python,
    config=_config,
)
