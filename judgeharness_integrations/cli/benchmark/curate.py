"""What `judgeharness benchmark curate` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import RenderableType

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.results.curation import (
    CURATED,
    CuratedJudge,
    CurateReport,
    Curating,
    Dropped,
    Step,
    curated,
)
from judgeharness_integrations.benchmark.results.judgments import AMBIGUOUS, GROUPS, NOISE
from judgeharness_integrations.benchmark.verdicts import Results, write_judgments
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli._shared_options import names_in, one_of
from judgeharness_integrations.cli.benchmark.options import CurateRequest
from judgeharness_integrations.cli.benchmark.tables import columns_named, grouped, of, print_failed
from judgeharness_integrations.cli.rank import cut_ties_named, failures_named
from judgeharness_integrations.reporting.terminal import Row, console, safe, table
from judgeharness_integrations.verdictlog.plain import counted, fixed, percent

_MOST_DROPPED: Final = 20  # that are named
_COLUMNS = {
    "flagged": "noise",
    "ambiguous": "ambig-\nuous",
    "unanimous_right": "all\nright",
    "unanimous_wrong": "all\nwrong",
    "unanswered": "no\nanswer",
    "hardest": "hardest",
    "kept": "kept",
}


def curate_benchmark(request: CurateRequest) -> None:
    """Curate the pairs, write `curated.jsonl` and `judgments.jsonl`, and print what became of them."""
    home = BenchmarkFolder(request.folder)
    results = read_results(home)
    columns = columns_named(request.by, GROUPS)
    mode = results.mode(request.mode)
    cut_ties, failures = cut_ties_named(request.cut_ties), failures_named(request.failures)
    flags = results.audit is not None and not request.keep_noise
    doubtful = _drops_ambiguous(results, request)
    made = curated(
        results.of_mode(mode), share=request.cut, cut_ties=cut_ties, failures=failures, flags=flags, ambiguous=doubtful
    )
    kept = {*made.kept}
    home.write_records(CURATED, [pair for pair in results.pairs if pair.pair_id in kept])
    write_judgments(results, home)
    report = CurateReport(
        mode=mode,
        rule=made.after.rule,
        cut=request.cut,
        cut_ties=cut_ties,
        audited=results.audit is not None,
        keeps_noise=request.keep_noise,
        drops_ambiguous=doubtful,
        pairs=sum(pair.state != "rejected" for pair in results.pairs),
        judged=len(made.found.matrix.pairs),
        alone=len(made.alone),
        kept=len(kept),
        steps=made.steps(columns),
        judges=made.judges(),
        dropped=_dropped(home, made),
    )
    if request.as_json:
        print_json(report.to_dict())
    else:
        _print(report, request.folder)
    print_failed([results], mode, failures=failures, stderr=request.as_json)


def _drops_ambiguous(results: Results, request: CurateRequest) -> bool:
    """Return whether pairs that people found ambiguous are left out.

    Raises:
        UnknownNameError: something else is to be dropped; the nearest is offered.
        UsageError: noise is to be dropped and kept, or nobody labelled a pair.

    """
    wanted = {one_of("finding to drop", name, (NOISE, AMBIGUOUS)) for name in names_in(request.drop)}
    if wanted and results.audit is None:
        raise UsageError(
            f"nobody labelled a pair of {results.folder}: label some with judgeharness audit, or leave out --drop."
        )
    if NOISE in wanted and request.keep_noise:
        raise UsageError("--drop noise and --keep-noise contradict each other: give one of them.")
    return AMBIGUOUS in wanted


def _dropped(home: BenchmarkFolder, made: Curating) -> tuple[Dropped, ...]:
    """Return the pairs that are left out for what people found, and whether these were of one mind."""
    if not made.dropped:
        return ()
    from judgeharness_integrations.audit.labels import divided, read_labels  # noqa: PLC0415 - of audited benchmarks

    split = divided(read_labels(home.path))
    return tuple(
        Dropped(pair=pair, found="noise" if found == NOISE else "ambiguous", divided=pair in split)
        for pair, found in made.dropped.items()
    )


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
    for line in _dropped_lines(report):
        screen.print(safe(line, 2000), soft_wrap=True)
    screen.print(safe(f"written: {folder / CURATED}", 400), soft_wrap=True)
    if report.kept:
        taking = f"{folder} --sample {folder / CURATED}"
        screen.print(safe(f"next: judgeharness benchmark rank {taking}", 800), soft_wrap=True)
        screen.print(safe(f"or: judgeharness benchmark judge {taking} --judges MODEL,...", 800), soft_wrap=True)


def _dropped_lines(report: CurateReport) -> Iterator[str]:
    """Yield the pairs that are left out for what people found, by what that is."""
    for found in (NOISE, AMBIGUOUS):
        mine = [one for one in report.dropped if one.found == found]
        if mine:
            names = ", ".join(one.pair + (" (evenly split)" if one.divided else "") for one in mine[:_MOST_DROPPED])
            more = len(mine) - _MOST_DROPPED
            yield f"- left out as {found}, {len(mine)}: {names}{f' and {more} more: --json' if more > 0 else ''}"
    if report.audited and not report.drops_ambiguous:
        yield "- ambiguous pairs are kept: --drop ambiguous leaves them out"


def alone_note(count: int) -> str:
    """Return what pairs that one judge alone was asked about are worth."""
    told = f"{counted(count, 'pair is', 'pairs are')} all right or all wrong by the answer of one judge alone"
    return f"- {told}, which tells nobody apart: ask more judges about the same pairs (a larger --fraction)"


def step_table(title: str, steps: Sequence[Step]) -> RenderableType:
    """Return what became of judged pairs, in per cent of each line's; of those that are kept the number too."""
    doubtful = any(step.ambiguous for step in steps)
    columns = {name: told for name, told in _COLUMNS.items() if doubtful or name != "ambiguous"}

    def cells(step: Step) -> list[str]:
        shares = (
            percent(getattr(step, name) / step.judged if step.judged else None) for name in columns if name != "kept"
        )
        return [str(step.judged), *shares, of(step.kept, step.judged)]

    return table(title, ("pairs", "judged", *columns.values()), grouped(steps, cells))


def _judge_table(judges: Sequence[CuratedJudge]) -> RenderableType:
    rows: list[Row] = [
        [
            safe(one.judge, 40),
            fixed(one.rank_before, 0),
            fixed(one.elo_before, 0),
            fixed(one.se_before, 0),
            fixed(one.rank, 0),
            fixed(one.elo, 0),
            fixed(one.se, 0),
        ]
        for one in judges
    ]
    columns = ("judge", "rank\nbefore", "Elo", "error", "rank\nafter", "Elo", "error")
    return table("the leaderboard before and after", columns, rows)
