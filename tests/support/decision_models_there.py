"""Whether LangChain's client of decision models is installed, told without importing it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["decision_models_are_there"]

_FIRST = (1, 7, 4)


def decision_models_are_there() -> bool:
    """Whether `langchain_openai.decisions` can be imported."""
    try:
        found = version("langchain-openai")
    except PackageNotFoundError:
        return False
    return tuple(int(part) for part in found.split(".")[:3] if part.isdecimal()) >= _FIRST
