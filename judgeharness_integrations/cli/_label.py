"""What `judgeharness label CASES` does: asks a person, writes a sheet, or takes a filled one."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.casefiles import read_cases
from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.labelling import LabelLog, Progress, Question, Session, parse_answers, questions
from judgeharness_integrations.labelling.sheets import add_rows, rows_of_sheet, write_annotator_sheet
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Request", "label_cases"]

_OUT = Path("labels.jsonl")
_WIDEST = 100


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of the command that every way of labelling shares."""

    files: tuple[Path, ...]
    annotator: str | None
    out: Path | None
    answers: str | None
    criteria: tuple[str, ...]
    seed: int
    sheet: Path | None
    from_sheet: Path | None
    as_json: bool


def label_cases(request: Request) -> None:
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


def _questions(request: Request, annotator: str) -> list[Question]:
    return questions(
        read_cases(request.files[0]),
        annotator=annotator,
        criteria=[Criterion(name=name) for name in dict.fromkeys(request.criteria)],
        answers=None if request.answers is None else parse_answers(request.answers),
        seed=request.seed,
    )


def _ask(request: Request, asked: list[Question], log: LabelLog) -> None:
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
        typer.echo(f"\n{_told(session.progress, log.path)}", err=True)
        raise typer.Abort from None
    if request.as_json:
        print_json(session.progress.to_dict())
        return
    typer.echo(f"\n{_told(session.progress, log.path)}")


def _told(progress: Progress, path: Path) -> str:
    skipped = f", {progress.skipped} skipped" if progress.skipped else ""
    more = "." if progress.complete else ": run it again to go on."
    return (
        f"{safe_text(progress.annotator, 60)}: {progress.labelled} of {progress.questions} labelled, {progress.added} "
        f"of them now{skipped}; they are in {safe_text(str(path), 200)}{more}"
    )


def _write(request: Request, asked: list[Question], sheet: Path) -> None:
    if request.out is not None:
        raise UsageError("--sheet writes a sheet and no log: leave out --out.")
    path = write_annotator_sheet(asked, sheet, annotator=(request.annotator or "").strip())
    if request.as_json:
        print_json({"schema": "judgeharness.label/1", "sheet": str(path), "questions": len(asked)})
        return
    shown = safe_text(str(path), 200)
    typer.echo(f"{len(asked)} questions are in {shown}: fill its column label, then give it as --from-sheet.")


def _take(request: Request, sheet: Path) -> None:
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
