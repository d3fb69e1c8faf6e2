"""The result of a case that several judges were asked about in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.analysis.usage import Usage, known_sum

__all__ = ["asked_after"]


def asked_after(result: HarnessResult, earlier: Sequence[HarnessResult], *, waits: bool) -> HarnessResult:
    """Return a measurement as that of a judge of a cascade: its reasons say whom it was asked after, its usage is all.

    Args:
        result: of the last judge that was asked.
        earlier: of those before it, which decided nothing.
        waits: whether it decides nothing either, so that the case waits for people.

    """
    said = [f"asked after {', '.join(one.judge for one in earlier)}"] if earlier else []
    criteria = {
        name: replace(one, reason="; ".join(filter(None, [one.reason, *said, *_waiting(one, waits=waits)])))
        for name, one in result.criteria.items()
    }
    used = [*(one.usage for one in earlier), result.usage]
    sums: dict[str, Any] = {one.name: known_sum(getattr(usage, one.name) for usage in used) for one in fields(Usage)}
    return replace(result, criteria=criteria, usage=Usage(**sums), earlier=tuple(earlier), waits=waits)


def _waiting(measured: CriterionResult, *, waits: bool) -> list[str]:
    return ["no judge of the cascade decides it: it waits for people"] if waits and measured.status != "decided" else []
