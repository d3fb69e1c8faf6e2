"""Rules by name, `supermajority(2/3)` and its kin, and one applied with its quorum to the rows of a case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from judgeharness_integrations._errors import PlanError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.row import (
    ABSTAIN,
    Verdict,
    VerdictRow,
    is_number,
    verdict_from_json,
    verdict_text,
)

from . import folds
from .folds import Decision, abstained, decided, not_graded
from .grouping import Tally, by_criterion, is_numeric

Kind: TypeAlias = Literal["labels", "numbers", "any"]


@dataclass(frozen=True)
class Rule:
    """A named way to fold the rows of one case and criterion into a `Decision`.

    `function` may also return a bare verdict, or None to abstain. `both_orders` rules need plans whose two orders
    have equally many probes.
    """

    name: str
    function: Callable[[Sequence[VerdictRow]], Any]
    kind: Kind = "any"
    both_orders: bool = False

    @property
    def by_verdicts(self) -> bool:
        """Whether verdicts and orders are all it reads: rules of probabilities and functions of others read more."""
        if isinstance(self.function, ByKind):
            return self.function.labels.by_verdicts and self.function.numbers.by_verdicts
        return isinstance(self.function, Bound) and self.function.function not in folds.PROBABILITY_RULES

    def decide(self, rows: Sequence[VerdictRow]) -> Decision:
        """Return the decision over rows that hold at least one valid sample."""
        try:
            answer = self.function(rows)
        except Exception as error:
            raise UsageError(f"rule {self.name} failed on case {rows[0].case_id!r}: {error!r}.") from error
        if isinstance(answer, Decision):
            return answer
        try:
            verdict = verdict_from_json(answer)
        except ValueError as error:
            raise UsageError(f"rule {self.name} returned what cannot be a verdict: {error}.") from error
        return abstained(f"{self.name} abstained") if verdict is None or verdict == ABSTAIN else decided(verdict)


RuleLike: TypeAlias = str | Rule | Callable[[Sequence[VerdictRow]], Any]


@dataclass(frozen=True)
class _Parameter:
    """One parameter of a rule: its default text (None: optional) and the values it admits."""

    default: str | None
    admits: Callable[[Fraction], bool]
    range: str


@dataclass(frozen=True)
class _Entry:
    function: Callable[..., Decision]
    kind: Kind
    both_orders: bool = False
    parameters: Mapping[str, _Parameter] = field(default_factory=dict)


@dataclass(frozen=True)
class Bound:
    """A rule's function with its parameters; equal when both are, so that a rule read back equals the one written."""

    function: Callable[..., Decision]
    values: tuple[tuple[str, Fraction], ...]

    def __call__(self, rows: Sequence[VerdictRow]) -> Decision:
        """Decide with these parameters."""
        return self.function(rows, **dict(self.values))


_PASS_AT = {"pass_at": _Parameter(None, lambda _: True, "any number")}
_SHARE = _Parameter("0.2", lambda share: 0 <= share < Fraction(1, 2), "at least 0 and below 1/2")
_THRESHOLD = _Parameter("2/3", lambda share: 0 < share <= 1, "above 0 and at most 1")

_PROBABILITY = _Parameter("0.8", lambda share: 0 < share <= 1, "above 0 and at most 1")

_RULES: dict[str, _Entry] = {
    "majority": _Entry(folds.majority, "labels"),
    "strict_majority": _Entry(folds.strict_majority, "labels"),
    "supermajority": _Entry(folds.supermajority, "labels", parameters={"threshold": _THRESHOLD}),
    "abstain_on_disagreement": _Entry(folds.abstain_on_disagreement, "labels"),
    "swap_consensus": _Entry(folds.swap_consensus, "labels", both_orders=True),
    "net_preference": _Entry(folds.net_preference, "labels", both_orders=True),
    "median": _Entry(folds.median, "numbers", parameters=_PASS_AT),
    "mean": _Entry(folds.mean, "numbers", parameters=_PASS_AT),
    "trimmed_mean": _Entry(folds.trimmed_mean, "numbers", parameters={"share": _SHARE, **_PASS_AT}),
    "mode": _Entry(folds.mode, "numbers", parameters=_PASS_AT),
    "mean_probability": _Entry(folds.mean_probability, "labels", parameters={"threshold": _PROBABILITY}),
    "expected_score": _Entry(folds.expected_score, "numbers", parameters=_PASS_AT),
}
RULE_NAMES = tuple(sorted(_RULES))


@dataclass(frozen=True)
class ByKind:
    """Fold labels with one rule and scores with another; which of them is fixed by the rows, not chosen afterwards."""

    labels: Rule
    numbers: Rule

    def __call__(self, rows: Sequence[VerdictRow]) -> Decision:
        """Decide with the rule for what the rows hold."""
        return (self.numbers if is_numeric(rows) else self.labels).decide(rows)


_NUMBER = re.compile(r"([+-]?(?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})) *(?:/ *([0-9]{1,30}))?")
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*")


def rule(spec: RuleLike) -> Rule:
    """Return the rule a name, a plain function or a `Rule` stands for.

    Parameters are kept as written (`2/3` and `0.6667` are different rules) and compared as exact fractions.
    `supermajority(2/3) | median` folds labels with the first rule and scores with the second.

    Raises:
        UnknownNameError: no rule of that name.
        PlanError: a parameter is unknown, malformed or out of range, or a function has no name.

    """
    if isinstance(spec, Rule):
        return spec
    if isinstance(spec, str):
        return _by_kind(*spec.split("|")) if "|" in spec else _by_name(spec)
    name = getattr(spec, "__name__", type(spec).__name__)
    if name == "<lambda>":
        raise PlanError("a lambda has no name a report could carry: give Rule('my_rule', function) instead.")
    return Rule(name, spec)


def of_both_kinds(given: Rule) -> Rule:
    """Return the rule with `majority` for labels or `median` for scores beside it, whichever it does not fold."""
    if given.kind == "any":
        return given
    if given.both_orders:
        return rule("majority | median")
    labels, numbers = (given, _by_name("median")) if given.kind == "labels" else (_by_name("majority"), given)
    return Rule(f"{labels.name} | {numbers.name}", ByKind(labels, numbers))


def deciding_rule(given: Rule, rows: Iterable[VerdictRow]) -> Rule:
    """Return the one rule that decides about rows: `majority` for `majority | median` where all of them hold labels.

    A rule by kind is returned as it is where some criteria hold labels and others scores, or none holds a verdict.
    """
    if not isinstance(given.function, ByKind):
        return given
    kinds = {is_numeric(group) for group in by_criterion(rows).values()} - {None}
    if len(kinds) != 1:
        return given
    return given.function.numbers if kinds.pop() else given.function.labels


def pass_mark(given: Rule) -> Fraction | None:
    """Return the score from which a rule decides PASS; None where its decisions are no grades."""
    function = given.function.numbers.function if isinstance(given.function, ByKind) else given.function
    return dict(function.values).get("pass_at") if isinstance(function, Bound) else None


def _by_kind(*specs: str) -> Rule:
    rules = [_by_name(spec) for spec in specs]
    if [(part.kind, part.both_orders) for part in rules] != [("labels", False), ("numbers", False)]:
        written = " | ".join(part.name for part in rules)
        raise PlanError(
            f"rule {written!r} must be a rule for labels, then one for scores, as in supermajority(2/3) | median."
        )
    return Rule(" | ".join(part.name for part in rules), ByKind(*rules))


@lru_cache(maxsize=256)  # every written result says whether its rule's name brings the rule back
def _by_name(spec: str) -> Rule:
    match = _CALL.fullmatch(spec)
    if match is None:
        raise PlanError(f"rule {spec!r} is malformed: write name or name(parameter), as in supermajority(2/3).")
    name, arguments = match[1], match[2]
    if name not in _RULES:
        raise UnknownNameError("rule", name, RULE_NAMES)
    entry = _RULES[name]
    written = _read_arguments(name, arguments or "", entry.parameters)
    values = tuple((key, _fraction(name, key, text, entry.parameters[key])) for key, text in written.items())
    positional = [text for key, text in written.items() if entry.parameters[key].default is not None]
    named = [f"{key}={text}" for key, text in written.items() if entry.parameters[key].default is None]
    full_name = f"{name}({', '.join(positional + named)})" if written else name
    return Rule(full_name, Bound(entry.function, values), entry.kind, entry.both_orders)


def _read_arguments(name: str, text: str, parameters: Mapping[str, _Parameter]) -> dict[str, str]:
    """Return parameter -> text as written, defaults filled in, in the order of declaration."""
    given: dict[str, str] = {}
    for position, part in enumerate(piece.strip() for piece in text.split(",") if text.strip()):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            if position >= len(parameters):
                raise PlanError(f"rule {name!r} takes {len(parameters)} parameter(s), not {part!r} as well.")
            key, value = list(parameters)[position], key
        if key not in parameters:
            raise UnknownNameError(f"parameter of rule {name!r}", key, parameters)
        if key in given:
            raise PlanError(f"rule {name!r} is given {key} twice.")
        given[key] = value
    texts = {key: given.get(key, parameter.default) for key, parameter in parameters.items()}
    return {key: text for key, text in texts.items() if text is not None}


def _fraction(name: str, key: str, text: str, parameter: _Parameter) -> Fraction:
    written = _NUMBER.fullmatch(text)
    if written is None or (written[2] is not None and not int(written[2])):
        raise PlanError(f"{key}={text!r} of rule {name!r} is not a number: write a fraction or a decimal.")
    value = Fraction(written[1]) / int(written[2] or 1)
    if not parameter.admits(value):
        raise PlanError(f"{key}={text} of rule {name!r} is out of range: it must be {parameter.range}.")
    return value


def quorum(planned: int, min_valid: int | None = None) -> int:
    """Return how many valid samples a verdict needs: at least half of the planned ones, and at least one."""
    return max(1, (planned + 1) // 2 if min_valid is None else min_valid)


def check_rule_fits(rule: Rule, *, numeric: bool, criterion: str, answer: Verdict | None = None) -> None:
    """Raise a UsageError, which quotes the `answer`, when a rule for labels meets scores, or the other way round."""
    holds = "numbers" if numeric else "labels"
    if rule.kind in ("any", holds):
        return
    advice = "use median, mean, trimmed_mean or mode, or --labels" if numeric else "use majority or another label rule"
    such = "" if answer is None else f" such as {verdict_text(answer)}"
    raise UsageError(f"rule {rule.name} folds {rule.kind}, but criterion {criterion!r} holds {holds}{such}: {advice}.")


def decide(
    rows: Sequence[VerdictRow],
    rule: Rule,
    *,
    planned: int | None = None,
    min_valid: int | None = None,
    checked: bool = False,
    tally: Tally | None = None,
) -> Decision:
    """Decide one case and criterion.

    Args:
        rows: its rows, failures included, in any order.
        rule: how to fold them.
        planned: how many samples were to be asked; the rows present, for a log from elsewhere.
        min_valid: the quorum; see `quorum`.
        checked: the rule is known to fit the verdicts; whoever decides many cases checks once.
        tally: the counts of the rows, for who has them already.

    """
    planned = len(rows) if planned is None else planned
    if len(rows) < planned:
        return not_graded(f"{planned - len(rows)} of {planned} planned samples were not asked")
    valid = sum(row.answered for row in rows) if tally is None else tally.outcomes["ok"]
    if valid < (needed := quorum(planned, min_valid)):
        return not_graded(f"{valid} valid of {planned} samples, {needed} needed")
    if not checked:
        numeric = is_numeric(rows) if tally is None else tally.numeric
        check_rule_fits(rule, numeric=bool(numeric), criterion=rows[0].criterion)
    return rule.decide(rows)


PLANNED_SAMPLES = "planned_samples"  # attribute of the rows of a case that early stopping may have cut short


def samples_planned(rows: Iterable[VerdictRow]) -> int:
    """Return how many samples the rows of one case say were planned for it with early stopping; 0 where none does.

    Such a sample has no fixed size, whether or not it was cut short: rates that compare what was asked early with
    what was asked late are those of the cases that went on, the divided ones.
    """
    most = 0
    for row in rows:
        if PLANNED_SAMPLES in row.attributes:
            most = max(most, _whole(row.attributes[PLANNED_SAMPLES]))
    return most


def _whole(value: str | float) -> int:
    """Return a whole number, which a CSV file holds as text; 0 for what is none."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else 0
    return int(value) if is_number(value) else 0
