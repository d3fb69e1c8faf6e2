"""What is said about a run before its first call, beside the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judgeharness_integrations.judging import Judge
from judgeharness_integrations.plan import Plan

if TYPE_CHECKING:
    from judgeharness_integrations.certifying.certificate import HeldCertificate
    from judgeharness_integrations.verdictlog.sql.records import RunRecord
    from judgeharness_integrations.verdictlog.sql.runs import ModelUsage

__all__ = ["Before", "certificate_notes", "plan_notes"]


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the log holds of a run already: its name, its record unless its rows were imported, what it used."""

    run: str | None = None
    record: RunRecord | None = None
    usage: Sequence[ModelUsage] = ()

    @property
    def calls(self) -> int:
        """Calls with rows, those about labelled cases included."""
        return sum(one.calls for one in self.usage)

    @property
    def spent(self) -> int | None:
        """Attempts that were noted of it."""
        return None if self.record is None else self.record.attempts_spent


def plan_notes(before: Before, plans: Mapping[str, Plan], judges: Sequence[Judge]) -> Iterator[str]:
    """Yield which run is continued and how far it is, and whose answers no other run will take over."""
    if before.record is not None or before.usage:
        calls = sum(plan.calls + plan.calibration_calls for plan in plans.values())
        begun = "imported" if before.record is None else f"begun {before.record.created_at}"
        yield f"goes on with run {before.run}, {begun}: {before.calls} of {calls} calls are answered"
    for judge in judges:
        if judge.identity is None or judge.identity.source is not None:
            yield f"{judge.name} names no model: a new run cannot take over its answers; add `model:` if it should"


def certificate_notes(judges: Sequence[Judge], held: Mapping[str, HeldCertificate | None]) -> Iterator[str]:
    """Yield of which judges every decision will abstain, since the certificate does not hold for them."""
    for judge in judges:
        found = held[judge.name]
        if found is not None and not found[1].valid and getattr(judge, "learn", None) is None:
            given, state = found
            yield f"{judge.name}: the certificate on {given.name} is {state}: every decision it is about will abstain"
