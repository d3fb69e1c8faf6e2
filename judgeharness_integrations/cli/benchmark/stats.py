"""What `judgeharness benchmark stats` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import ANSWERS, BenchmarkFolder
from judgeharness_integrations.benchmark.results.checks import FlowRow, Reason, flow, reasons, survival
from judgeharness_integrations.benchmark.results.judgments import GROUPS
from judgeharness_integrations.benchmark.verdicts import (
    MODES,
    Audited,
    Cost,
    Results,
    StatsReport,
    costs_of_judges,
    costs_of_steps,
    planned_conditions,
    steps_of,
    total_cost,
)
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli.benchmark.asking import cost_table, read_model_file
from judgeharness_integrations.cli.benchmark.curate import alone_note, step_table
from judgeharness_integrations.cli.benchmark.options import StatsRequest
from judgeharness_integrations.cli.benchmark.tables import SEVERAL_REASONS, alike, columns_named, grouped
from judgeharness_integrations.cli.rank import cut_ties_named
from judgeharness_integrations.reporting.terminal import Row, console, safe, table
from judgeharness_integrations.verdictlog.plain import counted, fixed, percent

_LAYERS: Final = {"form": "form", "coherence": "coher-\nence", "adherence": "adher-\nence", "grounding": "ground-\ning"}
_STEPS: Final = {
    "written": "written",
    "form": "form",
    "coherence": "coherence",
    "adherence": "adherence",
    "grounding": "grounding",
    "judged": "asked of a judge",
    "flagged": "no noise",
    "ambiguous": "not ambiguous",
    "unanimous_right": "not all right",
    "unanimous_wrong": "not all wrong",
    "unanswered": "answered",
    "hardest": "not the hardest",
}
_TITLES: Final = {"unread": "un-\nread", "unverified": "unver-\nified"}


def print_stats(report: StatsReport, folder: Path) -> None:
    """Print what became of a benchmark's pairs, why, what it took and what people found."""
    screen = console()
    screen.print(safe(f"benchmark of {folder}: {_origin(report)}", 400), soft_wrap=True)
    whole = report.flow[0]
    screen.print(f"{whole.accepted} of {counted(whole.planned, 'planned pair')} accepted, {whole.judged} judged")
    screen.print(_cascade_table(report))
    screen.print(_flow_table(report.flow))
    if whole.unread:
        screen.print("- unread: no answer of the verifier could be read; neither accepted nor rejected")
    if whole.unverified:
        screen.print(
            "- unverified: nobody checked them in full, and no layer rejected any; judgeharness benchmark verify "
            "checks what nobody did",
            soft_wrap=True,
        )
    if report.reasons:
        screen.print(_reason_table(report.reasons))
        screen.print(SEVERAL_REASONS, soft_wrap=True)
    _print_steps(screen, report)
    if report.costs:
        _print_costs(screen, report)
    if report.audited is not None:
        _print_audited(screen, report.audited)


def _origin(report: StatsReport) -> str:
    if report.imported_from is not None:
        return f"converted from {report.imported_from}"
    return f"written by {report.generator}, verified by {report.verifier or 'nobody'}"


def _cascade_table(report: StatsReport) -> RenderableType:
    """Return how many pairs each step took, from the plan to what is kept; steps of people only where they looked."""
    rows: list[Row] = [
        [_STEPS[one.step], str(one.entered), str(one.lost), str(one.left), percent(one.rate), percent(one.share)]
        for one in report.cascade
        if one.lost or one.step not in ("flagged", "ambiguous")
    ]
    columns = ("step", "pairs", "lost", "left", "survived %", "of planned %")
    return table("from the plan to what is kept", columns, rows)


def _flow_table(rows: Sequence[FlowRow]) -> RenderableType:
    """Return what share of the planned pairs was written, came through each layer and was accepted."""
    whole = rows[0]
    written = ["written"] if whole.unfinished else []
    open_ends = [name for name in ("unread", "unverified") if getattr(whole, name)]

    def cells(row: FlowRow) -> list[str]:
        first, *others = _through(row)
        left = [first, *others] if written else others
        shares = [percent(count / row.planned if row.planned else None) for count in (*left, row.accepted)]
        ends = [str(getattr(row, name)) for name in open_ends]
        return [str(row.planned), *shares[:-1], *ends, shares[-1], str(row.judged)]

    columns = (
        "pairs",
        "planned",
        *written,
        *_LAYERS.values(),
        *map(_TITLES.__getitem__, open_ends),
        "accepted",
        "judged",
    )
    return table("left after each layer, in per cent of the planned pairs", columns, grouped(rows, cells))


def _through(row: FlowRow) -> Iterator[int]:
    """Yield how many were written, and how many are left after each layer."""
    left = row.planned - row.unfinished
    yield left
    for layer in _LAYERS:
        left -= getattr(row, layer)
        yield left


def _reason_table(found: Sequence[Reason]) -> RenderableType:
    rows: list[Row] = [[one.layer, safe(one.reason, 100), safe(one.example), alike(one.pairs)] for one in found]
    return table("why pairs were rejected", ("layer", "reason", "pair", ""), rows, texts=4)


def _print_steps(screen: Console, report: StatsReport) -> None:
    if report.mode is None:
        screen.print("\nnobody was asked: judgeharness benchmark judge asks judges")
        return
    screen.print(
        step_table(
            f"what {counted(len(report.judges), 'judge')} told apart, {report.mode}, in per cent of the judged",
            report.steps,
        )
    )
    for line in report.controls:
        screen.print(safe(f"- {line}", 400), soft_wrap=True)
    if report.alone:
        screen.print(alone_note(report.alone), soft_wrap=True)
    if report.cut_reason is not None:
        screen.print(safe(f"- none is cut as the hardest: {report.cut_reason}", 400), soft_wrap=True)


def _print_costs(screen: Console, report: StatsReport) -> None:
    shown = cost_table(report.costs, title="what it took", words=("attempts", "money"))
    shown.caption = None  # each remark is a line of its own
    screen.print(shown)
    for remark in dict.fromkeys(remark for one in report.costs for remark in one.cost_remarks):
        screen.print(safe(f"- {remark}", 400), soft_wrap=True)
    unknown = "not known, since some answers have no price (--models) or do not say their tokens"
    total = unknown if report.total_cost is None else fixed(report.total_cost, 4)
    screen.print(f"- money in all: {total}", soft_wrap=True)


def _print_audited(screen: Console, one: Audited) -> None:
    labels = f"{one.clean} clean, {one.ambiguous} ambiguous, {one.noise} noise"
    screen.print()
    told = f"{counted(one.pairs, 'pair')} labelled by {', '.join(one.annotators)}: {labels}"
    screen.print(safe(told, 400), soft_wrap=True)
    if one.noise_rate is None:
        screen.print("- noise rate: not measured; judgeharness audit --assign draws the uniform sample it needs")
    else:
        screen.print(
            f"- noise rate: {percent(one.noise_rate)} % ({one.sampled_noise} of {one.sampled} of the uniform sample), "
            f"95 % {percent(one.noise_low)} to {percent(one.noise_high)}"
        )
    for pair in one.agreement:
        first, second = pair.annotators
        screen.print(
            safe(f"- {first} and {second} agree on {pair.agreed} of {pair.pairs}, kappa {fixed(pair.kappa)}", 200)
        )


def stats_of_benchmark(request: StatsRequest) -> None:
    """Print what became of a benchmark's pairs and what it took."""
    home = BenchmarkFolder(request.folder)
    results = read_results(home)
    report = _report(home, results, request)
    if request.as_json:
        print_json(report.to_dict())
    else:
        print_stats(report, request.folder)


def _report(home: BenchmarkFolder, results: Results, request: StatsRequest) -> StatsReport:
    columns = columns_named(request.by, GROUPS)
    settings = home.settings()
    mode = results.mode(request.mode) if results.judged else None
    if mode is not None:
        results.of_mode(mode)  # refuses one in which nobody was asked
    found = steps_of(results, mode, cut=request.cut, cut_ties=cut_ties_named(request.cut_ties), columns=columns)
    costs = _costs(home, read_model_file(request.models).prices)
    planned = planned_conditions(home, results.pairs)
    became = flow(results.pairs, planned, judged=results.judged, columns=columns)
    return StatsReport(
        generator=settings.generator,
        verifier=settings.verifier,
        imported_from=settings.imported_from,
        min_grounded=settings.min_grounded,
        flow=became,
        reasons=reasons(results.pairs),
        mode=mode,
        judges=() if mode is None else results.table(mode).judges,
        cut=request.cut,
        cut_reason=found.cut_reason,
        alone=found.alone,
        steps=found.steps,
        controls=found.controls,
        costs=tuple(costs),
        total_cost=total_cost(costs),
        audited=_audited(home),
        cascade=survival(became[0], found.steps[0] if found.steps else None),
    )


def _costs(home: BenchmarkFolder, prices: Mapping[str, Price]) -> list[Cost]:
    costs: list[Cost] = []
    if (home.path / ANSWERS).is_file():
        with home.journal() as journal:
            costs += costs_of_steps(journal.usage(), prices)
    if home.verdicts.is_file():
        with home.log() as log:
            for mode in MODES:
                costs += costs_of_judges(log.usage(mode), prices, mode=mode)
    return costs


def _audited(home: BenchmarkFolder) -> Audited | None:
    if not home.audit.is_dir():
        return None
    from judgeharness_integrations.audit.labels import audited_of, read_assignment, read_labels  # noqa: PLC0415 - of audited benchmarks

    return audited_of(read_labels(home.path), read_assignment(home.path))
