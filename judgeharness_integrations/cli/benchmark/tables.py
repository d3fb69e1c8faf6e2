"""Columns, counts and calls that failed, as the commands of a benchmark print them, and one pair as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.console import RenderableType
from rich.text import Text

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.analysis.ranking.correctness import Failures
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import BenchmarkFolder, write_whole
from judgeharness_integrations.benchmark.pair import Blueprint, Conversation, LayerResult, Pair
from judgeharness_integrations.benchmark.results.judgments import (
    CRITERIA,
    JointCell,
    JointTable,
    Mode,
    Said,
    gold_of,
    joint_table,
    order_rule,
)
from judgeharness_integrations.benchmark.taxonomy import COLUMNS, Sample, in_states, states_named, stratified
from judgeharness_integrations.benchmark.verdicts import MODES, Results
from judgeharness_integrations.reporting.sections import Block, Bullets, Strong, Table
from judgeharness_integrations.reporting.terminal import Row, console, safe, table
from judgeharness_integrations.verdictlog.encoding import counted, percent
from judgeharness_integrations.verdictlog.row import VerdictRow, verdict_text

from .._command import names_in
from .._output import print_json, show
from .options import SampleRequest, ShowRequest


class Grouped(Protocol):
    """A line of a table about pairs with one `value` in a `column`; None: about all of them."""

    @property
    def column(self) -> str | None:
        """The column."""
        ...

    @property
    def value(self) -> str:
        """The value."""
        ...


_Line = TypeVar("_Line", bound=Grouped)


def columns_named(given: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the columns of an option that is repeated, or takes commas between them.

    Raises:
        UnknownNameError: one of them is not known; the nearest is offered.

    """
    names = names_in(given)
    for name in names:
        if name not in known:
            raise UnknownNameError("column", name, known)
    return names


def reason_blocks(title: str, found: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Yield why pairs were turned down, as documents keep it: the reason, and a pair of which it was said."""
    if not found:
        return
    several = any("status" in one for one in found)
    rows = (
        [
            one["layer"],
            *([one["status"]] if several else []),
            one["reason"],
            one["example"] or "",
            f"and {one['pairs'] - 1} alike" if one["pairs"] > 1 else "",
        ]
        for one in found
    )
    yield Table.of(title, ("layer", *([""] if several else []), "reason", "pair", ""), rows, texts=5)
    yield Bullets(("a pair that was rejected for several reasons stands under each of them",))


def of(part: int, whole: int) -> str:
    """Return `12 (30.0)`: a count, and its share of a whole in per cent."""
    return f"{part} ({percent(part / whole)})" if whole else str(part)


def grouped(lines: Sequence[_Line], cells: Callable[[_Line], Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield the rows of lines, the name of each column on a row of its own above its values."""
    above: str | None = None
    for line in lines:
        told = cells(line)
        if line.column is not None and line.column != above:
            yield [Strong(line.column), *[""] * len(told)]
        above = line.column
        yield ["all" if line.column is None else line.value, *told]


_AGAIN = "judgeharness benchmark judge asks again"


def _policy(failures: Failures) -> str:
    """Return what a failed, an unread and an undecided answer is."""
    if failures == "missing":
        return "failed calls, unparsed and refused answers are missing; undecided answers are wrong"
    return "failed calls are missing; unparsed, refused and undecided answers are wrong"


def failed_notes(results: Results, mode: Mode, judges: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each judge, of some where any are named, whose calls failed: what that means, what to do."""
    failed: dict[str, int] = {}
    for judge, _ in results.failed.get(mode, ()):
        failed[judge] = failed.get(judge, 0) + 1
    answered = _answered(results, mode)
    for judge, count in sorted(failed.items()):
        if judges and judge not in judges:
            continue
        if judge in answered:
            yield f"{judge}: calls about {counted(count, 'pair')} failed and are missing; {_AGAIN}"
        else:
            yield f"{judge} is left out: none of its calls, about {counted(count, 'pair')}, was answered; {_AGAIN}"


def print_failed(
    results: Sequence[Results], mode: Mode, *, failures: Failures, judges: Sequence[str] = (), stderr: bool = False
) -> None:
    """Print whose calls failed, in one benchmark or several, and what a failed call is; nothing where none did."""
    lines = [(one.folder, line) for one in results for line in failed_notes(one, mode, judges)]
    if lines:
        told = (f"{where}: {line}" if len(results) > 1 else line for where, line in lines)
        show([Bullets((*told, _policy(failures)))], stderr=stderr)


def check_answered(results: Results, mode: Mode, judges: Sequence[str]) -> None:
    """Refuse judges that were named and never answered.

    Raises:
        UsageError: no call of a judge was answered.

    """
    silent = {judge for judge, _ in results.failed.get(mode, ())} - _answered(results, mode)
    for judge in judges:
        if judge in silent:
            raise UsageError(f"no call of {judge} was answered: ask it again with judgeharness benchmark judge.")


def _answered(results: Results, mode: Mode) -> set[str]:
    return {row.judge for row in results.rows[mode]}


_LONGEST_PARAGRAPH = 20_000  # characters of a paragraph
_SIDES = ("better", "worse")


def plan_parts(pair: Pair) -> Iterator[Text]:
    """Yield both plans, round by round."""
    if pair.blueprints is None:
        return
    for side in _SIDES:
        plan: Blueprint = getattr(pair.blueprints, side)
        yield _title(f"plan of the {side} conversation")
        yield from _paragraphs(plan.sketch)
        for entry in plan.rounds:
            chunk = f" ({entry.chunk})" if entry.chunk else ""
            yield safe(f"{entry.round}. {entry.user} -> {entry.assistant}{chunk}", _LONGEST_PARAGRAPH)


def conversation_parts(pair: Pair) -> Iterator[Text]:
    """Yield both conversations, the flawed turn marked."""
    if pair.conversations is None:
        yield _title("no conversations were written")
        return
    for side in _SIDES:
        told: Conversation = getattr(pair.conversations, side)
        letter = pair.conditions.better if side == "better" else pair.worse_side
        yield _title(f"conversation {letter}, the {side} one")
        for turn in told.turns:
            flawed = side == "worse" and turn.round == pair.conditions.flawed_round
            yield from _turn(f"[Round {turn.round}] User: ", turn.user)
            yield from _turn(f"[Round {turn.round}] Assistant{' (flawed)' if flawed else ''}: ", turn.assistant)
            yield Text("")


def reasoning_parts(rows: Sequence[VerdictRow]) -> Iterator[Text]:
    """Yield what judges wrote before they decided, as far as it was kept, and why answers failed."""
    told = [row for row in rows if row.reasoning or row.error]
    if told:
        yield _title("what they wrote")
    for row in told:
        where = f"{row.judge}, {row.perturbation} {row.repetition + 1}: "
        yield from _turn(where, row.reasoning or f"failed: {row.error}")


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _turn(who: str, text: str) -> Iterator[Text]:
    first, *others = text.split("\n")
    yield safe(f"{who}{first}", _LONGEST_PARAGRAPH)
    yield from _paragraphs("\n".join(others))


def _paragraphs(text: str) -> Iterator[Text]:
    for line in text.split("\n"):
        if line.strip():
            yield safe(line, _LONGEST_PARAGRAPH)


_LONGEST = 400


def show_pair(request: ShowRequest) -> None:
    """Print one pair of a benchmark.

    Raises:
        UsageError: there is none of that id or number; the nearest is offered.

    """
    home = BenchmarkFolder(request.folder)
    home.check()
    pair = home.pair(request.pair_id)
    results = read_results(home)
    screen = console()
    for part in _parts(pair, results, home, full=request.full):
        screen.print(part, soft_wrap=isinstance(part, Text))


def _parts(pair: Pair, results: Results, home: BenchmarkFolder, *, full: bool) -> Iterator[RenderableType]:
    yield from _conditions(pair)
    if full:
        yield from plan_parts(pair)
        yield from conversation_parts(pair)
    yield from _verification(pair, full=full)
    yield from _judges(pair, results, full=full)
    yield from _labels(pair, results, home)


def _conditions(pair: Pair) -> Iterator[Text]:
    one = pair.conditions
    yield safe(f"{pair.pair_id}: {pair.state}, written by {pair.generator}", _LONGEST)
    yield safe(
        f"{one.failure_type} in round {one.flawed_round} of {one.n_rounds}, user {one.behaviour}; "
        f"{one.better} is the better one, {pair.worse_side} has the flaw",
        _LONGEST,
    )
    yield safe(f"domain {one.domain}; on {', '.join(one.documents) or 'no document'}", _LONGEST)
    if pair.blueprints is not None:
        yield safe(f"flaw planned: {pair.blueprints.worse.sketch}", _LONGEST)


def _verification(pair: Pair, *, full: bool) -> Iterator[RenderableType]:
    found = pair.verification
    if not found.layers:
        yield Text("\nnot verified: judgeharness benchmark verify does")
        return
    rows: list[Row] = []
    for layer in found.layers:
        reasons = layer.reasons or ("",)
        rows.append([layer.layer, layer.status.replace("_", " "), _counts(layer), safe(reasons[0], _LONGEST)])
        rows += [["", "", "", safe(reason, _LONGEST)] for reason in reasons[1:]]
    share = f"{100 * found.min_grounded:g} % of a turn's claims to be grounded"
    by = f"verification by {found.verifier or 'nobody'}, {share}"
    yield table(safe(by, 200).plain, ("layer", "status", "looked at", "reasons"), rows, texts=4)
    claims = [row for layer in found.layers for row in _claims(layer, full=full)]
    if claims:
        title = "claims" if full else "claims that are not grounded"
        yield table(title, ("turn", "claim", "decision", "chunk", "reason"), claims, texts=5)


def _counts(layer: LayerResult) -> Text:
    return safe(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(layer.counts.items())), 200)


def _claims(layer: LayerResult, *, full: bool) -> Iterator[Row]:
    for turn in layer.turns:
        for claim in turn.claims:
            if full or claim.grounded is not True:
                decision = {True: "grounded", False: "not grounded", None: "undecided"}[claim.grounded]
                yield [
                    f"{turn.side} {turn.round}",
                    safe(claim.text, 200),
                    decision + (", words not found" if claim.evidence_found is False else ""),
                    safe(claim.chunk or "-", 60),
                    safe(claim.reason or "", 200),
                ]


def _judges(pair: Pair, results: Results, *, full: bool) -> Iterator[RenderableType]:
    asked = False
    for mode in MODES:
        rows = [row for row in results.rows[mode] if row.case_id == pair.pair_id]
        if rows:
            asked = True
            yield _judge_table(pair, joint_table(rows, rule=order_rule(results.rows[mode])), f"judges, {mode}")
            yield table(
                "their answers, one by one",
                ("judge", "perturbation", "sample", *CRITERIA),
                list(_answers(rows)),
                texts=6,
            )
            if full:
                yield from reasoning_parts(rows)
    if not asked:
        rejected = ": rejected pairs are left out" if pair.state == "rejected" else ""
        yield Text(f"\nno judge was asked, or none counts{rejected}")


def _judge_table(pair: Pair, joint: JointTable, title: str) -> RenderableType:
    gold = gold_of(pair)
    rows: list[Row] = [["gold", *(safe(gold[name]) for name in CRITERIA), ""]]
    for judge in sorted(joint.judges):
        cell = joint.cell(judge, pair.pair_id)
        if cell is not None:
            rows.append([safe(judge, 40), *(_label_text(getattr(cell, name)) for name in CRITERIA), _joint(cell)])
    return table(f"{title} ({joint.rule})", ("judge", *CRITERIA, "joint"), rows, texts=5)


def _label_text(one: Said) -> Text:
    """Return a label with whether it is right, or why there is none."""
    if one.label is None:
        return Text(one.status.replace("_", " "))
    return safe(f"{one.label}, {'right' if one.correct else 'wrong'}", 80)


def _joint(cell: JointCell) -> str:
    return "-" if cell.joint is None else "right" if cell.joint else "wrong"


def _answers(rows: Sequence[VerdictRow]) -> Iterator[Row]:
    """Yield a line for each sample of a judge, its answers about all criteria beside one another."""
    samples: dict[tuple[str, str, int], dict[str, VerdictRow]] = {}
    for row in rows:
        samples.setdefault((row.judge, row.perturbation, row.repetition), {})[row.criterion] = row
    for (judge, perturbation, repetition), said in sorted(samples.items()):
        cells = (_answer(said.get(name)) for name in CRITERIA)
        yield [safe(judge, 40), safe(perturbation), str(repetition + 1), *cells]


def _answer(row: VerdictRow | None) -> Text:
    if row is None:
        return Text("-")
    return safe(verdict_text(row.verdict) if row.ok else row.outcome, 60)


def _labels(pair: Pair, results: Results, home: BenchmarkFolder) -> Iterator[Text]:
    if results.audit is None or pair.pair_id not in results.audit:
        return
    from judgeharness_integrations.audit.labels import read_labels  # noqa: PLC0415 - of audited benchmarks

    agreed = results.audit[pair.pair_id] or "nothing"
    mine = {who: said[pair.pair_id] for who, said in read_labels(home.path).items() if pair.pair_id in said}
    yield safe(f"{counted(len(mine), 'annotator')}, together: {agreed}", 200)
    for who, said in sorted(mine.items()):
        note = f": {said.note}" if said.note else ""
        yield safe(f"- {who}: {said.label or 'taken back'}{note}", _LONGEST)


_SAMPLE = "sample.json"


def draw_sample(request: SampleRequest) -> None:
    """Draw a sample of a benchmark's pairs and write it."""
    folder = BenchmarkFolder(request.folder)
    folder.check()
    pairs = in_states(folder.pairs(), states_named(request.states), where=str(folder.path))
    drawn = stratified(pairs, n=request.n, by=columns_named(request.by, COLUMNS), seed=request.seed)
    out = request.out or request.folder / _SAMPLE
    text = json.dumps(drawn.to_dict(), indent=2, ensure_ascii=False) + "\n"
    write_whole(out, [text])
    if request.as_json:
        print_json(drawn.to_dict())
    else:
        show(_sample_blocks(drawn, len(pairs), request, out))


def _sample_blocks(drawn: Sample, population: int, request: SampleRequest, out: Path) -> Iterator[Block]:
    rows = [
        [*(str(stratum.values[name]) for name in drawn.by), str(stratum.population), str(stratum.sampled)]
        for stratum in drawn.strata
    ]
    together = ["together", *[""] * len(drawn.by)][: len(drawn.by)]
    rows.append([*together, str(population), str(drawn.n)])
    yield Table.of(f"sample, seed {drawn.seed}", (*drawn.by, "pairs", "sampled"), rows, texts=len(drawn.by))
    yield f"written to {out}"
    yield f"next: judgeharness benchmark judge {request.folder} --sample {out} --judges MODEL,..."
