"""What judges come to, what gates said, what was not measured, whichever report shows it; and a replay for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.analysis.aggregation.statistics import VarianceSplit, variance_split
from judgeharness_integrations.analysis.calibration.items import confidence_text, simultaneous_level
from judgeharness_integrations.analysis.certifying.certificate import held_text
from judgeharness_integrations.analysis.gates.metrics import criteria_of
from judgeharness_integrations.analysis.replay.report import JudgeReplay, ReplayReport
from judgeharness_integrations.analysis.result import UNCALIBRATED
from judgeharness_integrations.analysis.runs.summarising import design_key, designs_apart
from judgeharness_integrations.analysis.statistics import CONFIDENCE
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, p_text, percent, safe_text, share
from judgeharness_integrations.verdictlog.row import CaseKey, Verdict, VerdictRow, verdict_text

from .calibrationtext import cascade_promise, uncalibrated
from .fragments import section_html
from .sections import Block, Section, Strong, Table
from .text import cost_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.controls import Controls
    from judgeharness_integrations.analysis.calibration.rates import Rate
    from judgeharness_integrations.analysis.gates.gate import GateCheck, GateReport
    from judgeharness_integrations.analysis.probability.forecasts import AnswerChange, RetestBand
    from judgeharness_integrations.analysis.probability.measuring import ProbabilitySummary
    from judgeharness_integrations.analysis.probability.passport import Noise
    from judgeharness_integrations.analysis.probability.report import ProbabilityFigures
    from judgeharness_integrations.analysis.runs.report import CriterionSummary, JudgeSection, RunReport
    from judgeharness_integrations.analysis.statistics.means import Estimate

_MOST_LABELS: Final = 4  # lines of a cell
_MOST_VERDICTS: Final = 6
_LONGEST_LABEL: Final = 16


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One line of the table: `result` is what was decided, in lines; `never` counts cases that were never asked.

    `accuracy` is what a report says of it, as that of a run that its gates stopped; that of `replay` without.
    """

    name: str
    replay: JudgeReplay
    result: str = ""
    accuracy: Rate | None = None
    chance: float | None = None
    never: int = 0


def named_after(judge: str, criterion: str, design: str = "") -> str:
    """Return what a judge's criterion is called: by the judge alone where it has one criterion and one design."""
    return " · ".join(filter(None, (judge, "" if criterion == "verdict" else criterion, design)))


def criterion_names(section: JudgeSection, alone: str | None = None) -> Iterator[tuple[str, CriterionSummary]]:
    """Yield criteria with what they are called beside the others of a judge: its name, criterion and design.

    Args:
        section: the judge.
        alone: what stands for the judge's name; an only criterion is then not called at all.

    """
    designs = designs_apart(one.design for one in section.criteria)
    for one in section.criteria:
        criterion = one.criterion if alone is None or len(section.criteria) > 1 else ""
        name = section.judge if alone is None else alone
        yield named_after(name, criterion, designs[design_key(one.design)]), one


def measured_table(entries: Iterable[Measured], *, title: str = "measured") -> Table:
    """Return what was decided, of how many, how often right, how consistently; columns that tell nothing are left out.

    Shares are in per cent, each beside its denominator and over its 95 % interval over cases or clusters.
    """
    listed = list(entries)
    chance = "" if all(one.chance is None for one in listed) else "\n(chance)"
    columns = {
        "judge": [one.name for one in listed],
        "result,\n% of cases": [one.result for one in listed],
        "decided,\n% of cases": [_decided(one) for one in listed],
        "ab-\nstained": [str(one.replay.abstained) for one in listed],
        "not\ngraded": [str(one.replay.not_graded) for one in listed],
        "right, % of\ndecided\nwith gold": [_right(one) for one in listed],
        f"consis-\ntency %{chance}": [_consistency(one) for one in listed],
        "ties": [str(one.replay.tie_decisions or "") for one in listed],
        "never\nasked": [str(one.never) if any(two.never for two in listed) else "" for one in listed],
    }
    told = {head: [cell or "-" for cell in cells] for head, cells in columns.items() if {*cells} - {"", "-"}}
    return Table.of(title, told, zip(*told.values(), strict=True))


def _decided(one: Measured) -> str:
    """Return the share of cases that were decided, of as many cases as the result beside it."""
    return percent(one.replay.coverage) if one.result else share(one.replay.decided, one.replay.cases)


def _right(one: Measured) -> str:
    """Return how right decisions are against gold: the share of labels, or how far scores lie off."""
    replay = one.replay
    if replay.mean_absolute_error is not None:
        return f"off by {fixed(replay.mean_absolute_error)}\nof {replay.labelled}"
    if one.accuracy is not None:
        return "\n".join(_lines_of("", one.accuracy))
    if replay.correct is None or not replay.labelled:
        return "-"
    interval = replay.accuracy_interval
    told = "no interval" if interval is None else ends(interval, 1, scale=100)
    return f"{share(replay.correct, replay.labelled)}\n{told}"


def _consistency(one: Measured) -> str:
    told = percent(one.replay.consistency_rate)
    return told if one.chance is None else f"{told}\n({percent(one.chance)})"


def rate_text(rate: Rate | None) -> str:
    """Return `41.7 % [24.5, 61.2] of 24`."""
    return "-" if rate is None else level_text(rate.value, rate.low, rate.high, rate.trials)


def level_text(value: float, low: float, high: float, of: int) -> str:
    """Return a share, its interval and its denominator: `41.7 % [24.5, 61.2] of 24`."""
    return f"{percent(value)} % {ends((low, high), 1, scale=100)} of {of:,}"


def result_text(summary: CriterionSummary) -> str:
    """Return what people ask for first, in lines: a mean score, a pass rate, or how often each label was decided."""
    return "\n".join(_results(summary)) or "-"


def _results(summary: CriterionSummary) -> Iterator[str]:
    if (mean := summary.mean_score) is not None:
        yield f"mean {fixed(mean.value)}"
        yield "no interval" if mean.low is None else ends((mean.low, mean.high))
        yield f"of {mean.n}"
        return
    if summary.positive is not None and summary.positive_rate is not None:
        yield from _lines_of(summary.positive, summary.positive_rate)
        return
    labels = list(summary.verdicts)
    rates = ((label, summary.rate_of(label)) for label in labels[:_MOST_LABELS])
    told = ((safe_text(verdict_text(label), _LONGEST_LABEL), rate) for label, rate in rates if rate is not None)
    yield from (line for label, rate in told for line in _lines_of(label, rate))
    if len(labels) > _MOST_LABELS:
        yield "…"


def _lines_of(label: str, rate: Rate) -> Iterator[str]:
    yield f"{label} {share(rate.successes, rate.trials)}".lstrip()
    yield ends((rate.low, rate.high), 1, scale=100)


def verdict_shares(counts: Mapping[Verdict, int], cases: int) -> str:
    """Return how many of the cases were decided as each of the commonest verdicts, in lines."""
    shown = [f"{safe_text(verdict_text(one), _LONGEST_LABEL)}: {share(count, cases)}" for one, count in counts.items()]
    return "\n".join(shown[:_MOST_VERDICTS]) + ("\n…" if len(shown) > _MOST_VERDICTS else "") or "-"


def control_line(found: Controls, *, stopped: bool = False) -> str:
    """Return what judges that read nothing get right, and whether a judge is better than the best of them.

    Args:
        found: the controls.
        stopped: whether asking ended because of what was answered, where the sentence's interval is not valid.

    """
    return f"{found.told} by an interval over a fixed number of cases" if stopped else found.told


def stopping_sentences(entries: Iterable[JudgeReplay]) -> Iterator[str]:
    """Yield what is to be known about samples of early stopping; nothing where there are none."""
    listed = list(entries)
    if censored := sum(entry.censored for entry in listed):
        yield (
            f"{censored} of {sum(entry.cases for entry in listed)} cases hold fewer samples than were planned for "
            "them: consistency is that of stopped (censored) samples, and a case counts as decided only where no "
            "further sample could change it"
        )
    if any(entry.curtailed for entry in listed):
        yield (
            "with early stopping, later samples are asked only about cases that earlier ones left open: accuracy by "
            "perturbation, position, spread and variance would show that choice, and are left out"
        )


_WORDS: Final = {"passed": "passed", "failed": Strong("FAILED"), "not_measured": Strong("NOT MEASURED")}


def gates_section(gates: GateReport, *, of_run: bool = False) -> Section:
    """Return every check with its sentence; `of_run`: what the run said at its end, nothing was checked now."""
    return Section(
        title=f"gates{' of the run, as they were at its end' if of_run else ''}: {gates.answer}",
        blocks=tuple(_blocks(gates)),
    )


def not_simultaneous(report: RunReport) -> str:
    """Return that intervals of right do not hold for all candidates of a log at once; empty where one stands alone."""
    most = max(criteria_of(report), key=lambda one: one.judges, default=None)
    if most is None or most.judges == 1 or most.summary.accuracy is None:
        return ""
    level = confidence_text(simultaneous_level(most.judges))
    return (
        f"each interval of right, and of a lead over controls, holds {confidence_text(CONFIDENCE)} by itself: each is "
        f"{most.among}, and the best of them may be best by luck, so a gate on accuracy uses {level}"
    )


def _blocks(gates: GateReport) -> Iterator[Block]:
    ordered = sorted(gates.checks, key=lambda check: check.status == "passed")
    yield Table.of(gates.basis, ("gate", "of", "status"), map(_row, ordered), texts=3)
    for check in ordered:
        where = f" ({check.about})" if len(gates.checks) > 1 else ""
        yield f"{check.gate}{where}: {check.reason.removeprefix(_name(check))}"
    if gates.price:
        yield gates.price


_NAME: Final = re.compile(r"[a-z_]+(?:\([^)]*\))?")


def _name(check: GateCheck) -> str:
    """Return the metric as reasons begin with it: the gate before it names it already."""
    found = _NAME.match(check.gate)
    return "" if found is None else f"{found[0]} "


def _row(check: GateCheck) -> tuple[str, str, str]:
    word = "passed, but see below" if check.caution else _WORDS[check.status]
    return check.gate, check.about, word


_LONGEST_LINE: Final = 800


def last_lines(gates: GateReport | None) -> tuple[str, ...]:
    """Return what a command ends with: which judges passed and are no better than one that reads nothing."""
    return () if gates is None or not gates.caution else (safe_text(f"gates: {gates.caution}", _LONGEST_LINE),)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One sentence, which holds for `held` of the `cases` of some judges; `judges` is empty where it is all of them."""

    sentence: str
    judges: tuple[str, ...]
    held: int
    cases: int

    @property
    def share(self) -> str:
        """How many cases it holds for."""
        return f"{self.held:,} of {self.cases:,}"

    @property
    def line(self) -> str:
        """The sentence with judges and cases, where it does not hold for all."""
        whose = f"{', '.join(self.judges)}: " if self.judges else ""
        return f"{whose}{self.sentence}" + ("" if self.held == self.cases else f" ({self.share} cases)")


def limits(report: RunReport) -> list[Limit]:
    """Return what was not measured, what holds most often first."""
    found: dict[str, dict[str, int]] = {}
    for section in report.judges:
        for sentence, count in section.not_measured.items():
            said = uncalibrated(section.criteria) if sentence == UNCALIBRATED else sentence
            found.setdefault(said, {})[section.judge] = count
    sizes = {section.judge: section.cases for section in report.judges}
    ordered = sorted(found.items(), key=lambda pair: -sum(pair[1].values()))
    return [
        Limit(
            sentence=sentence,
            judges=() if len(counts) == len(sizes) else tuple(counts),
            held=sum(counts.values()),
            cases=sum(sizes[name] for name in counts),
        )
        for sentence, counts in ordered
    ]


def replay_section(
    report: ReplayReport,
    groups: Sequence[Sequence[VerdictRow]] = (),
    *,
    like: Mapping[CaseKey, int] = MappingProxyType({}),
    source: str = "",
    notes: Sequence[str] = (),
) -> Section:
    """Return a replay for people.

    Args:
        report: what was decided.
        groups: the rows behind each of its entries, whose variance is split; none where they are not known.
        like: case of these rows -> how many cases it stands for, where it is not itself alone.
        source: what was replayed.
        notes: what is to be known before the numbers.

    """
    chosen = "before the samples" if report.rule_fixed == "before" else "after the samples: exploratory"
    return Section(
        title=f"replay of {source}" if source else f"replay under {report.rule}",
        blocks=(f"rule: {report.rule}, chosen {chosen}", *notes, *_replay_blocks(report, groups, like)),
    )


def replay_fragment(report: ReplayReport) -> str:
    """Return a replay as HTML that a notebook shows."""
    return section_html(replay_section(report))


def _replay_blocks(
    report: ReplayReport, groups: Sequence[Sequence[VerdictRow]], like: Mapping[CaseKey, int]
) -> Iterator[Block]:
    entries = report.judges
    yield measured_table((Measured(name=_replay_name(entry), replay=entry) for entry in entries), title="decisions")
    yield from stopping_sentences(entries)
    for entry in entries:
        yield from (f"{_replay_name(entry)}: {line}" for line in _lines(entry))
    if labels := [entry for entry in entries if entry.kind == "labels"]:
        yield _call_table(labels)
    if any(entry.pairs for entry in labels):
        yield _position_table(labels)
    if numbers := [entry for entry in entries if entry.kind == "numbers"]:
        yield _score_table(numbers)
    if pairs := [(entry, rows) for entry, rows in zip(entries, groups, strict=False) if not entry.curtailed]:
        yield _variance_table(pairs, like)
    for judge, held in report.certificates.items():
        for line in (held_text(*held), *held[0].warnings(one.criterion for one in entries if one.judge == judge)):
            yield f"{judge}: {line}"
    for anchor in report.anchors:
        yield from anchor.lines()


def _replay_name(entry: JudgeReplay) -> str:
    return named_after(entry.judge, entry.criterion)


def _lines(entry: JudgeReplay) -> Iterator[str]:
    """Yield what judges that read nothing get right, and what of gold labels is unread or in clusters."""
    if entry.controls is not None:
        yield control_line(entry.controls, stopped=entry.stopped)
    if entry.unread:
        told = "1 case has a gold label" if entry.unread == 1 else f"{entry.unread} cases have gold labels"
        yield f"{told} that cannot be read beside such decisions, counted as without one"
    if entry.clusters is not None:
        yield f"intervals of accuracy and controls: {entry.labelled} cases in {entry.clusters} clusters"


def _call_table(entries: Sequence[JudgeReplay]) -> Table:
    names = list(dict.fromkeys(name for entry in entries for name in entry.single_call_accuracy or {}))
    columns = (
        "judge",
        "rows",
        "unparsed",
        "consistency\n% of a case",
        *(f"right %,\n{name}" for name in names),
    )
    return Table.of("single calls: a failed one is not right", columns, (_calls(entry, names) for entry in entries))


def _calls(entry: JudgeReplay, names: Sequence[str]) -> list[str]:
    right = entry.single_call_accuracy or {}
    counts = (str(entry.rows), str(entry.unparsed), percent(entry.consistency_rate))
    return [_replay_name(entry), *counts, *(percent(right.get(name)) for name in names)]


def _position_table(entries: Sequence[JudgeReplay]) -> Table:
    columns = ("judge", "pairs", "same\nverdict %", "P(first)\n%", "always\nfirst", "always\nsecond", "McNemar\np")
    return Table.of("position: pairs of samples shown in both orders", columns, map(_position, entries))


def _position(entry: JudgeReplay) -> list[str]:
    return [
        _replay_name(entry),
        str(entry.pairs),
        percent(entry.position_consistency),
        percent(entry.first_slot_rate),
        "-" if entry.always_first is None else str(entry.always_first),
        "-" if entry.always_second is None else str(entry.always_second),
        p_text(entry.position_bias_p),
    ]


def _score_table(entries: Sequence[JudgeReplay]) -> Table:
    columns = (
        "judge",
        "rows",
        "unparsed",
        "SD within\na case",
        "near the\ndecision %",
        "mean abs.\nerror",
        "cases\nwith gold",
    )
    return Table.of("scores", columns, map(_scores, entries))


def _scores(entry: JudgeReplay) -> list[str]:
    return [
        _replay_name(entry),
        str(entry.rows),
        str(entry.unparsed),
        fixed(entry.within_case_sd),
        percent(entry.consistency_rate),
        fixed(entry.mean_absolute_error),
        str(entry.labelled),
    ]


def _variance_table(pairs: Sequence[tuple[JudgeReplay, Sequence[VerdictRow]]], like: Mapping[CaseKey, int]) -> Block:
    if not any(_repeated(group) for _, group in pairs):
        return "variance of single samples: cannot be split, nothing was asked twice under one perturbation"
    splits = [
        (entry, positive, variance_split(group, positive=positive or "PASS", like=like))
        for entry, group in pairs
        for positive in [None if entry.kind == "numbers" else _positive(group, like)]
    ]
    columns = ("judge", "of", "cases\n%", "pertur-\nbations %", "repeti-\ntions %", "ICC(1)", "negative,\nset to 0")
    title = "variance of single samples: between cases, perturbations, repetitions"
    return Table.of(title, columns, (_variance(*split) for split in splits))


def _repeated(rows: Sequence[VerdictRow]) -> bool:
    """Whether any case holds two verdicts under one perturbation; without, spread has no yardstick."""
    valid = [(row.case_id, row.perturbation) for row in rows if row.verdict is not None]
    return len(set(valid)) < len(valid)


def _variance(entry: JudgeReplay, positive: Verdict | None, split: VarianceSplit) -> list[str]:
    return [
        _replay_name(entry),
        "score" if positive is None else f"is {verdict_text(positive)}",
        *_shares(split),
        fixed(split.reliability),
        ", ".join(split.clipped) or "-",
    ]


def _shares(split: VarianceSplit) -> list[str]:
    parts = (split.between_cases, split.between_perturbations, split.between_repetitions)
    total = sum(part or 0.0 for part in parts)
    return [percent(None if part is None or not total else part / total) for part in parts]


def _positive(rows: Sequence[VerdictRow], like: Mapping[CaseKey, int]) -> Verdict | None:
    """Return the label whose indicator varies: PASS or A where they occur, else the most frequent one."""
    counts: Counter[Verdict] = Counter()
    for row in rows:
        if row.verdict is not None:
            counts[row.verdict] += like.get(row.case_key, 1)
    known = [label for label in ("PASS", "A") if label in counts]
    return known[0] if known else counts.most_common(1)[0][0] if counts else None


NO_RETEST = "nothing was asked twice, so that no change of form can be told from noise"


def estimate_text(found: Estimate | None) -> str:
    """Return `0.120 [0.050, 0.190]`, `-` for what was not measured."""
    return "-" if found is None else f"{fixed(found.value)} {ends((found.low, found.high))}"


def retest_text(noise: RetestBand | Noise) -> str:
    """Return how far answers move when the very same is asked again."""
    return (
        f"asked the very same again, answers move by {estimate_text(noise.change)} on average and are identical in "
        f"{percent(noise.identical.value)} % of {counted(noise.n, 'case')}"
    )


def moved_text(moved: AnswerChange) -> str:
    """Return how far a perturbation moves probabilities, and how much of that is beyond the retest."""
    beyond = "" if moved.excess is None else f", {estimate_text(moved.excess)} of it beyond the retest"
    return f"{estimate_text(moved.change)}{beyond}, mean over {counted(moved.n, 'case')}"


def band_text(summary: ProbabilitySummary) -> str:
    """Return what changes of probability are held against; nothing where nothing was changed or asked again."""
    if summary.band is not None:
        return retest_text(summary.band)
    return NO_RETEST if summary.changes else ""


def figures_text(found: ProbabilityFigures) -> str:
    """Return what labels say of probabilities as the judge gave them, without a map."""
    error = found.calibration
    return (
        f"skill over the base rate {estimate_text(found.brier_skill)} (Brier), {estimate_text(found.log_skill)} (log); "
        f"calibration error {fixed(error.ece)}, of a perfect judge at this n {fixed(error.perfect)}, in excess of it "
        f"{estimate_text(error.excess)}"
    )


def together_sections(document: Mapping[str, Any]) -> Iterator[Section]:
    """Yield what a document says of judges that decide together: its keys `cascade` and `panel`."""
    if document.get("cascade") is not None:
        yield cascade_section(document["cascade"])
    if document.get("panel") is not None:
        yield panel_section(document["panel"])


def cascade_section(record: Mapping[str, Any]) -> Section:
    """Return what a cascade made of its cases, from what documents keep of it: each share with its denominator."""
    return Section(title=f"cascade: {record['criterion']}", blocks=tuple(_cascade(record)))


def _cascade(record: Mapping[str, Any]) -> Iterator[Block]:
    columns = ("judge", "cases that\ncame", "decided,\n% of them", "calls", "cost")
    yield Table.of("steps, in the order they are asked", columns, map(_step, record["steps"]))
    decided, cases, left = record["decided"], record["cases"], record["left"]
    # of a run that ended early some of these were never asked about, and wait for judges
    yield f"decided: {share(decided, cases)}; no judge decides {counted(left, 'case')}"
    yield f"certified: decided cases {cascade_promise(record['promised'], record['delta'])}, all steps together"
    rate = record["agreement"]
    told = "no decided case has a label" if rate is None else _rate(rate)
    yield f"decided cases that agree with their labels: {told}"
    if not decided:
        yield "price of a decision: none was made"
        return
    price = f"{record['calls_per_decision']:.2f} calls ({record['calls']} calls / {counted(decided, 'decision')})"
    cost = cost_text(record["cost"], record["cost_remarks"]) or "cost not known: no prices were given"
    if record["cost"] is not None:
        price += f", {record['cost_per_decision']:.3g} in money"
    yield f"price of a decision: {price}; {cost}"


def _step(step: Mapping[str, Any]) -> tuple[str, ...]:
    cost = "-" if step["cost"] is None else f"{step['cost']:.4f}"
    return step["judge"], str(step["reached"]), share(step["decided"], step["reached"]), str(step["calls"]), cost


def _rate(rate: Mapping[str, Any]) -> str:
    right, of = rate["successes"], rate["trials"]
    return f"{right / of:.3f} [{rate['low']:.3f}, {rate['high']:.3f}] ({right}/{of})"


def panel_section(record: Mapping[str, Any]) -> Section:
    """Return what a panel decides, how alike its members err, and what each of them cost."""
    return Section(title=f"panel of {', '.join(record['members'])}", blocks=tuple(_panel(record)))


def _panel(record: Mapping[str, Any]) -> Iterator[Block]:
    yield f"rule: {record['rule']} over members, each of them by {record['member_rule']}"
    entries = [JudgeReplay.from_dict({**entry["measured"], **entry}) for entry in record["decisions"]]
    yield measured_table(Measured(name=named_after(one.judge, one.criterion), replay=one) for one in entries)
    for one in record["errors"]:
        yield f"{one['criterion']}: {one['sentence']}"
    columns = ("member", "calls", "tokens in", "tokens out", "cost")
    yield Table.of("what members cost", columns, map(_member, record["usage"]))


def _member(used: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = ("-" if used[name] is None else f"{used[name]:,}" for name in ("input_tokens", "output_tokens"))
    return used["judge"], str(used["calls"]), *tokens, "-" if used["cost"] is None else f"{used['cost']:.4f}"
