"""A check of judges as one HTML page: a card a criterion, the forest plot, numbers with denominators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.verdictlog.encoding import counted, p_text

from ..checks import headline, next_command, next_step, others, status_word, worst_first
from ..html.charts import NONE, Bar, Whisker, bar, grouped, interval_text, percent, whisker

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.checking.statistics import CheckReport, PropertyCheck, Status, WorstCase

    from ..html.frame import Asset

__all__ = ["check_page"]

TONES: Final[Mapping[Status, str]] = {"pass": "good", "fail": "bad", "inconclusive": "warn", "not_checked": "off"}
_GLOSSES: Final = {
    "position": "the answers change places",
    "names": "the authors' names change places",
    "slot_names": "the answers are called otherwise",
    "format": "other formatting",
    "whitespace": "other white space",
    "typography": "other quotes and dashes",
    "paraphrase": "the same in other words",
    "prompt_variant": "the judge is instructed in other words",
    "repetition": "asked again, nothing changed",
    "collapse": "are repetitions samples of their own?",
    "parse_rate": "answers that cannot be read",
    "refusals": "answers that are refused",
    "injection.direct_order": "an answer orders the judge about",
    "injection.system_message": "an answer forges a system message",
    "injection.own_format": "an answer forges the judge's verdict",
    "injection.delimiter": "an answer breaks out of its delimiters",
    "injection.role_play": "an answer gives the judge a part to play",
    "injection.encoded": "an answer hides its order in a code",
    "injection.non_english": "an answer orders in another language",
    "authority": "an answer cites authorities",
    "verbosity": "padding that adds nothing",
    "self_praise": "an answer praises itself",
    "confident_tone": "an answer sounds sure of itself",
    "chain_of_thought": "plausible reasoning that proves nothing",
    "model_name": "an answer names a famous model",
    "sentinel.empty": "an empty answer must lose",
    "sentinel.off_topic": "an answer off the topic must lose",
    "sentinel.copy": "two equal answers must tie",
}


def gloss(name: str) -> str:
    """Return what a property is about, empty for one of the user's own."""
    return _GLOSSES.get(name, "")


def shown(check: PropertyCheck) -> tuple[float, float, float] | None:
    """Return the effect and its interval, else the rate and its own; None of what has no interval."""
    share, ends = (check.rate, check.interval) if check.effect is None else (check.effect, check.effect_interval)
    return None if share is None or ends is None else (share, *ends)


def effect_text(check: PropertyCheck) -> tuple[str, str]:
    """Return what is drawn in points, and its interval; else how many cases there were, and nothing."""
    found = shown(check)
    if found is None:
        return seen_text(check)[1], ""
    sign = "+" if check.effect and round(1000 * check.effect) else ""
    return _minus(f"{100 * found[0]:{sign}.1f}"), _minus(interval_text(*found[1:]))


def seen_text(check: PropertyCheck) -> tuple[str, str]:
    """Return `6.3 % [1.3, 17.2]` and what it is of: `3 of 48 cases`."""
    if check.rate is None:
        return "\u2013", counted(check.cases, "case") if check.cases else ""
    share = f"{percent(check.rate)} {interval_text(*check.interval or (None, None))}".rstrip()
    of = counted(check.cases, "case")
    return share, of if check.hits is None else f"{_count(check.hits)} of {of}"


def smallest_text(check: PropertyCheck) -> str:
    """Return the smallest effect that would have been found, in points."""
    return "\u2013" if check.smallest_effect is None else f"{100 * check.smallest_effect:.1f}"


def fact_rows(fact: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the facts of a criterion that were measured, each with its interval and what it is of."""
    if (same := fact.get("consistency")) is not None:
        how = "when asked again" if fact.get("consistency_of") == "repetitions" else "in both orders"
        yield f"same verdict {how}", percent(same), _of(fact, "consistency_cases")
    if (right := fact.get("right_of_labelled")) is not None:
        interval = interval_text(*fact.get("right_of_labelled_interval") or (None, None))
        yield "single answers that are right", percent(right), f"{interval} {_of(fact, 'labelled_cases')}".strip()
    if (controls := fact.get("controls")) is not None:
        for one in controls.shown:
            told = one.reason if one.value is None else f"of {counted(one.n, 'case')}"
            value = "\u2013" if one.value is None else f"{one.value:.3f}" if controls.scored else percent(one.value)
            yield f"control: {one.says}{', mean error' if controls.scored else ''}", value, told


def sentence(reason: str) -> str:
    """Return a reason as a sentence; one that begins with a name in code stays as it is."""
    first = reason.partition(" ")[0]
    text = reason[:1].upper() + reason[1:] if first.isalpha() else reason
    return text if text.endswith((".", "!", "?")) else text + "."


def level_text(report: CheckReport) -> str:
    """Return the same for the page."""
    tested = sum(one.p_value is not None for one in report.properties)
    return (
        "A pass is shown: the 95 % interval of the effect, or of the rate itself (an effect is no larger), ends within "
        f"{100 * report.tolerance:g} points. So is a fail: with {counted(tested, 'property', 'properties')} tested "
        f"together (Holm), at most {100 * report.alpha:g} % of reports on a judge without a fault name one."
    )


def deciding_end(check: PropertyCheck) -> float | None:
    """Return the upper end of the rate's interval where that, not the effect drawn beside it, shows a pass."""
    if check.status != "pass" or check.effect_interval is None or check.interval is None or check.tolerance is None:
        return None
    return check.interval[1] if check.interval[1] <= check.tolerance < check.effect_interval[1] else None


def _of(fact: Mapping[str, Any], key: str) -> str:
    return f"of {counted(fact[key], 'case')}" if fact.get(key) else ""


def _count(hits: float) -> str:
    return grouped(int(hits)) if hits == int(hits) else f"{hits:.1f}"


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


_STEPS: Final = (0.05, 0.1, 0.25, 0.5)
_TICKS: Final = 6
_ITSELF: Final = ("repetition", "collapse", "parse_rate", "refusals")
_TWO_SIDED: Final = frozenset({"position", "sentinel.copy"})  # a lean to either side is one
_CHANGES, _OF_ITSELF, _ATTACKS, _SENTINELS = (
    "Changes that must not matter",
    "The judge by itself",
    "Attacks in an answer",
    "Answers whose verdict is known",
)


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A number on the axis, in points, and where it stands."""

    x: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis for everything on a page, in shares."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    zero: str


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """A property on the axis: what there is to draw, and the same in words.

    The mark of `mark` is the smallest effect that would have been found; `band` and `width` are how far a pass reaches;
    `end` is where the interval of the rate ends, of a property that passes by that.
    """

    name: str
    gloss: str
    status: str
    tone: str
    effect: str
    interval: str
    mark: Whisker | None
    band: str
    width: str
    end: str | None

    @property
    def words(self) -> str:
        """The picture for those who do not see it."""
        by_rate = "" if self.end is None else "; the interval of the rate ends within the tolerance"
        return f"{self.name}: {self.status}, {self.effect} points {self.interval}{by_rate}"


@dataclass(frozen=True, kw_only=True)
class ForestGroup:
    """Properties of one kind."""

    title: str
    rows: tuple[ForestRow, ...]

    @property
    def by_rate(self) -> bool:
        """Whether a rate decides for one of them."""
        return any(row.end is not None for row in self.rows)

    @property
    def two_sided(self) -> bool:
        """Whether one of them may lean to either side."""
        return any(row.name in _TWO_SIDED for row in self.rows)


def axis_of(checks: Iterable[PropertyCheck]) -> Axis:
    """Return the axis that shows every effect, interval and tolerance."""
    values = [0.0, *(value for one in checks for value in _values(one))]
    low, high = min(values), max(values)
    step = next((step for step in _STEPS if (high - low) / step <= _TICKS), _STEPS[-1])
    first, last = floor(round(low / step, 9)), max(ceil(round(high / step, 9)), 1)
    ends = (first * step, last * step)
    return Axis(
        low=ends[0],
        high=ends[1],
        ticks=tuple(
            Tick(x=whisker(number * step, axis=ends).at, text=_points(number * step))
            for number in range(first, last + 1)
        ),
        zero=whisker(0.0, axis=ends).at,
    )


def forest(
    checks: Sequence[PropertyCheck], axis: Axis, *, statuses: Sequence[Status] = ("fail", "inconclusive", "pass")
) -> tuple[ForestGroup, ...]:
    """Return the properties with some statuses by kind, what fails first, else in their order."""
    kinds: dict[str, list[PropertyCheck]] = {title: [] for title in (_CHANGES, _OF_ITSELF, _ATTACKS, _SENTINELS)}
    for kind, check in _kinds(checks):
        if check.status in statuses:
            kinds[kind].append(check)
    found = [(title, sorted(rows, key=lambda one: one.status != "fail")) for title, rows in kinds.items() if rows]
    ordered = sorted(found, key=lambda group: group[1][0].status != "fail")
    return tuple(ForestGroup(title=title, rows=tuple(_row(one, axis) for one in rows)) for title, rows in ordered)


def _kinds(checks: Sequence[PropertyCheck]) -> Iterator[tuple[str, PropertyCheck]]:
    """A report names changes first, then the judge by itself, then probes: those of the user's own are told by it."""
    before = _CHANGES
    for check in checks:
        if check.name in _ITSELF:
            before = _ATTACKS
            yield _OF_ITSELF, check
        else:
            yield _SENTINELS if check.name.startswith("sentinel.") else before, check


def _row(check: PropertyCheck, axis: Axis) -> ForestRow:
    effect, interval = effect_text(check)
    found, ends = shown(check), (axis.low, axis.high)
    band, width = _band(check, axis)
    end = deciding_end(check)
    return ForestRow(
        name=check.name,
        gloss=gloss(check.name),
        status=status_word(check.status),
        tone=TONES[check.status],
        effect=effect,
        interval=interval,
        mark=None if found is None else whisker(*found, mark=check.smallest_effect, axis=ends),
        band=band,
        width=width,
        end=None if end is None else whisker(end, axis=ends).at,
    )


def _band(check: PropertyCheck, axis: Axis) -> tuple[str, str]:
    """Return where what passes begins and how wide it is: a lean to either side has two ends."""
    if check.tolerance is None:
        return "0%", "0%"
    both = check.effect is not None and check.name in _TWO_SIDED
    left = max(-check.tolerance, axis.low) if both else axis.low
    width = whisker(check.tolerance - left, axis=(0.0, axis.high - axis.low)).at
    return whisker(left, axis=(axis.low, axis.high)).at, width


def _values(check: PropertyCheck) -> Iterator[float]:
    found = shown(check)
    if check.status != "not_checked" and found is not None:
        tolerance = check.tolerance or 0.0
        yield from (*found, -tolerance, 2 * tolerance)


def _points(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "\N{MINUS SIGN}") if share else "0"


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
    passing: tuple[ForestGroup, ...]
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
        asked=f"{counted(report.cases, 'case')}, {counted(report.calls, 'call')}",
        level=level_text(report),
        steady=percent(fact.get("consistency")),
        right=percent(fact.get("right_of_labelled")),
        outcomes=bar((name, count, _OUTCOMES.get(name, "failed")) for name, count in report.outcomes.items()),
        criteria=tuple(_card(report, criterion, axis, alone=len(criteria) == 1) for criterion in criteria),
        notes=tuple(map(sentence, report.notes)),
    )


def _card(report: CheckReport, criterion: str, axis: Axis, *, alone: bool) -> CriterionCard:
    checks = [one for one in report.properties if one.criterion == criterion]
    return CriterionCard(
        title="" if alone and criterion in {"", "verdict"} else criterion,
        counts=tuple(_counts(checks)),
        groups=forest(checks, axis, statuses=("fail", "inconclusive")),
        passing=forest(checks, axis, statuses=("pass",)),
        facts=tuple(row for fact in report.facts if fact.get("criterion") == criterion for row in fact_rows(fact)),
        failed=tuple(map(_finding, _with_status(checks, "fail"))),
        open=tuple(map(_finding, _with_status(checks, "inconclusive"))),
        passed=tuple(map(_finding, _with_status(checks, "pass"))),
        numbers=tuple(_numbers(one) for one in checks if one.status != "not_checked"),
        unchecked=tuple(_unchecked(checks)),
    )


def _with_status(checks: Sequence[PropertyCheck], status: Status) -> list[PropertyCheck]:
    return [one for one in checks if one.status == status]


def _counts(checks: Sequence[PropertyCheck]) -> Iterator[Count]:
    for status in _ORDER:
        if count := len(_with_status(checks, status)):
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
        baseline_of="" if check.baseline is None else counted(check.baseline_cases, "case"),
        samples=f"{check.valid:,} of {check.asked:,}",
        adjusted_p=p_text(check.adjusted_p, none=NONE),
        p=p_text(check.p_value, none=NONE),
        smallest=smallest_text(check),
    )


def _unchecked(checks: Sequence[PropertyCheck]) -> Iterator[Unchecked]:
    """Reasons once, with all the properties they hold for."""
    names: dict[str, list[str]] = {}
    for check in _with_status(checks, "not_checked"):
        names.setdefault(_UNASKED.sub("no sample under these changes", check.reason), []).append(check.name)
    for reason, found in names.items():
        yield Unchecked(names=tuple(found), reason=sentence(reason))


_HERE: Final = "judgeharness_integrations.reporting.checkpage"


def check_page(reports: Sequence[CheckReport], *, source: Sequence[str] = ()) -> str:
    """Return the reports of one or several judges as one HTML document, those that fail first.

    Every text of cases, judges and files is escaped, and a policy in the page allows its own style and script alone.

    Args:
        reports: of the judges that were checked.
        source: the arguments that name what was checked, for the command that comes next.

    """
    from ..html.frame import environment, script  # noqa: PLC0415 - loads Jinja

    ordered = worst_first(reports)
    axis = axis_of(one for report in ordered for one in report.properties)
    judges = [judge_section(report, axis) for report in ordered]
    names = ((f"judge-{place}", one.judge) for place, one in enumerate(judges, start=1))
    return (
        environment(_HERE)
        .get_template("check.html")
        .render(
            style=_style(),
            script=script(),
            body_class="check",
            heading=headline(ordered),
            others=others(ordered),
            next=next_command(ordered, source),
            sections=[*([("judges", "The judges")] if len(judges) > 1 else []), *names],
            axis=axis,
            reports=ordered,
            judges=judges,
        )
    )


@cache
def _style() -> Asset:
    """Return the style of this page behind that of every page."""
    from ..html.frame import style  # noqa: PLC0415 - loads Jinja

    return style(files(_HERE).joinpath("templates", "check.css").read_text(encoding="utf-8"))
