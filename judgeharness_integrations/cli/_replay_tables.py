"""A replay as tables: what was decided, what the samples were like, where their spread comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from judgeharness_integrations.analysis.aggregation.statistics import VarianceSplit, variance_split
from judgeharness_integrations.analysis.calibration.controls import Controls
from judgeharness_integrations.analysis.replay import JudgeReplay, ReplayReport
from judgeharness_integrations.reporting.terminal import RIGHT, safe, share, table
from judgeharness_integrations.verdictlog.plain import p_text, percent, safe_text
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

__all__ = ["control_lines", "decision_table", "replay_tables", "stopping_sentences"]

_LONGEST = 400


def replay_tables(report: ReplayReport, groups: Sequence[Sequence[VerdictRow]]) -> Iterator[RenderableType]:
    """Yield the tables of a report and of the rows behind each of its entries."""
    yield decision_table(report.judges)
    yield from stopping_sentences(report.judges)
    for entry in report.judges:
        if entry.controls is not None:
            yield from (Text(f"{_who(entry).plain}: {line}") for line in control_lines(entry.controls))
        yield from (Text(f"{_who(entry).plain}: {line}") for line in _gold_lines(entry))
    if any(entry.mean_absolute_error is not None for entry in report.judges):
        yield "accuracy is of labels; scores show their mean absolute error against gold instead"
    labels = [entry for entry in report.judges if entry.kind == "labels"]
    if labels:
        yield _call_table(labels)
    if any(entry.pairs for entry in labels):
        yield _position_table(labels)
    numbers = [entry for entry in report.judges if entry.kind == "numbers"]
    if numbers:
        yield _score_table(numbers)
    pairs = [pair for pair in zip(report.judges, groups, strict=True) if not pair[0].curtailed]
    if pairs:
        yield _variance_table(pairs)


def stopping_sentences(entries: Sequence[JudgeReplay]) -> Iterator[str]:
    """Yield what is to be known about samples of early stopping; nothing where there are none."""
    if censored := sum(entry.censored for entry in entries):
        yield (
            f"{censored} of {sum(entry.cases for entry in entries)} cases hold fewer samples than were planned for "
            "them: consistency is that of stopped (censored) samples, and a case counts as decided only where no "
            "further sample could change it"
        )
    if any(entry.curtailed for entry in entries):
        yield (
            "with early stopping, later samples are asked only about cases that earlier ones left open: accuracy by "
            "perturbation, position, spread and variance would show that choice, and are left out"
        )


def control_lines(found: Controls) -> Iterator[str]:
    """Yield what judges that read nothing get right, and whether a judge is better than the best of them."""
    yield safe_text(found.line, _LONGEST)
    yield safe_text(found.sentence, _LONGEST)


def _gold_lines(entry: JudgeReplay) -> Iterator[str]:
    """Yield how many gold labels could not be read, and in how many clusters the others are."""
    if entry.unread:
        told = "1 case has a gold label" if entry.unread == 1 else f"{entry.unread} cases have gold labels"
        yield f"{told} that cannot be read beside such decisions, counted as without one"
    if entry.clusters is not None:
        yield f"intervals of accuracy and controls: {entry.labelled} cases in {entry.clusters} clusters"


def _who(entry: JudgeReplay) -> Text:
    return safe(entry.judge if entry.criterion == "verdict" else f"{entry.judge} · {entry.criterion}")


def decision_table(entries: Sequence[JudgeReplay]) -> RenderableType:
    """Return what the rule decided: coverage over all cases, accuracy over the decided ones with gold."""
    columns = (
        "judge",
        "decided,\n% of cases",
        RIGHT,
        "95 %\nWilson",
        "ab-\nstained",
        "not\ngraded",
        "ties",
    )
    return table("decisions", columns, map(_decisions, entries))


def _decisions(entry: JudgeReplay) -> list[str | Text]:
    interval = entry.accuracy_interval
    return [
        _who(entry),
        share(entry.decided, entry.cases),
        "-" if entry.correct is None else share(entry.correct, entry.labelled),
        "-" if interval is None else f"{percent(interval[0])}-{percent(interval[1])}",
        str(entry.abstained),
        str(entry.not_graded),
        "-" if entry.tie_decisions is None else str(entry.tie_decisions),
    ]


def _call_table(entries: Sequence[JudgeReplay]) -> RenderableType:
    names = list(dict.fromkeys(name for entry in entries for name in entry.single_call_accuracy or {}))
    columns = (
        "judge",
        "rows",
        "unparsed",
        "consistency\n% of a case",
        *(f"right %,\n{safe(name).plain}" for name in names),
    )
    return table("single calls: a failed one is not right", columns, (_calls(entry, names) for entry in entries))


def _calls(entry: JudgeReplay, names: Sequence[str]) -> list[str | Text]:
    right = entry.single_call_accuracy or {}
    counts = (str(entry.rows), str(entry.unparsed), percent(entry.consistency_rate))
    return [_who(entry), *counts, *(percent(right.get(name)) for name in names)]


def _position_table(entries: Sequence[JudgeReplay]) -> RenderableType:
    columns = ("judge", "pairs", "same\nverdict %", "P(first)\n%", "always\nfirst", "always\nsecond", "McNemar\np")
    return table("position: pairs of samples shown in both orders", columns, map(_position, entries))


def _position(entry: JudgeReplay) -> list[str | Text]:
    return [
        _who(entry),
        str(entry.pairs),
        percent(entry.position_consistency),
        percent(entry.first_slot_rate),
        "-" if entry.always_first is None else str(entry.always_first),
        "-" if entry.always_second is None else str(entry.always_second),
        p_text(entry.position_bias_p),
    ]


def _score_table(entries: Sequence[JudgeReplay]) -> RenderableType:
    columns = (
        "judge",
        "rows",
        "unparsed",
        "SD within\na case",
        "near the\ndecision %",
        "mean abs.\nerror",
        "cases\nwith gold",
    )
    return table("scores", columns, map(_scores, entries))


def _scores(entry: JudgeReplay) -> list[str | Text]:
    return [
        _who(entry),
        str(entry.rows),
        str(entry.unparsed),
        _number(entry.within_case_sd),
        percent(entry.consistency_rate),
        _number(entry.mean_absolute_error),
        str(entry.labelled),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _variance_table(pairs: Sequence[tuple[JudgeReplay, Sequence[VerdictRow]]]) -> RenderableType:
    if not any(_repeated(group) for _, group in pairs):
        return "\nvariance of single samples: cannot be split, nothing was asked twice under one perturbation"
    splits = [
        (entry, positive, variance_split(group) if positive is None else variance_split(group, positive=positive))
        for entry, group in pairs
        for positive in [None if entry.kind == "numbers" else _positive(group)]
    ]
    columns = ("judge", "of", "cases\n%", "pertur-\nbations %", "repeti-\ntions %", "ICC(1)", "negative,\nset to 0")
    title = "variance of single samples: between cases, perturbations, repetitions"
    return table(title, columns, (_variance(*split) for split in splits), texts=2)


def _repeated(rows: Sequence[VerdictRow]) -> bool:
    """Whether any case holds two verdicts under one perturbation; without, spread has no yardstick."""
    valid = [(row.case_id, row.perturbation) for row in rows if row.verdict is not None]
    return len(set(valid)) < len(valid)


def _variance(entry: JudgeReplay, positive: Verdict | None, split: VarianceSplit) -> list[str | Text]:
    return [
        _who(entry),
        "score" if positive is None else safe(f"is {verdict_text(positive)}", 30),
        *_shares(split),
        _number(split.reliability),
        ", ".join(split.clipped) or "-",
    ]


def _shares(split: VarianceSplit) -> list[str]:
    parts = (split.between_cases, split.between_perturbations, split.between_repetitions)
    total = sum(part or 0.0 for part in parts)
    return [percent(None if part is None or not total else part / total) for part in parts]


def _positive(rows: Sequence[VerdictRow]) -> Verdict | None:
    """Return the label whose indicator varies: PASS or A where they occur, else the most frequent one."""
    counts = Counter(row.verdict for row in rows if row.verdict is not None)
    known = [label for label in ("PASS", "A") if label in counts]
    return known[0] if known else counts.most_common(1)[0][0] if counts else None
