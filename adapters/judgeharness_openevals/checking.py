"""Judges that could never answer are refused before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from langchain_core.language_models import BaseChatModel
from openevals.types import ModelClient

from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.verdictlog.row import is_number

__all__ = ["check_arguments", "template_names"]

_CLIENTS = {"AsyncAPIClient": True, "SyncAPIClient": False}  # OpenAI's: whether it is async


def check_arguments(arguments: Mapping[str, Any], *, asynchronous: bool) -> None:
    """Refuse arguments of openevals' factories that make no judge.

    Raises:
        UnsupportedEvaluatorError: the first problem, in one sentence.

    """
    problem = next(_problems(arguments, asynchronous=asynchronous), None)
    if problem is not None:
        raise UnsupportedEvaluatorError(problem)


def template_names(prompt: str) -> frozenset[str]:
    """Return the names in the braces of a prompt.

    Raises:
        UnsupportedEvaluatorError: a brace names nothing.

    """
    try:
        fields = [name for _, name, _, _ in Formatter().parse(prompt) if name is not None]
    except ValueError as error:
        raise UnsupportedEvaluatorError(f"the prompt is no template: {error}; write a brace itself twice.") from error
    names = frozenset(field.partition(".")[0].partition("[")[0] for field in fields)
    if any(not name or name.isdigit() for name in names):
        raise UnsupportedEvaluatorError("the prompt has braces without a name: name a value, as in {outputs}.")
    return names


def _problems(arguments: Mapping[str, Any], *, asynchronous: bool) -> Iterator[str]:
    judge, prompt, key = arguments["judge"], arguments["prompt"], arguments["feedback_key"]
    if judge is None and arguments["model"] is None:
        yield "the judge has no model: make it with model='openai:gpt-4o' or with judge= a chat model."
    if judge is not None and not isinstance(judge, BaseChatModel):
        yield from _problems_of_client(judge, arguments, asynchronous=asynchronous)
    if arguments.get("code_extraction_strategy") == "llm" and not (judge is None or isinstance(judge, BaseChatModel)):
        yield "code_extraction_strategy='llm' asks a chat model by tools: give judge= a chat model, not a client."
    if prompt is None:
        yield "the judge has no prompt: give it a text, as in prompt='Is this right? {outputs}'."
    if isinstance(prompt, str):
        template_names(prompt)
    if not isinstance(key, str) or not key:
        yield f"feedback_key is a text, not {key!r}."
    choices = arguments["choices"]
    if choices and not (isinstance(choices, (list, tuple)) and all(is_number(choice) for choice in choices)):
        yield f"choices are numbers, as in choices=[0, 0.5, 1], not {choices!r}."


def _problems_of_client(judge: Any, arguments: Mapping[str, Any], *, asynchronous: bool) -> Iterator[str]:
    kind = type(judge).__name__
    if isinstance(judge, str) or not isinstance(judge, ModelClient) or hasattr(judge, "invoke"):
        yield f"openevals takes a chat model or an OpenAI client as judge, not a {kind}: give the model itself."
    if arguments["model"] is None:
        yield f"a judge over a client ({kind}) needs the name of its model, too, as in model='gpt-4o'."
    schema = arguments.get("output_schema")
    if schema is not None and not isinstance(schema, Mapping):
        yield f"a client ({kind}) takes an output_schema that is JSON schema: give the class's, or a chat model."
    awaited = next(
        (found for parent in type(judge).__mro__ if (found := _CLIENTS.get(parent.__name__)) is not None), asynchronous
    )
    if awaited is not asynchronous:
        own, other = ("async", "sync") if awaited else ("sync", "async")
        yield f"the {other} judge cannot ask {kind}: make it with openevals' {own} function, or give the {other} one."
