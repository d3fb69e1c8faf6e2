"""Criteria as people write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import Criterion

__all__ = ["CriteriaLike", "one_criterion", "rubric_text", "several_criteria"]

CriteriaLike: TypeAlias = "str | Criterion | Mapping[str, str] | Sequence[str | Criterion]"


def several_criteria(criteria: CriteriaLike, *, labels: tuple[str, ...]) -> tuple[Criterion, ...]:
    """Return criteria of a name, names, or a mapping name -> description, each with these labels.

    Raises:
        UsageError: there is none, or a name occurs twice.

    """
    if isinstance(criteria, (str, Criterion)):
        criteria = [criteria]
    if isinstance(criteria, Mapping):
        found = [Criterion(name=str(name), description=str(text)) for name, text in criteria.items()]
    else:
        found = [c if isinstance(c, Criterion) else Criterion(name=str(getattr(c, "value", c))) for c in criteria]
    names = [criterion.name for criterion in found]
    if not found or len(set(names)) != len(names) or not all(names):
        raise UsageError(f"criteria need at least one name, each once: found {names}.")
    return tuple(replace(criterion, labels=labels) for criterion in found)


def one_criterion(criteria: CriteriaLike | None, default: str) -> tuple[str, str]:
    """Return (name, description) of the one question that stands for several criteria judged together."""
    if criteria is None:
        return "verdict", default
    several = several_criteria(criteria, labels=())
    return "-".join(c.name for c in several), rubric_text({c.name: c.description for c in several})


def rubric_text(descriptions: Mapping[str, str]) -> str:
    """Return the lines a prompt shows for name -> description."""
    return "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in descriptions.items())
