"""Whether a file can hold a judge at all: a search in its text, thousands of times cheaper than parsing it."""

from __future__ import annotations

import re

__all__ = ["ROLE", "asks_somebody", "may_hold_judges", "speaks_of_judging"]

# how the prompts of judges begin; what follows need not become a verdict in this file
ROLE = re.compile(
    r"(?:^|\\n|[\"'])\W*(?:"
    r"(?:(?:system|user|please)\W+)?(?:you(?: are|'re| will be| will act as| act as)|act(?:ing)? as|assume the role of)"
    r"\s+(?:an?|the)\s+(?:[\w-]+,? ){0,5}?(?:judge|grader|evaluator|assessor|referee|rater|adjudicator|examiner)\b"
    r"|you are (?:an?|the) [^.\n]{0,60}\b(?:tasked with|that|who|responsible for|whose (?:job|task) is to)"
    r"\s+(?:\w+\s+){0,2}(?:judg|evaluat|grad|assess|rat|scor)(?:e|es|ing)\b"
    r"|your (?:task|job|goal|role) is to (?:\w+ly )?(?:judge|evaluate|grade|assess|rate|score)\b)",
    re.IGNORECASE | re.MULTILINE,
)
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
# the same, by what few other objects have
_CLIENT = re.compile(
    r"completions?\.(?:create|parse)|responses\.(?:create|parse)|messages\.create|generate_content|\.converse\s*\("
    r"|\.a?invoke\s*\(|\b(?:litellm|aisuite|ollama)\b|\ba?completion\s*\(|\.post\s*\(|\.a?(?:predict|generate|complete)\s*\("
    r"|\b(?:\w*llm|model|chat_?model|chat)\s*\("
)
# ... with words of judging: no text that `prompting.JUDGING` takes for a judge's goes by
_JUDGING = re.compile(
    r"judg|evaluat|(?:\b|\\n)(?:grad(?:e|er|ing)|rat(?:e|er|ing)|scor(?:e|ing))|verdict|\[\[|better|PASS|rubric|assess"
    r"|critique|on a scale|compare|(?:determine|decide|check) (?:if|whether)"
    r"|is (?:the|this) (?:\w+ ){1,3}(?:correct|good|helpful|faithful|grounded|polite|relevant)",
    re.IGNORECASE,
)


def may_hold_judges(text: str) -> bool:
    """Whether a Python text names an evaluator, asks a model and speaks of judging, or makes somebody a judge."""
    return bool(_FRAMEWORKS.search(text) or (_ASKED.search(text) and _JUDGING.search(text)) or ROLE.search(text))


def asks_somebody(text: str) -> bool:
    """Whether a Python text may ask a model, about whatever."""
    return bool(_CLIENT.search(text))


def speaks_of_judging(text: str) -> bool:
    """Whether there are words of judging in a text."""
    return bool(_JUDGING.search(text))
