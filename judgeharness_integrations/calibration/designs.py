"""The design a calibration was measured under: rule, perturbations and repetitions, as far as they are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Design", "design_changes", "design_of_rows", "of_parts"]

Design: TypeAlias = "Mapping[str, Any]"

_NAMES: Final = ("rule", "perturbations", "repetitions", "failure policy", "wordings")


def of_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
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


def design_changes(before: Design, now: Design) -> tuple[str, ...]:
    """Return what both sides know and have differently, as `rule majority before, median now`."""
    pairs = [(name, _text(before[name]), _text(now[name])) for name in _NAMES if name in before and name in now]
    return tuple(f"{name} {then} before, {here} now" for name, then, here in pairs if then != here)


def _text(value: Any) -> str:
    """Return a value as text; in which order perturbations were asked changes nothing."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, (list, tuple)) else str(value)
