"""What `judgeharness benchmark stats` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

from judgeharness_integrations.benchmark.results.auditing import Audited
from judgeharness_integrations.benchmark.results.flow import FlowRow, Reason
from judgeharness_integrations.benchmark.results.stats import StatsReport
from judgeharness_integrations.cli._agreement_printing import Row, number, titled
from judgeharness_integrations.cli._printing import console, percent, safe
from judgeharness_integrations.cli.benchmark._columns import SEVERAL_REASONS, alike, counted, grouped
from judgeharness_integrations.cli.benchmark._curate import alone_note, step_table

__all__ = ["print_stats"]

_LAYERS: Final = {"form": "form", "coherence": "coher-\nence", "adherence": "adher-\nence", "grounding": "ground-\ning"}
_TITLES: Final = {"unread": "un-\nread", "unverified": "unver-\nified"}


def print_stats(report: StatsReport, folder: Path) -> None:
    """Print what became of a benchmark's pairs, why, what it took and what people found."""
    screen = console()
    screen.print(safe(f"benchmark of {folder}: {_made(report)}", 400), soft_wrap=True)
    whole = report.flow[0]
    screen.print(f"{whole.accepted} of {counted(whole.planned, 'planned pair')} accepted, {whole.judged} judged")
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


def _made(report: StatsReport) -> str:
    if report.imported_from is not None:
        return f"converted from {report.imported_from}"
    return f"written by {report.generator}, verified by {report.verifier or 'nobody'}"


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
    return titled("left after each layer, in per cent of the planned pairs", columns, grouped(rows, cells))


def _through(row: FlowRow) -> Iterator[int]:
    """Yield how many were written, and how many are left after each layer."""
    left = row.planned - row.unfinished
    yield left
    for layer in _LAYERS:
        left -= getattr(row, layer)
        yield left


def _reason_table(found: Sequence[Reason]) -> RenderableType:
    rows: list[Row] = [[one.layer, safe(one.reason, 100), safe(one.example), alike(one.pairs)] for one in found]
    return titled("why pairs were rejected", ("layer", "reason", "pair", ""), rows, texts=4)


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
    if report.alone:
        screen.print(alone_note(report.alone), soft_wrap=True)
    if report.cut_reason is not None:
        screen.print(safe(f"- none is cut as the hardest: {report.cut_reason}", 400), soft_wrap=True)


def _print_costs(screen: Console, report: StatsReport) -> None:
    rows: list[Row] = [
        [
            safe(one.step, 40),
            safe(one.model, 40),
            str(one.answers),
            str(one.attempts),
            number(one.input_tokens, 0),
            number(one.output_tokens, 0),
            number(one.cost, 4),
        ]
        for one in report.costs
    ]
    columns = ("step", "model", "answers", "attempts", "tokens\nread", "tokens\nwritten", "money")
    screen.print(titled("what it took", columns, rows, texts=2))
    for remark in dict.fromkeys(remark for one in report.costs for remark in one.cost_remarks):
        screen.print(safe(f"- {remark}", 400), soft_wrap=True)
    unknown = "not known, since some answers have no price (--models) or do not say their tokens"
    total = unknown if report.total_cost is None else number(report.total_cost, 4)
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
            safe(f"- {first} and {second} agree on {pair.agreed} of {pair.pairs}, kappa {number(pair.kappa)}", 200)
        )
