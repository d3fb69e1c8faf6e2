"""`judgeharness audit`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["audit"]


class Only(StrEnum):
    """Which cases of a run are labelled."""

    all = "all"
    abstained = "abstained"
    not_graded = "not-graded"


class Order(StrEnum):
    """In which order pairs are shown at first."""

    assigned = "assigned"
    number = "number"
    joint = "joint"
    strong_miss = "strong-miss"


_Where = Annotated[
    Path,
    typer.Argument(
        metavar="DIR_OR_CASES",
        help="Folder of a benchmark, folder of a run, or a case file (.csv, .jsonl).",
        show_default=False,
    ),
]
_Annotator = Annotated[str | None, typer.Option(help="Who labels.", show_default=False)]
_Order = Annotated[
    Order | None,
    typer.Option(help="Pairs as they are shown at first.", show_default="assigned, where there is a bundle"),
]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")]
_NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address and open nothing.")]
_Assign = Annotated[
    str | None,
    typer.Option(help="Share pairs out between these annotators, as anna,ben, and serve nothing.", show_default=False),
]
_N = Annotated[int | None, typer.Option("--n", help="Pairs of the uniform sample.", show_default="100")]
_Overlap = Annotated[
    float | None, typer.Option(help="Share of the sample that every annotator labels.", show_default="0.1")
]
_Suspicious = Annotated[
    int | None, typer.Option(help="Further pairs, those that judges make look suspicious.", show_default="20")
]
_Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Assign anew where labels are; no label is ever deleted.")
]
_Status = Annotated[bool, typer.Option("--status", help="Print how far annotators are, and the noise rate.")]
_Only = Annotated[Only | None, typer.Option(help="Cases of a run that ended so for any judge.", show_default="all")]
_Cases = Annotated[
    Path | None,
    typer.Option(help="The cases of a run, where they are not found by themselves.", show_default=False),
]
_Criterion = Annotated[
    list[str] | None,
    typer.Option(help="What is asked about cases; may be given several times.", show_default="as the judges"),
]
_Answers = Annotated[
    str | None,
    typer.Option(help="What may be said about cases: PASS,FAIL or a;b or 1..5.", show_default="as the judges"),
]
_Seed = Annotated[
    int | None, typer.Option(help="Draws the sample, or the order and places of plain cases.", show_default="0")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON (with --assign, --status).")]


def audit(
    where: _Where,
    *,
    annotator: _Annotator = None,
    order: _Order = None,
    port: _Port = 0,
    no_browser: _NoBrowser = False,
    assign: _Assign = None,
    n: _N = None,
    overlap: _Overlap = None,
    suspicious: _Suspicious = None,
    overwrite: _Overwrite = False,
    status: _Status = False,
    only: _Only = None,
    cases: _Cases = None,
    criterion: _Criterion = None,
    answers: _Answers = None,
    seed: _Seed = None,
    as_json: _Json = False,
) -> None:
    """Serve a page on this machine on which a person labels pairs of a benchmark, or cases blind to judges.

    Pairs are clean, ambiguous or noise; cases get what judges are asked for. Every label is written at once.
    """
    from judgeharness_integrations.cli._audit import Request, audit_place  # noqa: PLC0415 - keeps --help fast

    request = Request(
        where=where,
        annotator=annotator,
        order=None if order is None else order.value,
        port=port,
        browser=not no_browser,
        assign=assign,
        n=n,
        overlap=overlap,
        suspicious=suspicious,
        overwrite=overwrite,
        status=status,
        only=None if only is None else only.value,
        cases=cases,
        criteria=tuple(criterion or ()),
        answers=answers,
        seed=seed,
        as_json=as_json,
    )
    audit_place(request)
