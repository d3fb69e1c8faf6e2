"""`judgeharness log`: rows into a database and out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app", "export_log", "import_log"]

app = typer.Typer(
    help="Verdict logs in databases: rows in from files, rows out to files.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Log = Annotated[
    str,
    typer.Option(
        "--log", help="The database: a .sqlite or .db file, or postgresql+psycopg://USER@HOST/DB.", show_default=False
    ),
]


@app.callback()
def _group() -> None:
    """Keep the group a group, however many commands it has."""


@app.command("import")
def import_log(
    file: Annotated[
        Path,
        typer.Argument(
            help="A verdict log: .csv or .jsonl, each also as .gz, .parquet, or another database file.",
            show_default=False,
        ),
    ],
    log: _Log,
    run: Annotated[
        str | None, typer.Option(help="The run the rows become part of.", show_default="as the file says")
    ] = None,
    *,
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")] = False,
) -> None:
    """Add the rows of a file to a log. Rows that it holds already are left alone, so it may be repeated."""
    from judgeharness_integrations.cli._log_files import import_file  # noqa: PLC0415 - keeps --help fast

    import_file(file, log, run=run, labels=labels)


@app.command("export")
def export_log(
    log: _Log,
    out: Annotated[
        Path, typer.Option(help="The file: .csv or .jsonl, each also as .gz, or .parquet.", show_default=False)
    ],
    run: Annotated[str | None, typer.Option(help="Only this run.", show_default="all")] = None,
) -> None:
    """Write the rows of a log to a file, in the order they came."""
    from judgeharness_integrations.cli._log_files import export_file  # noqa: PLC0415 - keeps --help fast

    export_file(log, out, run=run)
