"""What a gate says: `METRIC OP VALUE`, as `pass_rate>=0.9`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["METRICS", "Expression", "Operator", "parse_expression"]

Operator: TypeAlias = Literal[">=", ">", "<=", "<"]

# metric -> what it takes in brackets; those that are no shares, from 0 to 1, are in `_LIMITS`
METRICS: Final[dict[str, str | None]] = {
    "pass_rate": None,
    "rate": "LABEL",
    "accuracy": None,
    "coverage": None,
    "abstention": None,
    "not_graded": None,
    "consistency": None,
    "agreement": None,
    "mean_score": None,
    "position_flip": None,
    "flip_rate": "PERTURBATION",
    "precision": None,
    "recall": None,
    "specificity": None,
    "balanced_accuracy": None,
    "kappa": None,
    "lift": None,
}
# metric -> the lowest and highest it can be
_LIMITS: Final[dict[str, tuple[float, float] | None]] = {"mean_score": None, "kappa": (-1.0, 1.0), "lift": (-1.0, 1.0)}
_FORM = re.compile(
    r"(?P<metric>[^\W\d]\w*)\s*(?:\((?P<argument>.*)\))?\s*(?P<operator>>=|<=|>|<)\s*"
    r"(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<percent>%)?",
    re.DOTALL | re.ASCII,
)
_HOW = "write METRIC OP VALUE, as in pass_rate>=0.9, with OP one of >=, >, <=, <"
_LONGEST = 500
_LARGEST = 1e100  # no score is larger
_PERCENT = 100


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A bar for a metric: `argument` is the label of `rate`, the perturbation of `flip_rate`; `text` as it was given.

    A gate with `>=` or `>` looks at the lower end of the metric's 95 % interval, one with `<=` or `<` at the upper end.
    """

    metric: str
    argument: str | None
    operator: Operator
    bar: float
    text: str

    @property
    def name(self) -> str:
        """The metric with its argument."""
        return self.metric if self.argument is None else f"{self.metric}({self.argument})"

    @property
    def wants_high(self) -> bool:
        """Whether higher values are better: the lower end of the interval counts."""
        return self.operator in {">=", ">"}

    @property
    def is_share(self) -> bool:
        """Whether the metric lies between 0 and 1."""
        return self.metric not in _LIMITS

    @property
    def limits(self) -> tuple[float, float] | None:
        """The lowest and highest the metric can be; None of a mean score."""
        return _LIMITS.get(self.metric, (0.0, 1.0))

    def holds(self, value: float) -> bool:
        """Whether a value clears the bar."""
        if self.wants_high:
            return value >= self.bar if self.operator == ">=" else value > self.bar
        return value <= self.bar if self.operator == "<=" else value < self.bar

    def check_possible(self, *, instead: str | None) -> None:
        """Refuse a bar that nothing can clear: no finite number of cases brings the end of an interval to 0 or 1.

        Args:
            instead: what else to gate on where that end is looked at; None where the value alone is.

        Raises:
            UsageError: it can never pass.

        """
        if self.limits is None:
            return
        worst, best = self.limits if self.wants_high else reversed(self.limits)
        if not self.holds(best):
            what, beyond = "share" if self.is_share else self.metric, "above" if self.wants_high else "below"
            raise UsageError(f"{self._shown} can never pass: no {what} is {beyond} {best:g}.")
        if instead is not None and self.bar == best:
            end, beyond = ("lower", "below") if self.wants_high else ("upper", "above")
            raise UsageError(
                f"{self._shown} can never pass: with any number of cases the {end} end of an interval is {beyond} "
                f"{best:g}; give a bar that evidence can reach, as {self.name}{self.operator}"
                f"{best - 0.05 * (best - worst):g}, or gate {instead}."
            )

    @property
    def _shown(self) -> str:
        return safe_text(self.text, 120)


def parse_expression(text: str) -> Expression:
    """Read `METRIC OP VALUE`; the value of a share may be given as 90%.

    Raises:
        UnknownNameError: there is no such metric; the nearest is named.
        UsageError: it is not of that form, or its value is none the metric can have.

    """
    found = _FORM.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    shown = safe_text(text, 120)
    if found is None:
        raise UsageError(f"{shown!r} is no gate: {_HOW}.")
    metric = found["metric"]
    if metric not in METRICS:
        raise UnknownNameError("metric of a gate", metric, METRICS)
    argument = _argument(metric, found["argument"], shown)
    value = float(found["value"])
    if not abs(value) <= _LARGEST:
        raise UsageError(f"{shown}: {found['value']} is too large for any metric.")
    expression = Expression(
        metric=metric,
        argument=argument,
        operator=found["operator"],  # type: ignore[arg-type]
        bar=value / _PERCENT if found["percent"] else value,
        text=text.strip(),
    )
    if expression.limits is None and found["percent"]:
        raise UsageError(f"{shown}: {metric} is in units of the score, not a share: leave out the %.")
    if expression.limits is not None and not expression.limits[0] <= expression.bar <= expression.limits[1]:
        low, high = expression.limits
        how = ": write 0.9 or 90% for nine in ten" if expression.is_share else ""
        raise UsageError(f"{shown}: {expression.name} lies between {low:g} and {high:g}{how}.")
    return expression


def _argument(metric: str, given: str | None, shown: str) -> str | None:
    """Return what stands in the brackets."""
    wanted, argument = METRICS[metric], None if given is None else given.strip()
    if wanted is None and given is not None:
        raise UsageError(f"{shown}: {metric} takes nothing in brackets: write {metric} alone.")
    if wanted is not None and not argument:
        raise UsageError(f"{shown}: say of which {wanted.lower()}, as {metric}({wanted}).")
    return argument
