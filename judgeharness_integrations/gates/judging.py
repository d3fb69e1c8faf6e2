"""One metric against one bar: the check, its sentence, and how many cases would settle it."""

from __future__ import annotations

import math

from judgeharness_integrations.gates.expression import Expression
from judgeharness_integrations.gates.metrics import Measured
from judgeharness_integrations.gates.report import GateCheck
from judgeharness_integrations.statistics.proportions import exact_interval
from judgeharness_integrations.statistics.search import fewest

__all__ = ["judged", "more_cases", "number"]

_DECIMALS = range(3, 13)
_NEGLIGIBLE = 1e-9
_MOST = 10**12
_FAILS = {">=": "below", ">": "not above", "<=": "above", "<": "not below"}
_HOLDS = {">=": "not below", ">": "above", "<=": "not above", "<": "below"}


def judged(
    expression: Expression,
    measured: Measured,
    *,
    judge: str,
    criterion: str,
    design: str = "",
    point_estimates: bool = False,
    exploratory: bool = False,
) -> GateCheck:
    """Return what a gate says about a metric of one judge and criterion.

    Args:
        expression: the bar.
        measured: the metric.
        judge: whose verdicts they are.
        criterion: what they are about.
        design: what tells their design from others of the judge.
        point_estimates: look at the value instead of the worse end of its interval.
        exploratory: the rule was chosen after the samples, and the sentence says so.

    """
    value, end = measured.value, measured.low if expression.wants_high else measured.high
    looked_at = value if point_estimates else end
    more = None
    if value is None or looked_at is None:
        status, sentence = "not_measured", _not_measured(expression, measured)
    elif expression.holds(looked_at):
        status, sentence = "passed", _told(expression, measured, looked_at, of_value=point_estimates)
    else:
        status, sentence = "failed", _told(expression, measured, looked_at, of_value=point_estimates)
        more = None if point_estimates else more_cases(expression, measured)
        if more is not None:
            same = "share" if expression.is_share else "mean and spread"
            of = measured.of.replace("cases", "case", 1) if more == 1 else measured.of
            sentence += f"; with this {same}, about {more} more {of} would settle it"
    notes = "; ".join(filter(None, (measured.note, measured.controls)))
    sentence += f" ({notes})" if notes else ""
    sentence += "; exploratory: the rule was chosen after the samples" if exploratory else ""
    known = status != "not_measured"
    return GateCheck(
        gate=expression.text,
        judge=judge,
        criterion=criterion,
        status=status,  # type: ignore[arg-type]
        value=value if known else None,
        low=measured.low if known else None,
        high=measured.high if known else None,
        n=measured.n,
        reason=sentence,
        more_cases=more,
        design=design,
    )


def _not_measured(expression: Expression, measured: Measured) -> str:
    if measured.value is None:
        return f"{expression.name} was not measured: {measured.missing}"
    value = number(measured.value, None)
    return f"{expression.name} {value} over {measured.n} {measured.of} has no interval: {measured.missing}"


def _told(expression: Expression, measured: Measured, looked_at: float, *, of_value: bool) -> str:
    """Return the sentence of a gate that passed or failed."""
    bar, held = expression.bar, expression.holds(looked_at)
    word, shown = (_HOLDS if held else _FAILS)[expression.operator], f"{bar:.10g}"
    value = number(measured.value, bar)
    interval = ""
    if measured.low is not None and measured.high is not None:
        interval = f" [{number(measured.low, bar)}, {number(measured.high, bar)}]"
    what = f"{expression.name} {value}{interval} over {measured.n} {measured.of}"
    if of_value:
        return f"{what}: the value alone is {word} {shown}, its interval was not looked at"
    if not held and not expression.holds(float(measured.value or 0)):
        return f"{what} is itself {word} {shown}"
    end = ("" if measured.worth is None else "exact ") + ("lower" if expression.wants_high else "upper")
    return f"{what}: its {end} end {number(looked_at, bar)} is {word} {shown}"


def number(value: float | None, bar: float | None) -> str:
    """Return a number with three decimals, and with more where it would else lie on another side of the bar."""
    number = float(value or 0)
    texts = [f"{number:.{places}f}" for places in _DECIMALS]
    return next((text for text in texts if bar is None or _side(float(text), bar) == _side(number, bar)), texts[-1])


def _side(number: float, bar: float) -> int:
    return (number > bar) - (number < bar)


def more_cases(expression: Expression, measured: Measured) -> int | None:
    """Return about how many more cases with the same result would bring the end of the interval past the bar.

    An exact interval is made of more and more cases, each worth as much as those there are. Wilson's
    of a mean of shares p ends where (p - x)^2 = k x (1 - x), with k falling as 1/n: its own end gives k, and the bar
    the k that is needed. The width of others falls with the square root of n. None where
    the value itself does not clear the bar, or one cluster tells no width.
    """
    value, end, bar = measured.value, measured.low if expression.wants_high else measured.high, expression.bar
    if value is None or end is None or not expression.holds(value) or abs(value - bar) <= _NEGLIGIBLE:
        return None
    if measured.worth is not None:
        total = _enough(expression, value, measured.n, measured.worth / measured.n) if measured.worth else None
        return None if total is None else total - measured.n
    if expression.is_share and expression.metric != "balanced_accuracy":
        if not 0 < end < 1 or not 0 < bar < 1:
            return None
        ratio = (value - end) ** 2 / (end * (1 - end)) * bar * (1 - bar) / (value - bar) ** 2
    else:
        ratio = ((value - end) / (value - bar)) ** 2
    return max(1, math.ceil(measured.n * ratio - _NEGLIGIBLE) - measured.n)


def _enough(expression: Expression, share: float, n: int, each: float) -> int | None:
    """Return the fewest cases, more than `n` and each worth so many independent ones, whose share clears the bar."""

    def clears(cases: int) -> bool:
        return expression.holds(exact_interval(share, cases * each)[0 if expression.wants_high else 1])

    return fewest(clears, least=n + 1, most=_MOST)
