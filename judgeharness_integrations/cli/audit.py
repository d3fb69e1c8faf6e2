"""What `judgeharness audit DIR --status` prints: how far annotators are, how far they agree, and the noise rate."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration.rates import Rate
from judgeharness_integrations.audit.labels import (
    Assignment,
    AuditedSlice,
    Labels,
    NoiseRate,
    assign,
    noise_rate,
    read_assignment,
    read_labels,
    write_assignment,
)
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.curation import (
    by_joint_correctness,
    strong_miss_weak_hit,
    suspicious_slice,
)
from judgeharness_integrations.reporting.sections import Block, Table
from judgeharness_integrations.verdictlog.encoding import counted, percent, safe_text

from ._command import terminable
from ._judge_options import AuditRequest
from ._output import print_json, show
from .label import agreement_table

if TYPE_CHECKING:
    from judgeharness_integrations.audit.cases import Only, PlainTask
    from judgeharness_integrations.audit.source import AuditSource


_LABELS = ("clean", "ambiguous", "noise")


def print_status(folder: BenchmarkFolder, *, as_json: bool = False) -> None:
    """Print what stands in a benchmark's folder of people's labels."""
    folder.check()
    labels, assignment = read_labels(folder.path), read_assignment(folder.path)
    rejected = {pair.pair_id for pair in folder.pairs() if pair.state == "rejected"}
    found = noise_rate(labels, assignment, rejected=rejected)
    document = status_document(labels, assignment, found)
    if as_json:
        print_json(document)
        return
    show(_status_blocks(document, found, assignment))


def _status_blocks(document: Mapping[str, Any], found: NoiseRate, assignment: Assignment | None) -> Iterator[Block]:
    if document["annotators"]:
        columns = ("annotator", "done", "assigned", *_LABELS, "beyond the\nassigned")
        yield Table.of("annotators", columns, map(_cells, document["annotators"]))
    else:
        yield "nobody labelled anything and nothing is assigned: judgeharness audit DIR --assign NAMES"
    if found.agreement:
        yield agreement_table(found.agreement, "pairs")
    yield from _lines(found, assignment)


def status_document(labels: Labels, assignment: Assignment | None, found: NoiseRate) -> dict[str, Any]:
    """Return it as JSON (`judgeharness.audit_status/1`)."""
    bundles = {} if assignment is None else assignment.bundles
    return {
        "schema": "judgeharness.audit_status/1",
        "annotators": [
            _annotator(name, labels, bundles.get(name) if assignment is not None else None)
            for name in sorted({*bundles, *labels})
        ],
        "assignment": None
        if assignment is None
        else {"seed": assignment.seed, "pool": assignment.pool, "overlap": assignment.overlap},
        **found.to_dict(),
    }


def _annotator(name: str, labels: Labels, bundle: tuple[str, ...] | None) -> dict[str, Any]:
    """Return how far somebody is; `assigned` and `done` are None where nothing is assigned to them."""
    mine = {pair_id: said.label for pair_id, said in labels.get(name, {}).items() if said.label is not None}
    counts: Counter[str] = Counter(mine.values())
    return {
        "annotator": name,
        "assigned": None if bundle is None else len(bundle),
        "done": None if bundle is None else len(mine.keys() & {*bundle}),
        "beyond": len(mine.keys() - {*(bundle or ())}),
        **{label: counts[label] for label in _LABELS},
    }


def _cells(one: dict[str, Any]) -> list[str]:
    shown = ["-" if one[name] is None else str(one[name]) for name in ("done", "assigned", *_LABELS, "beyond")]
    return [one["annotator"], *shown]


def _lines(found: NoiseRate, assignment: Assignment | None) -> Iterator[str]:
    if found.uniform is not None and assignment is not None:
        yield (
            f"uniform sample, {found.uniform.pairs} of {assignment.pool} pairs: {_counts(found.uniform)}; several "
            f"annotators by {found.rule}"
        )
        if found.uniform.rejected:
            yield f"verification rejected {found.uniform.rejected} of the sample since it was drawn; they stay in it"
        yield f"noise {_rate(found.noise)}; ambiguous {_rate(found.ambiguous)}"
        if found.uniform.unlabelled and found.uniform.labelled:
            yield "the rates are of labelled pairs, which stand for all if they were labelled in the order assigned"
    else:
        yield "no noise rate: it needs a uniform sample, which --assign draws"
    if found.suspicious is not None and found.suspicious.pairs:
        yield (
            f"suspicious slice, {found.suspicious.pairs} pairs chosen for what judges said, in no rate: "
            f"{_counts(found.suspicious)}"
        )
    if found.others.pairs:
        yield f"labelled without being assigned, in no rate: {_labels(found.others)}"


def _counts(part: AuditedSlice) -> str:
    return f"{_labels(part)}, {part.unlabelled} not labelled yet"


def _labels(part: AuditedSlice) -> str:
    split = f" ({part.divided} evenly split)" if part.divided else ""
    return f"{part.clean} clean, {part.ambiguous} ambiguous{split}, {part.noise} noise"


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "not known: no pair of the sample is labelled"
    return (
        f"{percent(rate.value)} % [{percent(rate.low)}, {percent(rate.high)}] of {rate.trials} labelled "
        "(95 %, Wilson, over pairs)"
    )


_SAMPLE, _OVERLAP, _SLICE = 100, 0.1, 20


def assign_pairs(folder: BenchmarkFolder, request: AuditRequest) -> None:
    """Write `audit/assignment.json` and say who labels how much.

    Raises:
        UsageError: labels were made under an assignment, and it is not to be replaced.

    """
    folder.check()
    _check_new(folder, request)
    pairs = folder.pairs()
    pool, state = _pool(pairs)
    wanted = _SLICE if request.suspicious is None else request.suspicious
    if wanted < 0:
        raise UsageError(f"--suspicious is a number of pairs of at least 0, not {wanted}.")
    matrix = _matrix(folder, pairs, pool) if wanted else {}
    orders = [by_joint_correctness(matrix), strong_miss_weak_hit(matrix)]

    def chosen(sample: Sequence[str]) -> Sequence[str]:
        return suspicious_slice(orders, n=wanted, without=sample)

    made = assign(
        pool,
        annotators=[name for name in (request.assign or "").split(",") if name.strip()],
        n=_SAMPLE if request.n is None else request.n,
        overlap=_OVERLAP if request.overlap is None else request.overlap,
        suspicious=chosen,
        seed=request.seed or 0,
    )
    path = write_assignment(folder.path, made)
    if request.as_json:
        print_json(made.to_dict())
        return
    show(_assigned(made, path, state=state, judged=bool(matrix), wanted=wanted))


def _check_new(folder: BenchmarkFolder, request: AuditRequest) -> None:
    if any(read_labels(folder.path).values()) and not request.overwrite:
        raise UsageError(f"{folder.path} holds labels: give --overwrite to assign anew; every label stays.")


def _pool(pairs: Sequence[Pair]) -> tuple[list[str], str]:
    """Return the pairs that may be drawn, and their state: accepted ones, or all of a benchmark nobody verified."""
    states = {pair.pair_id: pair.state for pair in pairs if pair.conversations is not None}
    state = "accepted" if {*states.values()} != {"unverified"} else "unverified"
    return [pair_id for pair_id, found in states.items() if found == state], state


def _matrix(folder: BenchmarkFolder, pairs: Sequence[Pair], pool: Sequence[str]) -> Mapping[str, Mapping[str, bool]]:
    """Return judge -> pair -> whether it was right about everything, of the pairs that may be drawn."""
    from judgeharness_integrations.benchmark.verdicts import read_table  # noqa: PLC0415 - brings numpy

    found, known = read_table(folder, pairs).matrix(), {*pool}
    return {judge: {pair: right for pair, right in cells.items() if pair in known} for judge, cells in found.items()}


def _assigned(made: Assignment, path: Path, *, state: str, judged: bool, wanted: int) -> Iterator[Block]:
    yield (
        f"{len(made.uniform)} of {made.pool} {state} pairs, drawn uniformly with seed {made.seed}; {len(made.shared)} "
        "of them go to every annotator"
    )
    few = f" ({wanted} were wanted)" if len(made.suspicious) < wanted else ""
    why = "" if judged or not wanted else ": no judge was asked yet"
    yield f"{len(made.suspicious)} further pairs look suspicious{few}{why}; they are in no rate"
    uniform, shared, suspicious = {*made.uniform}, {*made.shared}, {*made.suspicious}
    rows = (
        [name, *(str(len(part & {*bundle})) for part in (uniform, shared, suspicious)), str(len(bundle))]
        for name, bundle in made.bundles.items()
    )
    yield Table.of("who labels", ("annotator", "sample", "of it\nshared", "suspicious", "all"), rows)
    yield f"written to {path}: each labels with judgeharness audit DIR --annotator NAME"


_LONGEST = 200


def audit_place(request: AuditRequest) -> None:
    """Do what was asked of a folder or file.

    Raises:
        UsageError: nothing that can be labelled is there, or options do not fit what is.

    """
    folder = BenchmarkFolder(request.where)
    what = _what(request.where)
    _check(request, what)
    if request.assign is not None:
        assign_pairs(folder, request)
    elif request.status:
        print_status(folder, as_json=request.as_json)
    elif what == "benchmark":
        _serve_pairs(folder, request)
    else:
        _serve_cases(request, what)


_What = Literal["benchmark", "run", "cases"]


def _what(where: Path) -> _What:
    from judgeharness_integrations.audit.cases import is_run  # noqa: PLC0415 - brings pydantic

    if where.is_dir():
        if BenchmarkFolder(where).exists:
            return "benchmark"
        if is_run(where):
            return "run"
    elif where.is_file():
        return "cases"
    missing = "holds neither a benchmark nor a run" if where.is_dir() else "does not exist"
    raise UsageError(
        f"{where} {missing}: give the folder of judgeharness benchmark generate, that of judgeharness run, or a case "
        "file (.csv or .jsonl)."
    )


def _check(request: AuditRequest, what: _What) -> None:
    """Refuse options that would do nothing."""
    assigning: dict[str, object] = {
        "--n": request.n,
        "--overlap": request.overlap,
        "--suspicious": request.suspicious,
        "--overwrite": request.overwrite or None,
    }
    of_pairs: dict[str, object] = {
        "--assign": request.assign,
        "--status": request.status or None,
        "--order": request.order,
    }
    of_cases: dict[str, object] = {
        "--only": request.only,
        "--cases": request.cases,
        "--criterion": request.criteria or None,
        "--answers": request.answers,
    }
    if what == "benchmark":
        _refuse(of_cases, f"with cases, and {request.where} is a benchmark")
    else:
        _refuse(of_pairs | assigning, f"with pairs, and {request.where} is no benchmark")
    if what == "cases":
        _refuse({"--only": request.only, "--cases": request.cases}, f"with a run, and {request.where} is a case file")
    if request.assign is None:
        seed = {"--seed": request.seed} if what == "benchmark" else {}  # it draws the order of cases as well
        _refuse(assigning | seed, "with --assign")
    elif request.status:
        raise UsageError("give --assign, which shares pairs out, or --status, which says how far annotators are.")
    if request.assign is not None or request.status:
        _refuse({"--annotator": request.annotator, "--order": request.order}, "with the page, which is not served")
    elif request.as_json:
        raise UsageError("--json goes with --assign or --status: the page prints its address alone.")


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Refuse options that were given; `why` says with what they go."""
    if given := [name for name, value in options.items() if value is not None]:
        goes, them = ("goes", "it") if len(given) == 1 else ("go", "them")
        raise UsageError(f"{' and '.join(given)} {goes} {why}: leave {them} out.")


def _serve_pairs(folder: BenchmarkFolder, request: AuditRequest) -> None:
    from judgeharness_integrations.audit.pairs import ASSIGNED, IDLE, JOINT, NUMBER, STRONG_MISS, PairSource  # noqa: PLC0415 - brings pydantic

    names = {"assigned": ASSIGNED, "number": NUMBER, "joint": JOINT, "strong-miss": STRONG_MISS}

    class OrderedPairs(PairSource):
        """The pairs, in the order wished for at first."""

        @property
        def orders(self) -> tuple[str, ...]:
            known = super().orders
            wished = [names[request.order]] if request.order is not None else []
            return tuple(dict.fromkeys([*wished, *known]))

    source = OrderedPairs(folder, annotator=request.who)
    if not source.items():
        raise UsageError(f"{request.where} holds no pair yet: go on with judgeharness benchmark generate.")
    if request.order is not None and names[request.order] not in super(OrderedPairs, source).orders:
        why = f"nothing is assigned to {source.annotator!r}" if request.order == "assigned" else "no judge was asked"
        raise UsageError(f"there is no order {request.order!r}, since {why}: leave out --order.")
    if source.assigned_others:
        shown = safe_text(f"{source.annotator!r}; pairs are assigned to {', '.join(source.assigned_others)}", _LONGEST)
        typer.echo(f"nothing is assigned to {shown}: is that the name?", err=True)
    elif source.is_idle:
        typer.echo(f"nothing is assigned to {safe_text(repr(source.annotator), _LONGEST)}: {IDLE}.", err=True)
    _serve(source, request)


def _serve_cases(request: AuditRequest, what: _What) -> None:
    from judgeharness_integrations.audit.cases import PlainSource  # noqa: PLC0415 - loads what cases need

    task, name = _task(request, what), request.where.resolve().name
    cases = counted(len({case_id for case_id, _ in task.questions}), "case")
    _serve(PlainSource(task, title=f"{cases} of {'run ' if what == 'run' else ''}{name}"), request)


def _task(request: AuditRequest, what: _What) -> PlainTask:
    from judgeharness_integrations.audit.cases import PlainTask, RunCases, plain_questions, read_run_cases  # noqa: PLC0415
    from judgeharness_integrations.judging.cases import read_cases  # noqa: PLC0415
    from judgeharness_integrations.labelling import LabelLog, parse_answers  # noqa: PLC0415

    who = request.who
    if what == "run":
        found, labels = read_run_cases(request.where, request.cases), request.where / "labels"
    else:
        found = RunCases(cases=read_cases(request.where))
        labels = request.where.with_name(f"{request.where.stem}-labels")  # ids of two files may be equal
    asked = plain_questions(
        found,
        annotator=who,
        criteria=request.criteria,
        answers=None if request.answers is None else parse_answers(request.answers),
        only=cast("Only", (request.only or "all").replace("-", "_")),
        seed=request.seed or 0,
    )
    return PlainTask(asked, LabelLog(labels / f"{who}.jsonl"), annotator=who)


def _serve(source: AuditSource, request: AuditRequest) -> None:
    from judgeharness_integrations.audit.app import serve  # noqa: PLC0415 - needs the extra

    progress = source.progress()
    what = (
        f"{progress.labelled} of {progress.items} {source.kind} of {request.where} are labelled by {source.annotator}"
    )
    with terminable():
        serve(source, ready=partial(_ready, safe_text(what, _LONGEST), opens=not request.no_browser), port=request.port)


def _ready(what: str, address: str, once: str, *, opens: bool) -> None:
    typer.echo(f"{what}; label at {address} (Ctrl-C ends it).")
    sys.stdout.flush()  # into a pipe, too, before anybody can use it
    if opens and _has_screen():
        webbrowser.open(once)


def _has_screen() -> bool:
    """Whether a browser would open in a window: one in the terminal would take that over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
