"""What the page of a check shows of one judge: a card a criterion, with the picture, what was found and the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.checking.page.forest import forest
from judgeharness_integrations.checking.page.words import (
    TONES,
    fact_rows,
    gloss,
    level_text,
    next_step,
    seen_text,
    sentence,
    smallest_text,
    status_word,
)
from judgeharness_integrations.reporting.html.charts import bar
from judgeharness_integrations.reporting.html.wording import p_text, percent, plural

if TYPE_CHECKING:
    from judgeharness_integrations.checking.page.forest import Axis, ForestGroup
    from judgeharness_integrations.checking.report import CheckReport, PropertyCheck, Status, WorstCase
    from judgeharness_integrations.reporting.html.charts import Bar

__all__ = ["CriterionCard", "Finding", "JudgeSection", "Numbers", "Unchecked", "judge_section"]

_ORDER: Final[tuple[Status, ...]] = ("fail", "inconclusive", "pass", "not_checked")
_UNASKED: Final = re.compile(r"no sample under \w+")
_OUTCOMES: Final = {"ok": "first", "unparsed": "second", "refused": "tie"}


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many properties have a status."""

    word: str
    tone: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A property with its reason, what would settle it and the cases that speak against the judge."""

    name: str
    gloss: str
    status: str
    tone: str
    reason: str
    next: str
    worst: tuple[WorstCase, ...]


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """A property in numbers, each with what it is of."""

    name: str
    status: str
    tone: str
    seen: str
    of: str
    baseline: str
    baseline_of: str
    samples: str
    adjusted_p: str
    p: str
    smallest: str


@dataclass(frozen=True, kw_only=True)
class Unchecked:
    """Properties that were not checked for one and the same reason."""

    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class CriterionCard:
    """One criterion of one judge."""

    title: str
    counts: tuple[Count, ...]
    groups: tuple[ForestGroup, ...]
    facts: tuple[tuple[str, str, str], ...]
    failed: tuple[Finding, ...]
    open: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    numbers: tuple[Numbers, ...]
    unchecked: tuple[Unchecked, ...]


@dataclass(frozen=True, kw_only=True)
class JudgeSection:
    """One judge: its criteria, what all its samples came to, and of a single criterion how steady and right it is."""

    judge: str
    judge_model: str
    asked: str
    level: str
    steady: str
    right: str
    outcomes: Bar
    criteria: tuple[CriterionCard, ...]
    notes: tuple[str, ...]


def judge_section(report: CheckReport, axis: Axis) -> JudgeSection:
    """Return what the page shows of a report."""
    criteria = dict.fromkeys(one.criterion for one in report.properties)
    fact = report.facts[0] if len(report.facts) == 1 else {}
    return JudgeSection(
        judge=report.judge,
        judge_model=report.judge_model or "",
        asked=f"{plural(report.cases, 'case')}, {plural(report.calls, 'call')}",
        level=level_text(report),
        steady=percent(fact.get("consistency")),
        right=percent(fact.get("accuracy")),
        outcomes=bar((name, count, _OUTCOMES.get(name, "failed")) for name, count in report.outcomes.items()),
        criteria=tuple(_card(report, criterion, axis, alone=len(criteria) == 1) for criterion in criteria),
        notes=tuple(map(sentence, report.notes)),
    )


def _card(report: CheckReport, criterion: str, axis: Axis, *, alone: bool) -> CriterionCard:
    checks = [one for one in report.properties if one.criterion == criterion]
    return CriterionCard(
        title="" if alone and criterion in {"", "verdict"} else criterion,
        counts=tuple(_counts(checks)),
        groups=forest(checks, axis),
        facts=tuple(row for fact in report.facts if fact.get("criterion") == criterion for row in fact_rows(fact)),
        failed=tuple(map(_finding, _of(checks, "fail"))),
        open=tuple(map(_finding, _of(checks, "inconclusive"))),
        passed=tuple(map(_finding, _of(checks, "pass"))),
        numbers=tuple(_numbers(one) for one in checks if one.status != "not_checked"),
        unchecked=tuple(_unchecked(checks)),
    )


def _of(checks: Sequence[PropertyCheck], status: Status) -> list[PropertyCheck]:
    return [one for one in checks if one.status == status]


def _counts(checks: Sequence[PropertyCheck]) -> Iterator[Count]:
    for status in _ORDER:
        if count := len(_of(checks, status)):
            yield Count(word=status_word(status), tone=TONES[status], count=count)


def _finding(check: PropertyCheck) -> Finding:
    return Finding(
        name=check.name,
        gloss=gloss(check.name),
        status=status_word(check.status),
        tone=TONES[check.status],
        reason=sentence(check.reason),
        next=next_step(check),
        worst=check.worst,
    )


def _numbers(check: PropertyCheck) -> Numbers:
    seen, of = seen_text(check)
    return Numbers(
        name=check.name,
        status=status_word(check.status),
        tone=TONES[check.status],
        seen=seen,
        of=of,
        baseline=percent(check.baseline),
        baseline_of="" if check.baseline is None else plural(check.baseline_cases, "case"),
        samples=f"{check.valid:,} of {check.asked:,}",
        adjusted_p=p_text(check.adjusted_p),
        p=p_text(check.p_value),
        smallest=smallest_text(check),
    )


def _unchecked(checks: Sequence[PropertyCheck]) -> Iterator[Unchecked]:
    """Reasons once, with all the properties they hold for."""
    names: dict[str, list[str]] = {}
    for check in _of(checks, "not_checked"):
        names.setdefault(_UNASKED.sub("no sample under these changes", check.reason), []).append(check.name)
    for reason, found in names.items():
        yield Unchecked(names=tuple(found), reason=sentence(reason))
