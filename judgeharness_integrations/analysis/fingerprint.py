"""The fingerprint of a configuration: the parts that decide what a verdict means, and those of its design."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Fingerprint", "design_changes", "design_of_parts", "design_of_rows"]


@dataclass(frozen=True)
class Fingerprint:
    """The parts of a configuration that decide what a verdict means.

    `parts` maps what people call a part (`model`, `prompt`, `perturbations`, `rule`, ...) to a JSON value.
    """

    parts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A short SHA-256 over the canonical JSON of the parts."""
        canonical = json.dumps(self.parts, sort_keys=True, default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def changes(self, other: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the parts whose values differ from those of `other`."""
        mine, theirs = _canonical(self.parts), _canonical(other)
        missing = object()
        return tuple(name for name in sorted({*mine, *theirs}) if mine.get(name, missing) != theirs.get(name, missing))


def _canonical(parts: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(parts, sort_keys=True, default=str)))


_NAMES: Final = ("rule", "perturbations", "repetitions", "failure policy", "wordings")


def design_of_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a fingerprint belongs to the design."""
    return {name: parts[name] for name in _NAMES if name in parts}


def design_of_rows(rows: Sequence[VerdictRow], rule: str) -> dict[str, Any]:
    """Return the design of a rule's decisions about the rows of one judge.

    Perturbations in order of appearance; repetitions only where every case was asked as often under each of them.
    """
    calls = {(row.run, row.case_id, row.perturbation, row.repetition) for row in rows}
    asked = Counter((run, case_id, name) for run, case_id, name, _ in calls)
    counts = set(asked.values())
    design: dict[str, Any] = {"rule": rule, "perturbations": list(dict.fromkeys(row.perturbation for row in rows))}
    return design | ({"repetitions": counts.pop()} if len(counts) == 1 else {})


def design_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of two designs that both sides know and that differ, as `rule majority before, median now`."""
    pairs = [(name, _text(before[name]), _text(now[name])) for name in _NAMES if name in before and name in now]
    return tuple(f"{name} {then} before, {here} now" for name, then, here in pairs if then != here)


def _text(value: Any) -> str:
    """Return a value as text; in which order perturbations were asked changes nothing."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, (list, tuple)) else str(value)
