"""What `judgeharness benchmark curate` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rich.console import RenderableType

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.results.curating import CURATED, CuratedJudge, CurateReport, Step, curated
from judgeharness_integrations.benchmark.results.joining import GROUPS
from judgeharness_integrations.benchmark.results.reading import read_results, write_judgments
from judgeharness_integrations.cli._agreement_printing import Row, number, titled
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, percent, safe
from judgeharness_integrations.cli.benchmark._columns import columns_named, counted, grouped, of
from judgeharness_integrations.cli.benchmark._failed_calls import print_failed
from judgeharness_integrations.ranking.correctness.policy import Failures
from judgeharness_integrations.ranking.curation import CutTies

__all__ = ["Wishes", "alone_note", "curate_benchmark", "failures_named", "step_table"]

_COLUMNS = {
    "flagged": "noise",
    "unanimous_right": "all\nright",
    "unanimous_wrong": "all\nwrong",
    "unanswered": "no\nanswer",
    "hardest": "hardest",
    "kept": "kept",
}


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options."""

    mode: str | None
    cut: float
    cut_ties: CutTies
    failures: str
    keep_noise: bool
    by: str
    as_json: bool


def failures_named(name: str) -> Failures:
    """Return the policy of a name.

    Raises:
        UnknownNameError: there is none of that name; the nearest is offered.

    """
    for policy in get_args(Failures):
        if policy == name:
            found: Failures = policy
            return found
    raise UnknownNameError("failures policy", name, get_args(Failures))


def curate_benchmark(folder: Path, wishes: Wishes) -> None:
    """Curate the pairs, write `curated.jsonl` and `judgments.jsonl`, and print what became of them."""
    home = BenchmarkFolder(folder)
    results = read_results(home)
    columns = columns_named(wishes.by, GROUPS)
    mode = results.mode(wishes.mode)
    flags = results.audit is not None and not wishes.keep_noise
    made = curated(
        results.of_mode(mode),
        share=wishes.cut,
        cut_ties=wishes.cut_ties,
        failures=failures_named(wishes.failures),
        flags=flags,
    )
    kept = {*made.kept}
    home.write_records(CURATED, [pair for pair in results.pairs if pair.pair_id in kept])
    write_judgments(results, home)
    report = CurateReport(
        mode=mode,
        rule=made.after.rule,
        cut=wishes.cut,
        cut_ties=wishes.cut_ties,
        audited=results.audit is not None,
        keeps_noise=wishes.keep_noise,
        pairs=sum(pair.state != "rejected" for pair in results.pairs),
        judged=len(made.found.matrix.pairs),
        alone=len(made.alone),
        kept=len(kept),
        steps=made.steps(columns),
        judges=made.judges(),
    )
    if wishes.as_json:
        print_json(report.to_dict())
    else:
        _print(report, folder)
    print_failed([results], mode, failures=failures_named(wishes.failures), stderr=wishes.as_json)


def _print(report: CurateReport, folder: Path) -> None:
    screen = console()
    screen.print(safe(f"curation of {folder}, {report.mode}", 200))
    whole = f"{report.kept} of {counted(report.judged, 'judged pair')} kept"
    unjudged = report.pairs - report.judged
    screen.print(whole + (f"; {unjudged} more were never judged and are not among them" if unjudged else ""))
    screen.print(step_table("what became of the judged pairs, in per cent of them", report.steps))
    screen.print(_judge_table(report.judges))
    ties = "kept" if report.cut_ties == "keep" else "cut"
    screen.print(
        f"- hardest: {100 * report.cut:g} % of the pairs that tell judges apart, by Bradley-Terry; ties at the cut are "
        f"{ties}; what is unanimous and hard depends on the judges: curate again when they change",
        soft_wrap=True,
    )
    if report.cut and not report.steps[0].hardest:
        screen.print(f"- the cut of {100 * report.cut:g} % takes no pair: the hardest are tied, or too few")
    if report.alone:
        screen.print(alone_note(report.alone), soft_wrap=True)
    if not report.audited:
        screen.print("- noise: nobody labelled a pair; judgeharness audit does", soft_wrap=True)
    elif report.keeps_noise:
        screen.print("- noise: kept, as --keep-noise asks", soft_wrap=True)
    screen.print(safe(f"written: {folder / CURATED}", 400), soft_wrap=True)
    if report.kept:
        taking = f"{folder} --sample {folder / CURATED}"
        screen.print(safe(f"next: judgeharness benchmark rank {taking}", 800), soft_wrap=True)
        screen.print(safe(f"or: judgeharness benchmark judge {taking} --judges MODEL,...", 800), soft_wrap=True)


def alone_note(count: int) -> str:
    """Return what pairs that one judge alone was asked about are worth."""
    told = f"{counted(count, 'pair is', 'pairs are')} all right or all wrong by the answer of one judge alone"
    return f"- {told}, which tells nobody apart: ask more judges about the same pairs (a larger --fraction)"


def step_table(title: str, steps: Sequence[Step]) -> RenderableType:
    """Return what became of judged pairs, in per cent of each line's; of those that are kept the number too."""

    def cells(step: Step) -> list[str]:
        shares = (percent(_share(getattr(step, name), step.judged)) for name in _COLUMNS if name != "kept")
        return [str(step.judged), *shares, of(step.kept, step.judged)]

    return titled(title, ("pairs", "judged", *_COLUMNS.values()), grouped(steps, cells))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _judge_table(judges: Sequence[CuratedJudge]) -> RenderableType:
    rows: list[Row] = [
        [
            safe(one.judge, 40),
            _rank(one.rank_before),
            number(one.elo_before, 0),
            number(one.se_before, 0),
            _rank(one.rank),
            number(one.elo, 0),
            number(one.se, 0),
        ]
        for one in judges
    ]
    columns = ("judge", "rank\nbefore", "Elo", "error", "rank\nafter", "Elo", "error")
    return titled("the leaderboard before and after", columns, rows)


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)
