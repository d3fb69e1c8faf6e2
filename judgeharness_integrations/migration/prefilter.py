"""Whether a file can hold a judge at all: a search in its text, thousands of times cheaper than parsing it."""

from __future__ import annotations

import re

__all__ = ["may_hold_judges"]

# names without which no judge of a framework is made
_FRAMEWORKS = re.compile(
    r"load_evaluators?\b|EvalChain\b|\bdspy\b|\b(?:open|agent)evals\b|_as_judge\b|LangChainStringEvaluator|RunEvalConfig|StringEvaluator\b"
    r"|json_match_evaluator|judgeharness_|langchain\.(?:evaluation|smith)"
)
# a model is asked ...
_ASKED = re.compile(
    r"\.(?:a?invoke|a?predict|a?generate|a?complete|a?batch|a?call|create|parse|acreate|a?completion|chat"
    r"|generate_content(?:_async)?|apredict_messages|predict_messages|run|run_sync|arun|apply|aapply|send_message|converse|__call__)\s*\("
    r"|\b(?:litellm|aisuite|ollama)\b|\ba?completion\s*\(|_evaluate\w*\(|\b\w*(?:llm|model|client|chain|chat)\w*\s*\("
)
# ... with words of judging: no text that `prompting.JUDGING` takes for a judge's goes by
_JUDGING = re.compile(
    r"judg|evaluat|(?:\b|\\n)(?:grad(?:e|er|ing)|rat(?:e|er|ing)|scor(?:e|ing))|verdict|\[\[|better|PASS|rubric|assess"
    r"|critique|on a scale|compare|(?:determine|decide|check) (?:if|whether)"
    r"|is (?:the|this) (?:\w+ ){1,3}(?:correct|good|helpful|faithful|grounded|polite|relevant)",
    re.IGNORECASE,
)


def may_hold_judges(text: str) -> bool:
    """Whether a Python text names an evaluator, or asks a model and speaks of judging."""
    return bool(_FRAMEWORKS.search(text) or (_ASKED.search(text) and _JUDGING.search(text)))
