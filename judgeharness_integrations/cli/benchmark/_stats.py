"""What `judgeharness benchmark stats` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from judgeharness_integrations.benchmark.folder import ANSWERS, BenchmarkFolder
from judgeharness_integrations.benchmark.results.auditing import Audited
from judgeharness_integrations.benchmark.results.costs import Cost, costs_of_judges, costs_of_steps, total_cost
from judgeharness_integrations.benchmark.results.flow import flow, reasons
from judgeharness_integrations.benchmark.results.joining import GROUPS
from judgeharness_integrations.benchmark.results.reading import MODES, Results, read_results
from judgeharness_integrations.benchmark.results.stats import StatsReport, planned_conditions, steps_of
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli.benchmark._columns import columns_named
from judgeharness_integrations.cli.benchmark._models import read_model_file
from judgeharness_integrations.cli.benchmark._stats_text import print_stats
from judgeharness_integrations.prices import Price
from judgeharness_integrations.ranking.curation import CutTies

__all__ = ["Wishes", "stats_of_benchmark"]


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options."""

    by: str
    mode: str | None
    cut: float
    cut_ties: CutTies
    models: Path | None
    as_json: bool


def stats_of_benchmark(folder: Path, wishes: Wishes) -> None:
    """Print what became of a benchmark's pairs and what it took."""
    home = BenchmarkFolder(folder)
    results = read_results(home)
    report = _report(home, results, wishes)
    if wishes.as_json:
        print_json(report.to_dict())
    else:
        print_stats(report, folder)


def _report(home: BenchmarkFolder, results: Results, wishes: Wishes) -> StatsReport:
    columns = columns_named(wishes.by, GROUPS)
    settings = home.settings()
    mode = results.mode(wishes.mode) if results.judged else None
    if mode is not None:
        results.of_mode(mode)  # refuses one in which nobody was asked
    found = steps_of(results, mode, cut=wishes.cut, cut_ties=wishes.cut_ties, columns=columns)
    costs = _costs(home, read_model_file(wishes.models).prices)
    planned = planned_conditions(home, results.pairs)
    return StatsReport(
        generator=settings.generator,
        verifier=settings.verifier,
        imported_from=settings.imported_from,
        min_grounded=settings.min_grounded,
        flow=flow(results.pairs, planned, judged=results.judged, columns=columns),
        reasons=reasons(results.pairs),
        mode=mode,
        judges=() if mode is None else results.table(mode).judges,
        cut=wishes.cut,
        cut_reason=found.cut_reason,
        alone=found.alone,
        steps=found.steps,
        costs=tuple(costs),
        total_cost=total_cost(costs),
        audited=_audited(home),
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
    from judgeharness_integrations.audit.assigning import read_assignment  # noqa: PLC0415 - of audited benchmarks
    from judgeharness_integrations.audit.labels import read_labels  # noqa: PLC0415
    from judgeharness_integrations.benchmark.results.auditing import audited_of  # noqa: PLC0415

    return audited_of(read_labels(home.path), read_assignment(home.path))
