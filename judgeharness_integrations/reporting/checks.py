"""A check and a passport of judges for people: what fails and what is open first, then each in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import join
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.analysis.certifying.certificate import candidates_text
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, listed, percent, safe_text

from .measured import NO_RETEST, estimate_text, retest_text
from .sections import Block, Bullets, Section, Strong, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck, WorstCase
    from judgeharness_integrations.analysis.probability.canary import CanaryCheck, CanaryReport
    from judgeharness_integrations.analysis.probability.passport import FormChange, Passport, QuestionPassport, Trust
    from judgeharness_integrations.analysis.statistics.means import Estimate

_ADVICE: Final = {"collapse": "Let the judge give its reasons, or log response ids: both tell copies from answers."}
_NAMED: Final = 4  # properties of a judge, or judges


def worst_first(reports: Sequence[CheckReport]) -> list[CheckReport]:
    """Return the reports, judges that fail most first."""
    return sorted(reports, key=lambda report: -len(report.failed))


def headline(reports: Sequence[CheckReport]) -> str:
    """Return the finding in one sentence: about the judge that fails most, or that no judge fails."""
    if len(reports) > 1 and not any(report.failed for report in reports):
        return f"None of {len(reports)} judges fails a property"
    return answer(worst_first(reports)[0])


def others(reports: Sequence[CheckReport]) -> tuple[str, ...]:
    """Return a sentence about each judge that the headline is not about; of many judges how many fail."""
    ordered = worst_first(reports)
    if len(ordered) > _NAMED:
        failing = sum(bool(report.failed) for report in ordered)
        return (f"{failing} of {len(ordered)} judges fail a property",) if failing else ()
    told = tuple(map(answer, ordered if len(ordered) > 1 else ()))
    return tuple(line for line in told if line != headline(reports))


def answer(report: CheckReport) -> str:
    """Return what a judge fails, with in how many cases; else what is inconclusive, or that it passes."""
    counts = report.counts
    checked = len(report.properties) - counts["not_checked"]
    failed, unsure = (
        [check for check in report.properties if check.status == status] for status in ("fail", "inconclusive")
    )
    several = len({check.criterion for check in report.properties}) > 1
    if not checked:
        return f"Nothing about {report.judge} could be checked"
    if failed:
        told = [f"{property_name(check, several=several)}, {_seen(check)}" for check in failed]
        return f"{report.judge} FAILS {len(failed)} of {checked}: {listed(told, _NAMED, '; ')}"
    if unsure:
        names = [property_name(check, several=several) for check in unsure]
        return f"{report.judge} fails none of {checked}; {len(unsure)} inconclusive: {listed(names, _NAMED)}"
    return f"{report.judge} passes {'the one property' if checked == 1 else f'all {checked}'} that could be checked"


def property_name(check: PropertyCheck, *, several: bool) -> str:
    """Return the property, with its criterion where there are `several`."""
    return f"{check.criterion} · {check.name}" if several else check.name


def _seen(check: PropertyCheck) -> str:
    """Return `42 of 42`; of what part of a case's samples show, the mean share over cases."""
    if check.hits is not None and check.hits % 1 == 0:
        return f"{check.hits:,.0f} of {check.cases:,}"
    return f"{percent(check.rate)} % of {counted(check.cases, 'case')}"


def next_command(reports: Sequence[CheckReport], source: Sequence[str]) -> str:
    """Return the command that follows from a check: all about what fails, more cases, or a run.

    Args:
        reports: of the judges that were checked.
        source: the arguments that name what was checked: a configuration, or `--log` and a log; empty where that is
            not known, and nothing is returned.

    """
    if not source:
        return ""
    check, ordered = ["judgeharness", "check", *source], worst_first(reports)
    of_log = "--log" in source
    if ordered[0].failed:
        one = [*_without(check, "--judge"), "--judge", ordered[0].judge] if len(ordered) > 1 else check
        return join([*one, "--all"])
    more = [one.more_cases for report in reports for one in report.properties if one.more_cases is not None]
    if more and not of_log:
        cases = max(one.cases for one in reports) + max(more)
        return join([*_without(check, "--cases"), "--cases", str(cases)])
    return join([*check, "--all"]) if of_log else join(["judgeharness", "run", source[0]])


def _without(arguments: Sequence[str], option: str) -> list[str]:
    """Return arguments without an option and its values."""
    names = ("", *arguments[:-1])
    return [one for one, before in zip(arguments, names, strict=True) if option not in (one, before)]


_TABLES: Final = {"fail": "properties that fail", "inconclusive": "inconclusive", "pass": "properties that pass"}
_WORST: Final = {"fail": 3, "inconclusive": 1, "pass": 0, "not_checked": 0}  # cases that are shown
_LEAD: Final = 100  # characters of what stands around a change
_LONGEST: Final = 160  # characters of a change
_PLAIN: Final = ("format", "verbosity")
_COLUMNS: Final = ("property", "cases", "rate %\n[95 %]", "asked\nagain", "effect\n[95 %]")
_COULD_SEE: Final = "could\nsee"  # of a pass it says nothing
_LEGEND: Final = (
    (
        "rate: share of cases with what the property forbids; asked again: the same share where nothing was changed; "
        "effect: their difference, of position the net lean; could see: the smallest effect that would have been "
        "found; all in per cent or points"
    ),
    (
        "more cases: how many would settle what is inconclusive; asking them is a second look: a judge without faults "
        "is twice as likely, at most, to fail at least one of two reports as a single one"
    ),
    "shown: what the judge read; {+what the change brought in+} stands in such brackets",
)


def checks_section(reports: Sequence[CheckReport], *, source: Sequence[str] = ()) -> Section:
    """Return the reports of one or several judges: the finding, what to do next, then a section a judge.

    Args:
        reports: judges that fail come first, whatever their order.
        source: the arguments that name what was checked, for the command that comes next.

    """
    command = next_command(reports, source)
    return Section(
        title=headline(reports),
        blocks=(
            *map(Strong, others(reports)),
            *([f"next: {command}"] if command else []),
            *map(_judge, worst_first(reports)),
            Section(title="how to read it", blocks=(Bullets(_LEGEND),), folded=True),
        ),
    )


def _judge(report: CheckReport) -> Section:
    several = len({one.criterion for one in report.properties}) > 1
    worst = list(_worst(report, several=several))
    parts = (
        ("fails", _failed(report, several=several), False),
        ("for example", worst[:1] if report.failed else (), False),
        ("passes, though an effect is there", _small(report, several=several), False),
        ("about these answers", report.notes, False),
        ("more cases that speak against it", worst[1:] if report.failed else worst, True),
        ("beside the properties", _facts(report, several=several), True),
        ("not checked, and why", _unchecked(report, several=several), True),
        ("what pass and fail mean", (rule_text(report),), True),
    )
    sections = [block for title, lines, folded in parts for block in _part(title, lines, folded=folded)]
    shown = [block for block in sections if not block.folded]
    numbers = tuple(_properties(report, several=several))
    return Section(
        title=_title(report),
        blocks=(
            *shown[: 2 if report.failed else 0],
            *_open(report, several=several),
            *_listed(report, several=several),
            *shown[2 if report.failed else 0 :],
            *([Section(title="every property in numbers", blocks=numbers, folded=True)] if numbers else []),
            *(block for block in sections if block.folded),
        ),
    )


def _listed(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield what passes and what was not checked, by name alone."""
    for status, word in (("pass", "pass"), ("not_checked", "not checked")):
        if names := [property_name(one, several=several) for one in report.properties if one.status == status]:
            yield f"{word}: {len(names)} ({', '.join(names)})"


def _title(report: CheckReport) -> str:
    model = "" if report.judge_model in (None, report.judge) else f" ({report.judge_model})"
    outcomes = ", ".join(f"{count} {name}" for name, count in report.outcomes.items())
    counts = ", ".join(f"{count} {status_word(status)}" for status, count in report.counts.items() if count)
    size = f"{counted(report.cases, 'case')}, {counted(report.calls, 'call')}"
    return f"{report.judge}{model}: {counts}; {size}, answers: {outcomes}"


def _part(title: str, lines: Iterable[str], *, folded: bool = False) -> Iterator[Section]:
    if shown := tuple(lines):
        yield Section(title=title, blocks=(Bullets(shown),), folded=folded)


def _failed(report: CheckReport, *, several: bool) -> Iterator[str]:
    for check in report.properties:
        if check.status == "fail":
            yield f"{property_name(check, several=several)}: {check.reason}"
    plain = [name for name in _PLAIN if name in report.failed]
    if plain and any(name.startswith("injection.") for name in report.failed):
        yield f"injections make an answer longer and format it: they may fail for the cause of {' and '.join(plain)}"


def _open(report: CheckReport, *, several: bool) -> Iterator[Section]:
    """Yield what is inconclusive; properties that lack the same stand together below what they lack."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for check in report.properties:
        if check.status == "inconclusive":
            seen, _, lacks = check.reason.rpartition(": ")
            step = "" if check.more_cases is not None else f". {next_step(check)}"
            alike = groups.setdefault(f"{lacks}{step}", {})
            alike.setdefault((seen, _more(check)), []).append(property_name(check, several=several))
    if groups:
        yield Section(title="inconclusive", blocks=tuple(_grouped(groups)))


def _more(check: PropertyCheck) -> str:
    """Return ` (9 more cases, 36 more calls)`, what would settle it."""
    numbers = ((check.more_cases, "more case"), (check.more_calls, "more call"))
    told = ", ".join(counted(count, noun) for count, noun in numbers if count is not None)
    return told and f" ({told})"


def _grouped(groups: dict[str, dict[tuple[str, str], list[str]]]) -> Iterator[Block]:
    for lacks, alike in groups.items():
        count = sum(map(len, alike.values()))
        if count > 1:
            yield f"{count} properties: {lacks}"
        yield Bullets(
            tuple(
                ": ".join(filter(None, (", ".join(names), seen, "" if count > 1 else lacks)))
                + (more.replace(")", " each)") if len(names) > 1 else more)
                for (seen, more), names in alike.items()
            )
        )


def _properties(report: CheckReport, *, several: bool) -> Iterator[Table]:
    """Yield the numbers, a table a criterion and status, what fails first."""
    for criterion in dict.fromkeys(one.criterion for one in report.properties):
        for status, title in _TABLES.items():
            mine = [one for one in report.properties if one.criterion == criterion and one.status == status]
            if mine:
                columns = _COLUMNS if status == "pass" else (*_COLUMNS, _COULD_SEE)
                yield Table.of(f"{title}, {criterion}" if several else title, columns, map(_row, mine))


def _row(check: PropertyCheck) -> tuple[str, ...]:
    hits = str(check.cases) if check.hits is None else f"{check.hits:.{0 if check.hits % 1 == 0 else 1}f}/{check.cases}"
    return (
        check.name,
        hits,
        _share(check.rate, check.interval),
        _share(check.baseline),
        _share(check.effect, check.effect_interval),
        *([] if check.status == "pass" else [_share(check.smallest_effect)]),
    )


def _share(value: float | None, interval: tuple[float, float] | None = None) -> str:
    shown = fixed(None if value is None else 100 * value, 0)
    return shown if interval is None else f"{shown} {ends(interval, 0, scale=100)}"


def _small(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield the effects within the tolerance that are more than chance."""
    for check in report.properties:
        if check.status == "pass" and check.adjusted_p is not None and check.adjusted_p <= report.alpha:
            yield f"{property_name(check, several=several)}: {check.reason}"


def _worst(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield the cases that speak loudest, those of what fails first."""
    for check in sorted(report.properties, key=lambda check: check.status != "fail"):
        for case in check.worst[: _WORST[check.status]]:
            raw = f": {safe_text(case.raw, 120)}" if case.raw else ""
            changed = f"{case.before} -> {case.after} under {case.perturbation}"
            shown = f"; shown: {_marked_text(case)}" if case.shown else ""
            name = property_name(check, several=several)
            yield f"{name}: case {safe_text(case.case_id, 60)}, {changed}{raw}{shown}"


def _marked_text(case: WorstCase) -> str:
    """Return what the judge read, what the change brought in between `{+` and `+}`, cut where that ends or is long."""
    pieces = (f"{{+{safe_text(text, _LONGEST)}+}}" if new else safe_text(text, _LEAD) for text, new in case.pieces)
    return safe_text(" ".join(pieces), 2 * _LONGEST)


def _facts(report: CheckReport, *, several: bool) -> Iterator[str]:
    for fact in report.facts:
        about = f"{fact['criterion']}: " if several else ""
        if fact.get("consistency") is not None:
            where = "both orders" if fact.get("consistency_of") == "orders" else "repetitions"
            same, of = percent(fact["consistency"]), fact["consistency_cases"]
            yield f"{about}same verdict in {where}: {same} % of {counted(of, 'case')}"
        if fact.get("right_of_labelled") is not None:
            interval = fact.get("right_of_labelled_interval")
            shown = "" if interval is None else f" {ends(interval, 0, scale=100)}"
            of = counted(fact["labelled_cases"], "case")
            right = percent(fact["right_of_labelled"])
            yield f"{about}single answers that agree with gold: {right} %{shown} of {of}"
        if (controls := fact.get("controls")) is not None:
            yield f"{about}{controls.line}"
            if controls.beaten:  # else the notes say it
                yield f"{about}{controls.sentence}"


def _unchecked(report: CheckReport, *, several: bool) -> Iterator[str]:
    """Yield `name, name: reason`, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for check in report.properties:
        if check.status == "not_checked":
            reason = check.reason.replace(f"no sample of the probe {check.name}", "no sample of the probe")
            reasons.setdefault(reason, []).append(property_name(check, several=several))
    for reason, names in reasons.items():
        yield f"{', '.join(names)}: {reason}"


_CHANGES = ("form", "cases", "mean change\n[95 %]", "beyond the retest\n[95 %]", "one is off by\nat least")


def passport_section(passport: Passport) -> Section:
    """Return a passport for people."""
    return Section(title=f"passport of {passport.judge}: {_answer(passport)}", blocks=tuple(_blocks(passport)))


def canary_section(check: CanaryCheck) -> Section:
    """Return what a passport's frozen states say, question by question."""
    if check.elsewhere:
        told = f"the passport on {check.passport} is {check.elsewhere}: take a new one"
        return Section(title=f"canary: {check.judge} is another model", blocks=(Strong(told),))
    still = f"nothing shows that {check.judge} has moved"
    answer = f"{check.judge} has moved: {', '.join(check.moved)}" if check.moved else still
    return Section(title=f"canary: {answer}", blocks=tuple(_rounds(check.questions)))


def _rounds(reports: Mapping[str, CanaryReport]) -> Iterator[Block]:
    columns = ("question", "rounds", "states", "evidence", "alarm from", "moved states")
    rows = (
        (
            name,
            str(report.days),
            str(report.states),
            fixed(report.evidence[-1], 2),
            fixed(report.needed, 0),
            "-" if report.alarm is None else str(len(report.moved)),
        )
        for name, report in reports.items()
    )
    yield Table.of("answers to frozen states", columns, rows)
    for name, report in reports.items():
        if not report.varied:
            yield f"{name}: no answer ever changed, so that another round of the same adds no evidence"
    level = sum(report.alpha for report in reports.values())
    yield (
        f"a model that has not moved raises an alarm in {percent(level)} % of passports at most, however often it is "
        "looked at"
    )


def _answer(passport: Passport) -> str:
    certified = [one for one in passport.questions if one.certified]
    of = counted(len(passport.questions), "question")
    worst = max((form.bound.low or 0.0 for one in passport.questions for form in one.forms), default=0.0)
    off = f"; one of two wordings is off by {fixed(worst, 2)} at least" if worst > 0 else ""
    return f"answers to {len(certified)} of {of} are certified{off}"


def _blocks(passport: Passport) -> Iterator[Block]:
    if not passport.calibrated:
        model = passport.source.removeprefix("model:")
        yield Strong(f"the labels are those of {model}, a model: what is certified is agreement with it")
    if passport.soft:
        yield (
            f"labels are {passport.consensus}: the map is fitted on them, and a decision agrees with the labels of a "
            "case where more than half of them are it"
        )
    levels = [one.trust.level for one in passport.questions if one.trust is not None]
    if passport.candidates > 1 and levels:
        yield candidates_text(passport.candidates, sum(levels) * passport.candidates)
    for question in passport.questions:
        yield from _question(question)
    if passport.canary is not None and passport.canary.rounds:
        states, rounds = len(passport.canary.states), len(passport.canary.rounds)
        yield f"canary: {counted(states, 'frozen state')}, {counted(rounds, 'round')} of answers so far"


def _question(question: QuestionPassport) -> Iterator[Block]:
    yield Strong(f"{question.criterion}: {_decision(question)}")
    if question.trust is not None:
        yield from _trust(question.trust)
    if question.noise is None:
        yield f"{question.criterion}: {NO_RETEST}"
        return
    yield retest_text(question.noise)
    if question.forms:
        title = f"{question.criterion}: the same question in other forms"
        yield Table.of(title, _CHANGES, map(_change, question.forms))


def _decision(question: QuestionPassport) -> str:
    trust = question.trust
    if trust is None:
        return f"none of {counted(question.cases, 'case')} has a label, so that no answer is certified"
    if trust.threshold is None:
        more = "" if trust.labels_needed is None else f"; about {counted(trust.labels_needed, 'label')} would do"
        return f"no answer is certified: {trust.refusal}{more}"
    return (
        f"from a calibrated probability of {fixed(trust.threshold)} on, answers agree with the labels at least "
        f"{percent(trust.agreement)} % of the time, with confidence {percent(1 - trust.level)} %; "
        f"{percent(trust.covered)} % of {counted(question.cases, 'case')} reach it"
    )


def _trust(trust: Trust) -> Iterator[str]:
    if trust.map is None:
        return
    yield (
        f"{counted(trust.labelled, 'label')} in {counted(trust.clusters, 'cluster')}: skill over the base rate "
        f"{estimate_text(trust.brier_skill)} (Brier), {estimate_text(trust.log_skill)} (log); calibration error "
        f"{fixed(trust.ece_raw)} before the map and {fixed(trust.ece)} after it, out of fold; {trust.map}, fitted on "
        f"{counted(trust.map.labels, 'label')} that set no threshold"
    )


def _change(form: FormChange) -> tuple[str, ...]:
    bound = form.bound.low
    return (
        form.form,
        str(form.n),
        _in_two(form.change),
        _in_two(form.excess),
        "-" if not bound else fixed(bound),
    )


def _in_two(found: Estimate) -> str:
    return f"{fixed(found.value)}\n{ends((found.low, found.high))}"


def status_word(status: str) -> str:
    """Return a status for people."""
    return status.replace("_", " ")


def next_step(check: PropertyCheck) -> str:
    """Return what would settle a property that is open."""
    if check.status != "inconclusive":
        return ""
    if check.more_cases is None:
        return _ADVICE.get(check.name) or "No number of further cases that can be foreseen settles it."
    calls = "" if check.more_calls is None else f" ({counted(check.more_calls, 'call')})"
    return f"About {counted(check.more_cases, 'more case')}{calls} would settle it."


def rule_text(report: CheckReport) -> str:
    """Return what `pass` and `fail` mean in a report, with the level that all its tests share."""
    tested = sum(one.p_value is not None for one in report.properties)
    level = f"{100 * report.alpha:g} %"
    return (
        "pass: the 95 % interval of the effect, or of the rate itself (an effect is no larger), ends within "
        f"{100 * report.tolerance:g} points; fail: neither does, and a test rejects at a level of {level} that "
        f"{counted(tested, 'test')} {'has' if tested == 1 else 'share'} (Holm): "
        f"a judge without any fault gets a fail in at most {level} of reports"
    )
