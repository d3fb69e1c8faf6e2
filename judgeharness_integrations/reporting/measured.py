"""What judges come to: one table, whether a run, a report or a replay shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.sections import Table
from judgeharness_integrations.verdictlog.plain import ends, fixed, percent, safe_text, share
from judgeharness_integrations.verdictlog.row import Verdict, verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.calibration.controls import Controls
    from judgeharness_integrations.analysis.calibration.rates import Rate
    from judgeharness_integrations.analysis.replay.report import JudgeReplay
    from judgeharness_integrations.analysis.runs.summary import CriterionSummary

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
    return f"{percent(value)} % {ends((low, high), 1, scale=100)} of {of}"


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
