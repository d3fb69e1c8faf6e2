"""What gates said about a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

__all__ = ["GATES_SCHEMA", "GateCheck", "GateReport"]

GATES_SCHEMA = "judgeharness.gates/1"


@dataclass(frozen=True, kw_only=True)
class GateCheck:
    """One gate on one judge and criterion.

    `value` is what was measured over `n` cases, `low` and `high` its 95 % interval; the gate looks at the end of the
    interval that is worse for it. `not_measured` (with None for a value) never passes. `reason` is one sentence.
    `more_cases`: about how many further cases with the same result would let a failed gate pass; None where it passed,
    where the value itself does not clear the bar, and where it cannot be told. `design` tells designs of one judge and
    criterion apart; empty where there is one alone.
    """

    gate: str
    judge: str
    criterion: str
    status: Literal["passed", "failed", "not_measured"]
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str
    more_cases: int | None = None
    design: str = ""

    @property
    def about(self) -> str:
        """Judge, criterion and design, as far as they are known."""
        return " · ".join(filter(None, (self.judge, self.criterion, self.design)))


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """Every gate on every judge and criterion; `point_estimates`: values were looked at instead of intervals."""

    checks: tuple[GateCheck, ...]
    point_estimates: bool = False

    @property
    def passed(self) -> bool:
        """Whether every gate passed."""
        return all(check.status == "passed" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types (`schemas/gates-1.json`)."""
        return {
            "schema": GATES_SCHEMA,
            "passed": self.passed,
            "point_estimates": self.point_estimates,
            "checks": [asdict(check) for check in self.checks],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return what `to_dict` was made of.

        Raises:
            ConfigError: it is of another schema, or damaged.

        """
        from judgeharness_integrations._errors import ConfigError  # noqa: PLC0415 - few read gates back

        known = {field.name for field in fields(GateCheck)}
        try:
            if document["schema"] != GATES_SCHEMA:
                raise ConfigError(f"not a document of schema {GATES_SCHEMA}: found {document['schema']!r:.60}.")
            checks = tuple(
                GateCheck(**{name: value for name, value in check.items() if name in known})
                for check in document["checks"]
            )
            return cls(checks=checks, point_estimates=bool(document["point_estimates"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"what gates said is damaged ({error!r:.80}): check them again.") from error
