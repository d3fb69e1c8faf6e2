"""What gates said about a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, Self, TypeAlias

from judgeharness_integrations.analysis.calibration.holdout import confidence_text
from judgeharness_integrations.analysis.statistics import CONFIDENCE

About: TypeAlias = Literal["population", "suite"]

_DECIMALS = range(3, 13)
GATES_SCHEMA = "judgeharness.gates/1"
REQUIRE_CALIBRATION: Final = "require_calibration"  # the gate that is on no metric
STOPPED: Final = "was asked until its own gate is settled, and an interval over a fixed number of cases is not valid"
NEAR_THE_BAR: Final = (
    "a gate by run --until may be looked at after every case: it asks few cases far from its bar and more than a fixed "
    "number near it (a true rate of .95 against a bar of .9: about 260, where 246 are found with 80 % power; .85 "
    "against .8: about 560)"
)


@dataclass(frozen=True, kw_only=True)
class GateCheck:
    """One gate on one judge and criterion.

    `value` is what was measured over `n` cases, `low` and `high` its interval at `confidence`: .95, of a calibration
    that is one of several candidates more. The gate looks at the end of the interval that is worse for it.
    `not_measured` (with None for a value) never passes. `reason` is one sentence.
    `more_cases`: about how many further cases with the same result would let a failed gate pass; None where it passed,
    where the value itself does not clear the bar, and where it cannot be told. `design` tells designs of one judge and
    criterion apart; empty where there is one alone. `p_anytime` is given by sequential gates: 1 over the evidence that
    the bar is cleared, which holds however often one looks; their `low` and `high` do, too. `looked`: how many
    units, cases or clusters, they looked at.
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
    p_anytime: float | None = None
    looked: int | None = None
    confidence: float = CONFIDENCE

    @property
    def about(self) -> str:
        """Judge, criterion and design, as far as they are known."""
        return " · ".join(filter(None, (self.judge, self.criterion, self.design)))


@dataclass(frozen=True, kw_only=True)
class AskingOrder:
    """The random order in which a run asked until its gates were settled.

    `seed` drew it over a suite of `cases` in so many `clusters`, where a case that shares none is one of its own.
    `asked` says how many cases each judge was asked one after the other in it; a later one was answered before.
    """

    seed: int
    cases: int
    clusters: int
    asked: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """Every gate on every judge and criterion; `point_estimates`: values were looked at instead of intervals.

    `sequential` says what gates that may be looked at after every case are about: the `population` the cases are from,
    or this `suite`; None of gates on a fixed number of cases. `stopped`: it was asked until they are settled.
    `order` is the random one in which a run asked that its gates stopped, as far as that was noted.
    """

    checks: tuple[GateCheck, ...]
    point_estimates: bool = False
    sequential: About | None = None
    stopped: bool = False
    order: AskingOrder | None = None

    @property
    def passed(self) -> bool:
        """Whether every gate passed."""
        return all(check.status == "passed" for check in self.checks)

    @property
    def basis(self) -> str:
        """What the gates stand on, in words."""
        if self.sequential is not None:
            about = "this suite" if self.sequential == "suite" else "the population of the cases"
            return f"sequential, about {about}, with 95 % confidence sequences"
        if self.point_estimates:
            return "on point estimates"
        levels = sorted({confidence_text(check.confidence) for check in self.checks} or {confidence_text(CONFIDENCE)})
        return f"on {' and '.join(levels)} intervals over cases"

    @property
    def stop(self) -> str:
        """What intervals over a fixed number of cases do not tell, where asking ended because of gates; else empty."""
        return f"the run {STOPPED}" if self.stopped else ""

    @property
    def price(self) -> str:
        """What following the advice about more cases costs in certainty; empty where none was given."""
        if not any(check.more_cases for check in self.checks):
            return ""
        return (
            "asking more cases because a gate failed is a second look: judges exactly at the bar then pass in 3 to 7 % "
            "of runs, where 2.5 % are meant; sequential gates (--sequential, run --until) keep to 2.5 % at every look"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types (`schemas/gates-1.json`)."""
        return {
            "schema": GATES_SCHEMA,
            "passed": self.passed,
            "point_estimates": self.point_estimates,
            "sequential": self.sequential,
            "stopped": self.stopped,
            "order": None if self.order is None else asdict(self.order),
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
            order = document.get("order")
            return cls(
                checks=checks,
                point_estimates=bool(document["point_estimates"]),
                sequential=document.get("sequential"),
                stopped=bool(document.get("stopped")),
                order=None if order is None else AskingOrder(**order),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"what gates said is damaged ({error!r:.80}): check them again.") from error


def number(value: float | None, bar: float | None) -> str:
    """Return a number with three decimals, and with more where it would else lie on another side of the bar."""
    number = float(value or 0)
    texts = [f"{number:.{places}f}" for places in _DECIMALS]
    return next((text for text in texts if bar is None or _side(float(text), bar) == _side(number, bar)), texts[-1])


def _side(number: float, bar: float) -> int:
    return (number > bar) - (number < bar)
