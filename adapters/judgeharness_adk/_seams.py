"""Every part of google-adk we use that its makers did not make public, in one place: what a new version may break.

Importing it imports no framework.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from judgeharness_integrations.judging.adapters import VersionRange, lacking, seam

if TYPE_CHECKING:
    from google.adk.evaluation.conversation_scenarios import ConversationScenario
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.eval_metrics import TokenUsageDetails
    from google.adk.evaluation.eval_rubrics import Rubric
    from google.adk.evaluation.hallucinations_v1 import EvaluationStep, HallucinationsV1Evaluator
    from google.adk.evaluation.simulation.per_turn_user_simulator_quality_v1 import PerTurnUserSimulatorQualityV1
    from google.genai.types import Content

TESTED: Mapping[str, VersionRange] = MappingProxyType({"google-adk": VersionRange(lowest="2.8", newest="2.13")})

STAND_IN = "gemini-2.5-flash"  # a model every ADK resolves, in evaluators that are never asked

_ADDRESSES = ("base_url", "api_base", "azure_endpoint", "endpoint", "url")  # as models and their clients call it

_RESPONSE, _REFERENCE = '  "Agent response": {response},\n', '  "Reference response": {golden_response},\n'


_seam = partial(seam, package="google-adk", tested=TESTED, extra="[eval]")


@contextmanager
def loading() -> Iterator[None]:
    """Import inside the block what imports google-adk.

    Raises:
        UsageError: the installed version does not have a module or a name that is imported.

    """
    try:
        yield
    except ImportError as error:
        if not (error.name or "").startswith("google.adk."):
            raise
        imported = re.match("cannot import name '(.+?)'", error.msg)
        part = ".".join((str(error.name), *(imported.groups() if imported else ())))
        raise lacking("google-adk", part, tested=TESTED, extra="[eval]") from error


def knows_informational() -> bool:
    """Whether a metric's status can be INFORMATIONAL; since 2.10."""
    return hasattr(_metrics().EvalStatus, "INFORMATIONAL")


def token_usage_details() -> type[TokenUsageDetails] | None:
    """Return what results hold a judge's tokens in; None before 2.10, whose results hold none."""
    kind: type[TokenUsageDetails] | None = getattr(_metrics(), "TokenUsageDetails", None)
    return kind


def _metrics() -> ModuleType:
    """Return ADK's module of metrics."""
    return import_module("google.adk.evaluation.eval_metrics")


def evaluated_agent() -> object | None:
    """Return the agent whose evaluation calls this; None outside of one.

    ADK tells an evaluator its metric and nothing of whose it is, and one registry serves every agent of a server. The
    service that evaluates knows its agent, and is among the callers.
    """
    from google.adk.evaluation.local_eval_service import LocalEvalService  # noqa: PLC0415 - imports most of ADK

    frame = sys._getframe(1)  # noqa: SLF001 - inspect's function for it reads source files
    while frame.f_back is not None:
        frame = frame.f_back
        caller = frame.f_locals.get("self")
        if isinstance(caller, LocalEvalService):
            agent: object = _seam(caller, "_root_agent")
            return agent
    return None


def ask_anew(llm: object) -> None:
    """Have LiteLLM answer a model's requests itself: its cache would answer every repetition with one reply."""
    litellm = sys.modules.get("litellm")
    if getattr(litellm, "cache", None) is not None and any(kind.__name__ == "LiteLlm" for kind in type(llm).__mro__):
        _seam(llm, "_additional_args")["cache"] = {"no-cache": True}


def addresses_of(llm: object) -> Iterator[str]:
    """Yield where a model's requests go, as it was told: in its own fields, or among what LiteLLM is passed."""
    passed = getattr(llm, "_additional_args", None)
    told = passed if isinstance(passed, Mapping) else {}
    for name in _ADDRESSES:
        given = getattr(llm, name, None) or told.get(name)
        if isinstance(given, str):
            yield given


def settle_rubrics(evaluator: object, rubrics: Sequence[Rubric]) -> None:
    """Give an evaluator its rubrics for good: it does not ask its hook which they are again."""
    _seam(evaluator, "_effective_rubrics_list")
    evaluator._effective_rubrics_list = list(rubrics)  # type: ignore[attr-defined]  # noqa: SLF001
    evaluator.create_effective_rubrics_list = lambda _: None  # type: ignore[attr-defined]


class _Parts:
    """A template of ADK's that is filled in with the texts themselves, by name, as a JSON object."""

    def format(self, **parts: str) -> str:
        return json.dumps(parts)


def show_parts(evaluator: object) -> None:
    """Have an evaluator format what it shows a judge as JSON: name in ADK's template -> text."""
    _seam(evaluator, "_auto_rater_prompt_template")
    evaluator._auto_rater_prompt_template = _Parts()  # type: ignore[attr-defined]  # noqa: SLF001


def show_conversation(evaluator: object, conversation: Sequence[Invocation]) -> None:
    """Give a multi-turn evaluator the conversation its prompt is about."""
    _seam(evaluator, "_assemble_dialogue_history")(list(conversation))


def reference_first(evaluator: object) -> bool:
    """Have a response-match evaluator show the reference first; return False when its prompt does not allow it."""
    template = str(_seam(evaluator, "_auto_rater_prompt_template"))
    if _RESPONSE + _REFERENCE not in template:
        return False
    evaluator._auto_rater_prompt_template = template.replace(  # type: ignore[attr-defined]  # noqa: SLF001
        _RESPONSE + _REFERENCE, _REFERENCE + _RESPONSE
    )
    return True


def evaluator_class(registry: object, metric: str) -> object:
    """Return what a registry makes the evaluators of a metric with."""
    return _seam(registry, "_registry")[metric][0]


def needs_expected(evaluator: object) -> bool:
    """Whether an LLM judge refuses to judge without expected invocations."""
    return bool(_seam(evaluator, "_expected_invocations_required"))


def parses_itself(evaluator: object) -> bool:
    """Whether a rubric evaluator was made with a parser other than ADK's."""
    return _has_its_own(evaluator, "_auto_rater_response_parser")


def aggregates_itself(evaluator: object) -> bool:
    """Whether a rubric evaluator was made with an aggregator of samples other than ADK's."""
    return _has_its_own(evaluator, "_per_invocation_results_aggregator")


def summarizes_itself(evaluator: object) -> bool:
    """Whether a rubric evaluator was made with a summarizer of invocations other than ADK's."""
    return _has_its_own(evaluator, "_invocation_results_summarizer")


def _has_its_own(evaluator: object, name: str) -> bool:
    return not type(getattr(evaluator, name, None)).__module__.startswith(("google.adk.", "builtins"))


def asks_itself(kind: type) -> str | None:
    """Return the method by which a class of LLM judges asks its model otherwise than ADK's; None where it has none."""
    names = ("evaluate_invocations", "_evaluate_single_sample")
    return next((name for name in names if not _seam(kind, name).__module__.startswith("google.adk.")), None)


def shows_thoughts() -> bool:
    """Whether ADK shows a judge the thoughts among the parts of a text."""
    from google.adk.evaluation import llm_as_judge_utils  # noqa: PLC0415
    from google.genai.types import Content, Part  # noqa: PLC0415

    thought = Content(parts=[Part(text="-", thought=True)])
    return bool(llm_as_judge_utils.get_text_from_content(thought))


def steps_of(evaluator: HallucinationsV1Evaluator, invocation: Invocation) -> list[EvaluationStep]:
    """Return what the agent said in an invocation and the context of each, as a hallucination evaluator sees it."""
    steps: list[EvaluationStep] = _seam(evaluator, "_get_steps_to_evaluate")(invocation)
    return steps


def content_text(content: Content) -> str:
    """Return the text of a content as ADK shows it to judges."""
    from google.adk.evaluation import llm_as_judge_utils  # noqa: PLC0415

    return llm_as_judge_utils.get_text_from_content(content) or ""


def user_turn_prompt(
    evaluator: PerTurnUserSimulatorQualityV1, conversation: Sequence[Invocation], scenario: ConversationScenario
) -> str:
    """Return the prompt about the last thing a simulated user said."""
    *before, judged = conversation
    prompt: str = _seam(evaluator, "_format_llm_prompt")(
        invocation=judged, conversation_scenario=scenario, previous_invocations=before
    )
    return prompt
