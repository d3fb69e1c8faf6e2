"""What is asked of a report before something ships, as `pass_rate>=0.9`, and what gates said about it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, Self, TypeAlias

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import safe_text

from ..calibration.items import confidence_text
from ..statistics import CONFIDENCE

About: TypeAlias = Literal["population", "suite"]

_DECIMALS = range(3, 13)
GATES_SCHEMA = "judgeharness.gates/1"
REQUIRE_CALIBRATION: Final = "require_calibration"  # the gate that is on no metric
NOT_DRAWN: Final = "have no answer, and those that have one are not drawn at random"
STOPPED: Final = "was asked until its own gate is settled, and an interval over a fixed number of cases is not valid"
TAKEN_FOR_WHOLE: Final = (
    "nothing here says how many cases were to be asked, nor whether a gate ended it, as the folder of a run does: "
    "these are taken for all of them"
)
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
    units, cases or clusters, they looked at. `caution`: of one that passed, which judge that reads nothing is as good.
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
    caution: str = ""

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
    def caution(self) -> str:
        """Of which judges gates passed that are no better than one that reads nothing; empty where none is."""
        alone = self.passed and len({check.judge for check in self.checks}) == 1
        told = [
            ("" if alone else f"{check.judge}: ") + f"passed, but {check.caution}"
            for check in self.checks
            if check.caution
        ]
        return "; ".join(dict.fromkeys(told))

    @property
    def answer(self) -> str:
        """What came of all gates, in a few words."""
        failed = sum(check.status != "passed" for check in self.checks)
        if failed:
            return f"{failed} of {len(self.checks)} gate checks did not pass"
        one = self.caution.startswith("passed, ")
        return f"every gate {self.caution}" if one else "; ".join(filter(None, ("every gate passed", self.caution)))

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
OF_CALIBRATION: Final = ("precision", "recall", "specificity", "balanced_accuracy", "kappa", "lift")
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
            raise UsageError(f"{self._text_shown} can never pass: no {what} is {beyond} {best:g}.")
        if instead is not None and self.bar == best:
            end, beyond = ("lower", "below") if self.wants_high else ("upper", "above")
            raise UsageError(
                f"{self._text_shown} can never pass: with any number of cases the {end} end of an interval is {beyond} "
                f"{best:g}; give a bar that evidence can reach, as {self.name}{self.operator}"
                f"{best - 0.05 * (best - worst):g}, or gate {instead}."
            )

    @property
    def _text_shown(self) -> str:
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


_ON_VALUES: Final = "on the point estimate (--point-estimates, gates.point_estimates: true)"
_ABOUT_SUITE: Final = "about this suite, which is known exactly once every case is asked (--about suite)"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A bar that every judge and criterion it is about must clear; `judge` and `criterion` narrow it to one."""

    expression: Expression
    judge: str | None = None
    criterion: str | None = None

    @classmethod
    def of(cls, text: str, *, judge: str | None = None, criterion: str | None = None) -> Self:
        """Return the gate of an expression's text, as `pass_rate>=0.9`.

        Raises:
            UsageError: it cannot be read; see `parse_expression`.

        """
        return cls(expression=parse_expression(text), judge=judge, criterion=criterion)

    @property
    def name(self) -> str:
        """The expression as it was given."""
        return self.expression.text


@dataclass(frozen=True, kw_only=True)
class Gates:
    """All gates of a run or a report; expressions may be given as texts.

    `max_abstention` is `abstention<=`, `min_consistency` is `consistency>=`, both shares from 0 to 1.
    `require_calibration`: a calibration on people's or executed labels must hold for every judge and criterion, and its
    labels must tell the judge from one that reads nothing (`CriterionCalibration.untold`).
    `point_estimates`: gates look at the measured value instead of the worse end of its interval, and say so.
    `sequential`: gates may be looked at after every case, as often as one likes; they are `about` the `population` the
    cases are from, or this `suite`. Scores need the ends of their `scale` for that.

    Raises:
        UsageError: an expression cannot be read, or can never pass.

    """

    fail_under: tuple[Gate | str, ...] = ()
    max_abstention: float | None = None
    min_consistency: float | None = None
    require_calibration: bool = False
    point_estimates: bool = False
    sequential: bool = False
    about: About = "population"
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Read every expression, so that a wrong one is found before anything is asked."""
        given = (self.fail_under,) if isinstance(self.fail_under, str) else self.fail_under
        object.__setattr__(self, "fail_under", tuple(Gate.of(one) if isinstance(one, str) else one for one in given))
        self._check_sequential()
        for name in ("max_abstention", "min_consistency"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"{name} is a share from 0 to 1, not {value:g}.")
        for gate in self.listed:
            gate.expression.check_possible(instead=self._instead)

    @property
    def _instead(self) -> str | None:
        """What can clear a bar that no end of an interval does; None where these gates look at that already."""
        if self.sequential:
            return None if self.about == "suite" else _ABOUT_SUITE
        return None if self.point_estimates else _ON_VALUES

    def _check_sequential(self) -> None:
        if self.about not in {"population", "suite"}:
            raise UsageError(f"sequential gates are about the population or this suite, not {self.about!r:.40}.")
        if self.sequential and self.point_estimates:
            raise UsageError("sequential gates weigh evidence, point estimates are none: choose one of the two.")
        if self.scale is not None and not -math.inf < self.scale[0] < self.scale[1] < math.inf:
            raise UsageError(f"no score lies between {self.scale[0]:g} and {self.scale[1]:g}: give a scale as 1:10.")

    @property
    def listed(self) -> tuple[Gate, ...]:
        """The gates with an expression, in the order they are checked."""
        given: list[Gate] = [gate for gate in self.fail_under if isinstance(gate, Gate)]
        if self.max_abstention is not None:
            given.append(Gate.of(f"abstention<={self.max_abstention!r}"))
        if self.min_consistency is not None:
            given.append(Gate.of(f"consistency>={self.min_consistency!r}"))
        return tuple(dict.fromkeys(given))

    def __bool__(self) -> bool:
        """Whether anything is asked."""
        return bool(self.listed) or self.require_calibration

    def with_options(
        self,
        *,
        fail_under: Iterable[Gate | str] = (),
        max_abstention: float | None = None,
        min_consistency: float | None = None,
        require_calibration: bool | None = None,
        point_estimates: bool | None = None,
        sequential: bool | None = None,
        about: About | None = None,
        scale: tuple[float, float] | None = None,
    ) -> Gates:
        """Return these gates with more expressions, and with other limits where one is given."""
        limits = {
            "max_abstention": max_abstention,
            "min_consistency": min_consistency,
            "require_calibration": require_calibration,
            "point_estimates": point_estimates,
            "sequential": sequential,
            "about": about,
            "scale": scale,
        }
        given = {name: value for name, value in limits.items() if value is not None}
        return replace(self, fail_under=(*self.fail_under, *fail_under), **given)  # type: ignore[arg-type]
