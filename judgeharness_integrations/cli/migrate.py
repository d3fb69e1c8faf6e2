"""`judgeharness migrate`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import Exclude


@dataclass(frozen=True, kw_only=True)
class MigrateRequest:
    """Put the judges in your code under a harness: a diff, and the calls it will cost. Nothing is asked.

    LangChain evaluators, openevals judges, LangSmith evaluators and ADK metrics are wrapped; judges written by hand are
    listed. Formatting and comments stay as they are.
    """

    paths: Annotated[
        tuple[Path, ...],
        typer.Argument(metavar="PATH...", help="Python files, ADK configs, folders.", show_default=False),
    ]
    level: Annotated[
        str,
        typer.Option(
            help="single: one call a case, the same verdicts; measured: JudgeHarness.standard, also where "
            "single was written earlier."
        ),
    ] = "single"
    exclude: Exclude = ()
    write: Annotated[bool, typer.Option("--write", help="Write the files. Without it nothing is written.")] = False
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if something would change.")] = False
    cases: Annotated[int | None, typer.Option(help="Say what so many cases will cost.", min=1, show_default=False)] = (
        None
    )
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.migrate/1).")] = False


def migrate_code(request: MigrateRequest) -> None:
    """Print what a migration changes, and write it where that is asked for."""
    from judgeharness_integrations.migration.sources import check_parser  # noqa: PLC0415 - keeps --help fast

    check_parser()  # what is imported next needs libcst
    from judgeharness_integrations.cli._migrate import migrate_paths  # noqa: PLC0415 - needs libcst

    migrate_paths(
        request.paths,
        request.level,
        exclude=request.exclude,
        write=request.write,
        check=request.check,
        cases=request.cases,
        as_json=request.as_json,
    )


migrate = command(MigrateRequest, migrate_code)
