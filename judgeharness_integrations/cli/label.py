"""`judgeharness label`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations._errors import UsageError

__all__ = ["label"]


def label(  # noqa: PLR0917 - typer passes every option by name
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CASES",
            help="A case file (.csv or .jsonl); with --merge the annotators' logs.",
            show_default=False,
        ),
    ] = None,
    annotator: Annotated[str | None, typer.Option(help="Who labels.", show_default=False)] = None,
    out: Annotated[
        Path | None, typer.Option(help="The log of labels; with --merge the case file.", show_default="labels.jsonl")
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            help="What may be said: PASS,FAIL or toxic;spam (several may hold) or 1..10 or number or any.",
            show_default="A,B,TIE about two answers, PASS,FAIL about one",
        ),
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="What is asked about; may be given several times.", show_default="verdict")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the order of cases and the places of two answers.")] = 0,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a sheet (.csv or .jsonl) to fill instead.", show_default=False)
    ] = None,
    from_sheet: Annotated[
        Path | None, typer.Option(help="Add the labels of a filled sheet to the log.", show_default=False)
    ] = None,
    cases: Annotated[Path | None, typer.Option(help="The labelled cases (with --merge).", show_default=False)] = None,
    consensus: Annotated[str, typer.Option(help="How several labels become one (with --merge).")] = "majority",
    *,
    merge: Annotated[bool, typer.Option("--merge", help="Merge logs into cases with a gold column.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over --out (with --merge).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; questions go to stderr.")] = False,
) -> None:
    """Label cases, blind to judges: one question at a time, or on a sheet. Run it again to go on where you stopped."""
    from judgeharness_integrations.cli import _label  # noqa: PLC0415 - keeps --help fast

    request = _label.Request(
        files=tuple(files or ()),
        annotator=annotator,
        out=out,
        answers=answers,
        criteria=tuple(criterion or ()),
        seed=seed,
        sheet=sheet,
        from_sheet=from_sheet,
        as_json=as_json,
    )
    if merge:
        from judgeharness_integrations.cli._label import merge_logs  # noqa: PLC0415

        merge_logs(request, cases=cases, consensus=consensus, overwrite=overwrite)
        return
    if cases is not None:
        raise UsageError("--cases goes with --merge: without it the case file is given as it is.")
    if overwrite:
        raise UsageError("--overwrite goes with --merge: labels are added to a log, and a sheet may hold some.")
    _label.label_cases(request)
