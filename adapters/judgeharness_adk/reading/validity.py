"""The answer of ADK's `final_response_match_v2` judge -> one `Answer`.

It is asked for JSON with `is_the_agent_response_valid`. Every statement of that key counts: in the JSON objects that
parse, and anywhere outside them, for models copy the unquoted `[valid]` of the prompt. The key inside a string of such
an object does not count, and statements that differ are unparsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from judgeharness_adk.reading._fields import bare, clip
from judgeharness_integrations.judging import Answer
from judgeharness_integrations.parsing import object_of
from judgeharness_integrations.quotations import without_quoted
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["read_validity"]

_VERDICTS: dict[str, Verdict] = {"valid": "PASS", "true": "PASS", "invalid": "FAIL", "false": "FAIL"}
_VERDICTS |= dict.fromkeys(("almost", "partially", "partially_valid"), "FAIL")  # as ADK counts them
_MISNAMED: dict[str, Verdict] = {"invalid": "FAIL", "true": "FAIL", "valid": "PASS", "false": "PASS"}
_KEYS = {"is_the_agent_response_valid": _VERDICTS, "is_the_agent_response_invalid": _MISNAMED}
_KEYED = re.compile(  # key, value, and an end of the value, without which it goes on: ["valid" or "invalid"]
    r"\b(is_the_agent_response_(?:in)?valid)[\"'`]?\s*+:[\s\[\"'`*]*+([^\n\"'`,}\]]*+)"
    r"(?:(?=([ \t\r\"'`*\]]*+(?:\Z|[\n}]|,\s*+(?:\Z|[}`]|[\"']?\w++[\"']?\s*+:))))|)",
    re.IGNORECASE,
)
_VALUE = r"[\"'`]?\s*+:[\s\[\"'`*]*+(\w++)"
_STATED = re.compile(rf"\bis_the_agent_response_(?:in)?valid{_VALUE}", re.IGNORECASE)
_MEMBER = re.compile(rf"\b(is_the_agent_response_(?:in)?valid){_VALUE}", re.IGNORECASE)  # the key as one word
_REASONING = re.compile(r"\"reasoning\"\s*+:", re.IGNORECASE)
_DECODER = json.JSONDecoder(object_pairs_hook=tuple, strict=False)  # pairs, so that a key given twice is seen
_MOST_OBJECTS = 100  # decoding is tried at so many braces; what stands later is read by its keys

_Pairs = tuple[tuple[str, object], ...]


def read_validity(text: str | None, criterion: str, *, shown: Iterable[str] = ()) -> Answer:
    """Return "PASS" for valid, "FAIL" for invalid (almost and partially valid too), else unparsed and why.

    Args:
        text: what the judge answered, None for nothing.
        criterion: the name of the answer's criterion.
        shown: the texts the judge was shown; a statement inside a passage of one of them is none.

    """
    # the key has words enough for a quotation, but in an object as a whole the judge has to write it
    verdict = _STATED if object_of(text or "") is None else _MEMBER
    answered = without_quoted(text or "", shown, verdict.finditer)
    objects = [(pairs, span) for pairs, span in _objects(answered) if list(_keyed(pairs))]
    rest = _without(answered, [span for _, span in objects])
    stated = [found for pairs, _ in objects for found in _keyed(pairs)]
    stated += _stated(rest)
    verdicts = {_KEYS[key].get(_word(value)) for key, value in stated}
    if len(verdicts) == 1 and None not in verdicts:
        reasoning = _reasoning(objects[0][0]) if objects else _sloppy_reasoning(rest)
        return Answer(criterion=criterion, verdict=verdicts.pop(), reasoning=reasoning)
    return Answer(criterion=criterion, outcome="unparsed", reasoning=_why(stated))


def _objects(text: str) -> Iterator[tuple[_Pairs, tuple[int, int]]]:
    """Yield the JSON objects of a text that stand in no other one, and where."""
    start = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        end = start + 1
        try:
            pairs, end = _DECODER.raw_decode(text, start)
            yield pairs, (start, end)
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)


def _keyed(pairs: _Pairs) -> Iterator[tuple[str, object]]:
    return ((key.strip().casefold(), value) for key, value in pairs if key.strip().casefold() in _KEYS)


def _stated(text: str) -> list[tuple[str, object]]:
    """Return what is said of either key in a text that is no JSON; a value that goes on ends in an ellipsis."""
    found = _KEYED.finditer(text)
    return [(match[1].casefold(), match[2] + ("\u2026" if match[3] is None else "")) for match in found]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return "\n".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def _word(value: object) -> str:
    """Return a value as the tables spell it; "" when it is no text, no boolean and no list of one of them."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, (str, bool)):
        return ""
    return "_".join(bare(str(value)).casefold().replace("-", " ").replace("_", " ").split())


def _why(stated: list[tuple[str, object]]) -> str:
    if not stated:
        return "no is_the_agent_response_valid in the answer"
    unknown = [value for key, value in stated if _word(value) not in _KEYS[key]]
    if not unknown:
        return "answered twice: valid and invalid"
    return (
        f"validity {clip(unknown[0] if isinstance(unknown[0], str) else repr(unknown[0]))} is neither valid nor invalid"
    )


def _reasoning(pairs: _Pairs) -> str | None:
    texts = [value for key, value in pairs if key.strip().casefold() == "reasoning"]
    if texts and isinstance(texts[0], list):
        texts = texts[0]
    return "\n".join(text for text in texts if isinstance(text, str)).strip() or None


def _sloppy_reasoning(text: str) -> str | None:
    """Return what stands between `"reasoning":` and the key after it."""
    begin = _REASONING.search(text)
    end = _KEYED.search(text, begin.end()) if begin else None
    if begin is None or end is None:
        return None
    return text[begin.end() : end.start()].strip(' \t\r\n,[]"') or None
