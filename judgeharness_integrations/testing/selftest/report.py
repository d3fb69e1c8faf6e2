"""What a self-test found: a line a check, and whether each keeps what it promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from judgeharness_integrations.testing.selftest.check import Named, point_text

__all__ = ["CheckFound", "Kind", "PointFound", "SelftestReport", "Verdict"]

Kind: TypeAlias = Literal["coverage", "size", "power", "false_alarms", "failures", "promises"]
Verdict: TypeAlias = Literal["ok", "conservative", "narrow", "unclear", "miss", "kept", "not told", "broken"]


@dataclass(frozen=True, kw_only=True)
class PointFound:
    """One planted truth: the share of replicates that covered it (of those with an interval), or that rejected.

    Of a planted fault `rate` is the share of reports that name it and `others` the share that fail another property;
    `declared` says that its power must reach 80 %. Of a judge without a fault `rate` is the share of reports that fail
    something, of a promise about failures the share of sequences that break it, `example` being one. `undefined`
    replicates had no interval or p-value; `rate` is None when all of them had none.

    Of a workflow `rate` is the share of studies in which what is promised happened, with its 95 % interval (`low`,
    `high`) by Monte Carlo error, `promised` the share it is held to, `p` that of the binomial test against it, and
    `verdict` what follows at this point.
    """

    point: Named
    replicates: int
    undefined: int
    rate: float | None
    others: float | None = None
    declared: bool = False
    example: str = ""
    promised: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    verdict: Verdict | None = None

    def __str__(self) -> str:
        """Return the point as `n=20, rate=0.9`."""
        return point_text(self.point)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        kept = ("promised", "low", "high", "p", "verdict") if self.promised is not None else ()
        return {
            "point": dict(self.point),
            "replicates": self.replicates,
            "undefined": self.undefined,
            "rate": self.rate,
            "others": self.others,
            "declared": self.declared,
            **{name: getattr(self, name) for name in kept},
        }


@dataclass(frozen=True, kw_only=True)
class CheckFound:
    """One check: its points, the mean rate and the worst point, and what the rule made of them.

    `conservative` and `narrow` intervals cover more or less than their nominal 95 %, and are documented so. `unclear`:
    what was found is beyond a limit, but by less than so few replicates may err; `full` tells.

    A workflow is `kept`, `broken` or `not told` at this number of studies; `promise` says what it is about, and
    `at_least` whether that is to happen at least so often as promised, or at most.
    """

    name: str
    kind: Kind
    points: tuple[PointFound, ...]
    mean: float | None
    worst: PointFound
    verdict: Verdict
    reason: str
    note: str = ""
    promise: str = ""
    at_least: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "verdict": self.verdict,
            "reason": self.reason,
            "mean": self.mean,
            "worst": {"point": dict(self.worst.point), "rate": self.worst.rate},
            "points": [one.to_dict() for one in self.points],
            "note": self.note,
            **({"promise": self.promise, "at_least": self.at_least} if self.promise else {}),
        }


@dataclass(frozen=True, kw_only=True)
class SelftestReport:
    """Every check of a self-test; `replicates` a point at most, drawn from `seed`."""

    full: bool
    seed: int
    replicates: int
    checks: tuple[CheckFound, ...]

    @property
    def passed(self) -> bool:
        """Whether no check misses, and no workflow breaks its promise."""
        return all(check.verdict not in {"miss", "broken"} for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it (`judgeharness.selftest/1`)."""
        return {
            "schema": "judgeharness.selftest/1",
            "full": self.full,
            "seed": self.seed,
            "replicates": self.replicates,
            "passed": self.passed,
            "checks": [check.to_dict() for check in self.checks],
        }
