"""The page of a report: texts made safe, the table of cases, and what an opened case shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from judgeharness_integrations._version import __version__
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult, PerturbationSummary, boundary
from judgeharness_integrations.analysis.runs.report import RunReport
from judgeharness_integrations.analysis.runs.summarising import gold_of
from judgeharness_integrations.analysis.usage import reused_from
from judgeharness_integrations.verdictlog.encoding import counted, number_text, safe_text
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict, VerdictRow, is_number, verdict_text

from ..measured import limits, not_simultaneous, together_sections
from ..runfindings import attention, run_finding
from ..text import dissent, tokens_text, traces_text
from .charts import Bar, Tones, bar, column_names, decision_word, grouped, headlines, percent
from .frame import embedded_json, environment, script, style
from .judgecards import annotators_section, judge_card

if TYPE_CHECKING:
    from markupsafe import Markup

    from judgeharness_integrations.analysis.gates.gate import GateReport

_EXCERPT = 160  # characters
_INPUT = "input"


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """One measurement as a line. `right` is None where there is no decision or no gold label to compare.

    `flags` are `g` (judge and gold differ), `o` (the orders disagree) and `f` (samples failed). `texts` is the place of
    the case's texts among those of the report.
    """

    anchor: str
    case_id: str
    excerpt: str
    judge: str
    judge_number: int
    criterion: str
    criterion_number: int
    decision: str
    tone: str
    status: str
    samples: Bar
    consistency: str
    consistency_order: str
    gold: str
    right: bool | None
    flips: str
    flips_order: str
    flipped_by: str
    failed: int
    asked: int
    flags: str
    texts: int | None
    result: HarnessResult
    measured: CriterionResult


@dataclass(frozen=True, kw_only=True)
class CaseTable:
    """The rows and what they can be filtered by; a column is shown only where it says something."""

    rows: tuple[CaseRow, ...]
    judges: tuple[str, ...]
    criteria: tuple[str, ...]
    decisions: tuple[str, ...]
    statuses: tuple[str, ...]
    flags: frozenset[str]
    gold: bool
    flips: bool
    repeated: bool

    @property
    def decision_numbers(self) -> Mapping[str, int]:
        """Decision -> its place among `decisions`."""
        return {word: number for number, word in enumerate(self.decisions)}


def case_table(report: RunReport, tones: Tones) -> CaseTable:
    """Return the table of a report's results, those to look at first first (`attention`)."""
    judges = list(dict.fromkeys(result.judge for result in report.results))
    criteria = list(dict.fromkeys(name for result in report.results for name in result.criteria))
    anchors = _Anchors(several_judges=len(judges) > 1, several_criteria=len(criteria) > 1)
    excerpts = {case: (number, _excerpt(texts)) for number, (case, texts) in enumerate(report.case_texts.items())}
    judge_numbers = {name: number for number, name in enumerate(judges)}
    criterion_numbers = {name: number for number, name in enumerate(criteria)}
    found = [
        _row(
            result,
            measured,
            tones,
            anchor=anchors.of(result, measured.criterion),
            texts=excerpts.get(result.case_id, (None, "")),
            judge_number=judge_numbers[result.judge],
            criterion_number=criterion_numbers[measured.criterion],
        )
        for result in report.results
        for measured in result.criteria.values()
    ]
    rows = tuple(sorted(found, key=lambda row: attention(row.measured, row.result)))
    decisions = Counter(row.decision for row in rows)
    return CaseTable(
        rows=rows,
        judges=tuple(judges),
        criteria=tuple(criteria),
        decisions=tuple(word for word, _ in decisions.most_common()),
        statuses=tuple(dict.fromkeys(row.status for row in rows)),
        flags=frozenset(flag for row in rows for flag in row.flags),
        gold=any(row.gold for row in rows),
        flips=any(row.flips_order for row in rows),
        repeated=any(row.measured.planned > 1 for row in rows),
    )


class _Anchors:
    """Addresses of rows that stay the same from one report to the next: what tells rows apart, and no more."""

    def __init__(self, *, several_judges: bool, several_criteria: bool) -> None:
        self._judges, self._criteria = several_judges, several_criteria
        self._seen: Counter[str] = Counter()

    def of(self, result: HarnessResult, criterion: str) -> str:
        parts = [result.case_id, *([result.judge] if self._judges else []), *([criterion] if self._criteria else [])]
        name = "case-" + "/".join(quote(part, safe="", errors="surrogatepass") for part in parts)
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}/{self._seen[name]}"


def _excerpt(texts: Mapping[str, str]) -> str:
    return safe_text(texts.get(_INPUT) or next(iter(texts.values()), ""), _EXCERPT)


def _row(
    result: HarnessResult,
    measured: CriterionResult,
    tones: Tones,
    *,
    anchor: str,
    texts: tuple[int | None, str],
    judge_number: int,
    criterion_number: int,
) -> CaseRow:
    name, gold = measured.criterion, gold_of(result, measured.criterion)
    agrees, failed = right(measured, gold), measured.taken - measured.valid
    flipped_by, flips = max(
        ((part.name, part.flip_rate) for part in measured.perturbations if part.flip_rate is not None),
        key=lambda pair: pair[1],
        default=("", None),
    )
    flags = ("g" if agrees is False else "") + ("o" if _orders_disagree(measured) else "") + ("f" if failed else "")
    return CaseRow(
        anchor=anchor,
        case_id=result.case_id,
        texts=texts[0],
        excerpt=texts[1],
        judge=result.judge,
        judge_number=judge_number,
        criterion=name,
        criterion_number=criterion_number,
        decision=decision_word(measured.verdict),
        tone=tones.of(name, measured.verdict),
        status=measured.status,
        samples=bar(
            [
                *((verdict_text(one), many, tones.of(name, one)) for one, many in measured.sample_distribution.items()),
                ("failed", failed, "failed"),
            ]
        ),
        consistency=percent(measured.consistency_rate),
        consistency_order=_order(measured.consistency_rate),
        gold="" if gold is None else verdict_text(gold),
        right=agrees,
        flips=percent(flips),
        flips_order=_order(flips),
        flipped_by=flipped_by if flips else "",
        failed=failed,
        asked=measured.taken,
        flags=flags,
        result=result,
        measured=measured,
    )


def _order(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def right(measured: CriterionResult, gold: Verdict | None) -> bool | None:
    """Return whether a decision is what people said, for scores within the tolerance; None if it cannot be told."""
    if gold is None or measured.status != "decided" or is_number(gold) != is_number(measured.verdict):
        return None
    if is_number(gold):
        return abs(float(gold) - float(measured.verdict)) <= (measured.tolerance or 0.0)  # type: ignore[arg-type]
    return measured.verdict == gold


def _orders_disagree(measured: CriterionResult) -> bool:
    """Whether both orders have a most frequent verdict, and not the same one."""
    leaders = [_leading(measured, swapped=swapped) for swapped in (False, True)]
    return None not in leaders and leaders[0] != leaders[1]


def _leading(measured: CriterionResult, *, swapped: bool) -> Verdict | None:
    counts: Counter[Verdict] = Counter()
    for part in measured.perturbations:
        if part.swapped == swapped:
            counts.update(part.sample_distribution)
    ranked = counts.most_common(2)
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None


_HASH = "sha256:"  # what stands for a text that was not kept

Document = dict[str, Any]


def case_details(row: CaseRow, tones: Tones, shared: Iterable[str] = ()) -> Document:
    """Return what the opened case shows.

    Args:
        row: its line in the table.
        tones: the page's colours.
        shared: sentences of the boundary that hold for every case; they stand at the end of the page.

    """
    result, measured = row.result, row.measured
    known = set(shared)
    rows = [one for one in result.rows if one.criterion in (measured.criterion, EVERY_CRITERION)]
    return {
        "facts": _facts(row),
        "bar": [[one.label, one.count, one.tone] for one in row.samples.segments],
        "parts": [] if result.informal else [_part(one, measured, tones) for one in measured.perturbations],
        "reasons": _reasons(rows, row, tones),
        "failures": [_failure(one) for one in rows if one.verdict is None],
        "warnings": list(result.warnings),
        "limits": [sentence for sentence in boundary(result) if sentence not in known],
    }


def _facts(row: CaseRow) -> list[list[str]]:
    result, measured = row.result, row.measured
    found = [["Decision", f"{row.decision} ({measured.status.replace('_', ' ')})"]]
    if measured.reason:
        found.append(["Why", measured.reason])
    if row.gold:
        word = {None: "", True: ", the decision is right", False: ", the decision differs"}[row.right]
        found.append(["Gold label", row.gold + word])
    outcomes = ", ".join(f"{count} {name}" for name, count in measured.outcomes.items() if count)
    asked = "" if measured.taken == measured.planned else f", {measured.taken} asked"
    found.append(["Samples", f"{measured.planned} planned{asked}: {outcomes or 'none'}"])
    if not result.informal:
        found += [["Consistency", _consistency(measured)], ["Independence", _independence(measured)]]
    if measured.unbiased_rate is not None:
        found.append(["Unbiased rate", f"{percent(measured.unbiased_rate)}, without the bias of stopping early"])
    found.append(["Judge", result.judge + (f" ({result.judge_model})" if result.judge_model else "")])
    if result.test is not None:
        found.append(["Test", result.test])
    if traced := traces_text(one for one in result.rows if one.criterion in (measured.criterion, EVERY_CRITERION)):
        found.append(["Trace", traced])
    found.append(["Cost", _cost(result)])
    if result.skipped:
        found.append(["Skipped", "; ".join(f"{name}: {reason}" for name, reason in result.skipped.items())])
    return found


def _consistency(measured: CriterionResult) -> str:
    rate = percent(measured.consistency_rate)
    if measured.numeric:
        near = f"{rate} of {measured.valid} scores within {number_text(measured.tolerance)} of the decision"
        return near + ("" if measured.sd is None else f"; standard deviation {number_text(measured.sd)}")
    words = [f"{rate} of {counted(measured.valid, 'valid sample')}"]
    if measured.chance_consistency is not None:
        words.append(f"a guessing judge shows {percent(measured.chance_consistency)}")
    if measured.agreement is not None:
        words.append(f"pairs agree {percent(measured.agreement)}")
    return "; ".join(words)


def _independence(measured: CriterionResult) -> str:
    found = measured.independence
    evidence = f" ({', '.join(found.evidence)})" if found.evidence else ""
    return f"{found.status}{evidence}: {found.effective} effective of {measured.valid}"


def _cost(result: HarnessResult) -> str:
    usage = result.usage
    words = [counted(usage.calls, "call"), counted(usage.attempts, "attempt")]
    tokens = tokens_text(usage, number=grouped)
    words.append("tokens unknown" if tokens is None else f"{tokens} tokens")
    if usage.latency_s is not None:
        words.append(f"{usage.latency_s:,.1f} s")
    if usage.rewrites:
        words.append(counted(usage.rewrites, "rewrite"))
    if usage.reused:
        words.append(f"{usage.reused} re-used from {', '.join(reused_from(result.rows))}")
    return ", ".join(words)


def _part(part: PerturbationSummary, measured: CriterionResult, tones: Tones) -> list[Any]:
    counts = [
        [verdict_text(verdict), count, tones.of(measured.criterion, verdict)]
        for verdict, count in part.sample_distribution.items()
    ]
    flip = "" if part.flip_rate is None else percent(part.flip_rate)
    return [part.name, part.swapped, part.asked, part.valid, counts, flip]


def _reasons(rows: Sequence[VerdictRow], row: CaseRow, tones: Tones) -> list[Document]:
    """Return every sample with a verdict, by verdict: the decision first, then what speaks against it."""
    groups: dict[Verdict, list[VerdictRow]] = {verdict: [] for verdict in _ordered(row.measured)}
    for one in rows:
        if one.verdict is not None:
            groups.setdefault(one.verdict, []).append(one)
    against = dissent(row.result, row.measured.criterion)
    return [
        {
            "verdict": verdict_text(verdict),
            "tone": tones.of(row.measured.criterion, verdict),
            "decided": verdict == row.measured.verdict,
            "samples": [_sample(one, strongest=one is against) for one in given],
        }
        for verdict, given in groups.items()
    ]


def _ordered(measured: CriterionResult) -> list[Verdict]:
    verdicts = list(measured.sample_distribution)
    if measured.numeric:
        return sorted(verdicts, key=float)  # type: ignore[arg-type]
    return sorted(verdicts, key=lambda verdict: verdict != measured.verdict)


def _sample(row: VerdictRow, *, strongest: bool) -> list[Any]:
    text = row.reasoning or row.raw or ""
    return [row.perturbation, row.repetition + 1, row.swapped, strongest, *_kept(text)]


def _kept(text: str) -> tuple[str, str]:
    """Return a text, and a word about one that was not kept."""
    if not text:
        return "", "no reasons in the log"
    return ("", "only a hash was kept") if text.startswith(_HASH) else (text, "")


def _failure(row: VerdictRow) -> list[Any]:
    return [row.perturbation, row.repetition + 1, row.swapped, row.outcome, row.error or "", *_kept(row.raw or "")[:1]]


def texts_of(case_texts: Mapping[str, str]) -> list[list[str]]:
    """Return a case's texts, field by field, without empty ones."""
    return [[name, text] for name, text in case_texts.items() if text]


_MOST_BADGES = 6
_AT_ONCE = 200  # rows of one piece of the table; later pieces cost nothing until the script needs them
_SCRIPTS = ("details.js", "table.js", "main.js")
_STATES = {
    "budget_exhausted": "stopped: the budget is used up",
    "judge_down": "stopped: a judge is down",
    "unfinished": "not finished",
}


def html_report(report: RunReport, *, gates: GateReport | None = None) -> str:
    """Return the report as one HTML page that needs nothing else: no network, no other file.

    Every text of cases, judges and people is escaped, and a policy in the page allows its own script and style alone.
    It is readable without a script; opening, filtering and sorting cases need it. The same report always gives the same
    page, and a page says no more of a case than the report holds: `case_texts` where they were given, reasons where the
    log kept them.

    Args:
        report: a run, a log or the results of a session.
        gates: what gates said about it; without, what the run's own gates said is shown.

    """
    tones = Tones(report.results)
    table = case_table(report, tones)
    lines = headlines(report)
    mine: dict[str, list[HarnessResult]] = {section.judge: [] for section in report.judges}
    for result in report.results:
        mine[result.judge].append(result)
    page, found = environment().get_template("page.html"), run_finding(report, gates, has_page=True)
    source = PurePath(report.source).name or report.source
    return page.render(
        style=style(),
        script=script(*_SCRIPTS),
        heading=f"{found.answer} ({source})",
        found=found,
        sections=list(_sections(gates=(gates or report.gates) is not None)),
        title=_title(report),
        report=report,
        source=source,
        state=_STATES.get(report.state, report.state_text),
        headlines=lines,
        not_simultaneous=not_simultaneous(report),
        columns=column_names(lines),
        gates=gates or report.gates,
        gates_of_run=gates is None,
        most_badges=_MOST_BADGES,
        judges=[judge_card(section, mine[section.judge], tones) for section in report.judges],
        together=tuple(together_sections(report.together)),
        annotators=annotators_section(report),
        table=table,
        at_once=_AT_ONCE,
        not_asked=sum(section.not_asked for section in report.judges),
        details=_details(report, table, tones),
        texts=_texts(report),
        limits=limits(report),
        version=__version__,
    )


def _sections(*, gates: bool) -> Iterator[tuple[str, str]]:
    """Yield the anchors and names of the navigation."""
    yield "summary", "Finding"
    if gates:
        yield "gates", "Gates"
    yield from (("cases", "Cases"), ("judges", "Judges"), ("boundary", "Not measured"), ("annotators", "Annotators"))


def _title(report: RunReport) -> str:
    cases = counted(report.cases, "case")
    names = [section.judge for section in report.judges]
    if not names:
        return "Nothing was judged"
    return f"{cases} judged by {names[0] if len(names) == 1 else f'{len(names)} judges'}"


def _details(report: RunReport, table: CaseTable, tones: Tones) -> Iterator[tuple[int, Markup]]:
    """Yield, of each row of the table, the data that it opens to."""
    everywhere = {
        section.judge: [sentence for sentence, count in section.not_measured.items() if count >= section.cases]
        for section in report.judges
    }
    for number, row in enumerate(table.rows):
        yield number, embedded_json(case_details(row, tones, everywhere[row.judge]))


def _texts(report: RunReport) -> Iterator[tuple[int, Markup]]:
    """Yield the texts of each judged case, once for all of its judges."""
    judged = {result.case_id for result in report.results}
    for number, (case, texts) in enumerate(report.case_texts.items()):
        if case in judged:
            yield number, embedded_json(texts_of(texts))
