"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection

__all__ = ["Rule", "no_config", "no_python"]

PythonCheck: TypeAlias = Callable[[Inspection], Iterator[Finding]]
ConfigCheck: TypeAlias = Callable[[ConfigInspection], Iterator[Finding]]


def no_python(inspection: Inspection) -> Iterator[Finding]:
    """Find nothing in Python files."""
    del inspection
    yield from ()


def no_config(inspection: ConfigInspection) -> Iterator[Finding]:
    """Find nothing in configs."""
    del inspection
    yield from ()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A failure mode of single-call judges.

    Args:
        code: as it stands in reports and in `noqa`.
        name: in two to four words.
        explanation: what goes wrong, what the evidence is, what to do; one paragraph.
        python, config: what finds it.

    """

    code: str
    name: str
    explanation: str
    python: PythonCheck = no_python
    config: ConfigCheck = no_config
