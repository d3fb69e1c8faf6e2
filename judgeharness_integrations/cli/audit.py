"""`judgeharness audit`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cli._command import command


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Serve a page on this machine on which a person labels pairs of a benchmark, or cases blind to judges.

    Pairs are clean, ambiguous or noise; cases get what judges are asked for. Every label is written at once.
    """

    where: Annotated[
        Path,
        typer.Argument(
            metavar="DIR_OR_CASES",
            help="Folder of a benchmark, folder of a run, or a case file (.csv, .jsonl).",
            show_default=False,
        ),
    ]
    annotator: Annotated[str | None, typer.Option(help="Who labels.", show_default=False)] = None
    order: Annotated[
        Literal["assigned", "number", "joint", "strong-miss"] | None,
        typer.Option(help="Pairs as they are shown at first.", show_default="assigned, where there is a bundle"),
    ] = None
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 0
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open nothing.")] = False
    assign: Annotated[
        str | None,
        typer.Option(
            help="Share pairs out between these annotators, as anna,ben, and serve nothing.", show_default=False
        ),
    ] = None
    n: Annotated[int | None, typer.Option("--n", help="Pairs of the uniform sample.", show_default="100")] = None
    overlap: Annotated[
        float | None, typer.Option(help="Share of the sample that every annotator labels.", show_default="0.1")
    ] = None
    suspicious: Annotated[
        int | None, typer.Option(help="Further pairs, those that judges make look suspicious.", show_default="20")
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Assign anew where labels are; no label is ever deleted.")
    ] = False
    status: Annotated[bool, typer.Option("--status", help="Print how far annotators are, and the noise rate.")] = False
    only: Annotated[
        Literal["all", "abstained", "not-graded"] | None,
        typer.Option(help="Cases of a run that ended so for any judge.", show_default="all"),
    ] = None
    cases: Annotated[
        Path | None,
        typer.Option(help="The cases of a run, where they are not found by themselves.", show_default=False),
    ] = None
    criteria: Annotated[
        tuple[str, ...],
        typer.Option(
            "--criterion", help="What is asked about cases; may be given several times.", show_default="as the judges"
        ),
    ] = ()
    answers: Annotated[
        str | None,
        typer.Option(help="What may be said about cases: PASS,FAIL or a;b or 1..5.", show_default="as the judges"),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Draws the sample, or the order and places of plain cases.", show_default="0")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (with --assign, --status).")] = False

    @property
    def who(self) -> str:
        """The annotator, as the files are named.

        Raises:
            UsageError: nobody was named, or no file can be named so.

        """
        from judgeharness_integrations.audit.labels import check_annotator  # noqa: PLC0415 - brings pydantic

        if self.annotator is None:
            raise UsageError("say who labels: give --annotator NAME.")
        return check_annotator(self.annotator)


audit = command(AuditRequest, "judgeharness_integrations.cli._audit:audit_place")
