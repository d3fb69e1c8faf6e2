"""Errors of a judge that are answers all the same: what the model said could not be read."""

from __future__ import annotations

from langchain_core.exceptions import OutputParserException
from pydantic import ValidationError

from judgeharness_integrations.execution.retrying import is_transient
from judgeharness_openevals.capturing import ModelAnswer

__all__ = ["unread_answer"]

_FILTERED, _CUT_SHORT, _REFUSED = "ContentFilterFinishReasonError", "LengthFinishReasonError", "OpenAIRefusalError"
_WHILE_READING = (ValueError, LookupError, TypeError, AttributeError)
_MISREAD_BY_NAME = frozenset({"JSONDecodeError"})
_LONGEST = 2000


def unread_answer(error: Exception, seen: ModelAnswer | None) -> ModelAnswer | None:
    """Return the answer behind an error of reading it; None when it is the call that failed.

    Args:
        error: what the judge raised.
        seen: the last answer a model was seen to give; None when that could not be watched.

    """
    names = {kind.__name__ for kind in type(error).__mro__}
    if _FILTERED in names:
        return ModelAnswer(text="", refusal="content filter")
    if _REFUSED in names:
        return seen or ModelAnswer(text="", refusal=str(error) or "refused")
    if _CUT_SHORT in names:
        return ModelAnswer(text=_text(error), truncated=True)
    if is_transient(error):  # the body of a reply that was garbled on its way is an error of reading, too
        return None
    if seen is not None:
        return seen if isinstance(error, _WHILE_READING) else None
    misread = isinstance(error, (OutputParserException, ValidationError)) or names & _MISREAD_BY_NAME
    return ModelAnswer(text=_text(error)) if misread or _without_score(error) else None


def _without_score(error: Exception) -> bool:
    return isinstance(error, KeyError) and error.args[:1] in (("score",), ("reasoning",))


def _text(error: Exception) -> str:
    return str(error)[:_LONGEST]
