"""`judgeharness label`: cases labelled blind to judges, and several people's labels merged."""

from __future__ import annotations

import io
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.replay import rows_about
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.cases import Criterion, read_cases
from judgeharness_integrations.labelling import (
    LabelAgreement,
    LabelLog,
    Progress,
    Question,
    Session,
    calibration_set_from_logs,
    label_agreement,
    parse_answers,
    questions,
)
from judgeharness_integrations.labelling.labellog import models_among, write_gold_file
from judgeharness_integrations.labelling.sheets import add_rows, rows_of_sheet, write_annotator_sheet
from judgeharness_integrations.reporting.sections import Table
from judgeharness_integrations.verdictlog import read_log
from judgeharness_integrations.verdictlog.encoding import counted, fixed, percent, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

from ._command import command
from ._output import check_file, print_json, show


@dataclass(frozen=True, kw_only=True)
class LabelRequest:
    """Label cases, blind to judges: one question at a time, or on a sheet. Run it again to go on where you stopped."""

    files: Annotated[
        tuple[Path, ...],
        typer.Argument(metavar="CASES", help="A case file (.csv or .jsonl); with --merge the annotators' logs."),
    ] = ()
    annotator: Annotated[str | None, typer.Option(help="Who labels.")] = None
    out: Annotated[
        Path | None, typer.Option(help="The log of labels; with --merge the case file.", show_default="labels.jsonl")
    ] = None
    answers: Annotated[
        str | None,
        typer.Option(
            help="What may be said: PASS,FAIL or toxic;spam (several may hold) or 1..10 or number or any.",
            show_default="A,B,TIE about two answers, PASS,FAIL about one",
        ),
    ] = None
    criteria: Annotated[
        tuple[str, ...],
        typer.Option("--criterion", help="What is asked about; may be given several times.", show_default="verdict"),
    ] = ()
    seed: Annotated[int, typer.Option(help="Draws the order of cases and the places of two answers.")] = 0
    sheet: Annotated[Path | None, typer.Option(help="Write a sheet (.csv or .jsonl) to fill instead.")] = None
    from_sheet: Annotated[Path | None, typer.Option(help="Add the labels of a filled sheet to the log.")] = None
    cases: Annotated[Path | None, typer.Option(help="The labelled cases (with --merge).")] = None
    consensus: Annotated[str, typer.Option(help="How several labels become one (with --merge).")] = "majority"
    merge: Annotated[bool, typer.Option("--merge", help="Merge logs into cases with a gold column.")] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over --out (with --merge).")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; questions go to stderr.")] = False


def label_or_merge(request: LabelRequest) -> None:
    """Label cases, or merge the labels of several people."""
    if request.merge:
        merge_logs(request)
        return
    if request.cases is not None:
        raise UsageError("--cases goes with --merge: without it the case file is given as it is.")
    if request.overwrite:
        raise UsageError("--overwrite goes with --merge: labels are added to a log, and a sheet may hold some.")
    label_cases(request)


def merge_logs(request: LabelRequest) -> None:
    """Fold the labels of several logs by the consensus rule, write the cases with it, and say what was left out."""
    _check(request)
    cases = request.cases
    if not request.files or cases is None or request.out is None:
        raise UsageError("--merge needs the logs, --cases CASES and --out FILE.")
    _check_out(request.out, (*request.files, cases), overwrite=request.overwrite)
    logs = {path: read_log(path) for path in request.files}
    read = [row for path in request.files for row in logs[path]]
    rows = [row for row in rows_about(read, request.criteria or None) if row.ok]
    known = read_cases(cases)
    labelled = calibration_set_from_logs(rows, known, name=request.out.name.split(".")[0], consensus=request.consensus)
    path = write_gold_file(known, labelled, request.out)
    if models := models_among(rows):
        said = "answers of models, and not labels of people: say --source model:NAME of them"
        typer.echo(f"{safe_text(', '.join(models), 200)}: {said}", err=True)
    agreement = label_agreement(rows)
    failed = len(read) - sum(row.ok for row in read)
    facts = _facts(rows, labelled, failed=failed) | {"cases": len(known), "repeated": _repeated(rows)}
    if request.as_json:
        pairs = [pair.to_dict() for pair in agreement]
        print_json({"schema": "judgeharness.labels/1", **facts, "agreement": pairs, "out": str(path)})
        return
    table = [agreement_table(agreement, "items", by_criterion=True)] if agreement else []
    show([*_lines(facts), *table, f"written to {path}: calibrate --labels takes it"])


def _check(request: LabelRequest) -> None:
    given = {
        "--annotator": request.annotator,
        "--answers": request.answers,
        "--sheet": request.sheet,
        "--from-sheet": request.from_sheet,
    }
    if extra := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"--merge takes logs that are there: leave out {', '.join(extra)}.")


def _check_out(out: Path, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Refuse what would write over labels or cases; nothing else is written over unless so wished."""
    check_file(out)
    for path in inputs:
        if path.exists() and out.exists() and out.samefile(path):
            raise UsageError(f"--out {out} is {path}, which is read: give another --out.")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists: give another --out, or --overwrite.")


def _facts(rows: Sequence[VerdictRow], labelled: CalibrationSet, *, failed: int) -> dict[str, Any]:
    golds, ties = labelled.golds()
    items = [votes for _, label in labelled.labeled_examples for votes in label.values()]
    labels = sum(map(len, items))
    given = {(row.judge, row.case_id, row.criterion) for row in rows}
    return {
        "annotators": dict(sorted(Counter(judge for judge, _, _ in given).items())),
        "consensus": labelled.consensus,
        "labelled_cases": len(labelled.labeled_examples),
        "items": len(items),
        "golds": sum(map(len, golds.values())),
        "ties": ties,
        "labels_per_item": {str(count): number for count, number in sorted(Counter(map(len, items)).items())},
        "labels_of_no_case": len(given) - labels,
        "rows_without_label": failed,
    }


def _repeated(rows: Sequence[VerdictRow]) -> dict[str, int]:
    """Return annotator -> how many labels stand twice or more; where they differ, nothing is merged at all."""
    times = Counter((row.judge, row.case_id, row.criterion) for row in rows)
    return dict(sorted(Counter(judge for (judge, _, _), count in times.items() if count > 1).items()))


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    names = ", ".join(f"{name} ({count})" for name, count in facts["annotators"].items())
    yield f"{len(facts['annotators'])} annotators: {names}"
    yield f"{facts['items']} items of {facts['labelled_cases']} of {facts['cases']} cases are labelled"
    per_item = ", ".join(f"{count}: {number}" for count, number in facts["labels_per_item"].items())
    yield f"items by number of labels: {per_item}"
    yield f"consensus {facts['consensus']}: {facts['golds']} golds; {facts['ties']} evenly split items have none"
    if facts["labels_of_no_case"]:
        yield f"{facts['labels_of_no_case']} labels are of no case given and count for nothing"
    for name, count in facts["repeated"].items():
        yield f"{count} labels of {name} stand twice or more and count once: is one of the files a copy?"
    if facts["rows_without_label"]:
        yield f"{counted(facts['rows_without_label'], 'row holds', 'rows hold')} no label"
    if len(facts["annotators"]) == 1:
        yield "one annotator: nothing tells how far people agree"


def agreement_table(agreement: Sequence[LabelAgreement], items: str, *, by_criterion: bool = False) -> Table:
    """Return how often each two annotators agree about the `items` both labelled."""
    rows = (
        [
            *([pair.criterion] if by_criterion else []),
            *pair.annotators,
            str(pair.items),
            percent(pair.agreed / pair.items),
            fixed(None if pair.kappa is None else pair.kappa.value),
        ]
        for pair in agreement
    )
    columns = (*(["criterion"] if by_criterion else []), "annotator", "annotator", items, "agreed %", "kappa")
    return Table.of("agreement of annotators", columns, rows, texts=2 + by_criterion)


_OUT = Path("labels.jsonl")
_WIDEST = 100


def label_cases(request: LabelRequest) -> None:
    """Ask, write a sheet, or take one."""
    if request.sheet is not None and request.from_sheet is not None:
        raise UsageError("give --sheet, which writes a sheet, or --from-sheet, which takes a filled one.")
    if len(request.files) > 1:
        raise UsageError(f"give one case file, not {len(request.files)}; --merge takes several logs.")
    if request.from_sheet is not None:
        _take(request, request.from_sheet)
        return
    if not request.files:
        raise UsageError("give the case file to label: judgeharness label CASES --annotator NAME.")
    if request.annotator is None:
        raise UsageError("say who labels: give --annotator NAME.")
    asked = _questions(request, request.annotator.strip())
    if request.sheet is not None:
        _write(request, asked, request.sheet)
        return
    out = request.out or _OUT
    check_file(out)
    _ask(request, asked, LabelLog(out))


def _questions(request: LabelRequest, annotator: str) -> list[Question]:
    return questions(
        read_cases(request.files[0]),
        annotator=annotator,
        criteria=[Criterion(name=name) for name in dict.fromkeys(request.criteria)],
        answers=None if request.answers is None else parse_answers(request.answers),
        seed=request.seed,
    )


def _ask(request: LabelRequest, asked: list[Question], log: LabelLog) -> None:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # what is typed in another encoding is no reason to stop
    session = Session(
        asked,
        log,
        annotator=(request.annotator or "").strip(),
        read=lambda: sys.stdin.readline(),  # noqa: PLW0108 - the stream of the moment
        write=partial(typer.echo, nl=False, err=request.as_json),
        now=lambda: datetime.now(UTC).isoformat(timespec="seconds"),
        width=min(shutil.get_terminal_size().columns, _WIDEST),
    )
    try:
        session.run()
    except KeyboardInterrupt:
        typer.echo(f"\n{_progress_text(session.progress, log.path)}", err=True)
        raise typer.Abort from None
    if request.as_json:
        print_json(session.progress.to_dict())
        return
    typer.echo(f"\n{_progress_text(session.progress, log.path)}")


def _progress_text(progress: Progress, path: Path) -> str:
    skipped = f", {progress.skipped} skipped" if progress.skipped else ""
    more = "." if progress.complete else ": run it again to go on."
    return (
        f"{safe_text(progress.annotator, 60)}: {progress.labelled} of {progress.questions} labelled, {progress.added} "
        f"of them now{skipped}; they are in {safe_text(str(path), 200)}{more}"
    )


def _write(request: LabelRequest, asked: list[Question], sheet: Path) -> None:
    if request.out is not None:
        raise UsageError("--sheet writes a sheet and no log: leave out --out.")
    path = write_annotator_sheet(asked, sheet, annotator=(request.annotator or "").strip())
    if request.as_json:
        print_json({"schema": "judgeharness.label/1", "sheet": str(path), "questions": len(asked)})
        return
    shown = safe_text(str(path), 200)
    typer.echo(f"{len(asked)} questions are in {shown}: fill its column label, then give it as --from-sheet.")


def _take(request: LabelRequest, sheet: Path) -> None:
    if request.answers is not None or request.criteria:
        raise UsageError("--from-sheet takes what the sheet asks: leave out --answers and --criterion.")
    out = request.out or _OUT
    check_file(out)
    cases = read_cases(request.files[0]) if request.files else None
    annotator = None if request.annotator is None else request.annotator.strip()
    rows = rows_of_sheet(sheet, annotator=annotator, cases=cases)
    log = LabelLog(out)
    if annotator is None:
        _check_annotators(rows, log)
    added = add_rows(rows, log)
    if request.as_json:
        print_json({"schema": "judgeharness.label/1", "log": str(out), "labels": len(rows), "added": added})
        return
    typer.echo(f"{len(rows)} labels are in {safe_text(str(out), 200)}, {added} of them new.")


def _check_annotators(rows: Iterable[VerdictRow], log: LabelLog) -> None:
    """Refuse the sheet of somebody whom nobody named for a log of others."""
    held = sorted({row.judge for row in log.rows()})
    if held and (others := sorted({row.judge for row in rows} - {*held})):
        raise UsageError(
            f"{log.path} holds labels of {held[0]!r}, the sheet is of {others[0]!r}: give another --out, or "
            f"--annotator to add them there."
        )


label = command(LabelRequest, label_or_merge)
