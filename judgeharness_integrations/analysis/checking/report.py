"""What a check of a judge found: one entry a property and criterion, with everything its status rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from judgeharness_integrations.analysis.calibration.controls import Controls

Status: TypeAlias = Literal["pass", "fail", "inconclusive", "not_checked"]
Interval: TypeAlias = "tuple[float, float] | None"


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """A case that speaks against the judge: `before` is what it said of the case as it is, `after` when changed.

    `shown` is the changed text as the judge was shown it, cut around the change; None where it is not known: of a log,
    where texts are not kept, and where nothing but the order changed.
    """

    case_id: str
    before: str
    after: str
    perturbation: str
    raw: str | None = None
    shown: str | None = None


@dataclass(frozen=True, kw_only=True)
class PropertyCheck:
    """One property of a judge about one criterion.

    `hits` counts the cases with what the property forbids (a flip, a lean, an unread answer), None where some show it
    in a part of their samples only. `rate` is their share of `cases`, each by its share of samples, `interval` its
    exact one at 95 %; `baseline` is the same share under repetition alone, where there is one. `effect` is what is to
    be small: `rate - baseline`, of `position` the net lean to the first slot where that is the louder one;
    `effect_interval` its 95 % interval. `p_value` is of the hypothesis that there is no effect (of a rate without a
    baseline: that it is not above `tolerance`), `adjusted_p` after Holm over all properties of the report.
    `smallest_effect` is the smallest true effect that a test at this report's strictest level would have found with
    80 % power. `asked` and `valid` count samples. What was not measured is None. `more_cases` and `more_calls` are what
    would settle an `inconclusive`, None where nothing foreseeable does.
    """

    name: str
    criterion: str
    status: Status
    reason: str
    tolerance: float | None = None
    cases: int = 0
    asked: int = 0
    valid: int = 0
    hits: float | None = None
    rate: float | None = None
    interval: Interval = None
    baseline: float | None = None
    baseline_cases: int = 0
    effect: float | None = None
    effect_interval: Interval = None
    p_value: float | None = None
    adjusted_p: float | None = None
    smallest_effect: float | None = None
    more_cases: int | None = None
    more_calls: int | None = None
    worst: tuple[WorstCase, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """The conformance report of one judge.

    `alpha` is the chance of at most one false `fail` in the whole report, `tolerance` the largest effect that passes.
    `facts` are what stands beside the properties and has no status: per criterion `consistency` (position consistency
    where both orders were shown, else agreement of repetitions: `consistency_of`, over `consistency_cases`) and, with
    gold labels, `right_of_labelled` with `right_of_labelled_interval` over `labelled_cases` and `controls`. `outcomes`
    counts all samples; `notes` are sentences about this log.
    """

    judge: str
    properties: tuple[PropertyCheck, ...]
    alpha: float
    tolerance: float
    cases: int
    calls: int
    outcomes: Mapping[str, int]
    judge_model: str | None = None
    facts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the properties that fail for some criterion."""
        return tuple(dict.fromkeys(one.name for one in self.properties if one.status == "fail"))

    @property
    def counts(self) -> dict[Status, int]:
        """How many properties have each status."""
        found = Counter(one.status for one in self.properties)
        return {status: found[status] for status in ("pass", "fail", "inconclusive", "not_checked")}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it (`judgeharness.check/1`)."""
        return {
            "schema": "judgeharness.check/1",
            "judge": self.judge,
            "judge_model": self.judge_model,
            "alpha": self.alpha,
            "tolerance": self.tolerance,
            "cases": self.cases,
            "calls": self.calls,
            "outcomes": dict(self.outcomes),
            "counts": self.counts,
            "failed": list(self.failed),
            "facts": [{name: _plain(value) for name, value in fact.items()} for fact in self.facts],
            "properties": [one.to_dict() for one in self.properties],
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Controls) else value
