"""ADK's JSON files as data and as its models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["read_document", "validated"]

M = TypeVar("M", bound=BaseModel)


def read_document(path: Path) -> Any:
    """Return what a file of ADK holds.

    Raises:
        CaseError: it cannot be read or is not JSON.

    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return json.loads(data) if isinstance(data, str) else data  # older versions of ADK wrote results encoded twice
    except (OSError, ValueError, RecursionError) as error:
        raise CaseError(f"{path}: cannot be read ({error}).") from error


def validated(model: type[M], data: Any, otherwise: str) -> M:
    """Return data as a model of ADK.

    Raises:
        CaseError: it is none; the message says `otherwise`, and the first problem.

    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise CaseError(f"{otherwise} ({safe_text(problem, 200)}).") from error
    except Exception as error:  # validators of google-genai's types fail in ways of their own
        raise CaseError(f"{otherwise} ({safe_text(f'{type(error).__name__}: {error}', 200)}).") from error
