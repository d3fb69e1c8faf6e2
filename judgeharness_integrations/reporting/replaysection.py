"""A replay for people: what was decided, what the samples were like, where their spread comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from judgeharness_integrations.analysis.aggregation.statistics import VarianceSplit, variance_split
from judgeharness_integrations.analysis.certifying.wording import held_text
from judgeharness_integrations.analysis.replay.report import JudgeReplay, ReplayReport
from judgeharness_integrations.reporting.fragments.rendering import section_html
from judgeharness_integrations.reporting.measured import (
    Measured,
    control_line,
    measured_table,
    named_after,
    stopping_sentences,
)
from judgeharness_integrations.reporting.sections import Block, Section, Table
from judgeharness_integrations.verdictlog.plain import fixed, p_text, percent
from judgeharness_integrations.verdictlog.row import CaseKey, Verdict, VerdictRow, verdict_text


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
        blocks=(f"rule: {report.rule}, chosen {chosen}", *notes, *_blocks(report, groups, like)),
    )


def replay_fragment(report: ReplayReport) -> str:
    """Return a replay as HTML that a notebook shows."""
    return section_html(replay_section(report))


def _blocks(
    report: ReplayReport, groups: Sequence[Sequence[VerdictRow]], like: Mapping[CaseKey, int]
) -> Iterator[Block]:
    entries = report.judges
    yield measured_table((Measured(name=_name(entry), replay=entry) for entry in entries), title="decisions")
    yield from stopping_sentences(entries)
    for entry in entries:
        yield from (f"{_name(entry)}: {line}" for line in _lines(entry))
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


def _name(entry: JudgeReplay) -> str:
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
    return [_name(entry), *counts, *(percent(right.get(name)) for name in names)]


def _position_table(entries: Sequence[JudgeReplay]) -> Table:
    columns = ("judge", "pairs", "same\nverdict %", "P(first)\n%", "always\nfirst", "always\nsecond", "McNemar\np")
    return Table.of("position: pairs of samples shown in both orders", columns, map(_position, entries))


def _position(entry: JudgeReplay) -> list[str]:
    return [
        _name(entry),
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
        _name(entry),
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
        _name(entry),
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
